import Configuration
import Foundation
import JSONText
import Jobs

extension DaemonCore {
  /// What `/v1/status` tells, all from memory.
  func statusJSON() -> JSONValue {
    let live = liveJobs.counts()
    let finished = releaser.finishedCounts
    let flushes = flusher.statistics
    let count: (JobState) -> JSONValue = { .integer(Int64(live[$0] ?? 0)) }
    return .object([
      "version": .string(Release.version), "state": .string(stateName),
      "pid": .integer(Int64(ProcessInfo.processInfo.processIdentifier)), "startedAt": JobJSON.time(started),
      "uptimeSeconds": .number(-started.timeIntervalSinceNow), "spool": .string(paths.spool),
      "store": .string(paths.store),
      "workers": .object([
        "count": .integer(Int64(configuration.value.workers.count)), "busy": count(.running),
      ]),
      "jobs": .object([
        "available": count(.available), "running": count(.running),
        "computed": .integer(Int64((live[.completed] ?? 0) + (live[.discarded] ?? 0))),
        "completed": .integer(Int64(finished.completed)), "discarded": .integer(Int64(finished.discarded)),
      ]),
      "rejectedFiles": .integer(Int64(intake.rejectedCount)),
      "writer": .object([
        "unflushedObjects": .integer(Int64(flushes.unflushedObjects)),
        "unflushedBytes": .integer(Int64(flushes.unflushedBytes)),
        "oldestUnflushedSeconds": Self.seconds(flushes.oldestUnflushed),
        "flushes": .integer(Int64(flushes.flushes)), "lastFlushSeconds": Self.seconds(flushes.lastDuration),
        "lastError": flushes.lastError.map(JSONValue.string) ?? .null,
      ]),
      "main": .object([
        "occupations": .integer(Int64(clamping: mainOccupation.count)),
        "p50Seconds": .number(mainOccupation.percentile(0.5)), "p99Seconds": .number(mainOccupation.percentile(0.99)),
        "maxSeconds": .number(mainOccupation.longest),
      ]),
    ])
  }

  private var stateName: String {
    switch intake.refusal {
    case .stopping: "draining"
    case .storageFull: "storage-full"
    default: "running"
    }
  }

  private static func seconds(_ duration: Duration?) -> JSONValue {
    duration.map { .number($0 / .seconds(1)) } ?? .null
  }
}
