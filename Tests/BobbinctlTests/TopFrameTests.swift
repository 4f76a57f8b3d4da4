import Foundation
import StatusReplies
import Testing

@testable import bobbinctl

@Suite("The frames of bobbinctl top")
struct TopFrameTests {
  private func data(running: Int = 2, failures: Int = 1) throws -> TopData {
    let status = #"""
      {"version":"0.1.0","state":"running","uptimeSeconds":11100,"workers":{"count":4,"busy":3},
       "jobs":{"running":2,"available":12,"completed":900,"discarded":1},"pauses":[{"kind":"queue","name":"mail"}],
       "writer":{"unflushedObjects":5,"unflushedBytes":70,"oldestUnflushedSeconds":0.1,"flushes":3}}
      """#
    let queues = #"""
      {"paused":false,"queues":[{"name":"default","paused":false,"concurrency":null,"jobs":{"running":2,"available":12}},
        {"name":"mail","paused":true,"concurrency":1,"jobs":{}}],
       "types":[{"name":"noop","paused":false,"concurrency":null,"jobs":{"running":2}}]}
      """#
    var data = TopData(status: try decoded(status))
    data.queues = try decoded(queues)
    data.rate = 1204.4
    data.time = Date(timeIntervalSince1970: 1_767_323_050)
    data.running = try (0..<running).map { number in
      try decoded(
        SampleReplies.job(
          "job \(number)",
          SampleReplies.unfinished.merging([
            "progress": #"{"fraction":0.4,"unit":"rows","done":40,"total":100,"ratePerSecond":20,"secondsLeft":3}"#,
            "startedAt": #""2026-01-02T03:0\#(number % 10):05Z""#,
          ]) { $1 }))
    }
    data.failures = try (0..<failures).map { number in
      try decoded(SampleReplies.job("bad \(number)", SampleReplies.discarded))
    }
    return data
  }

  private func decoded<Value: Decodable>(_ text: String) throws -> Value {
    try JSONDecoder().decode(Value.self, from: Data(text.utf8))
  }

  private func frame(_ data: TopData, _ view: TopView = TopView(), _ width: Int, _ height: Int?) -> TopFrame {
    TopFrame(data, view, size: .init(width: width, height: height), usesColor: false)
  }

  @Test("The daemon is on top, then the running jobs, what waits and what failed, and the keys below")
  func whole() throws {
    var lines = frame(try data(), TopView(), 120, 24).lines
    // The local time of day.
    lines[0] = lines[0].replacing(/\d\d:\d\d:\d\d/, with: "TIME")
    #expect(
      lines == [
        "bobbind      0.1.0, running, up 3 h 5 min, TIME",
        "workers      ███████████████░░░░░ 3 of 4 busy, 1204 jobs/s",
        "jobs now     2 running, 12 available",
        "since start  900 completed, 1 discarded",
        "unflushed    5 objects (70 bytes), the oldest for 100 ms",
        "paused       the queue \"mail\"",
        "",
        "RUNNING (2) ◂  TYPE          ATTEMPT  FOR        PROGRESS",
        "job 0          image.encode  1/5      4 min 5 s  ████░░░░░░  40 %, 20 rows/s, 3 s left, 40 of 100 rows",
        "job 1          image.encode  1/5      3 min 5 s  ████░░░░░░  40 %, 20 rows/s, 3 s left, 40 of 100 rows",
        "",
        "WAITING IN (2)  KIND   RUNNING  AVAILABLE  OTHERS  LIMIT  NOTE",
        "default         queue  2        12         0",
        "mail            queue  0        0          0       1      paused",
        "",
        "FAILED (1)  TYPE          WHEN     STATE      ERROR",
        "bad 0       image.encode  2 s ago  discarded  the picture is truncated",
        "", "", "", "", "", "",
        "q quit  space pause  tab next list  ↑↓ scroll  s sort by time  / filter",
      ])
  }

  @Test("Whatever the size, a frame fills the terminal and no more", arguments: [0, 3, 200], [1, 2, 5, 10, 24, 200])
  func sizes(jobs: Int, height: Int) throws {
    let data = try data(running: jobs, failures: jobs)
    for width in [1, 10, 39, 79, 200] {
      for focus in TopView.List.allCases {
        let frame = frame(data, TopView(focus: focus), width, height)
        #expect(frame.lines.count == height)
        // Columns that can't be made narrower, and words, are the terminal's to cut.
        if width >= 79 { #expect(frame.lines.allSatisfy { $0.count <= width }, "\(frame.lines)") }
      }
    }
  }

  @Test("The list in focus has the room that others leave, and scrolls to its end and no further")
  func scrolling() throws {
    let data = try data(running: 100, failures: 100)
    var view = TopView()
    let first = frame(data, view, 100, 30)
    #expect(first.lines.contains { $0.hasPrefix("RUNNING (1-") && $0.contains("of 100) ◂") })
    #expect(first.lines.contains { $0.hasPrefix("FAILED (1-3 of 100)") })
    _ = view.press(.end, page: first.page)
    let last = frame(data, view, 100, 30)
    #expect(last.lines.contains { $0.hasPrefix("RUNNING (\(101 - last.page)-100 of 100) ◂") }, "\(last.lines)")
    view = last.view
    #expect(view.offset == 100 - last.page)
    for key in [TopKey.up, .pageUp] { _ = view.press(key, page: last.page) }
    #expect(view.offset == 100 - last.page - 1 - last.page)
    for key in [TopKey.tab, .tab] { _ = view.press(key, page: last.page) }
    let failures = frame(data, view, 100, 30)
    #expect(failures.lines.contains { $0.hasPrefix("FAILED (1-\(failures.page) of 100) ◂") })
    #expect(failures.lines.contains { $0.hasPrefix("RUNNING (1-3 of 100)") })
  }

  @Test("Running jobs come in the chosen order, and only those with the filter's text are shown")
  func choices() throws {
    var data = try data(running: 3)
    data.running[1].type = "import"
    data.running[2].progress?.fraction = 0.9
    func order(_ view: TopView) -> [String] {
      frame(data, view, 100, 24).lines.filter { $0.hasPrefix("job ") }.map { String($0.prefix(5)) }
    }
    var view = TopView()
    #expect(order(view) == ["job 0", "job 1", "job 2"])
    _ = view.press(.character("s"), page: 1)
    #expect(order(view) == ["job 2", "job 0", "job 1"])
    _ = view.press(.character("s"), page: 1)
    #expect(order(view) == ["job 0", "job 2", "job 1"])
    for key in TopKey.keys(in: Array("/IMPORTq\u{7f}\r".utf8)) { _ = view.press(key, page: 1) }
    #expect(view.filter == "IMPORT" && !view.isTyping)
    #expect(order(view) == ["job 1"])
    _ = view.press(.escape, page: 1)
    #expect(order(view).count == 3)
    let goesOn = view.press(.character("q"), page: 1)
    #expect(!goesOn)
  }

  @Test("A daemon that does not answer, and a pause of the updates, are told")
  func problems() throws {
    var data = try data()
    data.problem = "the daemon can't be reached"
    let lines = frame(data, TopView(isPaused: true), 100, 24).lines
    #expect(lines[0].contains("not updated (space goes on)"))
    #expect(lines[1] == "no answer    the daemon can't be reached")
    #expect(lines.last?.contains("space go on") == true)
  }

  @Test("Keys are told apart, whatever comes together, and unknown ones are left out")
  func keys() {
    let text = "q\u{1b}[A\u{1b}OB\u{1b}[5~\u{1b}[6~\u{1b}[H\u{1b}[4~\u{1b}[1;5C\t\u{1b}[15~ü\u{1b}"
    #expect(
      TopKey.keys(in: Array(text.utf8)) == [
        .character("q"), .up, .down, .pageUp, .pageDown, .home, .end, .tab, .character("ü"), .escape,
      ])
    #expect(TopKey.keys(in: [0x1b, 0x5b]).isEmpty)
  }
}
