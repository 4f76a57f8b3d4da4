/// `bobbinctl release`: lets held jobs go on.
struct ReleaseCommand: JobsCommand {
  static let name = "release"
  static let participle = "released"
  static let summary = "Let held jobs go on"
  static let details = """
    A job that waits for a time or for other jobs goes on waiting for them.
    """

  let target: JobTarget

  init(_ arguments: inout ParsedArguments) {
    target = JobTarget(&arguments, identifiers: arguments.operands)
  }
}
