import ControlClient
import JSONText
import StatusReplies
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
      name: name, usage: "\(name) [--json] \(operand)\(JobTarget.usage)", summary: summary, details: details,
      options: JobTarget.options + options
    ) { arguments in
      var operands = arguments.operands
      var body = parameters(&arguments, &operands)
      let target = JobTarget(&arguments, identifiers: operands)
      body["command"] = .string(name)
      body[target.member.key] = target.member.value
      let advice = target.namesNoState ? stateAdvice : nil
      return { [body] (session) throws(ToolError) in try run(body, advice: advice, session) }
    }
  }

  private func run(_ body: JSONObject, advice: String?, _ session: Session) throws(ToolError) -> ExitCode {
    let reply = try session.post(ControlClient.path("v1", "commands"), .object(body))
    let outcome = try reply.decoded(as: CommandReply.self)
    if !session.printsJSON {
      for job in outcome.jobs ?? [] where job.result != .done { session.output.note(reason(job)) }
      try session.output.write("\(outcome.done) job\(outcome.done == 1 ? "" : "s") \(participle)\n")
      if let advice { session.output.note(advice) }
    }
    guard let jobs = outcome.jobs else { return .success }
    if jobs.contains(where: { $0.result == .notFound }) { return .notFound }
    return jobs.allSatisfy { $0.result == .done } ? .success : .jobFailed
  }

  /// The reason why the command could not be carried out for a job.
  private func reason(_ job: CommandReply.Job) -> String {
    switch (job.result, job.uniqueOwner) {
    case (.notFound, _): "there is no job \"\(job.id)\""
    case (.ambiguous, _):
      "\"\(job.id)\" may be one of \((job.candidates ?? []).map { "\"\($0)\"" }.joined(separator: ", ")); give more of the ID"
    case (.reverting, _):
      "the job \"\(job.id)\" is cancelled, and its checkpoints are still being reverted; try again in a moment"
    case (_, let owner?):
      "the job \"\(job.id)\" can't be \(participle): the unfinished job \"\(owner)\" has its unique key"
    default: "the job \"\(job.id)\" can't be \(participle): it is \(job.state?.rawValue ?? "in another state")"
    }
  }
}

/// The jobs that a command applies to: some by their IDs, or all that meet conditions.
struct JobTarget {
  static let options = [
    Option("--state", .required("STATE"), help: "All jobs in this state; may be repeated", isRepeatable: true),
    Option("--type", .required("TYPE"), help: "All jobs of this type"),
    Option("--queue", .required("QUEUE"), help: "All jobs of this queue"),
    Option("--batch", .required("BATCH"), help: "All jobs of this batch"),
  ]
  static let usage = "ID... | [--state STATE] [--type TYPE] [--queue QUEUE] [--batch BATCH]"

  /// The key and value that the daemon is sent.
  let member: (key: String, value: JSONValue)
  /// True if conditions are given, and none on the state.
  let namesNoState: Bool

  init(_ arguments: inout ParsedArguments, identifiers: [String]) {
    var conditions: JSONObject = [:]
    let states = arguments.all("--state")
    if let state = states.first {
      conditions["state"] = states.count == 1 ? .string(state) : .array(states.map(JSONValue.string))
    }
    for name in ["type", "queue", "batch"] {
      if let value = arguments["--" + name] { conditions[name] = .string(value) }
    }
    if identifiers.isEmpty == conditions.isEmpty {
      arguments.addProblem(
        identifiers.isEmpty
          ? "say which jobs are meant: \(Self.usage)" : "give either IDs, or --state, --type, --queue and --batch")
    }
    if identifiers.contains("") { arguments.addProblem("an ID can't be empty") }
    namesNoState = identifiers.isEmpty && states.isEmpty
    member = identifiers.isEmpty ? ("where", .object(conditions)) : ("jobs", .array(identifiers.map(JSONValue.string)))
  }
}
