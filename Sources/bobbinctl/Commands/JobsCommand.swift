import ControlClient
import JSONText

/// A subcommand that changes jobs.
protocol JobsCommand: Command {
  /// The past participle of the command, as in "3 jobs cancelled".
  static var participle: String { get }
  var target: JobTarget { get }
  /// The command's parameters.
  var parameters: JSONObject { get }
}

extension JobsCommand {
  static var usage: String { "\(name) [--json] \(JobTarget.usage)" }
  static var options: [Option] { JobTarget.options }
  var parameters: JSONObject { [:] }

  func run(_ session: Session) throws(ToolError) -> ExitCode {
    var body = parameters
    body["command"] = .string(Self.name)
    body[target.member.key] = target.member.value
    let reply = try session.post(ControlClient.path("v1", "commands"), .object(body))
    let outcome = try reply.decoded(as: CommandReply.self)
    if !session.printsJSON { try report(outcome, session) }
    guard let jobs = outcome.jobs else { return .success }
    if jobs.contains(where: { $0.result == "not-found" }) { return .notFound }
    return jobs.allSatisfy { $0.result == "done" } ? .success : .jobFailed
  }

  private func report(_ outcome: CommandReply, _ session: Session) throws(ToolError) {
    for job in outcome.jobs ?? [] where job.result != "done" { session.output.note(Self.reason(job)) }
    try session.output.write("\(outcome.done) job\(outcome.done == 1 ? "" : "s") \(Self.participle)\n")
  }

  /// The reason why the command could not be carried out for a job.
  private static func reason(_ job: CommandReply.Job) -> String {
    switch (job.result, job.uniqueOwner) {
    case ("not-found", _): "there is no job \"\(job.id)\""
    case ("reverting", _):
      "the job \"\(job.id)\" is cancelled, and what it has saved is still being taken back; try again in a moment"
    case (_, let owner?):
      "the job \"\(job.id)\" can't be \(participle): the job \"\(owner)\", which is not over, has its unique key"
    default: "the job \"\(job.id)\" can't be \(participle): it is \(job.state ?? "in another state")"
    }
  }
}
