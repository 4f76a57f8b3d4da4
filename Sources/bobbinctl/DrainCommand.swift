import ControlClient
import Foundation
import JSONText
import StatusReplies
import SystemSupport
import TextSupport

/// `bobbinctl drain`: starts no more jobs at this host, and waits until those that run have ended.
struct DrainCommand: Subcommand {
  static let name = "drain"
  static let usage = "drain [--wait[=TIME]] [--json]"
  static let summary = "Start no more jobs at this host, and wait until none runs and all is on disk"
  static let details = """
    For an upgrade or a shutdown that interrupts nothing. It is the pause of everything, which "bobbinctl resume" ends, or
    in a fleet the drain of this host, which "bobbinctl fleet undrain" ends: both hold, also when the daemon is started
    again. Jobs are accepted meanwhile.

    With --wait it ends when no job runs any more and every outcome is on disk; on a terminal it shows how far those are
    that run. It ends with 75 when the time is up, and the drain holds. Interrupting it does not end the drain either.
    """
  static let options = [WaitOption.option("Wait until no job runs and all is on disk, for at most TIME")]

  private let wait: Duration?

  init(_ arguments: inout ParsedArguments) {
    if let operand = arguments.operands.first {
      arguments.addProblem("drain takes no argument, not \"\(operand)\"; \"fleet drain\" drains another host")
    }
    wait = WaitOption.read(&arguments)
  }

  func run(_ session: Session) throws(ToolError) -> ExitCode {
    let deadline = wait.map { ContinuousClock.now + $0 }
    let host = try fleetHost(session)
    let resume = try begin(host, session)
    guard let deadline else {
      if !session.printsJSON { session.output.note("no more jobs are started; \"\(resume)\" ends that") }
      return .success
    }
    let left = try waitUntilIdle(host, by: deadline, session)
    if left > 0 {
      let jobs = left == 1 ? "1 job still runs" : "\(left) jobs still run"
      throw ToolError(.tryAgain, "the wait timed out: \(jobs)", hint: "the drain holds; \"\(resume)\" ends it")
    }
    _ = try session.post(ControlClient.path("v1", "flush"), .object([:]))
    if !session.printsJSON {
      session.output.note("no job runs, and everything is on disk; \"\(resume)\" starts jobs again")
    }
    return .success
  }

  /// This host in its fleet; nil without one.
  private func fleetHost(_ session: Session) throws(ToolError) -> FleetReply.Host? {
    let reply = try Reply.received(from: session.client, "GET", ControlClient.path("v1", "fleet"))
    if reply.status == 404 { return nil }
    let fleet = try reply.accepted(refusal: .unavailable).decoded(as: FleetReply.self)
    return fleet.hosts.first { $0.number == fleet.host }
  }

  /// Keeps jobs from being started, and returns the command that ends that.
  private func begin(_ host: FleetReply.Host?, _ session: Session) throws(ToolError) -> String {
    guard let host else {
      _ = try session.post(ControlClient.path("v1", "pause"), .object([:]))
      return "bobbinctl resume"
    }
    let body: JSONObject = ["host": .string("\(host.number)")]
    _ = try session.post(ControlClient.path("v1", "fleet", "drain"), .object(body), refusal: .refused)
    return "bobbinctl fleet undrain \(host.spool)"
  }

  /// Looks once a second until nothing runs, or the time is up; returns the number of jobs that run.
  private func waitUntilIdle(
    _ host: FleetReply.Host?, by deadline: ContinuousClock.Instant, _ session: Session
  ) throws(ToolError) -> Int {
    var lines = LiveLines(session.output)
    defer { lines.clear() }
    while true {
      let running = try running(host, session)
      let time = ContinuousClock.now.duration(to: deadline)
      if running.count == 0 || time <= .zero { return running.count }
      let head = "waiting for \(running.count) \(running.count == 1 ? "job that runs" : "jobs that run")"
      let width = session.output.progressWidth
      lines.show([head] + RunningLines.text(running.jobs, width: width, TimeText()))
      // Nothing opens it: the daemon is asked once a second.
      _ = Latch().wait(for: min(time, .seconds(1)))
    }
  }

  /// The number of jobs that run at this host, and those of them that can be shown.
  private func running(
    _ host: FleetReply.Host?, _ session: Session
  ) throws(ToolError) -> (count: Int, jobs: [JobReply]) {
    if let host { return (try fleetHost(session)?.running ?? host.running, []) }
    let query = [URLQueryItem(name: "state", value: "running")]
    let list = try Reply.received(from: session.client, "GET", ControlClient.path("v1", "jobs"), query: query)
      .accepted(refusal: .unavailable).decoded(as: JobsReply.self)
    return (list.count ?? list.jobs.count, list.jobs)
  }
}
