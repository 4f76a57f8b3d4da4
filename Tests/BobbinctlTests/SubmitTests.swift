import Foundation
import Glibc
import HTTPService
import Synchronization
import Testing

@testable import bobbinctl

@Suite("bobbinctl submit")
struct SubmitTests {
  @Test("Each file is one request with the file's text, and the accepted jobs are named")
  func plain() async throws {
    let daemon = try TestDaemon(SampleReplies.jobs(SampleReplies.job("j", SampleReplies.accepted)), status: 202)
    let file = try daemon.file("a.json", #"{"type": "noop"}"#)
    let run = try await daemon.run("submit", file, "-", input: "from input")
    #expect(run.code == 0)
    #expect(run.lines == ["accepted   j", "accepted   j"])
    #expect(run.errors == "")
    let asked = daemon.requests.map { $0.replacing(/[0-9A-F]{32}/, with: "X") }
    let directory = "directory=\(TestDaemon.workingDirectory)"
    #expect(asked == ["POST /v1/jobs?tag=a.json.X&\(directory)", "POST /v1/jobs?tag=X&\(directory)"])
    #expect(daemon.bodies == [#"{"type": "noop"}"#, "from input"])
  }

  @Test("--place gives a place to the jobs that name none, in any form of file, and leaves what is no job file alone")
  func place() async throws {
    let daemon = try TestDaemon(SampleReplies.jobs(SampleReplies.job("j", SampleReplies.accepted)), status: 202)
    let files = [
      "{type: 'noop', id: 'a',}", #"{"type": "noop", "place": "disk"}"#,
      #"{"jobs": [{"type": "a"}, {"type": "b", "place": "disk"}, 7], "callback": {"type": "c"}}"#, "{oops",
    ]
    for file in files { #expect(try await daemon.run("submit", "--place", "gpu", "-", input: file).code == 0) }
    #expect(
      daemon.bodies == [
        #"{"type":"noop","id":"a","place":"gpu"}"#, #"{"type":"noop","place":"disk"}"#,
        #"{"jobs":[{"type":"a","place":"gpu"},{"type":"b","place":"disk"},7],"callback":{"type":"c","place":"gpu"}}"#,
        "{oops",
      ])
  }

  @Test("--replace has jobs with IDs of their own replace known ones, and the reply tells which did")
  func replace() async throws {
    let job = SampleReplies.job("j", SampleReplies.accepted.merging(["replaced": "true"]) { $1 })
    let daemon = try TestDaemon(SampleReplies.jobs(job), status: 202)
    let files = [
      "{type: 'noop', id: 'a',}", ##"{"jobs": [{"type": "a"}, {"type": "b", "id": "#b"}, {"type": "c", "id": "c"}]}"##,
      #"{"type": "noop", "id": "a", "replace": false}"#,
    ]
    for file in files {
      let run = try await daemon.run("submit", "--replace", "-", input: file)
      #expect(run.lines == ["accepted   j  replaces the job of this ID"])
    }
    #expect(
      daemon.bodies == [
        #"{"type":"noop","id":"a","replace":true}"#,
        ##"{"jobs":[{"type":"a"},{"type":"b","id":"#b"},{"type":"c","id":"c","replace":true}]}"##,
        #"{"type":"noop","id":"a","replace":false}"#,
      ])
  }

  @Test("--wait asks the daemon to wait and ends with 0 when all jobs are completed and on disk")
  func waits() async throws {
    let daemon = try TestDaemon(SampleReplies.jobs(SampleReplies.job("a"), SampleReplies.job("b")))
    let run = try await daemon.run("submit", "--wait=7", "-", input: "{}")
    #expect(run.code == 0)
    #expect(run.lines == ["completed  a  1.3 s", "completed  b  1.3 s"])
    let asked = daemon.requests.map { $0.replacing(/tag=[0-9A-F]{32}/, with: "tag=T") }
    #expect(asked == ["POST /v1/jobs?wait=7&tag=T&directory=\(TestDaemon.workingDirectory)"])
    _ = try await daemon.run("submit", "--wait", "-")
    #expect(daemon.requests.last?.hasPrefix("POST /v1/jobs?wait=600&") == true)
    _ = try await daemon.run("submit", "--wait=1h 30min", "-")
    #expect(daemon.requests.last?.hasPrefix("POST /v1/jobs?wait=5400&") == true)
  }

  @Test(
    "With --wait the exit code tells failed jobs from those that are not done",
    arguments: [
      (SampleReplies.discarded, 200, Int32(1), "discarded  j  the picture is truncated"),
      (["state": #""vanished""#], 200, 1, "vanished   j"),
      (SampleReplies.unfinished, 202, 75, "running    j  the wait has ended; the job keeps running"),
      (
        ["state": #""held""#, "error": #""too many""#], 202, 3,
        "held       j  too many; `bobbinctl release j` releases it, `bobbinctl cancel j` cancels it"
      ),
      (["state": #""waiting""#], 202, 75, "waiting    j  the wait has ended; the job waits for others"),
      (["durable": "false"], 202, 75, "computed   j  not on disk yet"),
    ])
  func waitOutcomes(changes: [String: String], status: Int, code: Int32, line: String) async throws {
    let daemon = try TestDaemon(SampleReplies.jobs(SampleReplies.job("j", changes)), status: status)
    let run = try await daemon.run("submit", "--wait", "-", input: "{}")
    #expect(run.code == code)
    #expect(run.lines == [line])
    #expect(try await daemon.run("submit", "-").code == 0)
  }

  /// Refuses bodies with "bad", holds back those with "slow" until one with "fast" has come.
  private func pickyDaemon() throws -> TestDaemon {
    let slow = HeldReplies()
    return try TestDaemon { request in
      let body = String(decoding: request.body, as: UTF8.self)
      let reply = HTTPResponse.json(data: Data(SampleReplies.jobs(SampleReplies.job(body)).utf8))
      if body == "bad" { return .now(.json(data: Data(SampleReplies.invalidJob.utf8), status: 400)) }
      if body == "slow" { return .later { slow.hold($0, reply) } }
      if body == "fast" { slow.release() }
      return .now(reply)
    }
  }

  @Test("A refused and an unreadable file don't keep others from being submitted; the first failure is the exit code")
  func someBad() async throws {
    let daemon = try pickyDaemon()
    let (good, bad) = (try daemon.file("good", "good"), try daemon.file("bad\u{1b}", "bad"))
    let run = try await daemon.run("submit", bad, daemon.root.path("missing"), daemon.root.path, good)
    #expect(run.code == 65)
    #expect(run.lines == ["completed  good"])
    let lines = run.errors.split(separator: "\n")
    #expect(lines.count == 4)
    #expect(lines[0] == "bobbinctl: \(daemon.root.path)/bad\\x1b: line 3: unknown key \"tpye\"")
    #expect(lines[1].hasSuffix("/missing: it can't be read: No such file or directory (ENOENT)"))
    #expect(lines[2].hasSuffix(": it can't be read: Is a directory (EISDIR)"))
    #expect(lines[3] == "bobbinctl: 3 of 4 files failed")
    #expect(try await daemon.run("submit", daemon.root.path("missing"), bad).code == 66)
  }

  @Test("Files are waited for at the same time and reported in their order")
  func concurrent() async throws {
    let daemon = try pickyDaemon()
    let (slow, fast) = (try daemon.file("slow", "slow"), try daemon.file("fast", "fast"))
    let run = try await daemon.run("submit", "--wait", slow, fast)
    #expect(run.code == 0)
    #expect(run.lines == ["completed  slow  1.3 s", "completed  fast  1.3 s"])
  }

  @Test("More files than are waited for at a time are all submitted")
  func many() async throws {
    let daemon = try pickyDaemon()
    let files = try (0..<100).map { try daemon.file("f\($0)", "job\($0)") }
    let run = try await TestDaemon.run(["--root", daemon.root.path, "submit", "--wait"] + files)
    #expect(run.code == 0)
    #expect(run.lines == (0..<100).map { "completed  job\($0)  1.3 s" })
  }

  @Test("--json prints one document per file, refusals too")
  func json() async throws {
    let daemon = try pickyDaemon()
    let run = try await daemon.run("submit", "--json", try daemon.file("a", "good"), try daemon.file("b", "bad"))
    #expect(run.code == 65)
    #expect(run.lines == [SampleReplies.jobs(SampleReplies.job("good")), SampleReplies.invalidJob])
  }

  @Test("On a terminal a line tells that it is waiting and is gone at the end")
  func progress() async throws {
    let daemon = try TestDaemon(SampleReplies.jobs(SampleReplies.job("a")))
    let terminal = try PseudoTerminal(width: 80)
    let file = try daemon.file("a", "{}")
    let run = try await TestDaemon.run(
      ["--root", daemon.root.path, "submit", "--wait", file], terminal: terminal, environment: ["NO_COLOR": "1"])
    #expect(run.code == 0)
    #expect(
      try terminal.text() == "\rwaiting for the jobs of 1 file\u{1b}[K\r\u{1b}[Kcompleted  a  1.3 s\n")
  }

  @Test("Jobs that failed come first at the end, then the others in their order, and their numbers")
  func failedFirst() async throws {
    let daemon = try TestDaemon(
      SampleReplies.jobs(
        SampleReplies.job("a"), SampleReplies.job("b", SampleReplies.discarded), SampleReplies.job("c")))
    let run = try await daemon.run("submit", "--wait", "-", input: "{}")
    #expect(run.code == 1)
    #expect(
      run.lines == ["discarded  b  the picture is truncated", "completed  a  1.3 s", "completed  c  1.3 s"])
    #expect(run.errors == "bobbinctl: 3 jobs: 2 completed, 1 discarded\n")
  }

  @Test("On a terminal it tells how many of this user's jobs since then are done, and how far each is that runs")
  func liveProgress() async throws {
    let waiting = HeldReplies()
    let progress =
      #"{"fraction":0.4,"unit":"bytes","done":40e6,"total":1e8,"message":null,"ratePerSecond":2.04e6,"#
      + #""secondsLeft":30}"#
    let jobs = SampleReplies.jobs(
      SampleReplies.job("big\u{1b}", SampleReplies.unfinished.merging(["progress": progress]) { $1 }), total: 1,
      counts: #"{"available":7,"completed":2,"discarded":1,"running":1}"#)
    let daemon = try TestDaemon { request in
      if request.method == .get {
        waiting.release()
        return .now(.json(data: Data(jobs.utf8)))
      }
      return .later { waiting.hold($0, .json(data: Data(SampleReplies.jobs(SampleReplies.job("big")).utf8))) }
    }
    let terminal = try PseudoTerminal(width: 101)
    let file = try daemon.file("a", "{}")
    let run = try await TestDaemon.run(
      ["--root", daemon.root.path, "submit", "--wait", file], terminal: terminal, environment: ["NO_COLOR": "1"])
    #expect(run.code == 0)
    let text = try terminal.text()
    let summary = "\r3 of 11 done, 1 running, 1 failed\u{1b}[K\n"
    let line = "big\\x1b  ████████░░░░░░░░░░░░ 40 %, 2 MB/s, 30 s left, 40 of 100 MB\u{1b}[K"
    #expect(text.contains(summary + line), "\(text)")
    // The lines are gone at the end.
    #expect(text.hasSuffix("\r\u{1b}[1A\u{1b}[Jcompleted  big  1.3 s\n"), "\(text)")
    let asked = try #require(daemon.requests.last)
    #expect(asked.hasPrefix("GET /v1/jobs?submitter=\(geteuid())&since=20"), "\(asked)")
    #expect(asked.contains(/Z&text=[0-9A-F]{32}&state=running&limit=100&counts=true$/), "\(asked)")
  }

  @Test("Without a terminal a line on standard error tells now and then how many are done, unless JSON is wanted")
  func plainProgress() async throws {
    let waiting = HeldReplies()
    let looks = Mutex(0)
    let jobs = SampleReplies.jobs(total: 0, counts: #"{"available":2,"completed":1,"retryable":1}"#)
    let daemon = try TestDaemon { request in
      if request.query("state") == "retryable" {
        let failed = ["state": #""retryable""#, "error": #""no ink\n""#]
        return .now(.json(data: Data(SampleReplies.jobs(SampleReplies.job("b", failed)).utf8)))
      }
      if request.method == .get {
        // The second look finds the same.
        let look = looks.withLock { looks in
          looks += 1
          return looks
        }
        if look == 2 { waiting.release() }
        return .now(.json(data: Data(jobs.utf8)))
      }
      return .later { waiting.hold($0, .json(data: Data(SampleReplies.jobs(SampleReplies.job("a")).utf8))) }
    }
    let file = try daemon.file("a", "{}")
    let run = try await daemon.run("submit", "--wait", file)
    #expect(run.code == 0)
    #expect(run.lines == ["completed  a  1.3 s"])
    #expect(run.errors == "bobbinctl: 1 of 4 done, 1 to be tried again\nbobbinctl: b is to be tried again: no ink\\n\n")
    let json = try await daemon.run("submit", "--wait", "--json", file)
    #expect(json.code == 0 && json.errors.isEmpty)
  }

  @Test(
    "Each kind of refusal has its exit code",
    arguments: [
      (400, Int32(65)), (409, 65), (413, 65), (403, 77), (404, 2), (503, 75), (504, 75), (429, 75), (500, 69),
      (302, 69),
    ])
  func refusals(status: Int, code: Int32) async throws {
    let daemon = try TestDaemon(SampleReplies.invalidJob, status: status)
    let run = try await daemon.run("submit", "-", input: "{}")
    #expect(run.code == code)
    #expect(run.errors == "bobbinctl: standard input: line 3: unknown key \"tpye\"\n")
    let bare = try await TestDaemon("oops", status: status).run("submit", "-", input: "{}")
    #expect(bare.code == code)
    #expect(bare.errors.contains("HTTP status \(status) and no readable error"))
  }

  @Test("A file over the daemon's limit is refused")
  func tooLarge() async throws {
    let daemon = try TestDaemon(SampleReplies.jobs())
    let run = try await daemon.run("submit", try daemon.file("big", String(repeating: " ", count: 3 << 20)))
    #expect(run.code == 65)
    #expect(run.errors.contains("larger than 1048576 bytes"))
    let huge = try await daemon.run("submit", try daemon.file("huge", String(repeating: " ", count: 17 << 20)))
    #expect(huge.code == 65)
  }
}
