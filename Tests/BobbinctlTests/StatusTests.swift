import Testing

@Suite("bobbinctl status")
struct StatusTests {
  @Test("The daemon's state is told in lines of a name and a value, unknown states of jobs among them")
  func plain() async throws {
    let daemon = try TestDaemon(SampleReplies.status)
    let run = try await daemon.run("status")
    #expect(run.code == 0)
    #expect(run.errors == "")
    #expect(daemon.requests == ["GET /v1/status"])
    #expect(run.lines.first == "bobbind      0.1.0")
    #expect(run.lines[3].hasPrefix("started      2026-01-02 03:04:05 +0000, "))
    #expect(run.lines.contains("workers      1 of 2 busy"))
    #expect(run.lines.contains("jobs now     1 running, 4 sleeping"))
    #expect(run.lines.contains("since start  10 completed, 1 discarded, 2 files refused"))
    #expect(!run.lines.contains { $0.hasPrefix("paused") })
    #expect(run.lines.contains("unflushed    5 objects (70 bytes), the oldest for 100 ms"))
    #expect(run.lines.contains("flushes      3, the last took 4 ms"))
    #expect(run.lines.contains("main         123 occupations, median 10 µs, 99 % 200 µs, longest 1 ms"))
  }

  @Test("What is paused is told, and no line is longer than a terminal is wide, whatever states jobs are in")
  func pauses() async throws {
    let states = ["available", "scheduled", "waiting", "held", "running", "retryable", "computed"]
    let ends = ["completed", "discarded", "cancelled", "quarantined"]
    let jobs = (states + ends).map { "\"\($0)\": 10" }.joined(separator: ",")
    let daemon = try TestDaemon(
      #"""
      {"version":"1","state":"running","jobs":{\#(jobs)},
       "pauses":[{"kind":"all","name":null},{"kind":"queue","name":"images"},{"kind":"type","name":"import"}]}
      """#)
    let run = try await daemon.run("status")
    let paused = run.lines.filter { $0.hasPrefix("paused ") }.map { $0.dropFirst("paused".count).drop { $0 == " " } }
    #expect(paused == ["everything", "the queue \"images\"", "the type \"import\""])
    let now = try #require(run.lines.first { $0.hasPrefix("jobs now") })
    let ended = try #require(run.lines.first { $0.hasPrefix("since start") })
    #expect(states.allSatisfy(now.contains) && ends.allSatisfy(ended.contains))
    #expect(!ends.contains(where: now.contains))
    let terminal = try PseudoTerminal(width: 80)
    _ = try await TestDaemon.run(
      ["--root", daemon.root.path, "status"], terminal: terminal, environment: ["NO_COLOR": "1"])
    let lines = try terminal.text().split(separator: "\n").map(String.init)
    #expect(lines.allSatisfy { $0.count <= 80 })
    let words = lines.filter { !$0.hasPrefix("paused") }.joined(separator: " ").split(separator: " ")
    #expect(words == run.lines.filter { !$0.hasPrefix("paused") }.joined(separator: " ").split(separator: " "))
    #expect(lines.contains { $0.hasPrefix("             10 ") || $0.hasPrefix("             held") }, "\(lines)")
  }

  @Test("--json prints the reply as it came, before or after the command")
  func json() async throws {
    let daemon = try TestDaemon(SampleReplies.status)
    for run in [try await daemon.run("--json", "status"), try await daemon.run("status", "--json")] {
      #expect(run.code == 0)
      #expect(run.output == SampleReplies.status + "\n")
    }
  }

  @Test("A daemon that tells only its version and state is understood, an error of its writer shown on one line")
  func sparse() async throws {
    let daemon = try TestDaemon(
      #"{"version":"9.0","state":"storage-full","writer":{"lastError":"disk\nfull \u001b[31m"},"new":[1]}"#)
    let run = try await daemon.run("status")
    #expect(run.lines == ["bobbind       9.0", "state         storage-full", #"writer error  disk\nfull \x1b[31m"#])
  }

  @Test(
    "Replies that can't be understood end with 69 and say what is wrong",
    arguments: [
      ("[]", "the document has another type than expected"), ("{}", "version is missing"), ("<html>", "it is not JSON"),
      (#"{"version":"1","state":"running","workers":{"count":1,"busy":"x"}}"#, "workers.busy has another type"),
      ("", "it is not JSON"), ("\u{0}\u{ff}", "it is not JSON"),
    ])
  func unreadable(reply: String, explanation: String) async throws {
    let run = try await TestDaemon(reply).run("status")
    #expect(run.code == 69)
    #expect(run.output == "")
    #expect(run.errors.contains("the daemon's reply can't be understood: \(explanation)"))
    #expect(run.errors.contains("bobbinctl 0.1.0"))
  }

  @Test("With --json a reply that is no JSON is not printed")
  func noJSON() async throws {
    let daemon = try TestDaemon("<html>\u{1b}[2J")
    let run = try await daemon.run("status", "--json")
    #expect(run.output == "")
    #expect(run.code == 69)
  }

  @Test("Absurd numbers are shown, not stumbled over")
  func absurd() async throws {
    let daemon = try TestDaemon(
      #"""
      {"version":"1","state":"running","uptimeSeconds":1e300,"startedAt":"9999-99-99",
       "main":{"occupations":1,"p50Seconds":-5,"p99Seconds":1e-300,"maxSeconds":86400}}
      """#)
    let run = try await daemon.run("status")
    #expect(run.code == 0)
    #expect(run.lines.contains { $0.hasPrefix("started  9999-99-99") })
    #expect(run.lines.contains("main     1 occupation, median 0 s, 99 % 0 µs, longest 1 d"))
  }
}
