import ControlClient

/// `bobbinctl queues`: queues and types with their jobs and limits.
struct QueuesCommand: Command {
  static let name = "queues"
  static let usage = "queues [--json]"
  static let summary = "List queues and types with their unfinished jobs"
  static let details = """
    Shown are queues and types that have had jobs since the start of the daemon, or have a limit or a pause.
    """

  init(_ arguments: inout ParsedArguments) {
    if let operand = arguments.operands.first { arguments.addProblem("queues takes no argument, not \"\(operand)\"") }
  }

  private struct QueuesReply: Decodable {
    struct Entry: Decodable {
      let name: String
      let paused: Bool
      let concurrency: Int?
      let jobs: [String: Int]
    }

    let paused: Bool
    let queues: [Entry]
    let types: [Entry]
  }

  func run(_ session: Session) throws(ToolError) -> ExitCode {
    let reply = try session.get(ControlClient.path("v1", "queues"))
    if session.printsJSON { return .success }
    let queues = try reply.decoded(as: QueuesReply.self)
    var table = Table(columns: [
      .init(title: "KIND"), .init(title: "NAME", isFlexible: true), .init(title: "RUNNING"), .init(title: "AVAILABLE"),
      .init(title: "OTHERS"), .init(title: "LIMIT"), .init(title: "NOTE"),
    ])
    for (kind, entries) in [("queue", queues.queues), ("type", queues.types)] {
      table.rows += entries.map { entry in
        let (running, available) = (entry.jobs["running"] ?? 0, entry.jobs["available"] ?? 0)
        let others = entry.jobs.values.reduce(0, +) - running - available
        return [
          .init(kind), .init(entry.name), .init("\(running)"), .init("\(available)"), .init("\(others)"),
          .init(entry.concurrency.map(String.init) ?? ""), .init(entry.paused ? "paused" : ""),
        ]
      }
    }
    try session.output.write(table)
    if queues.paused { session.output.note("everything is paused; \"bobbinctl resume\" lets it go on") }
    return .success
  }
}
