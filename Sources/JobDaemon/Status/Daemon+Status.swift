import Configuration
import Foundation
import JobSchedule
import Jobs
import StatusReplies
import SystemSupport

extension Daemon {
  /// The body of `/v1/status`, all from memory.
  func statusReply() -> StatusReply {
    let flushes = flusher.statistics
    let live = scheduler.read { schedule, _ in schedule.counts }
    var reply = StatusReply(version: Release.version, state: stateName)
    reply.pid = Int(ProcessInfo.processInfo.processIdentifier)
    reply.startedAt = Timestamp(started)
    reply.uptimeSeconds = startInstant.duration(to: .now) / .seconds(1)
    reply.spool = paths.spool
    let url = configuration.value.store.url
    reply.store = url.isEmpty ? paths.store : url
    let absence = databaseAbsence
    reply.databaseAwaySince = absence.map { Timestamp($0.since) }
    reply.databaseAwayReason = absence?.reason
    reply.workers = StatusReply.Workers(
      count: configuration.value.workers.count, busy: live[.running] ?? 0, abandoned: workers.abandonedCount)
    reply.jobs = jobCounts(live)
    reply.pauses = pauseReplies
    reply.heldTypes = engine.hostFaults.heldTypes.map {
      .init(type: $0.type, reason: $0.reason, since: Timestamp($0.since))
    }
    reply.shortage = engine.shortages.summary.map {
      .init(jobs: $0.jobs, reason: $0.reason, since: Timestamp($0.since))
    }
    let reload = lastReload.withLock { $0 }
    reply.untakenModels = reload.untakenModels
    reply.refusedConfiguration = reload.mistakes
    reply.refusedFiles = intake.fileCounts.refused
    reply.hotFolders = StatusReply.HotFolders(hotFolders.overview)
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
    reply.copy = copier.report.map { StatusReply.Copy($0) }
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

  var pauseReplies: [PauseReply.Pause] {
    pauses.map { kind, name, resource in .init(kind: kind, name: resource == .everything ? nil : name) }
      + pausedSchedules.map { .init(kind: "schedule", name: $0) }
      + (drainedHost.map { [.init(kind: "host", name: $0)] } ?? [])
  }

  private var stateName: String {
    switch intake.refusal {
    case .stopping: "draining"
    case .storageFull: "storage-full"
    case .storeBusy: "store-busy"
    case .databaseAway: "database-away"
    default: "running"
    }
  }
}

extension StatusReply.Copy {
  init(_ report: StoreCopier.Report) {
    self.init(path: report.path)
    madeAt = report.made.map { Timestamp($0) }
    seconds = report.duration.map { $0 / .seconds(1) }
    bytes = report.size.map { Int($0.bytes) }
    largeValueBytes = report.size.map { Int($0.largeValueBytes) }
    behind = report.isBehind
    problem = report.problem
  }
}
