import DaemonTesting
import Foundation
import JSONText
import TestSupport
import Testing

extension SystemTests {
  @Suite("Jobs that know each other")
  struct Workflows {
    /// A daemon with two types run by programs: `echo` ends with the job as it read it, `does` as its arguments say.
    private func daemon() async throws -> DaemonProcess {
      let root = try DaemonRoot()
      let programs = [
        "echo": #"IFS= read -r job; printf '{"result": %s}\n' "$job""#,
        "does": """
        import json, sys
        arguments = json.load(sys.stdin)["arguments"]
        print(json.dumps({key: arguments[key] for key in ("result", "error") if key in arguments}))
        """,
      ]
      for (type, text) in programs {
        let path = root.directory.path(type)
        try root.write(text, to: path)
        let program = type == "echo" ? "/bin/sh" : "/usr/bin/python3"
        try root.write(
          "[Handler]\nType=\(type)\nExecStart=\(program) \(path)\n", to: "\(root.paths.handlers)/\(type).conf")
      }
      return try await DaemonProcess.ready(root)
    }

    @Test("A program reads how the jobs before it ended, and a callback how its batch did")
    func documents() async throws {
      let daemon = try await daemon()
      let jobs = try await daemon.submit(
        #"""
        {"batch": "nightly", "jobs": [
          {"type": "does", "id": "people", "arguments": {"result": {"rows": 3}}},
          {"type": "does", "id": "orders", "arguments": {"error": {"message": "no paper", "permanent": true}}},
          {"type": "echo", "id": "report", "after": "people", "afterAny": ["orders"]}],
         "callback": {"type": "echo", "id": "done"}}
        """#)
      #expect(jobs.map { $0["state"]?.string } == ["completed", "discarded", "completed", "completed"])
      let report = try #require(jobs[2]["result"])
      #expect(report["batch"] == .null)
      #expect(
        report["after"] == [
          ["id": "people", "state": "completed", "result": ["rows": 3], "error": nil],
          ["id": "orders", "state": "discarded", "result": nil, "error": "no paper"],
        ])
      let done = try #require(jobs[3]["result"])
      #expect(done["after"] == [])
      #expect(
        done["batch"] == [
          "name": "nightly", "counts": ["completed": 2, "discarded": 1], "failedCount": 1,
          "failed": [["id": "orders", "error": "no paper"]],
        ])
    }
  }
}
