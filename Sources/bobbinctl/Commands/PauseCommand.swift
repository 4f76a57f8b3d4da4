/// `bobbinctl pause`: stops the start of jobs.
struct PauseCommand: PausingCommand {
  static let name = "pause"
  static let summary = "Start no more jobs of a queue or type, or none at all"
  static let tellsPauses = false
  static let details = """
    Running jobs are not disturbed, and jobs are still accepted. A pause holds until "bobbinctl resume", also when the
    daemon is restarted. Without an option everything is paused.
    """

  let resource: PausedResource

  init(_ arguments: inout ParsedArguments) { resource = PausedResource(&arguments, Self.name) }
}
