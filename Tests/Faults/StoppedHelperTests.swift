import DaemonTesting
import Foundation
import Glibc
import SystemSupport
import TestSupport
import Testing

extension FaultTests {
  @Suite("A helper that stands still")
  struct StoppedHelper {
    @Test("Its attempt fails when its time is over, and the next one is given to a fresh helper")
    func stopped() async throws {
      let root = try DaemonRoot(Workload.configuration)
      try await Workload.prepare(root)
      var figures = FaultFigures("SIGSTOP of a helper")
      let daemon = try await DaemonProcess.ready(root)
      _ = try await daemon.submit(Self.picture("first"))
      for number in 0..<FaultPlan.count("STOPS", short: 1, whole: 10) {
        let helper = try #require(daemon.child(named: "bobbin-image"))
        try #require(Glibc.kill(helper, SIGSTOP) == 0)
        let jobs = try await daemon.submit(Self.picture("stopped-\(number)"))
        #expect(jobs.first?["state"]?.string == "completed")
        #expect(jobs.first?["attempt"]?.integer == 2)
        // It is gone, not left standing.
        #expect(daemon.child(named: "bobbin-image") != helper)
        let isWhole = try TestPicture.isWholePNG(root.paths.payload + "/stopped-\(number).png")
        #expect(isWhole)
        figures.faults += 1
        figures.struck += 1
        figures.jobs += 1
      }
      let hidden = try Directory(path: root.paths.payload).entries().filter(\.isHidden)
      #expect(hidden == [])
      let doctor = try await daemon.tool("doctor")
      #expect(doctor.code == 0, "\(doctor.output)\(doctor.errors)")
      figures.tell()
    }

    @Test("A picture that only waits for a helper keeps its time, and its one attempt")
    func waiting() async throws {
      let root = try DaemonRoot(Workload.configuration)
      try await Workload.prepare(root)
      let daemon = try await DaemonProcess.ready(root)
      _ = try await daemon.submit(Self.picture("first"))
      let helper = try #require(daemon.child(named: "bobbin-image"))
      try #require(Glibc.kill(helper, SIGSTOP) == 0)
      let blocker = Self.picture("blocker", timeout: "20s", attempts: 1)
      #expect(try await daemon.request("POST", "/v1/jobs", body: blocker).status == 202)
      let jobs = try await daemon.submit(Self.picture("waiter", timeout: "15s", attempts: 1))
      #expect(jobs.first?["state"]?.string == "completed", "\(jobs.map { $0.serialized() })")
      #expect(try await daemon.get("/v1/jobs/blocker")["state"]?.string == "discarded")
    }

    private static func picture(_ id: String, timeout: String = "8s", attempts: Int = 5) -> String {
      #"""
      {"type": "image.encode", "id": "\#(id)", "timeout": "\#(timeout)", "maxAttempts": \#(attempts), "backoff": {"kind": "fixed", "base": "50ms"},
        "arguments": {"input": "in.jpg", "outputs": [{"path": "\#(id).png", "width": 40}]}}
      """#
    }
  }
}
