import ControlClient
import JSONText
import StatusReplies
import SystemSupport
import TextSupport

/// `bobbinctl schedules`: what fires when, and how it ended last.
struct SchedulesCommand: Subcommand {
  static let name = "schedules"
  static let usage = "schedules [--json]"
  static let summary = "List the schedules: when they fire next, when they did last, and what became of it"
  static let details = """
    A file schedules.d/NAME.conf beside bobbin.conf declares a schedule; bobbin-schedule(5) describes it. FIRES says
    when, as systemd.time(7) writes it; NEXT may be a little later than the moment that is due (RandomizedDelaySec=). ENDED counts the jobs of the last firing by state, or says
    why they were refused.
    """
  static let options: [Option] = []

  init(_ arguments: inout ParsedArguments) {
    if let operand = arguments.operands.first {
      arguments.addProblem("schedules takes no argument, not \"\(operand)\"")
    }
  }

  func run(_ session: Session) throws(ToolError) -> ExitCode {
    let reply = try session.get(ControlClient.path("v1", "schedules"))
    if session.printsJSON { return .success }
    let time = TimeText()
    var table = Table(columns: [
      .init(title: "NAME", isFlexible: true), .init(title: "FIRES", isFlexible: true), .init(title: "NEXT"),
      .init(title: "LAST"),
      .init(title: "ENDED", isFlexible: true),
    ])
    table.rows = try reply.decoded(as: SchedulesReply.self).schedules.map { schedule in
      let jobs = schedule.jobs.sorted { $0.key < $1.key }.map { "\($0.value) \($0.key)" }
      let end = schedule.refusal.map { "refused: \($0)" } ?? jobs.joined(separator: ", ")
      return [
        .init(schedule.name), .init(sentence: schedule.moments ?? "-"),
        .init(sentence: schedule.isPaused ? "paused" : schedule.next.map(time.relative) ?? "never"),
        .init(sentence: schedule.last.map(time.relative) ?? "-"),
        .init(sentence: end.isEmpty ? "-" : end),
      ]
    }
    try session.output.write(table)
    return .success
  }
}

/// `bobbinctl run`: has a schedule fire now.
struct RunCommand: Subcommand {
  static let name = "run"
  static let usage = "run [--json] SCHEDULE"
  static let summary = "Have a schedule fire now, paused or not"
  static let details = """
    Submits the jobs of SCHEDULE once more; what is due later is not changed. The printed ID is that of its job,
    or begins those of its jobs.
    """
  static let options: [Option] = []

  private let schedule: String

  init(_ arguments: inout ParsedArguments) {
    schedule = arguments.operands.first ?? ""
    if arguments.operands.count != 1 { arguments.addProblem("the name of one schedule is expected") }
  }

  func run(_ session: Session) throws(ToolError) -> ExitCode {
    let reply = try session.post(
      ControlClient.path("v1", "schedules", schedule, "run"), .object([:]), refusal: .refused)
    if session.printsJSON { return .success }
    try session.output.write(singleLine(try reply.decoded(as: ScheduleReply.self).firing ?? "") + "\n")
    return .success
  }
}
