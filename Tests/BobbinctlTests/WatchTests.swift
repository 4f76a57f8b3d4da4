import Foundation
import HTTPService
import StatusReplies
import Synchronization
import TestSupport
import Testing

@testable import bobbinctl

@Suite("bobbinctl watch and batch")
struct WatchTests {
  /// A batch of four of which more are done at each look.
  private func batch(last: String, failed: String...) throws -> TestDaemon {
    let looks = Mutex(0)
    let failures = SampleReplies.jobs(failed[0], total: failed.count)
    let running = SampleReplies.job("r", SampleReplies.unfinished)
    return try TestDaemon { request in
      if request.query("state") != "running" { return .now(.json(data: Data(failures.utf8))) }
      let look = looks.withLock { looks in
        looks += 1
        return looks
      }
      let reply =
        look == 1
        ? SampleReplies.jobs(running, total: 1, counts: #"{"available":2,"completed":1,"running":1}"#)
        : SampleReplies.jobs(total: 0, counts: last)
      return .now(.json(data: Data(reply.utf8)))
    }
  }

  @Test("A batch is followed to its end, where those that failed come before the numbers; no line replaces another")
  func plain() async throws {
    let daemon = try batch(
      last: #"{"completed":3,"discarded":1}"#, failed: SampleReplies.job("bad", SampleReplies.discarded))
    let run = try await daemon.run("watch", "--batch", "b")
    #expect(run.code == 1)
    #expect(
      run.lines == [
        "1 of 4 done, 1 running", "discarded  bad  the picture is truncated", "4 jobs: 3 completed, 1 discarded",
      ])
    #expect(!run.errors.contains("\u{1b}"))
    #expect(
      daemon.requests == [
        "GET /v1/jobs?batch=b&state=running&limit=100&counts=true",
        "GET /v1/jobs?batch=b&state=running&limit=100&counts=true",
        "GET /v1/jobs?batch=b&state=discarded,cancelled,quarantined&limit=20",
      ])
  }

  @Test("On a terminal the lines replace each other, and none is left at the end")
  func terminal() async throws {
    let daemon = try batch(last: #"{"completed":4}"#, failed: "")
    let terminal = try PseudoTerminal(width: 60)
    let run = try await TestDaemon.run(
      ["--root", daemon.root.path, "watch", "--batch", "b"], terminal: terminal, environment: ["NO_COLOR": "1"])
    #expect(run.code == 0)
    let text = try terminal.text()
    #expect(text.hasPrefix("\r1 of 4 done, 1 running\u{1b}[K\nr        running for "), "\(text)")
    #expect(text.hasSuffix("\u{1b}[K\r\u{1b}[1A\u{1b}[J4 jobs: 4 completed\n"), "\(text)")
  }

  @Test(
    "Watching ends when nothing can end by itself any more, with a code that says how",
    arguments: [
      (#"{"completed":4}"#, Int32(0)), (#"{"completed":2,"held":1,"waiting":1}"#, 3),
      (#"{"completed":3,"cancelled":1}"#, 1),
    ])
  func ends(counts: String, code: Int32) async throws {
    let daemon = try TestDaemon(SampleReplies.jobs(SampleReplies.job("a"), total: 1, counts: counts))
    #expect(try await daemon.run("watch", "--batch", "b").code == code)
  }

  @Test("Jobs are watched by their IDs, too; one that is not there ends it with 2")
  func named() async throws {
    let daemon = try TestDaemon { request in
      let id = request.target.components.last ?? ""
      let changes = id == "bad" ? SampleReplies.discarded : [:]
      let reply = id == "x" ? SampleReplies.notFound : SampleReplies.job(id, changes)
      return .now(.json(data: Data(reply.utf8), status: id == "x" ? 404 : 200))
    }
    let run = try await daemon.run("watch", "a", "bad")
    #expect(run.code == 1)
    #expect(
      run.lines == [
        "discarded  bad  the picture is truncated", "completed  a  1.3 s", "2 jobs: 1 completed, 1 discarded",
      ])
    #expect(try await daemon.run("watch", "a", "x").code == 2)
  }

  @Test("A batch is shown with its numbers, those that failed, and those that run")
  func shown() async throws {
    let failed = SampleReplies.jobs(SampleReplies.job("bad", SampleReplies.discarded), total: 2)
    let progress = #"{"fraction":0.5,"unit":"pages","done":5,"total":10,"ratePerSecond":1,"secondsLeft":5}"#
    let running = SampleReplies.job("r", SampleReplies.unfinished.merging(["progress": progress]) { $1 })
    let picture = SampleReplies.jobs(running, total: 1, counts: #"{"completed":10,"discarded":2,"running":1}"#)
    let daemon = try TestDaemon { request in
      .now(.json(data: Data((request.query("counts") == nil ? failed : picture).utf8)))
    }
    let run = try await daemon.run("batch", "b")
    #expect(run.code == 0)
    #expect(
      run.lines == [
        "batch  b", "done   12 of 13 done, 1 running, 2 failed", "jobs   10 completed, 2 discarded, 1 running",
        "discarded  bad  the picture is truncated",
        "r  ██████████░░░░░░░░░░ 50 %, 1 pages/s, 5 s left, 5 of 10 pages",
      ])
    #expect(run.errors == "bobbinctl: 1 more failed; \"bobbinctl list --batch\" with --state lists them\n")
  }

  @Test("A batch is named by the name in its schedule's file, or by the beginning of its own, if no other has that")
  func handles() async throws {
    let batches = ["day@2026-11-02T00:00:00Z", "day@2026-11-01T00:00:00Z", "pictures-1", "pictures-2", "rows"]
    let list = batches.map { #"{"name":"\#($0)","lastAcceptedAt":null,"jobs":{"completed":1},"atLeast":false}"# }
    let daemon = try TestDaemon { request in
      if request.target.components.last == "batches" {
        return .now(.json(data: Data(#"{"batches":[\#(list.joined(separator: ","))]}"#.utf8)))
      }
      let isKnown = batches.contains(request.query("batch") ?? "")
      let reply = SampleReplies.jobs(total: isKnown ? 1 : 0, counts: isKnown ? #"{"completed":1}"# : "{}")
      return .now(.json(data: Data(reply.utf8)))
    }
    for (handle, name) in [("day", batches[0]), ("row", "rows"), ("pictures-2", "pictures-2")] {
      #expect(try await daemon.run("batch", handle).lines.first == "batch  \(name)")
      #expect(try await daemon.run("watch", "--batch", handle).code == 0)
      let reply = try await daemon.run("--json", "batch", handle)
      #expect(reply.code == 0 && reply.lines.count == 1 && reply.output.contains(#""completed":1"#), "\(reply.output)")
    }
    let several = try await daemon.run("batch", "pictures")
    #expect(several.code == 64)
    #expect(several.errors.contains(#"several batches begin with "pictures": "pictures-1", "pictures-2""#))
    let none = try await daemon.run("batch", "b")
    #expect(none.code == 2)
    #expect(none.errors.hasPrefix("bobbinctl: there is no job of the batch \"b\"\n"))
  }

  @Test(
    "The summary tells what there is to tell",
    arguments: [
      (
        ["completed": 12, "running": 3, "available": 285, "discarded": 1], 0.2,
        "13 of 301 done, 3 running, 1 failed, 0.2/s, about 24 min left"
      ),
      (["completed": 12, "held": 3], nil, "12 of 15 done, 3 held"),
      (["completed": 12], 4, "12 of 12 done"),
      (["available": 100, "computed": 1], 12.3, "0 of 101 done, 12/s, about 8 s left"),
    ] as [([String: Int], Double?, String)])
  func summary(counts: [String: Int], rate: Double?, text: String) {
    #expect(JobTally(counts).text(rate: rate) == text)
  }

  @Test("The rate is that of the last minute, and none while nothing gets done")
  func pace() {
    var pace = JobPace()
    let start = ContinuousClock.now
    pace.note(done: 5, at: start)
    #expect(pace.rate == nil)
    pace.note(done: 5, at: start + .seconds(1))
    #expect(pace.rate == nil)
    pace.note(done: 25, at: start + .seconds(10))
    #expect(pace.rate == 2)
    for second in 11...100 { pace.note(done: 25 + second - 10, at: start + .seconds(second)) }
    #expect(pace.rate == 1)
    for second in 101...200 { pace.note(done: 115, at: start + .seconds(second)) }
    #expect(pace.rate == nil)
  }

  @Test("Lines of running jobs fit any width: names lose their middle, and bar, rate and time left stay")
  func widths() throws {
    let progress =
      #"{"fraction":0.4,"unit":"bytes","done":40e6,"total":1e8,"message":"m","ratePerSecond":2e6,"secondsLeft":30}"#
    let names = [String(repeating: "a", count: 40) + "z", "short"]
    let jobs = try names.map { name in
      let text = SampleReplies.job(name, SampleReplies.unfinished.merging(["progress": progress]) { $1 })
      return try JSONDecoder().decode(JobReply.self, from: Data(text.utf8))
    }
    for width in [20, 40, 60, 79, 120] {
      let lines = RunningLines.text(jobs, width: width, TimeText())
      #expect(lines.allSatisfy { $0.count <= width })
      if width >= 40 { #expect(lines.allSatisfy { $0.contains("█") && $0.contains("40 %, 2 MB/s, 30 s") }, "\(lines)") }
    }
    // Where there is no room for a bar, rate and time are what is wanted.
    let least = RunningLines.text(jobs, width: 34, TimeText())
    #expect(least.allSatisfy { $0.hasSuffix("40 %, 2 MB/s, 30 s left") && !$0.contains("█") }, "\(least)")
    let narrow = RunningLines.text(jobs, width: 60, TimeText())
    #expect(
      narrow == [
        "aaaaaaaaaaaa…aaaaaaaaaaz  ████░░░░░░ 40 %, 2 MB/s, 30 s left",
        "short                     ████░░░░░░ 40 %, 2 MB/s, 30 s left",
      ], "\(narrow)")
  }
}
