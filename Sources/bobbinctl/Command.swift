import TextSupport

/// A subcommand of bobbinctl: its help, its options and its action.
struct Command: Sendable {
  typealias Action = (Session) throws(ToolError) -> ExitCode

  let name: String
  /// Such as `show ID...`.
  let usage: String
  /// One line, no full stop.
  let summary: String
  /// Paragraphs for the help, ending without a newline.
  let details: String
  let options: [Option]
  /// Reads the arguments; mistakes become problems of the arguments, and then the action isn't run.
  let prepare: @Sendable (inout ParsedArguments) -> Action
}

/// A command with a type of its own.
protocol Subcommand: SendableMetatype {
  static var name: String { get }
  static var usage: String { get }
  static var summary: String { get }
  static var details: String { get }
  static var options: [Option] { get }

  /// Reads its arguments; mistakes become problems of the arguments, and then it isn't run.
  init(_ arguments: inout ParsedArguments)

  func run(_ session: Session) throws(ToolError) -> ExitCode
}

extension Subcommand {
  static var options: [Option] { [] }
}

extension Command {
  init<Type: Subcommand>(_ type: Type.Type) {
    self.init(
      name: Type.name, usage: Type.usage, summary: Type.summary, details: Type.details, options: Type.options
    ) { arguments in
      let command = Type(&arguments)
      return { (session) throws(ToolError) in try command.run(session) }
    }
  }
}
