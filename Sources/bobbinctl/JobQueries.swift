import ControlClient
import Foundation
import StatusReplies
import SystemSupport
import TextSupport

/// `bobbinctl list`: the jobs as a table.
struct ListCommand: Subcommand {
  static let name = "list"
  static let usage = "list [CONDITION...] [--limit N] [--offset N] [--count] [--json]"
  static let summary = "List jobs, newest first"
  static let details = """
    On a terminal the table is cut to its width; redirected, it is complete. "computed" jobs are completed, but their
    outcome is not on disk yet.

    CONDITION is --state, --type, --queue, --batch, --since or --until with its value. TIME is when a job was accepted:
    a day such as 2026-11-21, a minute such as "2026-11-21 10:00", both in the local time zone, a moment such as
    2026-11-21T10:00:00Z, or how long ago, such as 2h or "1d 12h".
    """
  static let options = [
    Option(
      "--state", .required("STATE"), help: "Only jobs in this state, such as running; may be repeated",
      isRepeatable: true),
    Option("--type", .required("TYPE"), help: "Only jobs of this type, such as import"),
    Option("--queue", .required("QUEUE"), help: "Only jobs of this queue"),
    Option("--batch", .required("BATCH"), help: "Only jobs of this batch"),
    Option("--since", .required("TIME"), help: "Only jobs that were accepted then or later"),
    Option("--until", .required("TIME"), help: "Only jobs that were accepted before"),
    Option("--limit", .required("N"), help: "At most N jobs, 1 to 10000 (default: 100)"),
    Option("--offset", .required("N"), help: "Leave out the N newest, at most 1000000"),
    Option("--count", .none, help: "Print only how many there are"),
  ]

  private let query: [URLQueryItem]
  private let offset: Int
  private let onlyCounts: Bool

  init(_ arguments: inout ParsedArguments) {
    if let operand = arguments.operands.first { arguments.addProblem("list takes no argument, not \"\(operand)\"") }
    let states = arguments.all("--state")
    offset = arguments.number("--offset", in: 0...1_000_000) ?? 0
    onlyCounts = arguments.has("--count")
    let limit = arguments.number("--limit", in: 1...10_000)
    if onlyCounts, limit != nil || arguments.has("--offset") {
      arguments.addProblem("--count counts all jobs; leave out --limit and --offset")
    }
    let values = [
      ("state", states.isEmpty ? nil : states.joined(separator: ",")), ("type", arguments["--type"]),
      ("queue", arguments["--queue"]),
      ("batch", arguments["--batch"]),
      ("since", arguments.moment("--since")), ("until", arguments.moment("--until")),
      ("limit", onlyCounts ? "1" : limit.map(String.init)), ("offset", offset == 0 ? nil : String(offset)),
    ]
    query = values.compactMap { name, value in value.map { URLQueryItem(name: name, value: $0) } }
  }

  func run(_ session: Session) throws(ToolError) -> ExitCode {
    let reply = try session.get(ControlClient.path("v1", "jobs"), query: query)
    guard !session.printsJSON else { return .success }
    let list = try reply.decoded(as: JobsReply.self)
    if onlyCounts {
      guard let total = list.total else { throw reply.unreadable("total is missing") }
      try session.output.write("\(total)\n")
      return .success
    }
    guard !list.jobs.isEmpty else {
      session.output.note("no such jobs")
      return .success
    }
    try session.output.write(JobTable.make(list.jobs, TimeText()))
    if let total = list.total, total > offset + list.jobs.count || offset > 0 {
      session.output.note(shown(list.jobs.count, of: total))
    }
    return .success
  }

  private func shown(_ count: Int, of total: Int) -> String {
    let end = offset + count
    if offset == 0 { return "\(count) of \(total) jobs shown; --limit shows more, --offset \(end) the next" }
    return "jobs \(offset + 1) to \(end) of \(total) shown" + (end < total ? "; --offset \(end) shows the next" : "")
  }
}

extension ParsedArguments {
  /// An option's value as a moment in the form that the daemon reads; nil if it is missing, or wrong, which becomes a
  /// problem.
  fileprivate mutating func moment(_ name: String) -> String? {
    guard let text = self[name] else { return nil }
    if let date = TimeText().moment(text) { return Timestamp(date).text }
    addProblem("\(name) takes a time such as 2026-11-21, \"2026-11-21 10:00\" or 2h, not \"\(text)\"")
    return nil
  }
}

/// `bobbinctl show`: jobs in full.
struct ShowCommand: Subcommand {
  static let name = "show"
  static let usage = "show [--json] ID..."
  static let summary = "Show jobs in full"
  static let details = """
    Every ID is looked up, whether or not another one is found.
    """

  private let identifiers: [String]

  init(_ arguments: inout ParsedArguments) {
    identifiers = arguments.operands
    if identifiers.isEmpty { arguments.addProblem("an ID is missing: \(Self.usage)") }
    if identifiers.contains("") { arguments.addProblem("an ID can't be empty") }
  }

  func run(_ session: Session) throws(ToolError) -> ExitCode {
    var result = ExitCode.success
    var isFirst = true
    for identifier in identifiers {
      do throws(ToolError) {
        let reply = try session.get(ControlClient.path("v1", "jobs", identifier))
        guard !session.printsJSON else { continue }
        let job = try reply.decoded(as: JobReply.self)
        if !isFirst { try session.output.write("\n") }
        isFirst = false
        try session.output.write(job.fields(try reply.document(), TimeText()))
      } catch {
        // Without a daemon or a reader there is no point in continuing.
        if error.code == .unavailable || error.code == .outputFailed { throw error }
        session.output.report(error)
        if result == .success { result = error.code }
      }
    }
    return result
  }
}

/// `bobbinctl why`: the reasons why jobs don't run.
struct WhyCommand: Subcommand {
  static let name = "why"
  static let usage = "why [--json] ID..."
  static let summary = "Explain why jobs don't run, or how they ended"
  static let details = """
    Names everything that keeps a job from running now: a time, other jobs, a pause, a limit, the jobs before it.
    """

  private let identifiers: [String]

  init(_ arguments: inout ParsedArguments) {
    identifiers = arguments.operands
    if identifiers.isEmpty { arguments.addProblem("an ID is missing: \(Self.usage)") }
  }

  func run(_ session: Session) throws(ToolError) -> ExitCode {
    for identifier in identifiers {
      let reply = try session.get(ControlClient.path("v1", "jobs", identifier, "why"))
      if session.printsJSON { continue }
      let why = try reply.decoded(as: WhyReply.self)
      var fields = FieldList()
      fields.add(displayName(identifier), why.state.rawValue)
      for reason in why.reasons { fields.add("", reason) }
      try session.output.write(fields)
    }
    return .success
  }
}

/// `bobbinctl log`: the output of a job's attempts, and their failures.
struct LogCommand: Subcommand {
  static let name = "log"
  static let usage = "log [--json] ID"
  static let summary = "Show what a job's attempts wrote, and how they failed"
  static let details = """
    Of a running attempt it shows what was written so far. Attempts that succeeded and wrote nothing are not kept.
    Control characters are escaped; --json has them as they are.
    """

  private let identifier: String

  init(_ arguments: inout ParsedArguments) {
    identifier = arguments.operands.first ?? ""
    if identifier.isEmpty || arguments.operands.count > 1 { arguments.addProblem("log takes one ID: \(Self.usage)") }
  }

  func run(_ session: Session) throws(ToolError) -> ExitCode {
    let reply = try session.get(ControlClient.path("v1", "jobs", identifier, "attempts"))
    if session.printsJSON { return .success }
    let attempts = try reply.decoded(as: AttemptsReply.self).attempts
    if attempts.isEmpty { session.output.note("no attempt at \"\(identifier)\" failed or wrote anything") }
    let times = TimeText()
    for attempt in attempts {
      var fields = FieldList()
      fields.add("attempt \(attempt.number)", attempt.outcome)
      fields.add("began", attempt.startedAt.map(times.relative))
      fields.add("took", attempt.startedAt.flatMap { times.duration(from: $0, to: attempt.finishedAt) })
      fields.add("error", attempt.error)
      try session.output.write(fields)
      for line in (attempt.log ?? "").split(separator: "\n", omittingEmptySubsequences: false) where !line.isEmpty {
        try session.output.write("  \(singleLine(String(line)))\n")
      }
    }
    return .success
  }
}
