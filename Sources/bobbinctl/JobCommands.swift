import ControlClient
import JSONText
import StatusReplies
import SystemSupport
import TextSupport

/// A command that changes jobs.
struct JobCommand: Sendable {
  let name: String
  /// The past participle, as in "3 jobs cancelled".
  let participle: String
  let summary: String
  let details: String
  /// Operands before the jobs, with a space after them.
  var operand = ""
  var options: [Option] = []
  /// A sentence for who names conditions but no state, if the jobs that are likely meant have states that must be named.
  var stateAdvice: String?
  /// Reads the parameters that go with the command, and removes their operands.
  var parameters: @Sendable (_ arguments: inout ParsedArguments, _ operands: inout [String]) -> JSONObject = { _, _ in
    [:]
  }

  static let all = [
    JobCommand(
      name: "cancel", participle: "cancelled", summary: "Cancel jobs, running ones included",
      details: """
        A running job is told to stop, a process by SIGTERM and then SIGKILL; the effects of its attempt are dropped. Jobs
        that need a cancelled job are cancelled with it.
        """,
      options: [
        Option("--reason", .required("TEXT"), help: "What the jobs' records say (default: who cancelled them)")
      ], parameters: { arguments, _ in arguments["--reason"].map { ["reason": .string($0)] } ?? [:] }),
    JobCommand(
      name: "hold", participle: "held", summary: "Hold jobs until they are released",
      details: """
        A running job is told to stop; the effects of its attempt are dropped, and the attempt does not count.
        """),
    JobCommand(
      name: "release", participle: "released", summary: "Release held jobs",
      details: """
        A job that waits for a time or for other jobs keeps waiting for them.
        """),
    JobCommand(
      name: "retry", participle: "retried", summary: "Run finished jobs again, or jobs that wait for a time",
      details: """
        A discarded, cancelled or completed job gets as many attempts as a new one. One that is scheduled or waits for its
        next attempt runs now. Conditions without a state select unfinished jobs only: --state discarded adds those that
        failed for good.
        """,
      stateAdvice: "only unfinished jobs are looked for without --state; add --state discarded for those that failed"),
    JobCommand(
      name: "redrive", participle: "redriven", summary: "Run quarantined jobs again",
      details: """
        A job is quarantined when its process has crashed three times. "bobbinctl log" shows what is known of the crashes.
        """, stateAdvice: "only unfinished jobs are looked for without --state; add --state quarantined"),
    JobCommand(
      name: "delete", participle: "deleted", summary: "Delete jobs that are over, with all that is known of them",
      details: """
        Jobs that are completed, cancelled or discarded, and that no unfinished job names: their records, attempts, logs and
        rejects. What they have imported or written stays. Their IDs are unknown then, and run if they are submitted again.
        Conditions without a state select such jobs only.
        """),
    JobCommand(
      name: "priority", participle: "given the priority", summary: "Give jobs another priority",
      details: """
        N is a whole number from -100 to 100, higher goes first. A running job keeps it for its next attempt.
        """, operand: "N ",
      parameters: { arguments, operands in
        let priority = operands.first.flatMap { Int64($0) } ?? .max
        if !(-100...100).contains(priority) {
          arguments.addProblem("the first argument is a priority from -100 to 100")
        }
        operands = Array(operands.dropFirst())
        return ["value": .integer(priority)]
      }),
  ]

  var command: Command {
    Command(
      name: name, usage: "\(name) [--json] \(operand)\(JobTarget.usage)", summary: summary,
      details: details + "\n\n" + JobConditions.details,
      options: JobTarget.options + options
    ) { arguments in
      var operands = arguments.operands
      var body = parameters(&arguments, &operands)
      let target = JobTarget(&arguments, identifiers: operands)
      body["command"] = .string(name)
      for (key, value) in target.members { body[key] = value }
      let advice = target.namesNoState ? stateAdvice : nil
      return { [body] (session) throws(ToolError) in try run(body, advice: advice, session) }
    }
  }

  private func run(_ body: JSONObject, advice: String?, _ session: Session) throws(ToolError) -> ExitCode {
    // A little more than the daemon takes for very many jobs.
    let reply = try session.post(ControlClient.path("v1", "commands"), .object(body), timeout: .seconds(3_630))
    let outcome = try reply.decoded(as: CommandReply.self)
    if outcome.dryRun == true {
      if !session.printsJSON { try showTrial(outcome, session) }
      return .success
    }
    if !session.printsJSON {
      let others = (outcome.jobs ?? []).filter { $0.result != .done }
      for job in outcome.matched == nil ? others[...] : others.prefix(Self.noteLimit) {
        session.output.note(reason(job))
      }
      try session.output.write("\(outcome.done) job\(outcome.done == 1 ? "" : "s") \(participle)\n")
      if let matched = outcome.matched, matched > outcome.done {
        session.output.note("\(matched - outcome.done) of the \(matched) jobs that meet the conditions were not")
      }
      if let advice { session.output.note(advice) }
      if others.contains(where: { $0.result == .notFound }) {
        session.output.note(
          "commands take a whole ID; its beginning will do only if the daemon made it")
      }
    }
    guard outcome.matched == nil, let jobs = outcome.jobs else { return .success }
    if jobs.contains(where: { $0.result == .notFound }) { return .notFound }
    return jobs.allSatisfy { $0.result == .done } ? .success : .jobFailed
  }

  /// The most jobs of a selection of which it is told why nothing was done for them.
  private static let noteLimit = 20

  /// Shows which jobs meet the conditions.
  private func showTrial(_ outcome: CommandReply, _ session: Session) throws(ToolError) {
    for job in outcome.jobs ?? [] { try session.output.write(displayName(job.id) + "\n") }
    let (told, all) = (outcome.jobs?.count ?? 0, outcome.matched ?? 0)
    session.output.note(
      "\(counted(all, "job")) would be \(participle) if their states allow it"
        + (told < all ? "; the first \(told == 1 ? "is" : "\(told) are") shown" : ""))
  }

  /// The reason why the command could not be carried out for a job.
  private func reason(_ job: CommandReply.Job) -> String {
    if let dependent = job.neededBy {
      return "the job \"\(job.id)\" can't be \(participle): the unfinished job \"\(dependent)\" names it"
    }
    if let spool = job.awaitedBy {
      return "the job \"\(job.id)\" can't be \(participle): the host \(spool) may still have its file; "
        + "try again in a moment, or once it is back"
    }
    return switch (job.result, job.uniqueOwner) {
    case (.notFound, _): "there is no job \"\(job.id)\""
    case (.ambiguous, _):
      "\"\(job.id)\" may be one of \((job.candidates ?? []).map { "\"\($0)\"" }.joined(separator: ", ")); give more of the ID"
    case (.reverting, _):
      "the job \"\(job.id)\" is cancelled, and its checkpoints are still being reverted; try again in a moment"
    case (.notYours, _):
      "the job \"\(job.id)\" can't be \(participle): it belongs to \(job.submitter.map(JobReply.userText) ?? "an unknown user")"
    case (.replacing, _): "the job \"\(job.id)\" is just being replaced; try again in a moment"
    case (_, let owner?):
      "the job \"\(job.id)\" can't be \(participle): the unfinished job \"\(owner)\" has its unique key"
    default: "the job \"\(job.id)\" can't be \(participle): it is \(job.state?.rawValue ?? "in another state")"
    }
  }
}

/// The jobs that a command applies to: some by their IDs, or all that meet conditions.
struct JobTarget {
  static let options =
    JobConditions.options + [
      Option("--dry-run", .none, help: "Show which jobs meet the conditions, and change nothing")
    ]
  static let usage = "ID... | CONDITION... [--dry-run]"

  /// The keys and values that the daemon is sent.
  let members: JSONObject
  /// True if conditions are given, and none on the state.
  let namesNoState: Bool
  /// True if nothing is to be changed.
  let isTrial: Bool

  init(_ arguments: inout ParsedArguments, identifiers: [String]) {
    let conditions = JobConditions(&arguments)
    isTrial = arguments.has("--dry-run")
    if identifiers.isEmpty == conditions.isEmpty {
      arguments.addProblem(
        identifiers.isEmpty
          ? "say which jobs are meant: \(Self.usage)" : "give either IDs or conditions such as --state and --queue")
    }
    if isTrial, !identifiers.isEmpty { arguments.addProblem("--dry-run is for conditions, not for IDs") }
    if identifiers.contains("") { arguments.addProblem("an ID can't be empty") }
    namesNoState = identifiers.isEmpty && conditions.states.isEmpty
    var members: JSONObject =
      identifiers.isEmpty ? ["where": conditions.json] : ["jobs": .array(identifiers.map(JSONValue.string))]
    if isTrial { members["dryRun"] = true }
    self.members = members
  }
}
