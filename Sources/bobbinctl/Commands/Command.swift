/// A subcommand: what it says about itself, how it reads its arguments, what it does.
protocol Command: SendableMetatype {
  static var name: String { get }
  /// Such as `show ID...`.
  static var usage: String { get }
  /// One line, no full stop.
  static var summary: String { get }
  /// Paragraphs for the help, ending without a newline.
  static var details: String { get }
  static var options: [Option] { get }

  /// Takes what it needs; what is wrong becomes a problem of the arguments, and then it isn't run.
  init(_ arguments: inout ParsedArguments)

  func run(_ session: Session) throws(ToolError) -> ExitCode
}

extension Command {
  static var options: [Option] { [] }
}
