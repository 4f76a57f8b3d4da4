import ControlClient
import Foundation
import StatusReplies
import TextSupport

/// `bobbinctl status`: the state of the daemon.
struct StatusCommand: Subcommand {
  static let name = "status"
  static let usage = "status [--json]"
  static let summary = "Show the state of the daemon"
  static let details = """
    "computed" jobs are completed, but their outcome is not on disk yet.
    """

  init(_ arguments: inout ParsedArguments) {
    if let operand = arguments.operands.first { arguments.addProblem("status takes no argument, not \"\(operand)\"") }
  }

  func run(_ session: Session) throws(ToolError) -> ExitCode {
    let reply = try session.get(ControlClient.path("v1", "status"), refusal: .unavailable)
    guard !session.printsJSON else { return .success }
    let status = try reply.decoded(as: StatusReply.self)
    try session.output.write(status.fields(TimeText()))
    return .success
  }
}

extension StatusReply {
  /// States in the order of a job's way; others follow by name.
  private static let order = ["running", "available", "scheduled", "retryable", "waiting", "held", "computed"]
  /// States that nothing follows, which are counted since the daemon's start.
  private static let finalOrder = ["completed", "discarded", "cancelled", "quarantined"]

  /// The fields that `status` prints.
  func fields(_ times: TimeText) -> FieldList {
    var list = FieldList()
    list.add("bobbind", version)
    list.add("state", state, style: state == "running" ? .good : .bad)
    let reason = databaseAwayReason.map { ": \($0)" } ?? ""
    list.add("database", databaseAwaySince.map { "away since \(times.full($0))\(reason)" }, style: .bad)
    addObstacles(to: &list)
    list.add("process", pid.map { "\($0)" })
    list.add("started", startedAt.map(times.full))
    list.add("up", uptimeSeconds.map(TimeSpan.words(seconds:)))
    list.add("spool", spool)
    list.add("store", store)
    list.add("workers", workers.map { "\($0.busy) of \($0.count) busy" })
    list.add("jobs now", jobsText)
    list.add("since start", endsText)
    list.add("hot folders", hotFoldersText, style: hotFolders?.troubled.isEmpty == false ? .bad : .plain)
    list.add("unflushed", unflushedText)
    list.add("flushes", flushesText)
    list.add("writer error", writer?.lastError, style: .bad)
    list.add("main", mainText)
    list.add("copy", copy.map { Self.text($0, times) })
    list.add("copy error", copy?.problem, style: .bad)
    return list
  }

  /// Adds what keeps jobs from starting.
  func addObstacles(to list: inout FieldList) {
    for pause in pauses ?? [] { list.add("paused", pause.words, style: .bad) }
    for held in heldTypes ?? [] { list.add("held", "the type \"\(held.type)\": \(held.reason)", style: .bad) }
    if let shortage {
      let jobs = shortage.jobs == 1 ? "a job is" : "\(shortage.jobs) jobs are"
      list.add("short", "\(jobs) tried again until this is mended: \(shortage.reason)", style: .bad)
    }
    for mistake in refusedConfiguration ?? [] { list.add("configuration", "not taken: \(mistake)", style: .bad) }
    for reason in untakenModels ?? [] { list.add("models", "not taken: \(reason)", style: .bad) }
  }

  var jobsText: String? {
    jobs.map { jobs in
      let others = jobs.keys.filter { !(Self.order + Self.finalOrder).contains($0) }.sorted()
      return Self.text(jobs, Self.order + others)
    }
  }

  var endsText: String? {
    jobs.map { jobs in
      let files = refusedFiles.flatMap { $0 == 0 ? nil : "\($0) \($0 == 1 ? "file" : "files") refused" }
      return Self.text(jobs, Self.finalOrder, and: files)
    }
  }

  /// Such as `3 running, 12 available`.
  private static func text(_ jobs: [String: Int], _ states: [String], and last: String? = nil) -> String {
    var counts = states.compactMap { state in jobs[state].flatMap { $0 == 0 ? nil : "\($0) \(state)" } }
    if let last { counts.append(last) }
    return counts.isEmpty ? "none" : counts.joined(separator: ", ")
  }

  /// Such as `2, with problems: scans; files: 3 waiting, 34 submitted`; nil if there are none.
  var hotFoldersText: String? {
    guard let hotFolders, hotFolders.count > 0 else { return nil }
    let troubled = hotFolders.troubled
    let trouble = troubled.isEmpty ? "" : ", with problems: " + troubled.joined(separator: " ")
    let files = hotFolders.files
    let counts = [
      (files.waiting, "waiting"), (files.underWay, "running"), (files.submitted, "submitted"), (files.failed, "failed"),
    ].filter { $0.0 > 0 }.map { "\($0.0) \($0.1)" }
    return "\(hotFolders.count)\(trouble)" + (counts.isEmpty ? "" : "; files: " + counts.joined(separator: ", "))
  }

  var unflushedText: String? {
    guard let writer, let objects = writer.unflushedObjects else { return nil }
    let bytes = writer.unflushedBytes.map { " (\($0) bytes)" } ?? ""
    let age = writer.oldestUnflushedSeconds.map { ", the oldest for \(TimeSpan.words(seconds: $0))" } ?? ""
    return "\(objects) \(objects == 1 ? "object" : "objects")\(bytes)\(age)"
  }

  private var flushesText: String? {
    guard let writer, let flushes = writer.flushes else { return nil }
    return "\(flushes)" + (writer.lastFlushSeconds.map { ", the last took \(TimeSpan.words(seconds: $0))" } ?? "")
  }

  /// Such as `/srv/bobbin/copy.sqlite, made today at 10:00:00`.
  private static func text(_ copy: Copy, _ times: TimeText) -> String {
    let made = copy.madeAt.map { ", made \(times.full($0))" } ?? ""
    let duration = copy.seconds.map { " in \(TimeSpan.words(seconds: $0))" } ?? ""
    return copy.path + made + duration + (copy.behind == true ? "; the store has changed since" : "")
  }

  private var mainText: String? {
    guard let main, let occupations = main.occupations else { return nil }
    let named = [("median", main.p50Seconds), ("99 %", main.p99Seconds), ("longest", main.maxSeconds)]
    let times = named.compactMap { name, seconds in seconds.map { "\(name) \(TimeSpan.words(seconds: $0))" } }
    return (["\(occupations) \(occupations == 1 ? "occupation" : "occupations")"] + times).joined(separator: ", ")
  }
}

/// `bobbinctl queues`: queues and types with their jobs and limits.
struct QueuesCommand: Subcommand {
  static let name = "queues"
  static let usage = "queues [--json]"
  static let summary = "List queues and types with their unfinished jobs"
  static let details = """
    Shown are queues and types that have unfinished jobs, a limit or a pause.
    """

  init(_ arguments: inout ParsedArguments) {
    if let operand = arguments.operands.first { arguments.addProblem("queues takes no argument, not \"\(operand)\"") }
  }

  func run(_ session: Session) throws(ToolError) -> ExitCode {
    let reply = try session.get(ControlClient.path("v1", "queues"))
    if session.printsJSON { return .success }
    let queues = try reply.decoded(as: QueuesReply.self)
    var table = Table(columns: [
      .init(title: "KIND"), .init(title: "NAME", isFlexible: true), .init(title: "RUNNING"), .init(title: "AVAILABLE"),
      .init(title: "OTHERS"), .init(title: "LIMIT"), .init(title: "NOTE"),
    ])
    for (kind, entries) in [("queue", queues.queues), ("type", queues.types)] {
      table.rows += entries.map { entry in
        let counts = entry.counts
        return [
          .init(kind), .init(entry.name), .init("\(counts.running)"), .init("\(counts.available)"),
          .init("\(counts.others)"),
          .init(entry.concurrency.map(String.init) ?? ""), .init(entry.paused ? "paused" : ""),
        ]
      }
    }
    try session.output.write(table)
    if queues.paused { session.output.note("everything is paused; \"bobbinctl resume\" resumes it") }
    return .success
  }
}

extension QueuesReply.Entry {
  /// Its unfinished jobs as tables show them.
  var counts: (running: Int, available: Int, others: Int) {
    let (running, available) = (jobs["running"] ?? 0, jobs["available"] ?? 0)
    return (running, available, jobs.values.reduce(0, +) - running - available)
  }
}

/// `bobbinctl flush`: writes everything that is merged to disk.
struct FlushCommand: Subcommand {
  static let name = "flush"
  static let usage = "flush [--json]"
  static let summary = "Write all computed outcomes to disk, and wait for that"
  static let details = """
    The daemon does so by itself after [Writer] FlushIntervalSec.
    """

  init(_ arguments: inout ParsedArguments) {
    if let operand = arguments.operands.first { arguments.addProblem("flush takes no argument, not \"\(operand)\"") }
  }

  func run(_ session: Session) throws(ToolError) -> ExitCode {
    _ = try session.post(ControlClient.path("v1", "flush"), .object([:]))
    return .success
  }
}

/// `bobbinctl refresh-copy`: makes the copy of the store for other programs anew.
struct RefreshCopyCommand: Subcommand {
  static let name = "refresh-copy"
  static let usage = "refresh-copy [--json]"
  static let summary = "Refresh the copy of the store for other programs, and wait for that"
  static let details = """
    The copy at [Store] CopyPath has everything then that was computed when this was called. The daemon refreshes it by
    itself, at most every [Store] CopyIntervalSec, if the store has changed.
    """

  init(_ arguments: inout ParsedArguments) {
    if let operand = arguments.operands.first {
      arguments.addProblem("refresh-copy takes no argument, not \"\(operand)\"")
    }
  }

  func run(_ session: Session) throws(ToolError) -> ExitCode {
    _ = try session.post(
      ControlClient.path("v1", "copy"), .object([:]), refusal: .refused, timeout: .seconds(3660))
    return .success
  }
}
