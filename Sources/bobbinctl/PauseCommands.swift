import ControlClient
import JSONText
import StatusReplies
import TextSupport

/// A command that pauses or resumes a queue, a type, a schedule, or everything.
struct PauseCommand: Sendable {
  let name: String
  let summary: String
  let details: String
  /// True if the pauses that remain are listed.
  let listsPauses: Bool
  var options: [Option] = []

  static let all = [
    PauseCommand(
      name: "pause", summary: "Start no more jobs of a queue or type, or none at all",
      details: """
        Running jobs are not disturbed, and jobs are still accepted. A pause holds until "bobbinctl resume", also when the
        daemon is restarted. Without an option everything is paused. A paused schedule submits nothing; its jobs that are
        accepted run.
        """, listsPauses: false),
    PauseCommand(
      name: "resume", summary: "Start jobs again after a pause",
      details: """
        Ends a pause of the same kind: a queue's with --queue, a type's with --type, a schedule's with --schedule, that of
        everything without an option. With --all it ends every pause. What a schedule has not fired for meanwhile is not
        made up for.
        """, listsPauses: true,
      options: [Option("--all", .none, help: "End all pauses, those of queues, types and schedules too")]),
  ]

  var command: Command {
    let others = options.map { " | " + $0.synopsis }.joined()
    return Command(
      name: name,
      usage: "\(name) [--queue QUEUE | --type TYPE | --schedule SCHEDULE\(others)] [--json]",
      summary: summary, details: details,
      options: [
        Option("--queue", .required("QUEUE"), help: "This queue only"),
        Option("--type", .required("TYPE"), help: "This type only"),
        Option("--schedule", .required("SCHEDULE"), help: "This schedule"),
      ] + options
    ) { arguments in
      if let operand = arguments.operands.first {
        arguments.addProblem("\(name) takes no argument, not \"\(operand)\"; a queue is named by --queue")
      }
      let (queue, type) = (arguments["--queue"], arguments["--type"])
      if queue != nil && type != nil { arguments.addProblem("give --queue or --type, not both") }
      let schedule = arguments["--schedule"]
      if schedule != nil, queue != nil || type != nil || arguments.has("--all") {
        arguments.addProblem("--schedule stands alone")
      }
      let isForAll = arguments.has("--all")
      if isForAll, queue != nil || type != nil { arguments.addProblem("--all stands alone") }
      let body: JSONObject = queue.map { ["queue": .string($0)] } ?? type.map { ["type": .string($0)] } ?? [:]
      let resource = queue.map { "the queue \"\($0)\"" } ?? type.map { "the type \"\($0)\"" } ?? "everything"
      return { (session) throws(ToolError) in
        if let schedule { return try run(schedule: schedule, session) }
        return isForAll ? try resumeAll(session) : try run(body, of: resource, session: session)
      }
    }
  }

  /// Ends the pause of everything and then those that are left, one by one.
  private func resumeAll(_ session: Session) throws(ToolError) -> ExitCode {
    let first = try session.post(ControlClient.path("v1", name), .object([:]))
    var ended = 1
    for pause in try first.decoded(as: PauseReply.self).pauses ?? [] {
      // A host that is drained stays so: whoever has drained it may be at work on it.
      guard let name = pause.name, pause.kind != "host" else { continue }
      if pause.kind == "schedule" {
        _ = try session.post(ControlClient.path("v1", "schedules", name, self.name), .object([:]))
      } else {
        _ = try session.post(ControlClient.path("v1", self.name), .object([pause.kind: .string(name)]))
      }
      if !session.printsJSON { session.output.note("\(pause.words) is resumed") }
      ended += 1
    }
    if !session.printsJSON { session.output.note(ended == 1 ? "everything is resumed" : "nothing is paused any more") }
    return .success
  }

  private func run(schedule: String, _ session: Session) throws(ToolError) -> ExitCode {
    _ = try session.post(ControlClient.path("v1", "schedules", schedule, name), .object([:]), refusal: .refused)
    if !session.printsJSON { session.output.note("the schedule \"\(schedule)\" is \(name)d") }
    return .success
  }

  private func run(_ body: JSONObject, of resource: String, session: Session) throws(ToolError) -> ExitCode {
    let reply = try session.post(ControlClient.path("v1", name), .object(body))
    if session.printsJSON { return .success }
    session.output.note("\(resource) is \(name)d")
    if listsPauses, let pauses = try reply.decoded(as: PauseReply.self).pauses {
      for pause in pauses {
        session.output.note("\(pause.words) is still paused; \"\(pause.resumeCommand)\" resumes it")
      }
    }
    return .success
  }
}

extension PauseReply.Pause {
  /// The paused resource, such as `the queue "mail"`.
  var words: String { kind == "all" ? "everything" : "the \(kind) \"\(name ?? "")\"" }

  /// The command that ends the pause.
  fileprivate var resumeCommand: String {
    switch kind {
    case "all": "bobbinctl resume"
    case "host": "bobbinctl fleet undrain \(name ?? "")"
    default: "bobbinctl resume --\(kind) \(name ?? "")"
    }
  }
}
