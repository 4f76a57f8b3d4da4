import DaemonTesting
import Foundation
import TestSupport
import Testing

extension SystemTests {
  @Suite("Rates over restarts of the daemon")
  struct Rates {
    private let root: DaemonRoot

    init() throws {
      root = try DaemonRoot(DaemonRoot.quickFlushes + "[Queue calls]\nRateLimit=2/h\n")
    }

    /// True if a job waits for the rate of a name, for about an hour.
    private func waits(_ id: String, for name: String, _ daemon: DaemonProcess) async throws -> Bool {
      let why = try await daemon.get("/v1/jobs/\(id)/why").serialized()
      return why.contains("\(name) lets the next job start in 59 min")
        || why.contains("\(name) lets the next job start in 1 h")
    }

    @Test(
      "A start counts for the rates of its queue and of its key until their period is over, whatever ends the daemon",
      arguments: [true, false])
    func restart(isKilled: Bool) async throws {
      let daemon = try await DaemonProcess.ready(root)
      let limit = #""limit": {"key": "api", "rate": "1/h"}"#
      _ = try await daemon.submit(
        #"{"jobs": [{"id": "a", "type": "noop", "queue": "calls"}, {"id": "b", "type": "noop", \#(limit)}]}"#)
      if isKilled { try await daemon.kill() } else { #expect(try await daemon.stop() == .exited(code: 0)) }

      let next = try await DaemonProcess.ready(root)
      _ = try await next.submit(#"{"id": "c", "type": "noop", "queue": "calls"}"#)
      let more = #"{"jobs": [{"id": "d", "type": "noop", "queue": "calls"}, {"id": "e", "type": "noop", \#(limit)}]}"#
      #expect(try await next.request("POST", "/v1/jobs", body: more).status == 202)
      #expect(try await waits("d", for: #"the queue \"calls\""#, next))
      #expect(try await waits("e", for: #"the limit \"api\""#, next))
      #expect(try await next.stop() == .exited(code: 0))
    }
  }
}
