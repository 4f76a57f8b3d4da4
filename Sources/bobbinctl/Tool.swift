import Configuration
import ControlClient
import TextSupport

/// From the command line to the exit code.
enum Tool {
  static let commands: [any Command.Type] = [
    StatusCommand.self, SubmitCommand.self, ListCommand.self, ShowCommand.self, WhyCommand.self, LogCommand.self,
    RejectsCommand.self, QueuesCommand.self, CancelCommand.self, HoldCommand.self, ReleaseCommand.self,
    RetryCommand.self,
    RedriveCommand.self, PriorityCommand.self, PauseCommand.self, ResumeCommand.self, FlushCommand.self,
    ModelCommand.self, DoctorCommand.self,
  ]

  static let options = [
    Option("--root", .required("DIR"), "Talk to the daemon that keeps everything under DIR"),
    Option("--socket", .required("PATH"), "Talk to the daemon at this Unix socket; wins over --root"),
    Option("--json", .none, "Print each reply's JSON as it came, one document per request"),
    Option("--help", .none, "Explain bobbinctl, or the command it is given with"),
    Option("--version", .none, "Print the version"),
  ]

  static func run(_ arguments: [String]) -> ExitCode {
    let output = Output()
    do {
      return try run(arguments, output)
    } catch {
      output.report(error)
      return error.code
    }
  }

  private static func run(_ arguments: [String], _ output: Output) throws(ToolError) -> ExitCode {
    var general = ParsedArguments(arguments, options: options, stopsAtOperand: true)
    // "help COMMAND" is what users of other tools type.
    let wantsHelp = general.operands.first == "help"
    let name = wantsHelp ? general.rest.first { !$0.hasPrefix("-") } : general.operands.first
    let command = commands.first { $0.name == name }
    var parsed = ParsedArguments(general.rest, options: (command?.options ?? []) + options)
    if general.has("--help") || parsed.has("--help") || wantsHelp && (name == nil || command != nil) {
      try output.write(command.map(Help.text) ?? Help.text())
      return .success
    }
    if general.has("--version") || parsed.has("--version") {
      try output.write("bobbinctl \(Release.version)\n")
      return .success
    }
    guard let command else {
      general.addProblem(missing(name))
      return usageError(general.problems, command: nil, output)
    }
    let invocation = command.init(&parsed)
    let problems = general.problems + parsed.problems
    guard problems.isEmpty else { return usageError(problems, command: command, output) }
    let root = parsed["--root"] ?? general["--root"]
    let paths = root.map { Paths(root: $0) } ?? .system
    let socket = parsed["--socket"] ?? general["--socket"]
    let session = Session(
      client: ControlClient(socketPath: socket ?? paths.socket), paths: socket == nil || root != nil ? paths : nil,
      printsJSON: general.has("--json") || parsed.has("--json"), output: output)
    return try invocation.run(session)
  }

  private static func missing(_ name: String?) -> String {
    guard let name else {
      return "a command is missing: " + commands.map { $0.name }.formatted
    }
    let nearest = NearestName.find(name, in: commands.map { $0.name })
    return "there is no command \"\(name)\"" + (nearest.map { "; do you mean \"\($0)\"?" } ?? "")
  }

  private static func usageError(_ problems: [String], command: (any Command.Type)?, _ output: Output) -> ExitCode {
    for problem in problems { output.note(problem) }
    output.note("try \"bobbinctl\(command.map { " " + $0.name } ?? "") --help\"")
    return .usage
  }
}

extension [String] {
  /// Such as "a, b or c".
  fileprivate var formatted: String {
    guard let last, count > 1 else { return first ?? "" }
    return dropLast().joined(separator: ", ") + " or " + last
  }
}
