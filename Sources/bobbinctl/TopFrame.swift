import Foundation
import StatusReplies
import SystemSupport
import TextSupport

/// One picture of `top`: the daemon on top, then the lists, then the keys. A value of what is shown and of the size.
struct TopFrame {
  /// The size of a terminal, in characters.
  struct Size: Sendable, Equatable {
    var width: Int
    /// Nil for as many lines as there are.
    var height: Int?
  }

  /// Rows that a list keeps while another one has the focus.
  private static let leastRows = 3
  /// Rows without which a list is not shown beside the focused one: its title and one more.
  private static let leastRoom = 2

  private(set) var lines: [String]
  /// The rows of the focused list that are seen.
  private(set) var page = 0
  /// The view as it is shown in fact: nothing scrolls past the end.
  private(set) var view: TopView

  init(_ data: TopData, _ view: TopView, size: Size, usesColor: Bool) {
    self.view = view
    let times = TimeText(now: data.time)
    let header = Self.header(data, view, times: times).lines(width: size.width, usesColor: usesColor)
    guard let height = size.height else {
      lines = TopView.List.allCases.reduce(into: header) { lines, list in
        let table = Self.table(list, of: data, view, times: times)
        if !table.rows.isEmpty { lines += [""] + table.lines(width: size.width, usesColor: usesColor) }
      }
      return
    }
    // Whatever the size, there is room for a list.
    lines = Array(header.prefix(max(1, height / 2)))
    let room = height - lines.count - 1
    let tables = TopView.List.allCases.map { Self.table($0, of: data, view, times: times) }
    let rooms = Self.rooms(needs: tables.map(\.rows.count), focus: view.focus.rawValue, in: room)
    for (list, rows) in zip(TopView.List.allCases, rooms) where rows > 0 {
      var table = tables[list.rawValue]
      let count = table.rows.count
      // A blank line and the title.
      let shown = max(0, rows - Self.leastRoom)
      var first = 0
      if list == view.focus {
        page = shown
        first = min(view.offset, max(0, count - shown))
        self.view.offset = first
      }
      table.rows = Array(table.rows.dropFirst(first).prefix(shown))
      let range = shown > 0 && shown < count ? "\(first + 1)-\(first + table.rows.count) of \(count)" : "\(count)"
      table.columns[0].title += " (\(range))" + (list == view.focus ? " ◂" : "")
      lines.append("")
      lines += table.lines(width: size.width, usesColor: usesColor)
    }
    let keys = height == 1 ? [] : [Self.keys(view, width: size.width, usesColor: usesColor)]
    let body = height - keys.count
    lines = Array(lines.prefix(body)) + Array(repeating: "", count: max(0, body - lines.count)) + keys
    // A line that goes on in the next one would have the first ones scroll away.
    lines = lines.map { $0.clipped(to: size.width) }
  }

  /// The lines of each list, with a blank one before it and its title; 0 for one that is not shown.
  ///
  /// - Parameters:
  ///   - needs: the rows that each has.
  ///   - focus: the index of the list that gets what others leave.
  static func rooms(needs: [Int], focus: Int, in room: Int) -> [Int] {
    var rooms = needs.indices.map { index in
      index == focus
        ? leastRoom + min(1, needs[index]) : needs[index] == 0 ? 0 : leastRoom + min(needs[index], leastRows)
    }
    // Others give way, the last first.
    for index in needs.indices.reversed() where index != focus && rooms.reduce(0, +) > room { rooms[index] = 0 }
    rooms[focus] = min(rooms[focus], room)
    for index in [focus] + needs.indices.filter({ $0 != focus }) where rooms[index] > 0 {
      let left = room - rooms.reduce(0, +)
      rooms[index] += max(0, min(left, leastRoom + needs[index] - rooms[index]))
    }
    return rooms
  }

  // MARK: Parts

  private static func header(_ data: TopData, _ view: TopView, times: TimeText) -> FieldList {
    let status = data.status
    var list = FieldList()
    let words = [
      status.version, status.state, status.uptimeSeconds.map { "up \(TimeSpan.words(seconds: $0))" },
      TimeText.clock(data.time), view.isPaused ? "not updated (space goes on)" : nil,
    ]
    let isWell = status.state == "running" && data.problem == nil && !view.isPaused
    list.add("bobbind", words.compactMap(\.self).joined(separator: ", "), style: isWell ? .good : .bad)
    list.add("no answer", data.problem, style: .bad)
    if let workers = status.workers {
      let bar = RunningLines.bar(Double(workers.busy) / Double(max(1, workers.count)), width: 20)
      let rate = data.rate.map { ", \(rateText($0)) jobs/s" } ?? ""
      list.add("workers", "\(bar) \(workers.busy) of \(workers.count) busy\(rate)")
    }
    list.add("jobs now", status.jobsText)
    list.add("since start", status.endsText)
    list.add("unflushed", status.unflushedText)
    status.addObstacles(to: &list)
    if status.hotFolders?.troubled.isEmpty == false { list.add("hot folders", status.hotFoldersText, style: .bad) }
    list.add("writer error", status.writer?.lastError, style: .bad)
    return list
  }

  private static func rateText(_ rate: Double) -> String {
    rate >= 10 || rate == 0 ? "\(Int(rate.rounded()))" : "\((rate * 10).rounded() / 10)"
  }

  private static func table(_ list: TopView.List, of data: TopData, _ view: TopView, times: TimeText) -> Table {
    switch list {
    case .running: runningTable(data.running.filter { view.shows($0) }.sorted(by: view.order), times)
    case .waiting: waitingTable(data.queues, view)
    case .failures: failureTable(data.failures.filter { view.shows($0) }, times)
    }
  }

  private static func runningTable(_ jobs: [JobReply], _ times: TimeText) -> Table {
    var table = Table(columns: [
      .init(title: "RUNNING", isFlexible: true), .init(title: "TYPE", isFlexible: true), .init(title: "ATTEMPT"),
      .init(title: "FOR"), .init(title: "PROGRESS"), .init(title: "", isFlexible: true),
    ])
    table.rows = jobs.map { job in
      let note = [job.ending.map { "ending: \($0)" }, job.progress?.paceText, job.progress?.amountText]
        .compactMap(\.self).joined(separator: ", ")
      return [
        .init(job.id), .init(job.type), .init(job.attemptText ?? ""),
        .init(times.duration(from: job.startedAt, to: nil) ?? ""),
        .init(sentence: RunningLines.bar(job.progress?.fraction, width: 10)), .init(sentence: note),
      ]
    }
    return table
  }

  private static func waitingTable(_ queues: QueuesReply, _ view: TopView) -> Table {
    var table = Table(columns: [
      .init(title: "WAITING IN", isFlexible: true), .init(title: "KIND"), .init(title: "RUNNING"),
      .init(title: "AVAILABLE"), .init(title: "OTHERS"), .init(title: "LIMIT"), .init(title: "NOTE"),
    ])
    for (kind, entries) in [("queue", queues.queues), ("type", queues.types)] {
      let shown = entries.filter { entry in
        let waiting = entry.jobs.contains { $0.key != "running" && $0.value > 0 }
        return (waiting || entry.paused) && view.matches(entry.name)
      }
      table.rows += shown.map { entry in
        let counts = entry.counts
        return [
          .init(entry.name), .init(kind), .init("\(counts.running)"), .init("\(counts.available)"),
          .init("\(counts.others)"), .init(entry.concurrency.map(String.init) ?? ""),
          .init(entry.paused ? "paused" : "", .bad),
        ]
      }
    }
    return table
  }

  private static func failureTable(_ jobs: [JobReply], _ times: TimeText) -> Table {
    var table = Table(columns: [
      .init(title: "FAILED", isFlexible: true), .init(title: "TYPE", isFlexible: true), .init(title: "WHEN"),
      .init(title: "STATE"), .init(title: "ERROR", isFlexible: true),
    ])
    table.rows = jobs.map { job in
      [
        .init(job.id), .init(job.type), .init(sentence: job.finishedAt.map(times.relative) ?? ""),
        .init(job.stateText, job.stateStyle), .init(sentence: job.error ?? ""),
      ]
    }
    return table
  }

  private static func keys(_ view: TopView, width: Int, usesColor: Bool) -> String {
    let filter = view.filter.isEmpty ? "/ filter" : "/ filter: \(singleLine(view.filter)) (Esc: none)"
    let text =
      view.isTyping
      ? "show only names with: \(singleLine(view.filter))▏ (Enter: done, Esc: all)"
      : "q quit  space \(view.isPaused ? "go on" : "pause")  tab next list  ↑↓ scroll  s sort by \(view.order.rawValue)  \(filter)"
    return Style.title.applied(to: text.cut(to: width), usesColor: usesColor)
  }
}

extension TopView {
  /// True if a name has the filter in it.
  func matches(_ name: String) -> Bool { filter.isEmpty || name.lowercased().contains(filter.lowercased()) }

  func shows(_ job: JobReply) -> Bool {
    [job.id, job.type, job.queue ?? "", job.batch ?? ""].contains(where: matches)
  }
}

extension [JobReply] {
  fileprivate func sorted(by order: TopView.Order) -> [JobReply] {
    switch order {
    case .time: sorted { ($0.startedAt?.date ?? .distantFuture, $0.id) < ($1.startedAt?.date ?? .distantFuture, $1.id) }
    case .progress: sorted { ($1.progress?.fraction ?? -1, $0.id) < ($0.progress?.fraction ?? -1, $1.id) }
    case .type: sorted { ($0.type, $0.id) < ($1.type, $1.id) }
    case .id: sorted { $0.id < $1.id }
    }
  }
}
