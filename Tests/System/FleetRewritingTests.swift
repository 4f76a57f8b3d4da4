import DaemonTesting
import Foundation
import JSONText
import PostgresTesting
import SystemSupport
import TestSupport
import Testing

extension FleetSystemTests {
  /// Jobs that are replaced, edited and deleted on another host than the one that they came to.
  @Suite("Other specifications for the jobs of a fleet", .enabled(if: PostgresCluster.isAvailable()))
  struct FleetRewriting {
    private let database: TestDatabase
    private let first: DaemonRoot
    private let second: DaemonRoot

    init() throws {
      database = try PostgresCluster.makeDatabase()
      first = try Self.root("a", database)
      second = try Self.root("b", database)
    }

    /// A host with a type whose jobs end with what they read, and one whose jobs take long.
    private static func root(_ name: String, _ database: TestDatabase) throws -> DaemonRoot {
      let root = try DaemonRoot(host: name, at: database.url)
      let script = root.directory.path("echo.sh")
      try root.write(#"IFS= read -r job; printf '{"result": %s}\n' "$job""#, to: script)
      let deaf = root.directory.path("deaf.sh")
      try root.write("trap '' TERM\n: >'\(root.directory.path("is-deaf"))'\nsleep 600\n", to: deaf)
      let partial = root.directory.path("partial.sh")
      let row = #"{"insert": {"entity": "Reading", "values": {"job": "'$BOBBIN_JOB_ID'", "number": 1}}}"#
      try root.write("echo '\(row)'\necho '{\"checkpoint\": \"1\"}'\nexec sleep 600\n", to: partial)
      for (type, command) in [
        "echo": "/bin/sh \(script)", "deaf": "/bin/sh \(deaf)", "long": "/bin/sleep 600",
        "partial": "/bin/sh \(partial)",
      ] {
        try root.write("[Handler]\nType=\(type)\nExecStart=\(command)\n", to: root.paths.handlers + "/\(type).conf")
      }
      return root
    }

    private func submit(_ job: String, replaces: Bool = false, at daemon: DaemonProcess) async throws -> Tool {
      let file = daemon.root.directory.path("job.json")
      try daemon.root.write(job, to: file)
      return try await daemon.tool(["submit", "--wait=40"] + (replaces ? ["--replace"] : []) + [file])
    }

    /// What a job has read, by its result.
    private func number(_ id: String) throws -> JSONValue? {
      let text = try database.run(#"SELECT result FROM bobbin."Job" WHERE id = '\#(id)'"#)
      return try JSONValue(parsing: Array((text ?? "null").utf8)).object?["arguments"]?.object?["n"]
    }

    private func wait(for state: String, of id: String, at daemon: DaemonProcess) async throws {
      let deadline = ContinuousClock.now + .seconds(30)
      while try await daemon.get("/v1/jobs/\(id)")["state"]?.string != state {
        try #require(ContinuousClock.now < deadline, "\(id) is not \(state)\n\(daemon.logText)")
      }
    }

    @Test("A job is replaced from any host, whether it is over, runs or waits, and its new run is the one that counts")
    func replace() async throws {
      let one = try await DaemonProcess.ready(first)
      let other = try await DaemonProcess.ready(second)
      for (number, daemon) in [one, other, one].enumerated() {
        let job = #"{"type": "echo", "id": "over", "arguments": {"n": \#(number)}}"#
        let sent = try await submit(job, replaces: number > 0, at: daemon)
        try #require(sent.code == 0, "\(sent)\n\(one.logText)\n\(other.logText)")
        #expect(try self.number("over") == .integer(Int64(number)))
      }
      // Earlier runs are kept.
      let runs = #"SELECT string_agg(number || ' ' || outcome, ', ' ORDER BY number) FROM bobbin."Attempt""#
      #expect(try database.run(runs) == "1 completed, 2 completed")

      // Four of them, so that both hosts run some.
      let names = (0..<4).map { "runs\($0)" }
      for name in names { try first.drop(#"{"type": "long", "id": "\#(name)"}"#, as: FileName(name + ".json")) }
      for name in names { try await wait(for: "running", of: name, at: other) }
      let jobs =
        names.map { #"{"type": "echo", "id": "\#($0)", "arguments": {"n": 7}}"# } + [
          #"{"type": "echo", "id": "behind", "after": "runs3", "arguments": {"n": 8}}"#
        ]
      let sent = try await submit("{\"jobs\": [\(jobs.joined(separator: ","))]}", replaces: true, at: other)
      try #require(sent.code == 0, "\(sent)\n\(one.logText)\n\(other.logText)")
      for name in names { #expect(try number(name) == 7) }
      #expect(try number("behind") == 8)
      for daemon in [one, other] {
        try await daemon.waitUntilSpoolIsEmpty()
        #expect(try await daemon.stop() == .exited(code: 0))
      }
    }

    @Test("A job that is held with something saved is reverted before it is replaced, and stays held")
    func replaceHeld() async throws {
      let one = try await DaemonProcess.ready(first)
      let other = try await DaemonProcess.ready(second)
      try first.drop(#"{"type": "partial", "id": "x"}"#, as: "x.json")
      func wait(until query: String, is text: String) async throws {
        try await one.poll(seconds: 60) { try database.run(query) == text }
      }
      try await wait(until: #"SELECT count(*) FROM bobbin."Reading""#, is: "1")
      #expect(try await other.tool("hold", "x").code == 0)
      try await wait(until: #"SELECT state FROM bobbin."Job" WHERE "cursor" IS NOT NULL"#, is: "held")
      try second.drop(#"{"type": "echo", "id": "x", "replace": true, "arguments": {"n": 2}}"#, as: "new.json")
      try await wait(until: #"SELECT type || ' ' || state FROM bobbin."Job""#, is: "echo held")
      #expect(try database.run(#"SELECT count(*) FROM bobbin."Reading""#) == "0")
      #expect(try await one.tool("release", "x").code == 0)
      for daemon in [one, other] { try await daemon.waitUntilSpoolIsEmpty() }
      #expect(try number("x") == 2)
      for daemon in [one, other] { #expect(try await daemon.stop() == .exited(code: 0)) }
    }

    @Test("A replacement that is not made when all hosts die is made when they are back")
    func replaceAfterDeath() async throws {
      let roots = [first, second]
      var daemons = [try await DaemonProcess.ready(first), try await DaemonProcess.ready(second)]
      try first.drop(#"{"type": "deaf", "id": "x", "arguments": {"n": 1}}"#, as: "x.json")
      try await daemons[1].poll(seconds: 60) {
        roots.contains { FileManager.default.fileExists(atPath: $0.directory.path("is-deaf")) }
      }
      try second.drop(#"{"type": "echo", "id": "x", "replace": true, "arguments": {"n": 2}}"#, as: "new.json")
      try await daemons[1].poll(seconds: 60) { try database.run("SELECT stop FROM bobbin._run") == "interrupted" }
      let told = try await daemons[0].tool("cancel", "x")
      #expect(told.code != 0 && told.errors.contains(#"the job "x" is just being replaced"#), "\(told)")
      for daemon in daemons { try await daemon.kill() }
      #expect(try second.currentFiles.count == 1)
      daemons = [try await DaemonProcess.ready(roots[0]), try await DaemonProcess.ready(roots[1])]
      for daemon in daemons { try await daemon.waitUntilSpoolIsEmpty() }
      #expect(try number("x") == 2)
      for daemon in daemons { #expect(try await daemon.stop() == .exited(code: 0)) }
    }

    @Test("Of two edits that come at once from two hosts none is lost without a word")
    func editAtOnce() async throws {
      let daemons = [try await DaemonProcess.ready(first), try await DaemonProcess.ready(second)]
      try first.drop(
        #"{"type": "echo", "id": "x", "notBefore": "2100-01-01T00:00:00Z", "arguments": {"n": 1}}"#, as: "x.json")
      try await wait(for: "scheduled", of: "x", at: daemons[1])
      for round in 1...10 {
        let edits = [(daemons[0], "a"), (daemons[1], "b")]
        let told = try await withThrowingTaskGroup(of: (String, Tool).self) { group in
          for (daemon, key) in edits {
            group.addTask { (key, try await daemon.tool("edit", "x", "\(key)=\(round)")) }
          }
          return try await group.reduce(into: [String: Tool]()) { $0[$1.0] = $1.1 }
        }
        let text = try #require(try database.run(#"SELECT arguments FROM bobbin."Job""#))
        let arguments = try #require(try JSONValue(parsing: Array(text.utf8)).object)
        #expect(told.values.contains { $0.code == 0 }, "\(told)")
        for (key, tool) in told {
          if tool.code == 0 {
            #expect(arguments[key] == .integer(Int64(round)), "\(told): \(text)")
          } else {
            #expect(tool.errors.contains("somebody else has changed the job"), "\(tool)")
            #expect(arguments[key] != .integer(Int64(round)))
          }
        }
      }
      for daemon in daemons { #expect(try await daemon.stop() == .exited(code: 0)) }
    }

    @Test("A job is edited and deleted from any host, if it names no files that only one sees")
    func editAndDelete() async throws {
      let one = try await DaemonProcess.ready(first)
      let other = try await DaemonProcess.ready(second)
      #expect(try await one.tool("pause").code == 0)
      try first.drop(#"{"type": "echo", "id": "x", "arguments": {"n": 1}}"#, as: "x.json")
      try first.drop(#"{"type": "noop", "id": "y", "after": "x"}"#, as: "y.json")
      try first.drop(#"{"type": "echo", "id": "here", "arguments": {"file": "/srv/here", "n": 1}}"#, as: "here.json")
      for id in ["x", "here"] { try await wait(for: "available", of: id, at: other) }
      let edited = try await other.tool("edit", "x", "n=5")
      #expect(edited.code == 0, "\(edited)\n\(other.logText)")
      let elsewhere = try await other.tool("edit", "here", "n=5")
      #expect(elsewhere.errors.contains("came to a:\(first.paths.spool), where these are"), "\(elsewhere)")
      #expect(try await one.tool("edit", "here", "n=6").code == 0)
      let unfinished = try await other.tool("delete", "x")
      #expect(unfinished.code != 0 && unfinished.errors.contains("it is available"), "\(unfinished)")
      #expect(try await other.tool("resume").code == 0)
      try await one.waitUntilSpoolIsEmpty()
      #expect(try number("x") == 5 && number("here") == 6)
      let late = try await other.tool("edit", "x", "n=9")
      #expect(late.errors.contains("can't be edited: it is completed"), "\(late)")
      // The ledger hears a little later that their files are gone.
      let deadline = ContinuousClock.now + .seconds(30)
      for id in ["x", "y"] {
        while true {
          let deleted = try await other.tool("delete", id)
          if deleted.code == 0 { break }
          try #require(deleted.errors.contains("may still have its file"), "\(deleted)\n\(one.logText)")
          try #require(ContinuousClock.now < deadline, "\(deleted)\n\(one.logText)")
        }
      }
      #expect(try database.run(#"SELECT string_agg(id, ' ') FROM bobbin."Job""#) == "here")
      // Its ID is free again.
      #expect(try await submit(#"{"type": "echo", "id": "x", "arguments": {"n": 3}}"#, at: other).code == 0)
      for daemon in [one, other] { #expect(try await daemon.stop() == .exited(code: 0)) }
    }
  }
}
