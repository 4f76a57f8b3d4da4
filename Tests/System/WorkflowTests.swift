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

    @Test("Of very many relatives a hundred of each kind are told, and that there may be more")
    func manyRelatives() async throws {
      let daemon = try await DaemonProcess.ready(try DaemonRoot())
      let due = #""notBefore": "2199-01-01T00:00:00Z""#
      let names = (0..<150).map { "before-\(1_000 + $0)" }
      let jobs =
        names.map { #"{"type": "noop", "id": "\#($0)", \#(due)}"# }
        + [
          #"{"type": "noop", "id": "middle", "after": [\#(names.prefix(100).map { "\"\($0)\"" }.joined(separator: ", "))]}"#
        ]
        + (0..<150).map { #"{"type": "noop", "id": "behind-\#(1_000 + $0)", "after": "middle"}"# }
      let sent = try await daemon.request("POST", "/v1/jobs", body: #"{"jobs": [\#(jobs.joined(separator: ", "))]}"#)
      #expect(sent.status == 202, "\(sent.body.serialized().prefix(300))")
      let middle = try await daemon.get("/v1/jobs/middle/relatives")
      #expect(middle["after"]?.array?.count == 100)
      #expect(middle["before"]?.array?.count == 100)
      #expect(middle["mayHaveMore"] == true)
      let last = try await daemon.get("/v1/jobs/behind-1000/relatives")
      #expect(last["after"]?.array?.map { $0["id"] } == ["middle"])
      #expect(last["before"]?.array?.isEmpty == true && last["mayHaveMore"] == false)
      _ = try await daemon.stop()
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

    @Test("An import and a picture take their inputs from results, also by names of their file")
    func references() async throws {
      let daemon = try await daemon()
      let root = daemon.root
      try root.payload("readings.csv", "number,note\n1,a\n2,b\n")
      try root.write(try await TestPicture.jpeg(), to: root.paths.payload + "/photo.jpg")
      let jobs = try await daemon.submit(
        ##"""
        {"jobs": [
          {"type": "does", "id": "#found", "arguments": {"result": {"files": ["readings.csv"], "strict": true}}},
          {"type": "import", "after": "#found", "arguments": {
            "input": {"from": "#found", "result": "files.0"}, "entity": "Reading",
            "atomic": {"from": "#found", "result": "strict"}}},
          {"type": "image.encode", "id": "large", "arguments": {
            "input": "photo.jpg", "outputs": [{"path": "large.png", "width": 40}]}},
          {"type": "image.encode", "after": "large", "arguments": {
            "input": {"from": "large", "result": "outputs.0.path"},
            "outputs": [{"path": "small.png", "width": {"from": "large", "result": "outputs.0.height"}}]}}
        ]}
        """##)
      #expect(jobs.map { $0["state"]?.string } == Array(repeating: "completed", count: 4))
      #expect(jobs[1]["result"]?["inserted"] == 2)
      let outputs = jobs.suffix(2).map { $0["result"]?["outputs"]?.array?.first }
      #expect(outputs[1]?["width"]?.integer != nil && outputs[1]?["width"] == outputs[0]?["height"])
    }

    @Test("A result that has no such value, or a wrong one, fails the job and tells what there is")
    func wrongReferences() async throws {
      let daemon = try await daemon()
      func input(_ path: String, _ id: String) -> String {
        #"""
        {"type": "import", "id": "\#(id)", "after": "a", "arguments": {
          "input": {"from": "a", "result": "\#(path)"}, "entity": "Reading"}}
        """#
      }
      let jobs = try await daemon.submit(
        #"""
        {"jobs": [{"type": "does", "id": "a", "arguments": {"result": {"files": [{"path": 7, "size": 1}]}}},
          \#(input("files.1.path", "b")), \#(input("files.0.name", "c")), \#(input("files.0.path", "d"))]}
        """#)
      #expect(jobs.dropFirst().map { $0["state"]?.string } == ["discarded", "discarded", "discarded"])
      #expect(
        jobs.dropFirst().map { $0["error"]?.string } == [
          #""arguments.input": the result of the job "a" has no "files.1.path": "files" is a list of 1, from 0"#,
          #""arguments.input": the result of the job "a" has no "files.0.name": "files.0" has path, size"#,
          #"the arguments are wrong with the results of other jobs: "arguments.input": must be a string, not an integer"#,
        ])
    }
  }
}
