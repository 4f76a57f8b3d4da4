import ControlClient
import Foundation
import StatusReplies
import SystemSupport
import TextSupport

/// `bobbinctl list`: the jobs as a table.
struct ListCommand: Subcommand {
  static let name = "list"
  static let usage = "list [CONDITION...] [--count | [--oldest] [--limit N] [--offset N | --after CURSOR]] [--json]"
  static let summary = "List jobs, newest first"
  static let details = """
    On a terminal the table is cut to its width; redirected, it is complete. "computed" jobs are completed, but their
    outcome is not on disk yet.

    \(JobConditions.details)

    A list that ends before all jobs were shown tells the CURSOR behind which the next one begins; with --json, that is the
    "next" of the reply. With --json a list is one reply of the daemon, which may be short where few of very many jobs meet
    the conditions.
    """
  static let options =
    JobConditions.options + [
      Option("--oldest", .none, help: "List the oldest first"),
      Option("--limit", .required("N"), help: "At most N jobs, 1 to 10000 (default: 100)"),
      Option("--offset", .required("N"), help: "Leave out the first N; of very many, --after is quicker"),
      Option("--after", .required("CURSOR"), help: "Go on where another list has ended"),
      Option("--count", .none, help: "Print only how many there are"),
    ]

  private let conditions: JobConditions
  private let order: [URLQueryItem]
  private let limit: Int?
  private let cursor: String?
  private let offset: Int
  private let onlyCounts: Bool

  init(_ arguments: inout ParsedArguments) {
    if let operand = arguments.operands.first { arguments.addProblem("list takes no argument, not \"\(operand)\"") }
    conditions = JobConditions(&arguments)
    order = arguments.has("--oldest") ? [URLQueryItem(name: "order", value: "oldest")] : []
    onlyCounts = arguments.has("--count")
    limit = arguments.number("--limit", in: 1...10_000)
    cursor = arguments["--after"]
    offset = arguments.number("--offset", in: 0...1_000_000) ?? 0
    if onlyCounts, limit != nil || cursor != nil || offset > 0 || !order.isEmpty {
      arguments.addProblem("--count counts all jobs; leave out --oldest, --limit, --offset and --after")
    }
    if offset > 0, cursor != nil {
      arguments.addProblem("--offset and --after both say where to begin; give one of them")
    }
    if offset > 0, arguments.has("--json") {
      arguments.addProblem("--offset is for people; with --json go on with --after and the \"next\" of a reply")
    }
  }

  func run(_ session: Session) throws(ToolError) -> ExitCode {
    if onlyCounts { return try count(session) }
    guard let start = try start(session) else {
      session.output.note("there are no more than \(offset) such jobs")
      return .success
    }
    let reply = try page(behind: start.cursor, limit: limit, session)
    if session.printsJSON { return .success }
    var list = try reply.decoded(as: JobsReply.self)
    var jobs = list.jobs
    let wanted = limit ?? 100
    // A page is short where the daemon has looked at many jobs that don't match.
    while let next = list.next, jobs.count < wanted {
      list = try page(behind: next, limit: wanted - jobs.count, session).decoded(as: JobsReply.self)
      jobs += list.jobs
    }
    guard !jobs.isEmpty else {
      session.output.note("no such jobs")
      return .success
    }
    try session.output.write(JobTable.make(jobs, TimeText()))
    if let next = list.next {
      let all = start.cursor == nil ? list.count.map { " of \($0)\(list.atLeast == true ? " or more" : "")" } ?? "" : ""
      session.output.note("\(jobs.count)\(all) jobs shown; --limit shows more, --after \(next) the next")
    }
    return .success
  }

  /// The place where the list begins; nil if it would be behind the last job.
  private func start(_ session: Session) throws(ToolError) -> Start? {
    if offset == 0 { return Start(cursor: cursor) }
    var (place, left): (String?, Int) = (nil, offset)
    while left > 0 {
      let list = try page(behind: place, limit: min(left, 10_000), session).decoded(as: JobsReply.self)
      guard let next = list.next else { return nil }
      place = next
      left -= list.jobs.count
    }
    return Start(cursor: place)
  }

  private struct Start { let cursor: String? }

  private func page(behind cursor: String?, limit: Int?, _ session: Session) throws(ToolError) -> Reply {
    let window = [("limit", limit.map(String.init)), ("cursor", cursor)]
    let query =
      conditions.query + order
      + window.compactMap { name, value in value.map { URLQueryItem(name: name, value: $0) } }
    return try session.get(ControlClient.path("v1", "jobs"), query: query)
  }

  private func count(_ session: Session) throws(ToolError) -> ExitCode {
    let query =
      conditions.query + [URLQueryItem(name: "limit", value: "1"), URLQueryItem(name: "counts", value: "true")]
    let reply = try session.get(ControlClient.path("v1", "jobs"), query: query)
    if session.printsJSON { return .success }
    let list = try reply.decoded(as: JobsReply.self)
    guard let counts = list.counts else { throw reply.unreadable("counts is missing") }
    let asked = counts.filter { conditions.states.isEmpty || conditions.states.contains($0.key) }
    try session.output.write("\(asked.values.reduce(0, +))\(list.countsAtLeast == true ? " or more" : "")\n")
    return .success
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
    var isFirst = true
    return try session.look(up: identifiers) { (identifier) throws(ToolError) in
      let reply = try session.get(ControlClient.path("v1", "jobs", identifier))
      if session.printsJSON { return }
      let job = try reply.decoded(as: JobReply.self)
      if !isFirst { try session.output.write("\n") }
      isFirst = false
      try session.output.write(job.fields(try reply.document(), TimeText()))
    }
  }
}

/// `bobbinctl why`: the reasons why jobs don't run.
struct WhyCommand: Subcommand {
  static let name = "why"
  static let usage = "why [--json] ID..."
  static let summary = "Explain why jobs don't run, or how they ended"
  static let details = """
    Names everything that keeps a job from running now: a time, other jobs, a pause, a limit, the jobs before it. Every
    ID is looked up, whether or not another one is found.
    """

  private let identifiers: [String]

  init(_ arguments: inout ParsedArguments) {
    identifiers = arguments.operands
    if identifiers.isEmpty { arguments.addProblem("an ID is missing: \(Self.usage)") }
  }

  func run(_ session: Session) throws(ToolError) -> ExitCode {
    try session.look(up: identifiers) { (identifier) throws(ToolError) in
      let reply = try session.get(ControlClient.path("v1", "jobs", identifier, "why"))
      if session.printsJSON { return }
      let why = try reply.decoded(as: WhyReply.self)
      var fields = FieldList()
      fields.add(displayName(why.id ?? identifier), why.state.rawValue)
      for reason in why.reasons { fields.add("", reason) }
      try session.output.write(fields)
    }
  }
}

extension Session {
  /// Looks every ID up, whether or not another one is found.
  ///
  /// - Returns: the code of the first that was not.
  fileprivate func look(
    up identifiers: [String], _ body: (String) throws(ToolError) -> Void
  ) throws(ToolError) -> ExitCode {
    var result = ExitCode.success
    for identifier in identifiers {
      do throws(ToolError) { try body(identifier) } catch {
        // Without a daemon or a reader there is no point in continuing.
        if error.code == .unavailable || error.code == .outputFailed { throw error }
        output.report(error)
        if result == .success { result = error.code }
      }
    }
    return result
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
