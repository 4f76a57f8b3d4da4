/// `bobbinctl hold`: puts jobs aside.
struct HoldCommand: JobsCommand {
  static let name = "hold"
  static let participle = "put aside"
  static let summary = "Put jobs aside until they are released"
  static let details = """
    A running job is told to end; what its attempt has done is dropped, and the attempt does not count.
    """

  let target: JobTarget

  init(_ arguments: inout ParsedArguments) {
    target = JobTarget(&arguments, identifiers: arguments.operands)
  }
}
