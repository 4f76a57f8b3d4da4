import ControlClient
import Foundation

/// `bobbinctl list`: the jobs as a table.
struct ListCommand: Command {
  static let name = "list"
  static let usage = "list [--state STATE] [--type TYPE] [--queue QUEUE] [--batch BATCH] [--limit N] [--json]"
  static let summary = "List jobs, newest first"
  static let details = """
    On a terminal the table is cut to its width; redirected, it is complete. "computed" jobs are completed, but their
    outcome is not on disk yet.
    """
  static let options = [
    Option(
      "--state", .required("STATE"), "Only jobs in this state, such as running; may be repeated", isRepeatable: true),
    Option("--type", .required("TYPE"), "Only jobs of this type, such as import"),
    Option("--queue", .required("QUEUE"), "Only jobs of this queue"),
    Option("--batch", .required("BATCH"), "Only jobs of this batch"),
    Option("--limit", .required("N"), "At most N jobs, 1 to 10000 (default: 100)"),
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
