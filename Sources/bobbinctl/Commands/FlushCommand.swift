import ControlClient

/// `bobbinctl flush`: has everything that is merged written to disk.
struct FlushCommand: Command {
  static let name = "flush"
  static let usage = "flush [--json]"
  static let summary = "Write everything that is computed to disk, and wait for that"
  static let details = """
    The daemon does so by itself after [Writer] FlushIntervalSec.
    """

  init(_ arguments: inout ParsedArguments) {
    if let operand = arguments.operands.first { arguments.addProblem("flush takes no argument, not \"\(operand)\"") }
  }

  func run(_ session: Session) throws(ToolError) -> ExitCode {
    _ = try session.post(ControlClient.path("v1", "flush"), .object([:]))
    return .success
  }
}
