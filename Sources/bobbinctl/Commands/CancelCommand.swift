import JSONText

/// `bobbinctl cancel`: calls jobs off.
struct CancelCommand: JobsCommand {
  static let name = "cancel"
  static let participle = "cancelled"
  static let summary = "Call jobs off, running ones included"
  static let details = """
    A running job is told to end, a process by SIGTERM and then SIGKILL; what its attempt has done is dropped. Jobs that
    need a cancelled job are cancelled with it.
    """
  static let options =
    JobTarget.options + [
      Option("--reason", .required("TEXT"), "What the jobs' records say (default: who cancelled them)")
    ]

  let target: JobTarget
  let parameters: JSONObject

  init(_ arguments: inout ParsedArguments) {
    parameters = arguments["--reason"].map { ["reason": .string($0)] } ?? [:]
    target = JobTarget(&arguments, identifiers: arguments.operands)
  }
}
