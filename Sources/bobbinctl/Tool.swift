import ControlClient
import SystemSupport
import TextSupport

/// From the command line to the exit code.
enum Tool {
  /// All commands, in the order of the help.
  static let commands: [Command] =
    [
      Command(StatusCommand.self), Command(TopCommand.self), Command(SubmitCommand.self), Command(EncodeCommand.self),
      Command(ImportCommand.self), Command(WatchCommand.self), Command(BatchCommand.self),
      Command(ListCommand.self), Command(ShowCommand.self),
      Command(WhyCommand.self), Command(LogCommand.self), Command(RejectsCommand.self), Command(QueryCommand.self),
      Command(QueuesCommand.self),
      Command(ExplainCommand.self), Command(SchedulesCommand.self), Command(RunCommand.self),
      Command(FoldersCommand.self),
    ] + JobCommand.all.map(\.command) + [Command(EditCommand.self)] + PauseCommand.all.map(\.command) + [
      Command(DrainCommand.self), Command(FlushCommand.self), Command(FleetCommand.self), Command(ModelCommand.self),
      Command(StoreCommand.self), Command(BackupCommand.self), Command(RefreshCopyCommand.self),
      Command(TokenCommand.self), Command(DoctorCommand.self), Command(CompletionCommand.self),
    ]

  static let options = [
    Option(
      "--root", .required("DIR"), help: "Talk to the daemon that keeps everything under DIR (default: BOBBIN_ROOT)"),
    Option("--socket", .required("PATH"), help: "Talk to the daemon at this Unix socket; overrides --root"),
    Option("--json", .none, help: "Print each reply's JSON as it came, one document per request"),
    Option("--help", .none, help: "Explain bobbinctl, or the command it is given with"),
    Option("--version", .none, help: "Print the version"),
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
    let command = (commands + [Command(CompleteCommand.self)]).first { $0.name == name }
    var parsed = ParsedArguments(general.rest, options: (command?.options ?? []) + options)
    if general.has("--help") || parsed.has("--help") || wantsHelp && (name == nil || command != nil) {
      try output.write(command.map(Help.text) ?? Help.text())
      return .success
    }
    if general.has("--version") || parsed.has("--version") {
      try output.write(Release.description(of: "bobbinctl") + "\n")
      return .success
    }
    guard let command else {
      general.addProblem(missing(name))
      return usageError(general.problems, command: nil, output)
    }
    let run = command.prepare(&parsed)
    let problems = general.problems + parsed.problems
    guard problems.isEmpty else { return usageError(problems, command: command, output) }
    let session = Session(
      root: parsed["--root"] ?? general["--root"], socket: parsed["--socket"] ?? general["--socket"],
      printsJSON: general.has("--json") || parsed.has("--json"), output: output)
    return try run(session)
  }

  private static func missing(_ name: String?) -> String {
    guard let name else {
      return "a command is missing: " + commands.map(\.name).formatted
    }
    let nearest = NearestName.find(name, in: commands.map(\.name))
    return "there is no command \"\(name)\"" + (nearest.map { "; do you mean \"\($0)\"?" } ?? "")
  }

  private static func usageError(_ problems: [String], command: Command?, _ output: Output) -> ExitCode {
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

/// The text of `--help`, made from the commands' descriptions.
enum Help {
  static func text() -> String {
    let commands = Tool.commands.map { (name: $0.name, help: $0.summary) }
    return """
      Usage: bobbinctl [OPTION...] COMMAND [ARGUMENT...]
      Asks bobbind, the background job daemon, and gives it jobs.

      Commands:
      \(list(commands))

      Options, before or after the command:
      \(list(Tool.options.map { ($0.synopsis, $0.help) }))

      "bobbinctl COMMAND --help" explains a command; bobbinctl(1) has the exit codes.

      """
  }

  static func text(_ command: Command) -> String {
    let own = command.options.isEmpty ? "" : "Options:\n\(list(command.options.map { ($0.synopsis, $0.help) }))\n\n"
    return """
      Usage: bobbinctl \(command.usage)
      \(command.summary).

      \(command.details)

      \(own)General options:
      \(list(Tool.options.map { ($0.synopsis, $0.help) }))

      """
  }

  private static func list(_ entries: [(name: String, help: String)]) -> String {
    let width = entries.map(\.name.count).max() ?? 0
    return entries.map { "  " + $0.name.padded(to: width + 2) + $0.help }.joined(separator: "\n")
  }
}
