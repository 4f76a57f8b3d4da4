import TextSupport

/// The option `--wait`, the same for all commands that have it; when the time is over, they end with 75.
enum WaitOption {
  private static let usual = Duration.seconds(600)
  /// The longest wait, which is that of the daemon's interface.
  private static let limit = Duration.seconds(86_400)

  /// - Parameter text: The beginning of the help.
  static func option(_ text: String) -> Option {
    Option("--wait", .optional("TIME"), help: "\(text), such as 90s or 3h (default: 10min, at most 1d)")
  }

  /// The longest wait; nil if nothing is to be waited for.
  static func read(_ arguments: inout ParsedArguments) -> Duration? {
    arguments["--wait"] == "" ? usual : arguments.timeSpan("--wait", upTo: limit)
  }
}
