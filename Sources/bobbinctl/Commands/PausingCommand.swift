import ControlClient
import JSONText

/// A subcommand that pauses or resumes.
protocol PausingCommand: Command {
  var resource: PausedResource { get }
  /// True if it tells what is paused then.
  static var tellsPauses: Bool { get }
}

/// The target of a pause or resume: a queue, a type, or everything.
struct PausedResource {
  let body: JSONObject
  let words: String

  init(_ arguments: inout ParsedArguments, _ command: String) {
    if let operand = arguments.operands.first {
      arguments.addProblem("\(command) takes no argument, not \"\(operand)\"; a queue is named by --queue")
    }
    let (queue, type) = (arguments["--queue"], arguments["--type"])
    if queue != nil && type != nil { arguments.addProblem("give --queue or --type, not both") }
    body = queue.map { ["queue": .string($0)] } ?? type.map { ["type": .string($0)] } ?? [:]
    words = queue.map { "the queue \"\($0)\"" } ?? type.map { "the type \"\($0)\"" } ?? "everything"
  }
}

/// The pauses in force after a pause or resume; older daemons don't send them.
private struct PausesReply: Decodable {
  let pauses: [StatusReply.Pause]?
}

extension StatusReply.Pause {
  /// The command that takes it back.
  fileprivate var resumeCommand: String {
    kind == "all" ? "bobbinctl resume" : "bobbinctl resume --\(kind) \(name ?? "")"
  }
}

extension PausingCommand {
  static var usage: String { "\(name) [--queue QUEUE | --type TYPE] [--json]" }
  static var options: [Option] {
    [
      Option("--queue", .required("QUEUE"), "This queue only"), Option("--type", .required("TYPE"), "This type only"),
    ]
  }

  func run(_ session: Session) throws(ToolError) -> ExitCode {
    let reply = try session.post(ControlClient.path("v1", Self.name), .object(resource.body))
    if session.printsJSON { return .success }
    session.output.note("\(resource.words) is \(Self.name)d")
    if Self.tellsPauses, let pauses = try reply.decoded(as: PausesReply.self).pauses {
      for pause in pauses {
        session.output.note("\(pause.words) is still paused; \"\(pause.resumeCommand)\" resumes it")
      }
    }
    return .success
  }
}
