import ControlClient
import SystemSupport

/// `bobbinctl why`: what keeps jobs from running.
struct WhyCommand: Command {
  static let name = "why"
  static let usage = "why [--json] ID..."
  static let summary = "Tell why jobs don't run, or what became of them"
  static let details = """
    Names everything that keeps a job from running now: a time, other jobs, a pause, a limit, the jobs before it.
    """

  private let identifiers: [String]

  init(_ arguments: inout ParsedArguments) {
    identifiers = arguments.operands
    if identifiers.isEmpty { arguments.addProblem("an ID is missing: \(Self.usage)") }
  }

  private struct WhyReply: Decodable {
    let state: JobState
    let reasons: [String]
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
