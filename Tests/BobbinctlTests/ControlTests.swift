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
      (["delete", "--batch", "b"], #"{"command":"delete","where":{"batch":"b"}}"#),
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
    #expect(missing.errors.hasPrefix("bobbinctl: there is no job \"x\"\nbobbinctl: commands take a whole ID"))
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

  @Test("Of a selection it is told how many it was not done for, and why for some; a trial shows which would be meant")
  func selection() async throws {
    let daemon = try TestDaemon(
      #"""
      {"done": 2, "matched": 3, "counts": {"done": 2, "not-possible": 1}, "dryRun": false,
       "jobs": [{"id": "a", "result": "done"}, {"id": "b", "result": "not-possible", "state": "running"}]}
      """#)
    let run = try await daemon.run("hold", "--text", "x", "--argument", "size=3")
    #expect(daemon.bodies == [#"{"command":"hold","where":{"text":"x","argument":{"size":"3"}}}"#])
    #expect(run.output == "2 jobs held\n")
    #expect(
      run.errors.hasPrefix(
        "bobbinctl: the job \"b\" can't be held: it is running\n"
          + "bobbinctl: 1 of the 3 jobs that meet the conditions were not\n"), "\(run.errors)")
    #expect(run.code == 0)
    let trial = try TestDaemon(
      #"{"done": 0, "matched": 2, "counts": {}, "dryRun": true, "jobs": [{"id": "a", "result": "matched"}]}"#)
    let shown = try await trial.run("cancel", "--dry-run", "--submitter=7", "--state=held")
    #expect(
      trial.bodies == [#"{"where":{"state":"held","submitter":7},"dryRun":true,"command":"cancel"}"#]
        || trial.bodies == [#"{"command":"cancel","where":{"state":"held","submitter":7},"dryRun":true}"#])
    #expect(shown.output == "a\n")
    #expect(
      shown.errors == "bobbinctl: 2 jobs would be cancelled if their states allow it; the first is shown\n")
    #expect(shown.code == 0)
  }

  @Test("A job that is named by another, or is just being replaced, is not deleted, and the reason is told")
  func needed() async throws {
    let daemon = try TestDaemon(
      #"""
      {"done": 0, "jobs": [{"id": "a", "result": "not-possible", "state": "completed", "neededBy": "b"},
        {"id": "c", "result": "replacing"}]}
      """#)
    let run = try await daemon.run("delete", "a", "c")
    #expect(
      run.errors == """
        bobbinctl: the job "a" can't be deleted: the unfinished job "b" names it
        bobbinctl: the job "c" is just being replaced; try again in a moment

        """)
    #expect(run.code == 1)
  }

  @Test("An edit sends values as JSON, or as texts if they are none, and all arguments as they are given")
  func edits() async throws {
    let daemon = try TestDaemon(#"{"id": "x"}"#)
    let file = try daemon.file("arguments.json", "{a: 1, /* as in a job file */}")
    let changes = [
      (
        ["a=1", "b.0=some text", "c=\"1\"", "d=e=f", "--unset", "g", "--priority=-3"],
        #"{"set":{"a":1,"b.0":"some text","c":"1","d":"e=f"},"unset":["g"],"priority":-3}"#
      ),
      (["--arguments", #"{"a": null}"#], #"{"arguments":{"a":null}}"#),
      (["--arguments", file], #"{"arguments":{"a":1}}"#),
    ]
    for (arguments, _) in changes {
      let run = try await TestDaemon.run(["--root", daemon.root.path, "edit", "x"] + arguments)
      #expect(run.code == 0 && run.output == "edited     x\n", "\(run.errors)")
    }
    #expect(daemon.requests == Array(repeating: "POST /v1/jobs/x/edit", count: 3))
    // Relative paths start where the user is.
    let place = #","directory":"\#(FileManager.default.currentDirectoryPath)"}"#
    #expect(daemon.bodies == changes.map { $0.1.dropLast() + place })
    let nothing = try await daemon.run("edit", "x")
    #expect(nothing.code == 64 && nothing.errors.contains("nothing is to be changed"), "\(nothing.errors)")
  }

  /// Has the job "x" edited on a terminal; returns how the tool ended, and what it has said.
  private func edit(_ daemon: TestDaemon, with editor: String) async throws -> (code: Int32, text: String) {
    let terminal = try PseudoTerminal(width: 80)
    let run = try await TestDaemon.run(
      ["--root", daemon.root.path, "edit", "x"], terminal: terminal, environment: ["VISUAL": "", "EDITOR": editor])
    return (run.code, try terminal.text() + run.errors)
  }

  @Test("On a terminal the arguments are edited in the user's editor, and sent with what the user has seen")
  func editor() async throws {
    let job = SampleReplies.job("x", ["arguments": #"{"input":"a.csv","n":1}"#])
    let daemon = try TestDaemon(job)
    #expect(try await edit(daemon, with: "sed -i s/a.csv/b.csv/") == (0, "edited     x\n"))
    #expect(try await edit(daemon, with: "true") == (0, "bobbinctl: nothing was changed\n"))
    #expect(
      try await edit(daemon, with: "false").text == "bobbinctl: the editor \"false\" failed; nothing was changed\n")
    // Nothing has to be typed again.
    let mistake = try await edit(daemon, with: "sed -i s/}/,,/")
    let kept = try #require(mistake.text.firstMatch(of: /what you have typed is in (\/[^ ,]*\.json), which/)).output.1
    #expect(mistake.code == 65 && mistake.text.contains("the edited arguments: line"), "\(mistake)")
    #expect(try String(contentsOfFile: String(kept), encoding: .utf8).contains(",,"))
    try FileManager.default.removeItem(atPath: String(kept))
    // Nor where the editor fails.
    let failed = try await edit(daemon, with: #"sh -c 'sed -i s/a.csv/c.csv/ "$1"; exit 1' sh"#)
    let left = try #require(failed.text.firstMatch(of: /what you have typed is in (\/[^ ,]*\.json), which/)).output.1
    #expect(failed.code == 66 && failed.text.contains("failed; nothing was changed"), "\(failed)")
    #expect(try String(contentsOfFile: String(left), encoding: .utf8).contains("c.csv"))
    try FileManager.default.removeItem(atPath: String(left))
    let get = "GET /v1/jobs/x"
    #expect(daemon.requests == [get, "POST /v1/jobs/x/edit", get, get, get, get])
    #expect(
      daemon.bodies.filter { !$0.isEmpty } == [
        #"{"arguments":{"input":"b.csv","n":1},"seen":{"input":"a.csv","n":1},"directory":"\#(FileManager.default.currentDirectoryPath)"}"#
      ])
  }

  @Test("Ctrl-C is for the editor alone: what it saves then is sent, and nothing is where it ends by that")
  func interruptedEditor() async throws {
    let daemon = try TestDaemon(SampleReplies.job("x", ["arguments": #"{"input":"a.csv"}"#]))
    // As a terminal does it: to all of the process group, with the shell that has started the editor.
    let saving = try daemon.file("saving", #"trap 'sed -i s/a.csv/b.csv/ "$1"' INT; kill -INT 0"#)
    #expect(try await edit(daemon, with: "sh \(saving)") == (0, "edited     x\n"))
    let ending = try daemon.file("ending", "kill -INT 0")
    let ended = try await edit(daemon, with: "sh \(ending)")
    #expect(ended.code == 66 && ended.text.contains("failed; nothing was changed"), "\(ended)")
    #expect(daemon.requests == ["GET /v1/jobs/x", "POST /v1/jobs/x/edit", "GET /v1/jobs/x"])
    let sent = #"{"arguments":{"input":"b.csv"},"seen":{"input":"a.csv"},"#
    #expect(daemon.bodies.contains { $0.hasPrefix(sent) }, "\(daemon.bodies)")
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
    let pauses = #"""
      {"paused": false, "pauses": [{"kind": "queue", "name": "q"}, {"kind": "type", "name": "t"},
        {"kind": "schedule", "name": "s"}]}
      """#
    let daemon = try TestDaemon { request in
      .now(.json(data: Data((request.body.count > 2 ? #"{"paused": false, "pauses": []}"# : pauses).utf8)))
    }
    let run = try await daemon.run("resume", "--all")
    #expect(
      daemon.requests == Array(repeating: "POST /v1/resume", count: 3) + ["POST /v1/schedules/s/resume"])
    #expect(daemon.bodies == ["{}", #"{"queue":"q"}"#, #"{"type":"t"}"#, "{}"])
    #expect(
      run.errors == """
        bobbinctl: the queue "q" is resumed
        bobbinctl: the type "t" is resumed
        bobbinctl: the schedule "s" is resumed
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
