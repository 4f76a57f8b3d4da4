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

  static func text(_ command: any Command.Type) -> String {
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
