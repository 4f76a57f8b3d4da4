import Configuration
import Foundation
import JSONText
import Jobs

extension DaemonCore {
  /// The body of `/v1/status`, all from memory.
  func statusJSON() -> JSONValue {
    let flushes = flusher.statistics
    let live = scheduler.read { schedule, _ in schedule.counts }
    return .object([
      "version": .string(Release.version), "state": .string(stateName),
      "pid": .integer(Int64(ProcessInfo.processInfo.processIdentifier)), "startedAt": JobJSON.time(started),
      "uptimeSeconds": .number(start.duration(to: .now) / .seconds(1)), "spool": .string(paths.spool),
      "store": .string(paths.store),
      "workers": .object([
        "count": .integer(Int64(configuration.value.workers.count)), "busy": .integer(Int64(live[.running] ?? 0)),
        "abandoned": .integer(Int64(workers.abandonedCount)),
      ]),
      "jobs": jobsJSON(live), "pauses": pausesJSON,
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

  /// The number of jobs in each unfinished state, of final ones not on disk yet, and of those that ended since the
  /// start.
  private func jobsJSON(_ live: [JobState: Int]) -> JSONValue {
    let finished = releaser.finishedCounts
    var object: JSONObject = [:]
    for state in JobState.allCases {
      object[state.rawValue] = .integer(Int64((state.isFinal ? finished : live)[state] ?? 0))
    }
    let computed = live.reduce(0) { $1.key.isFinal ? $0 + $1.value : $0 }
    object["computed"] = .integer(Int64(computed))
    return .object(object)
  }

  /// The resources that an operator has paused: everything first, then by kind and name.
  private var pauses: [(kind: String, name: String, resource: Resource.Name)] {
    scheduler.read { schedule, _ in schedule.paused }
      .compactMap { resource in resource.kindAndName.map { ($0.kind, $0.name, resource) } }
      .sorted { ($0.kind, $0.name) < ($1.kind, $1.name) }
  }

  var pausesJSON: JSONValue {
    .array(
      pauses.map { kind, name, resource in
        .object(["kind": .string(kind), "name": resource == .everything ? .null : .string(name)])
      })
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

  private static func seconds(_ duration: Duration?) -> JSONValue {
    duration.map { .number($0 / .seconds(1)) } ?? .null
  }
}
