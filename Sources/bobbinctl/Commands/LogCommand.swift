import ControlClient
import SystemSupport

/// `bobbinctl log`: what attempts at a job said, and how they failed.
struct LogCommand: Command {
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

  private struct AttemptsReply: Decodable {
    struct Attempt: Decodable {
      let number: Int
      let outcome: String
      let startedAt: Timestamp?
      let finishedAt: Timestamp?
      let error: String?
      let log: String?
    }

    let attempts: [Attempt]
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
