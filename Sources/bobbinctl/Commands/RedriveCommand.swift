/// `bobbinctl redrive`: puts quarantined jobs back.
struct RedriveCommand: JobsCommand {
  static let name = "redrive"
  static let participle = "put back"
  static let summary = "Put quarantined jobs back"
  static let details = """
    A job is quarantined when its process has crashed three times. "bobbinctl log" shows what is known of the crashes.
    """

  let target: JobTarget

  init(_ arguments: inout ParsedArguments) {
    target = JobTarget(&arguments, identifiers: arguments.operands)
  }
}
