import JSONText

/// `bobbinctl priority`: gives jobs another priority.
struct PriorityCommand: JobsCommand {
  static let name = "priority"
  static let usage = "priority [--json] N \(JobTarget.usage)"
  static let participle = "given the priority"
  static let summary = "Give jobs another priority"
  static let details = """
    N is a whole number from -100 to 100, higher goes first. A running job keeps it for its next attempt.
    """

  let target: JobTarget
  let parameters: JSONObject

  init(_ arguments: inout ParsedArguments) {
    let priority = arguments.operands.first.flatMap { Int64($0) } ?? .max
    if !(-100...100).contains(priority) {
      arguments.addProblem("the first argument is a priority from -100 to 100")
    }
    parameters = ["value": .integer(priority)]
    target = JobTarget(&arguments, identifiers: Array(arguments.operands.dropFirst()))
  }
}
