import Foundation
import HTTPService
import Testing

@Suite("bobbinctl list")
struct ListTests {
  @Test("Jobs are a table with aligned columns; what is not on disk yet is computed")
  func plain() async throws {
    let daemon = try TestDaemon(
      SampleReplies.jobs(
        SampleReplies.job("b"), SampleReplies.job("longer-id", ["durable": "false"]),
        SampleReplies.job("c", SampleReplies.discarded), total: 3))
    let run = try await daemon.run("list")
    #expect(run.code == 0)
    #expect(run.errors == "")
    #expect(daemon.requests == ["GET /v1/jobs"])
    try #require(run.lines.count == 4)
    let created = try #require(run.lines[1].firstRange(of: /\d+ d ago/)).lowerBound
    let age = run.lines[1][created...].prefix { $0 != " " }.count + 6
    #expect(run.lines[0].hasPrefix("ID         TYPE          STATE      ATTEMPT  CREATED"))
    #expect(run.lines[1].hasPrefix("b          image.encode  completed  1/5      "))
    #expect(run.lines[1].hasSuffix(" d ago  1.3 s"))
    #expect(run.lines[2].hasPrefix("longer-id  image.encode  computed   1/5      "))
    #expect(run.lines[3].hasSuffix(" d ago  1.3 s  the picture is truncated"))
    #expect(age > 6)
  }

  @Test("State, type and limit are asked for, and a hint tells that there are more")
  func query() async throws {
    let daemon = try TestDaemon(SampleReplies.jobs(SampleReplies.job("a"), total: 30, next: "here"))
    let run = try await daemon.run("list", "--state=running", "--type", "a&b", "--limit", "1")
    #expect(daemon.requests == ["GET /v1/jobs?state=running&type=a&b&limit=1"])
    #expect(run.errors == "bobbinctl: 1 of 30 jobs shown; --limit shows more, --after here the next\n")
    #expect(run.code == 0)
  }

  @Test("Every condition is asked for, in either order, from where another list has ended")
  func conditions() async throws {
    let daemon = try TestDaemon(SampleReplies.jobs(SampleReplies.job("a")))
    let run = try await daemon.run(
      "list", "--oldest", "--after=here", "--submitter", "root", "--file=f.json", "--text", "a b", "--argument=size=3",
      "--argument", "a.b=c=d", "--queue=q", "--batch=b")
    #expect(
      daemon.requests == [
        "GET /v1/jobs?queue=q&batch=b&file=f.json&text=a b&submitter=0&argument.size=3&argument.a.b=c=d&order=oldest"
          + "&cursor=here"
      ])
    #expect(run.errors == "")
    // The daemon refuses a condition that comes twice.
    let twice = try await daemon.run("list", "--argument=size=3", "--argument=size=4")
    #expect(twice.errors.contains("--argument takes each KEY once") && daemon.requests.count == 1, "\(twice.errors)")
  }

  @Test("Short pages of the daemon are put together until as many are shown as were asked for, or there are no more")
  func shortPages() async throws {
    let daemon = try TestDaemon { request in
      let reply =
        switch request.query("cursor") {
        case nil: SampleReplies.jobs(SampleReplies.job("a"), total: 1, next: "one")
        case "one": SampleReplies.jobs(next: "two")
        default: SampleReplies.jobs(SampleReplies.job("b"))
        }
      return .now(.json(data: Data(reply.utf8)))
    }
    let run = try await daemon.run("list", "--text=x", "--limit=5")
    #expect(run.lines.count == 3)
    #expect(
      daemon.requests == [
        "GET /v1/jobs?text=x&limit=5", "GET /v1/jobs?text=x&limit=4&cursor=one",
        "GET /v1/jobs?text=x&limit=4&cursor=two",
      ])
    #expect(run.errors == "")
  }

  @Test("Times are asked for as moments, whether they are given in local time or as how long ago they were")
  func times() async throws {
    let daemon = try TestDaemon(SampleReplies.jobs(SampleReplies.job("a"), total: 1))
    _ = try await daemon.run("list", "--since", "2026-11-21", "--until=2026-11-21 10:30")
    #expect(daemon.requests == ["GET /v1/jobs?since=2026-11-21T00:00:00.000Z&until=2026-11-21T10:30:00.000Z"])
    _ = try await daemon.run("list", "--since=2h")
    let since = try #require(daemon.requests.last?.split(separator: "=").last)
    let date = try Date.ISO8601FormatStyle(includingFractionalSeconds: true).parse(String(since))
    #expect((7_200...7_300).contains(-date.timeIntervalSinceNow))
  }

  @Test("--count prints the number of all jobs that match and nothing else")
  func count() async throws {
    let counts = #"{"held":10,"waiting":20,"completed":5}"#
    let daemon = try TestDaemon(SampleReplies.jobs(SampleReplies.job("a"), total: 30, counts: counts))
    let run = try await daemon.run("list", "--count", "--state=held", "--state", "waiting")
    #expect(run.lines == ["30"])
    #expect(run.errors == "")
    #expect(daemon.requests == ["GET /v1/jobs?state=held,waiting&limit=1&counts=true"])
  }

  @Test("--offset leaves out the first jobs, however many a reply has, and tells if there are no more")
  func offset() async throws {
    let daemon = try TestDaemon { request in
      let reply =
        switch request.query("cursor") {
        case nil: #"{"jobs":[\#(SampleReplies.job("a")),\#(SampleReplies.job("b"))],"next":"two","count":4}"#
        case "two": #"{"jobs":[\#(SampleReplies.job("c"))],"next":"three","count":4}"#
        default: #"{"jobs":[\#(SampleReplies.job("d"))],"next":null,"count":4}"#
        }
      return .now(.json(data: Data(reply.utf8)))
    }
    let run = try await daemon.run("list", "--offset=3")
    #expect(run.lines.count == 2 && run.lines[1].hasPrefix("d "), "\(run.lines)")
    #expect(
      daemon.requests == [
        "GET /v1/jobs?limit=3", "GET /v1/jobs?limit=1&cursor=two", "GET /v1/jobs?cursor=three",
      ])
    let beyond = try await daemon.run("list", "--offset=9")
    #expect(
      beyond.code == 0 && beyond.output == "" && beyond.errors == "bobbinctl: there are no more than 9 such jobs\n")
    for other in ["--count", "--json", "--after=x"] {
      #expect(try await daemon.run("list", "--offset=3", other).code == 64, "\(other)")
    }
  }

  @Test("No jobs is no error, and nothing on standard output")
  func none() async throws {
    let run = try await TestDaemon(SampleReplies.jobs(total: 0)).run("list")
    #expect(run.code == 0)
    #expect(run.output == "")
    #expect(run.errors == "bobbinctl: no such jobs\n")
  }

  @Test("--json prints the reply as it came")
  func json() async throws {
    let reply = SampleReplies.jobs(SampleReplies.job("a"), total: 1)
    let run = try await TestDaemon(reply).run("list", "--json")
    #expect(run.output == reply + "\n")
  }

  @Test("Hostile IDs, types and errors can't move the cursor, break lines or reorder text")
  func hostile() async throws {
    let daemon = try TestDaemon(
      SampleReplies.jobs(
        SampleReplies.job("a\n\u{1b}[2J\u{202e}\u{9b}x\u{0}", ["error": #""\u001b]0;x\u0007""#, "type": #""\t""#])))
    let run = try await daemon.run("list")
    #expect(run.lines.count == 2)
    #expect(run.lines[1].hasPrefix(#"a\n\x1b[2J\u{202e}\u{9b}x\x00  \t"#))
    #expect(run.lines[1].hasSuffix(#"\x1b]0;x\x07"#))
    #expect(run.output.unicodeScalars.allSatisfy { $0 == "\n" || $0.properties.generalCategory != .control })
  }

  @Test("On a terminal lines are cut to its width, IDs in their middle, and states are coloured")
  func terminal() async throws {
    let id = "import-" + String(repeating: "x", count: 100) + "-7k3f9q"
    let daemon = try TestDaemon(
      SampleReplies.jobs(SampleReplies.job(id), SampleReplies.job("b", SampleReplies.discarded)))
    for (environment, isColoured) in [([:], true), (["NO_COLOR": "1"], false), (["TERM": "dumb"], false)] {
      let terminal = try PseudoTerminal(width: 90)
      let run = try await TestDaemon.run(
        ["--root", daemon.root.path, "list"], terminal: terminal, environment: environment)
      #expect(run.code == 0)
      let text = try terminal.text()
      #expect(text.contains("\u{1b}[31mdiscarded\u{1b}[0m") == isColoured)
      #expect(text.contains("\u{1b}") == isColoured)
      let lines = text.replacing(/\x1b\[\d+m/, with: "").split(separator: "\n")
      #expect(lines.count == 3)
      #expect(lines.allSatisfy { $0.count <= 90 })
      #expect(
        lines[1].hasPrefix("import-x") && lines[1].contains("…") && lines[1].contains("x-7k3f9q  "), "\(lines[1])")
    }
  }

  @Test("A state that the daemon doesn't know is a usage error with the daemon's words")
  func refused() async throws {
    let reply = #"{"error":{"code":"bad-request","message":"there is no state \"runing\"","hint":"running"}}"#
    let run = try await TestDaemon(reply, status: 400).run("list", "--state", "runing")
    #expect(run.code == 64)
    #expect(run.errors == "bobbinctl: there is no state \"runing\"\nbobbinctl: hint: running\n")
  }
}
