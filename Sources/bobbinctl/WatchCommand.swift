import ControlClient
import Dispatch
import Foundation
import StatusReplies
import SystemSupport
import TextSupport

/// `bobbinctl watch`: follows jobs to their ends.
struct WatchCommand: Subcommand {
  static let name = "watch"
  static let usage = "watch [--json] ID... | --batch BATCH"
  static let summary = "Follow jobs until they have finished"
  static let details = """
    On a terminal it shows each second how many are done, at which rate, and how far those are that run; elsewhere it
    prints a line now and then. At the end it prints the jobs that failed, and how many ended in which state.

    It ends with 0 when all are completed, with 1 if one of them failed, and with 3 if one is held and the others are
    finished or wait too. Interrupting it does nothing to the jobs.
    """
  static let options = [Option("--batch", .required("BATCH"), help: "The jobs of this batch")]

  /// The most jobs that are watched by name: each is asked for by itself.
  private static let mostNamed = 100
  /// The time between lines that stay, in looks.
  private static let looksPerLine = 10

  private let batch: String?
  private let identifiers: [String]

  init(_ arguments: inout ParsedArguments) {
    batch = arguments["--batch"]
    identifiers = arguments.operands
    if identifiers.isEmpty == (batch == nil) { arguments.addProblem("give IDs or a batch: \(Self.usage)") }
    if identifiers.contains("") { arguments.addProblem("an ID can't be empty") }
    if identifiers.count > Self.mostNamed {
      arguments.addProblem("at most \(Self.mostNamed) jobs are watched by ID; --batch has no limit")
    }
  }

  func run(_ session: Session) throws(ToolError) -> ExitCode {
    let batch = try self.batch.map { (handle) throws(ToolError) in try BatchCommand.find(handle, session) }
    var watch = batch?.watch ?? JobWatch(.named(identifiers))
    let output = session.output
    var lines = LiveLines(output)
    var looks = 0
    var told = ""
    while true {
      // A batch was looked at when it was found; nothing was printed of that.
      if batch == nil || looks > 0 || session.printsJSON { try watch.look(session) }
      let tally = watch.tally
      if tally.total == 0, let batch { throw BatchCommand.missing(batch.name) }
      if tally.done == tally.total || tally.isStuck { break }
      if !session.printsJSON {
        lines.show(watch.lines(width: output.progressWidth, height: output.progressHeight))
        if !output.showsProgress, looks % Self.looksPerLine == 0, watch.summary != told {
          told = watch.summary
          try output.write(told + "\n")
        }
      }
      looks += 1
      // Nothing opens it: the daemon is asked once a second.
      _ = Latch().wait(until: .now() + .seconds(1))
    }
    lines.clear()
    if !session.printsJSON { try printEnd(watch, ofBatch: batch?.name, session) }
    return watch.tally.failed > 0 ? .jobFailed : watch.tally.held > 0 ? .jobHeld : .success
  }

  private func printEnd(_ watch: JobWatch, ofBatch batch: String?, _ session: Session) throws(ToolError) {
    if let batch {
      try BatchCommand.printFailures(of: batch, watch.tally, session)
    } else {
      let ordered = watch.named.filter(\.state.isFailure) + watch.named.filter { !$0.state.isFailure }
      for job in ordered { try session.output.write(job.submitLine(job.waitEnd(allFinished: false), TimeText())) }
    }
    let total = watch.tally.total
    if total > 1 || batch != nil {
      try session.output.write("\(total) \(total == 1 ? "job" : "jobs"): \(watch.tally.statesText)\n")
    }
  }
}

/// `bobbinctl batch`: how far the jobs of a batch are.
struct BatchCommand: Subcommand {
  static let name = "batch"
  static let usage = "batch [--json] BATCH"
  static let summary = "Show how far the jobs of a batch are"
  static let details = """
    Shown are the number of jobs in each state, those that failed, and those that run. "bobbinctl watch --batch" follows
    them, "bobbinctl list --batch" lists all. The beginning of a name does that no other recent batch has; of the batches
    that the firings of a schedule have made of a name it means the newest.
    """

  /// The most jobs that failed that are shown.
  private static let failureLimit = 20

  private let batch: String

  init(_ arguments: inout ParsedArguments) {
    batch = arguments.operands.first ?? ""
    if batch.isEmpty || arguments.operands.count > 1 {
      arguments.addProblem("batch takes one batch: \(Self.usage)")
    }
  }

  func run(_ session: Session) throws(ToolError) -> ExitCode {
    var (batch, watch) = try Self.find(batch, session)
    if session.printsJSON {
      try watch.look(session)
      return .success
    }
    let tally = watch.tally
    var fields = FieldList()
    fields.add("batch", batch)
    fields.add("done", watch.summary, style: tally.failed > 0 ? .bad : .plain)
    fields.add("jobs", tally.statesText)
    try session.output.write(fields)
    try Self.printFailures(of: batch, tally, session)
    let width = session.output.terminal.width
    for line in RunningLines.text(watch.running, width: width, TimeText()) { try session.output.write(line + "\n") }
    return .success
  }

  /// Finds a batch by its name, or by a name that none has: the newest that firings of a schedule have made of it, or the only
  /// one that begins so.
  ///
  /// - Returns: its name, and the first look at it.
  static func find(_ handle: String, _ session: Session) throws(ToolError) -> (name: String, watch: JobWatch) {
    var watch = JobWatch(.batch(handle))
    try watch.look(session.withoutJSON)
    if watch.tally.total > 0 { return (handle, watch) }
    let reply = try session.withoutJSON.get(ControlClient.path("v1", "batches"))
    let found = try reply.decoded(as: BatchesReply.self).batches.map(\.name).filter { $0.hasPrefix(handle) }
    guard let name = found.first(where: { $0 == handle || $0.hasPrefix(handle + "@") }) ?? only(of: found) else {
      if found.isEmpty { throw missing(handle) }
      let names = found.prefix(5).map { "\"\(displayName($0))\"" }.joined(separator: ", ")
      throw ToolError(
        .usage,
        "several batches begin with \"\(displayName(handle))\": \(names)\(found.count > 5 ? ", and others" : "")")
    }
    watch = JobWatch(.batch(name))
    try watch.look(session.withoutJSON)
    return (name, watch)
  }

  private static func only(of names: [String]) -> String? { names.count == 1 ? names.first : nil }

  static func missing(_ batch: String) -> ToolError {
    ToolError(
      .notFound, "there is no job of the batch \"\(displayName(batch))\"",
      hint: "\"bobbinctl list\" shows the jobs, with --json their batches")
  }

  /// Prints the jobs of a batch that failed, the newest of them if there are many.
  static func printFailures(of batch: String, _ tally: JobTally, _ session: Session) throws(ToolError) {
    if tally.failed == 0 { return }
    let query = [
      URLQueryItem(name: "batch", value: batch),
      URLQueryItem(name: "state", value: "discarded,cancelled,quarantined"),
      URLQueryItem(name: "limit", value: "\(failureLimit)"),
    ]
    let failed = try session.get(ControlClient.path("v1", "jobs"), query: query).decoded(as: JobsReply.self).jobs
    for job in failed { try session.output.write(job.submitLine(nil, TimeText())) }
    let more = tally.failed - failed.count
    if more > 0 { session.output.note("\(more) more failed; \"bobbinctl list --batch\" with --state lists them") }
  }
}
