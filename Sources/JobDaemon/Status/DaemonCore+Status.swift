import Configuration
import Foundation
import JobSchedule
import Jobs
import StatusReplies

extension DaemonCore {
  /// The body of `/v1/status`, all from memory.
  func statusReply() -> StatusReply {
    let flushes = flusher.statistics
    let live = scheduler.read { schedule, _ in schedule.counts }
    var reply = StatusReply(version: Release.version, state: stateName)
    reply.pid = Int(ProcessInfo.processInfo.processIdentifier)
    reply.startedAt = Timestamp(started)
    reply.uptimeSeconds = start.duration(to: .now) / .seconds(1)
    reply.spool = paths.spool
    reply.store = paths.store
    reply.workers = StatusReply.Workers(
      count: configuration.value.workers.count, busy: live[.running] ?? 0, abandoned: workers.abandonedCount)
    reply.jobs = jobCounts(live)
    reply.pauses = pauseReplies
    reply.rejectedFiles = intake.rejectedCount
    var writer = StatusReply.Writer()
    writer.unflushedObjects = flushes.unflushedObjects
    writer.unflushedBytes = flushes.unflushedBytes
    writer.oldestUnflushedSeconds = flushes.oldestUnflushed.map { $0 / .seconds(1) }
    writer.flushes = flushes.flushes
    writer.lastFlushSeconds = flushes.lastDuration.map { $0 / .seconds(1) }
    writer.lastError = flushes.lastError
    reply.writer = writer
    var main = StatusReply.Main()
    main.occupations = Int(clamping: mainOccupation.count)
    main.p50Seconds = mainOccupation.percentile(0.5)
    main.p99Seconds = mainOccupation.percentile(0.99)
    main.maxSeconds = mainOccupation.longest
    reply.main = main
    return reply
  }

  /// The number of jobs in each unfinished state, of final ones not on disk yet, and of those that finished since the
  /// start.
  private func jobCounts(_ live: [JobState: Int]) -> [String: Int] {
    let finished = releaser.finishedCounts
    var counts = ["computed": live.reduce(0) { $1.key.isFinal ? $0 + $1.value : $0 }]
    for state in JobState.allCases { counts[state.rawValue] = (state.isFinal ? finished : live)[state] ?? 0 }
    return counts
  }

  /// The resources that an operator has paused: everything first, then by kind and name.
  private var pauses: [(kind: String, name: String, resource: Resource.Name)] {
    scheduler.read { schedule, _ in schedule.paused }
      .compactMap { resource in resource.kindAndName.map { ($0.kind, $0.name, resource) } }
      .sorted { ($0.kind, $0.name) < ($1.kind, $1.name) }
  }

  var pauseReplies: [PauseReply.Pause] {
    pauses.map { kind, name, resource in .init(kind: kind, name: resource == .everything ? nil : name) }
  }

  /// The status line that the service manager shows while the daemon is not stopping.
  var statusText: String {
    let intake = problem.map { "taking no jobs: \($0)" } ?? "taking jobs"
    let paused = pauses.map(\.resource.description)
    return paused.isEmpty ? intake : intake + "; paused: " + paused.joined(separator: ", ")
  }

  /// Sends ``statusText`` to the service manager.
  func tellStatus() { log.tellManager(.status(statusText)) }

  private var stateName: String {
    switch intake.refusal {
    case .stopping: "draining"
    case .storageFull: "storage-full"
    case .storeBusy: "store-busy"
    default: "running"
    }
  }
}
