import DaemonTesting
import Foundation
import JSONText
import PostgresTesting
import TestSupport
import Testing

extension FleetSystemTests {
  @Suite("Workflows and notices of a fleet", .enabled(if: PostgresCluster.isAvailable()))
  struct FleetWorkflows {
    private let database: TestDatabase

    init() throws { database = try PostgresCluster.makeDatabase() }

    /// A host with a type whose jobs end with what they read, and one whose jobs fail for good.
    private func root(_ name: String) throws -> DaemonRoot {
      let root = try DaemonRoot(
        host: name, at: database.url, "[Notify ops]\nType=echo\nOn=discarded batch\n")
      let script = root.directory.path("echo.sh")
      try root.write(#"IFS= read -r job; printf '{"result": %s}\n' "$job""#, to: script)
      for (type, command) in ["echo": "/bin/sh \(script)", "fails": #"/bin/sh -c "exit 65""#] {
        try root.write("[Handler]\nType=\(type)\nExecStart=\(command)\n", to: root.paths.handlers + "/\(type).conf")
      }
      return root
    }

    private func result(_ id: String) throws -> JSONValue {
      let text = try database.run(#"SELECT result FROM bobbin."Job" WHERE id = '\#(id)'"#)
      return try JSONValue(parsing: Array((text ?? "").utf8))
    }

    /// The notices without their moments, with their states.
    private func notices() throws -> String? {
      try database.run(
        #"""
        SELECT string_agg(regexp_replace(id, '-\d{4}-\d\d-\d\dT[\d:.]+Z$', '') || ' ' || state, ', ' ORDER BY id)
        FROM bobbin."Job" WHERE id LIKE 'notice-%'
        """#)
    }

    @Test("The end of a batch whose jobs came to several hosts is told once, also by a host that was dead then")
    func batches() async throws {
      let roots = [try root("a"), try root("b")]
      var daemons = [try await DaemonProcess.ready(roots[0]), try await DaemonProcess.ready(roots[1])]
      for (name, daemon) in zip(["a", "b"], daemons) {
        let jobs = (0..<20).map { #"{"type": "noop", "id": "\#(name)\#($0)", "after": "gate"}"# }
        let reply = try await daemon.request(
          "POST", "/v1/jobs", body: #"{"batch": "both", "jobs": [\#(jobs.joined(separator: ","))]}"#)
        #expect(reply.status == 202)
      }
      _ = try await daemons[0].submit(#"{"type": "noop", "id": "gate"}"#)
      for daemon in daemons { try await daemon.waitUntilSpoolIsEmpty() }
      #expect(try notices() == "notice-ops-both-batch completed")

      let lone =
        #"{"batch": "lone", "jobs": [{"type": "noop", "id": "x", "after": "late"}, {"type": "noop", "id": "y"}]}"#
      #expect(try await daemons[0].request("POST", "/v1/jobs", body: lone).status == 202)
      try await daemons[0].kill()
      _ = try await daemons[1].submit(#"{"type": "noop", "id": "late"}"#)
      _ = try await daemons[1].submit(#"{"type": "noop", "id": "end", "after": ["x", "y"]}"#)
      #expect(try notices() == "notice-ops-both-batch completed")
      daemons[0] = try await DaemonProcess.ready(roots[0])
      for daemon in daemons { try await daemon.waitUntilSpoolIsEmpty() }
      #expect(try notices() == "notice-ops-both-batch completed, notice-ops-lone-batch completed")
      for daemon in daemons { #expect(try await daemon.stop() == .exited(code: 0), "\(daemon.logText)") }
    }

    @Test("A job whose arguments can't be made of the results of others is discarded, and nobody is kept waiting")
    func wrongReference() async throws {
      let daemon = try await DaemonProcess.ready(try root("a"))
      let wrong =
        #"{"type": "echo", "id": "wrong", "after": "p", "arguments": {"x": {"from": "p", "result": "absent"}}}"#
      let reply = try await daemon.request(
        "POST", "/v1/jobs", query: ["wait": "60"], body: #"{"jobs": [{"type": "noop", "id": "p"}, \#(wrong)]}"#)
      #expect(
        reply.body["jobs"]?.array?.map { $0["state"] } == ["completed", "discarded"], "\(reply.body.serialized())")
      try await daemon.waitUntilSpoolIsEmpty()
      #expect(try database.run(#"SELECT attempt FROM bobbin."Job" WHERE id = 'wrong'"#) == "1")
      #expect(try await daemon.stop() == .exited(code: 0))
    }

    @Test("Jobs know each other wherever they run, and one that has failed is told once")
    func workflow() async throws {
      let daemons = [try await DaemonProcess.ready(try root("a")), try await DaemonProcess.ready(try root("b"))]
      let names = (0..<10).map { "e\($0)" }
      let jobs = names.map { #"{"type": "echo", "id": "\#($0)"}"# }.joined(separator: ", ")
      try daemons[0].root.drop(
        #"""
        {"batch": "nightly", "jobs": [\#(jobs), {"type": "fails", "id": "bad"},
          {"type": "echo", "id": "report", "after": \#(names), "afterAny": "bad",
           "arguments": {"x": {"from": "e3", "result": "id"}}}],
         "callback": {"type": "echo", "id": "done"}}
        """#, as: "nightly.json")
      for daemon in daemons { try await daemon.waitUntilSpoolIsEmpty() }
      let report = try result("report")
      #expect(report["arguments"]?["x"] == "e3")
      #expect(report["after"]?.array?.map { $0["id"]?.string } == names + ["bad"])
      #expect(report["after"]?.array?.map { $0["state"]?.string } == names.map { _ in "completed" } + ["discarded"])
      #expect(report["after"]?.array?.first?["result"]?["id"] == "e0")
      #expect(try result("done")["batch"]?["counts"] == ["completed": 11, "discarded": 1])
      // The host of the attempt and the host of the spool have told of it.
      #expect(try notices() == "notice-ops-bad-discarded completed, notice-ops-nightly-batch completed")
      for daemon in daemons {
        let end = try await daemon.stop()
        #expect(end == .exited(code: 0), "\(daemon.logText)")
      }
    }
  }
}
