import ControlClient

/// `bobbinctl show`: all about some jobs.
struct ShowCommand: Command {
  static let name = "show"
  static let usage = "show [--json] ID..."
  static let summary = "Show all about jobs"
  static let details = """
    Every ID is looked up, whether or not another one is found.
    """

  private let identifiers: [String]

  init(_ arguments: inout ParsedArguments) {
    identifiers = arguments.operands
    if identifiers.isEmpty { arguments.addProblem("an ID is missing: \(Self.usage)") }
    if identifiers.contains("") { arguments.addProblem("an ID can't be empty") }
  }

  func run(_ session: Session) throws(ToolError) -> ExitCode {
    var result = ExitCode.success
    var isFirst = true
    for identifier in identifiers {
      do throws(ToolError) {
        let reply = try session.get(ControlClient.path("v1", "jobs", identifier))
        guard !session.printsJSON else { continue }
        let job = try reply.decoded(as: JobReply.self)
        if !isFirst { try session.output.write("\n") }
        isFirst = false
        try session.output.write(job.fields(try reply.document(), TimeText()))
      } catch {
        // Without a daemon or a reader there is no use in going on.
        if error.code == .unavailable || error.code == .outputFailed { throw error }
        session.output.report(error)
        if result == .success { result = error.code }
      }
    }
    return result
  }
}
