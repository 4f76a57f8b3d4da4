/// `bobbinctl resume`: starts jobs again.
struct ResumeCommand: PausingCommand {
  static let name = "resume"
  static let summary = "Start jobs again that a pause keeps from running"
  static let tellsPauses = true
  static let details = """
    Takes back a pause of the same kind: a paused queue goes on with --queue, everything without an option.
    """

  let resource: PausedResource

  init(_ arguments: inout ParsedArguments) { resource = PausedResource(&arguments, Self.name) }
}
