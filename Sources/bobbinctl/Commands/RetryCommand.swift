/// `bobbinctl retry`: runs jobs again.
struct RetryCommand: JobsCommand {
  static let name = "retry"
  static let participle = "put back"
  static let summary = "Run jobs again that are over, or that wait for a time"
  static let details = """
    A job that is discarded, cancelled or completed gets as many attempts as a new one has. One that is scheduled or
    waits for its next attempt runs now.
    """

  let target: JobTarget

  init(_ arguments: inout ParsedArguments) {
    target = JobTarget(&arguments, identifiers: arguments.operands)
  }
}
