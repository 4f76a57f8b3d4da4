/// A subcommand: its help, its arguments, its action.
protocol Command: SendableMetatype {
  static var name: String { get }
  /// Such as `show ID...`.
  static var usage: String { get }
  /// One line, no full stop.
  static var summary: String { get }
  /// Paragraphs for the help, ending without a newline.
  static var details: String { get }
  static var options: [Option] { get }

  /// Reads its arguments; mistakes become problems of the arguments, and then it isn't run.
  init(_ arguments: inout ParsedArguments)

  func run(_ session: Session) throws(ToolError) -> ExitCode
}

extension Command {
  static var options: [Option] { [] }
}
