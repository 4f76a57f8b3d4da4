import ControlClient
import Foundation
internal import Glibc
import StatusReplies
import SystemSupport

/// Looks at some jobs again and again, for lines that tell how far they are.
struct JobWatch {
  /// The jobs that are watched.
  enum Subject {
    /// Those that this user has submitted with a tag since a time.
    case submitted(tag: String, since: Date)
    case batch(String)
    case named([String])
  }

  /// The most running jobs that are shown.
  private static let runningLimit = 100
  /// The most of those that are to be tried again.
  private static let retriedLimit = 3

  private let subject: Subject
  private var pace = JobPace()
  private var lastDone = 0
  private var lastMoved = ContinuousClock.now
  private(set) var tally = JobTally([JobReply]())
  private(set) var running: [JobReply] = []
  /// Some of those that have failed and are to be tried again.
  private(set) var retried: [JobReply] = []
  /// The jobs themselves, where they are watched by name.
  private(set) var named: [JobReply] = []

  init(_ subject: Subject) { self.subject = subject }

  /// Asks the daemon once.
  mutating func look(_ session: Session) throws(ToolError) {
    switch subject {
    case .submitted(let tag, let since):
      let conditions: KeyValuePairs = ["submitter": "\(geteuid())", "since": Timestamp(since).text, "text": tag]
      try look(at: conditions) { (query) throws(ToolError) in
        // What else is printed is the reply to the submission.
        try Reply.received(
          from: session.client, "GET", ControlClient.path("v1", "jobs"), query: query, timeout: .seconds(5)
        ).accepted(refusal: .usage)
      }
    case .batch(let name):
      try look(at: ["batch": name]) { (query) throws(ToolError) in
        try session.get(ControlClient.path("v1", "jobs"), query: query)
      }
    case .named(let ids):
      named = []
      for id in ids { named.append(try session.get(ControlClient.path("v1", "jobs", id)).decoded(as: JobReply.self)) }
      running = named.filter { $0.state == .running }
      retried = Array(named.filter { $0.state == .retryable }.prefix(Self.retriedLimit))
      tally = JobTally(named)
    }
    if tally.running > 0 || tally.done != lastDone { (lastDone, lastMoved) = (tally.done, .now) }
    pace.note(done: tally.done, at: .now)
  }

  private mutating func look(
    at conditions: KeyValuePairs<String, String>, _ get: ([URLQueryItem]) throws(ToolError) -> Reply
  ) throws(ToolError) {
    let query = conditions.map { URLQueryItem(name: $0.key, value: $0.value) }
    func jobs(_ state: String, _ limit: Int, counts: String? = nil) throws(ToolError) -> JobsReply {
      let more = [
        URLQueryItem(name: "state", value: state), URLQueryItem(name: "limit", value: "\(limit)"),
      ]
      return try get(query + more + (counts.map { [URLQueryItem(name: "counts", value: $0)] } ?? []))
        .decoded(as: JobsReply.self)
    }
    let reply = try jobs("running", Self.runningLimit, counts: "true")
    running = reply.jobs
    tally = JobTally(reply.counts ?? [:])
    retried = tally.retried == 0 ? [] : try jobs("retryable", Self.retriedLimit).jobs
  }

  /// Such as `12 of 301 done, 3 running, 1 failed, 0.2/s, about 24 min left`.
  ///
  /// While nothing runs, as in a pause, what was done before says nothing of what is left.
  var summary: String {
    tally.text(rate: lastMoved.duration(to: .now) > .seconds(10) ? nil : pace.rate)
  }

  /// A line for each of some jobs that are to be tried again, with the reason.
  var failures: [String] {
    retried.map { job in
      "\(displayName(job.id)) is to be tried again" + (job.error.map { ": \(singleLine($0))" } ?? "")
    }
  }

  /// The summary, unless there is one job only that runs, a line for each running job, and the failures.
  ///
  /// - Parameters:
  ///   - width: The terminal's; nil never cuts.
  ///   - height: The most lines.
  ///   - filesToCome: The number of job files that are still to be submitted.
  func lines(width: Int?, height: Int, filesToCome: Int = 0) -> [String] {
    let files = filesToCome == 0 ? "" : ", \(filesToCome) \(filesToCome == 1 ? "file" : "files") to come"
    let head = tally.total == 1 && filesToCome == 0 && !running.isEmpty ? [] : [summary + files]
    let room = max(1, height - head.count - failures.count)
    var shown = running[...]
    if running.count > room { shown = running.prefix(room - 1) }
    let more = running.count - shown.count
    return head + RunningLines.text(Array(shown), width: width, TimeText())
      + (more == 0 ? [] : ["and \(more) more running"]) + failures
  }
}

/// A line for each running job: its name, a bar, rate and time left.
enum RunningLines {
  /// - Parameter width: The terminal's; of what is too wide, first names lose their middle, then lines their end.
  static func text(_ jobs: [JobReply], width: Int?, _ times: TimeText) -> [String] {
    let names = jobs.map { displayName($0.id) }
    let paces = jobs.map { singleLine(pace(of: $0, times)) }
    let (longestName, longestPace) = (names.map(\.columns).max() ?? 0, paces.map(\.columns).max() ?? 0)
    let leastName = 8
    // What one looks for is how far it is: that is told in words where there is no room for a bar.
    let bar = width.map { $0 >= 80 ? 20 : $0 >= 60 ? 10 : leastName + 8 + longestPace <= $0 ? 5 : 0 } ?? 20
    let wanted = (bar == 0 ? 2 : bar + 3) + longestPace
    let nameWidth = min(longestName, width.map { max(min($0 / 4, leastName), $0 - wanted) } ?? longestName)
    return zip(jobs, zip(names, paces)).map { job, texts in
      let name = texts.0.cutInMiddle(to: nameWidth).padded(to: nameWidth)
      let amount = job.progress?.amountText.map { ", " + singleLine($0) } ?? ""
      let start = "\(name)  " + (bar == 0 ? "" : Self.bar(job.progress?.fraction, width: bar) + " ")
      let line = start + texts.1 + amount
      guard let width, line.columns > width else { return line }
      return String((start + texts.1).prefix(columns: width))
    }
  }

  private static func pace(of job: JobReply, _ times: TimeText) -> String {
    if let text = job.progress?.paceText { return text }
    return "running" + (times.duration(from: job.startedAt, to: nil).map { " for \($0)" } ?? "")
  }

  /// A bar; blanks if it is not known how much there is to do.
  static func bar(_ fraction: Double?, width: Int) -> String {
    guard let fraction else { return String(repeating: " ", count: width) }
    let full = Int((min(max(0, fraction), 1) * Double(width)).rounded(.down))
    return String(repeating: "█", count: full) + String(repeating: "░", count: width - full)
  }
}
