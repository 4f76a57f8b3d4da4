import ControlClient
import DaemonTesting
import Foundation
import JSONText
import PostgresTesting
import TestSupport
import Testing

extension FleetSystemTests {
  @Suite("What the jobs of a fleet wait for", .enabled(if: PostgresCluster.isAvailable()))
  struct FleetWaiting {
    private let database: TestDatabase

    init() throws { database = try PostgresCluster.makeDatabase() }

    private func root(_ name: String) throws -> DaemonRoot {
      try DaemonRoot(host: name, at: database.url)
    }

    private func submit(_ text: String, waiting seconds: Int, at daemon: DaemonProcess) async throws -> Tool {
      let path = daemon.root.directory.path("wait.json")
      try daemon.root.write(text, to: path)
      return try await daemon.tool("submit", "--wait=\(seconds)", path)
    }

    @Test("is told by lists and replies of every host, though only the lead knows")
    func states() async throws {
      let one = try await DaemonProcess.ready(try root("a"))
      let other = try await DaemonProcess.ready(try root("b"))
      let text = #"{"jobs": [{"type": "noop", "id": "s", "delay": "1h"}, {"type": "noop", "id": "w", "after": "s"}]}"#
      // What the lead does not tell within a second is shown as it is on record.
      try await one.poll(seconds: 60) {
        let wait = try await submit(text, waiting: 1, at: one)
        return wait.output.contains("scheduled  s") && wait.output.contains("waiting    w")
      }
      for daemon in [one, other] {
        _ = try await daemon.get("/v1/jobs") { reply in
          let jobs = reply["jobs"]?.array ?? []
          return jobs.map { ($0["id"]?.string ?? "") + " " + ($0["state"]?.string ?? "") }.sorted()
            == ["s scheduled", "w waiting"]
        }
        _ = try await daemon.get("/v1/jobs/w") { $0["state"] == "waiting" }
        _ = try await daemon.get("/v1/jobs/w/relatives") { $0["after"]?.array?.first?["state"] == "scheduled" }
      }
      // The lead cancels them, which nobody has run: the host that they came to tells of it.
      #expect(try await other.tool("cancel", "s").code == 0)
      try await one.waitUntilSpoolIsEmpty()
      for id in ["s", "w"] { try await one.waitForLog("job \(id) (noop) was cancelled") }
      let client = ControlClient(socketPath: one.root.paths.socket)
      let reply = try await onThread { try client.send("GET", "/metrics", query: [], body: nil, timeout: .seconds(60)) }
      let metrics = String(decoding: reply.body, as: UTF8.self)
      #expect(metrics.contains(#"bobbin_jobs_finished_total{type="noop",state="cancelled"} 2"#), "\(metrics)")
      for daemon in [one, other] { #expect(try await daemon.stop() == .exited(code: 0)) }
    }

    @Test("is told to readers of events: jobs that come, wait, are held, released and cancelled, and pauses")
    func events() async throws {
      let daemon = try await DaemonProcess.ready(try root("a"))
      let reader = try EventStream(daemon)
      let states = { (events: [EventStream.Event]) in events.compactMap { $0.data["state"]?.string } }
      #expect(try await daemon.tool("pause", "--queue", "slow").code == 0)
      _ = try await reader.events { $0.kind == "status" && $0.data["pauses"]?.array?.count == 1 }
      let path = daemon.root.directory.path("later.json")
      try daemon.root.write(#"{"type": "noop", "id": "later", "queue": "slow", "delay": "1h"}"#, to: path)
      #expect(try await daemon.tool("submit", path).code == 0)
      #expect(states(try await reader.events { $0.kind == "job" }).last == "scheduled")
      for (command, state) in [("hold", "held"), ("release", "scheduled"), ("cancel", "cancelled")] {
        #expect(try await daemon.tool(command, "later").code == 0)
        _ = try await reader.events { $0.kind == "job" && $0.data["state"]?.string == state }
      }
      #expect(try await daemon.stop() == .exited(code: 0))
    }

    @Test("ends a client's wait at once if it is a job that was held, wherever that is")
    func held() async throws {
      let daemon = try await DaemonProcess.ready(try root("a"))
      try daemon.root.payload("a.csv", "job,number\na,x\n")
      let text = """
        {"jobs": [
          {"type": "import", "id": "bad", "arguments": {"input": "\(daemon.root.paths.payload)/a.csv", "entity": "Reading", "onTooManyRejects": "hold"}},
          {"type": "noop", "id": "behind", "after": "bad"}, {"type": "noop", "id": "free"}
        ]}
        """
      let wait = try await submit(text, waiting: 600, at: daemon)
      #expect(wait.code == 3, "\(wait.output)\(wait.errors)")
      #expect(wait.output.contains("`bobbinctl release bad` releases it"), "\(wait.output)")
      #expect(wait.output.contains("completed  free") && wait.output.contains("waiting    behind"), "\(wait.output)")
      #expect(try await daemon.stop() == .exited(code: 0))
    }

    @Test("is the rest of a period whose starts were made before, by whichever lead, and nothing else")
    func rates() async throws {
      let root = try root("a")
      let daemon = try await DaemonProcess.ready(root)
      let job = { (id: String) in #"{"type": "noop", "id": "\#(id)", "limit": {"key": "k", "rate": "1/h"}}"# }
      #expect(try await submit(job("first"), waiting: 60, at: daemon).code == 0)
      #expect(try await daemon.stop() == .exited(code: 0))
      _ = try database.run("UPDATE bobbin._start SET started = started - interval '20 min'")
      let next = try await DaemonProcess.ready(root)
      _ = try await submit(job("second"), waiting: 1, at: next)
      let why = try await next.get("/v1/jobs/second/why") { $0["reasons"]?.array?.isEmpty == false }
      let reason = why["reasons"]?.array?.first?.string ?? ""
      #expect(reason.hasPrefix(#"the limit "k" lets the next job start in 39 min"#), "\(why)")
      #expect(try await next.stop() == .exited(code: 0))
    }
  }
}
