import ControlClient
import Foundation

/// `bobbinctl status`: how the daemon is.
struct StatusCommand: Command {
  static let name = "status"
  static let usage = "status [--json]"
  static let summary = "Show how the daemon is and what it is doing"
  static let details = """
    "computed" jobs have done their work, but their outcome is not on disk yet.
    """

  init(_ arguments: inout ParsedArguments) {
    if let operand = arguments.operands.first { arguments.addProblem("status takes no argument, not \"\(operand)\"") }
  }

  func run(_ session: Session) throws(ToolError) -> ExitCode {
    let reply = try session.get(ControlClient.path("v1", "status"), refusal: .unavailable)
    guard !session.printsJSON else { return .success }
    let status = try reply.decoded(as: StatusReply.self)
    try session.output.write(status.fields(TimeText()))
    return .success
  }
}
