import ControlClient
import Foundation
import StatusReplies
import SystemSupport
import TextSupport

/// `bobbinctl list`: the jobs as a table.
struct ListCommand: Subcommand {
  static let name = "list"
  static let usage = "list [--state STATE] [--type TYPE] [--queue QUEUE] [--batch BATCH] [--limit N] [--json]"
  static let summary = "List jobs, newest first"
  static let details = """
    On a terminal the table is cut to its width; redirected, it is complete. "computed" jobs are completed, but their
    outcome is not on disk yet.
    """
  static let options = [
    Option(
      "--state", .required("STATE"), help: "Only jobs in this state, such as running; may be repeated",
      isRepeatable: true),
    Option("--type", .required("TYPE"), help: "Only jobs of this type, such as import"),
    Option("--queue", .required("QUEUE"), help: "Only jobs of this queue"),
    Option("--batch", .required("BATCH"), help: "Only jobs of this batch"),
    Option("--limit", .required("N"), help: "At most N jobs, 1 to 10000 (default: 100)"),
  ]

  private let query: [URLQueryItem]

  init(_ arguments: inout ParsedArguments) {
    if let operand = arguments.operands.first { arguments.addProblem("list takes no argument, not \"\(operand)\"") }
    let states = arguments.all("--state")
    let values = [
      ("state", states.isEmpty ? nil : states.joined(separator: ",")), ("type", arguments["--type"]),
      ("queue", arguments["--queue"]),
      ("batch", arguments["--batch"]),
      ("limit", arguments.number("--limit", in: 1...10_000).map(String.init)),
    ]
    query = values.compactMap { name, value in value.map { URLQueryItem(name: name, value: $0) } }
  }

  func run(_ session: Session) throws(ToolError) -> ExitCode {
    let reply = try session.get(ControlClient.path("v1", "jobs"), query: query)
    guard !session.printsJSON else { return .success }
    let list = try reply.decoded(as: JobsReply.self)
    guard !list.jobs.isEmpty else {
      session.output.note("no such jobs")
      return .success
    }
    try session.output.write(JobTable.make(list.jobs, TimeText()))
    if let total = list.total, total > list.jobs.count {
      session.output.note("\(list.jobs.count) of \(total) jobs shown; --limit shows more")
    }
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
