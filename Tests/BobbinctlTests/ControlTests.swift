import Foundation
import HTTPService
import Testing

@Suite("bobbinctl's commands for jobs")
struct ControlTests {
  @Test(
    "A command sends the jobs that are named, or the conditions that they meet",
    arguments: [
      (["cancel", "a", "b"], #"{"command":"cancel","jobs":["a","b"]}"#),
      (["cancel", "--reason", "why not", "a"], #"{"reason":"why not","command":"cancel","jobs":["a"]}"#),
      (["hold", "--queue=q", "--type", "t"], #"{"command":"hold","where":{"type":"t","queue":"q"}}"#),
      (["release", "--batch", "b"], #"{"command":"release","where":{"batch":"b"}}"#),
      (["retry", "--state", "discarded"], #"{"command":"retry","where":{"state":"discarded"}}"#),
      (
        ["cancel", "--state", "held", "--state=waiting"],
        #"{"command":"cancel","where":{"state":["held","waiting"]}}"#
      ),
      (["priority", "-5", "a"], #"{"value":-5,"command":"priority","jobs":["a"]}"#),
      (["redrive", "a"], #"{"command":"redrive","jobs":["a"]}"#),
      (["priority", "--", "-5", "a"], #"{"value":-5,"command":"priority","jobs":["a"]}"#),
    ])
  func requests(arguments: [String], body: String) async throws {
    let daemon = try TestDaemon(#"{"done": 1}"#)
    let run = try await TestDaemon.run(["--root", daemon.root.path] + arguments)
    #expect(daemon.requests == ["POST /v1/commands"])
    #expect(daemon.bodies == [body])
    #expect(run.code == 0 && run.output.hasPrefix("1 job "))
  }

  @Test("What could not be done for a job is told, and shows in the exit code")
  func partly() async throws {
    let daemon = try TestDaemon(
      #"{"done": 1, "jobs": [{"id": "a", "result": "done"}, {"id": "b\n", "result": "not-possible", "state": "held"}]}"#
    )
    let run = try await daemon.run("hold", "a", "b\n")
    #expect(run.output == "1 job held\n")
    #expect(run.errors == "bobbinctl: the job \"b\\n\" can't be held: it is held\n")
    #expect(run.code == 1)
    let unknown = try TestDaemon(#"{"done": 0, "jobs": [{"id": "x", "result": "not-found"}]}"#)
    let missing = try await unknown.run("cancel", "x")
    #expect(missing.code == 2)
    #expect(missing.errors == "bobbinctl: there is no job \"x\"\n")
    let taken = try TestDaemon(
      #"""
      {"done": 0, "jobs": [{"id": "a", "result": "not-possible", "state": "cancelled", "uniqueOwner": "b\n"}]}
      """#)
    let retry = try await taken.run("retry", "a")
    #expect(
      retry.errors
        == "bobbinctl: the job \"a\" can't be retried: the unfinished job \"b\\n\" has its unique key\n")
    #expect(retry.code == 1)
  }

  @Test("A pause names a queue, a type or everything")
  func pauses() async throws {
    let daemon = try TestDaemon(#"{"paused": true}"#)
    #expect(try await daemon.run("pause", "--queue", "q").errors == "bobbinctl: the queue \"q\" is paused\n")
    #expect(try await daemon.run("resume", "--type", "t").errors == "bobbinctl: the type \"t\" is resumed\n")
    #expect(try await daemon.run("pause").errors == "bobbinctl: everything is paused\n")
    #expect(daemon.requests == ["POST /v1/pause", "POST /v1/resume", "POST /v1/pause"])
    #expect(daemon.bodies == [#"{"queue":"q"}"#, #"{"type":"t"}"#, "{}"])
  }

  @Test("Who resumes everything is told of queues and types that stay paused, and how they are resumed")
  func resumption() async throws {
    let daemon = try TestDaemon(
      #"{"paused": false, "pauses": [{"kind": "queue", "name": "q"}, {"kind": "type", "name": "t"}]}"#)
    #expect(
      try await daemon.run("resume").errors == """
        bobbinctl: everything is resumed
        bobbinctl: the queue "q" is still paused; "bobbinctl resume --queue q" resumes it
        bobbinctl: the type "t" is still paused; "bobbinctl resume --type t" resumes it

        """)
  }

  @Test("resume --all ends the pause of everything and then each other one")
  func resumesAll() async throws {
    let pauses = #"{"paused": false, "pauses": [{"kind": "queue", "name": "q"}, {"kind": "type", "name": "t"}]}"#
    let daemon = try TestDaemon { request in
      .now(.json(data: Data((request.body.count > 2 ? #"{"paused": false, "pauses": []}"# : pauses).utf8)))
    }
    let run = try await daemon.run("resume", "--all")
    #expect(daemon.requests == Array(repeating: "POST /v1/resume", count: 3))
    #expect(daemon.bodies == ["{}", #"{"queue":"q"}"#, #"{"type":"t"}"#])
    #expect(
      run.errors == """
        bobbinctl: the queue "q" is resumed
        bobbinctl: the type "t" is resumed
        bobbinctl: nothing is paused any more

        """)
    #expect(try await daemon.run("resume", "--all", "--queue", "q").code == 64)
    #expect(try await daemon.run("pause", "--all").code == 64)
  }

  @Test(
    "Whoever retries or redrives by conditions is told which state they may have meant",
    arguments: [
      (["retry", "--queue", "q"], "add --state discarded"), (["redrive", "--type", "t"], "add --state quarantined"),
      (["retry", "--queue", "q", "--state", "discarded"], ""), (["retry", "a"], ""), (["cancel", "--queue", "q"], ""),
    ])
  func stateAdvice(arguments: [String], advice: String) async throws {
    let daemon = try TestDaemon(#"{"done": 0}"#)
    let run = try await TestDaemon.run(["--root", daemon.root.path] + arguments)
    #expect(advice.isEmpty ? run.errors == "" : run.errors.contains(advice))
    #expect(run.code == 0)
  }

  @Test("A log shows each attempt, and no control character of a handler reaches the terminal")
  func log() async throws {
    let daemon = try TestDaemon(
      #"{"id": "a", "attempts": [{"number": 1, "outcome": "retryable", "error": "it broke", "log": "one\n\u001b[2Jtwo\n"}]}"#
    )
    let run = try await daemon.run("log", "a")
    #expect(run.lines == ["attempt 1  retryable", "error      it broke", "  one", #"  \x1b[2Jtwo"#])
  }

  @Test("Reasons are listed under the job")
  func why() async throws {
    let daemon = try TestDaemon(#"{"id": "a", "state": "waiting", "reasons": ["it waits", "and waits"]}"#)
    let run = try await daemon.run("why", "a")
    #expect(run.lines == ["a  waiting", "   it waits", "   and waits"])
  }
}
