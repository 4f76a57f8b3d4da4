import Foundation
import TextSupport

extension StatusReply {
  /// States in the order of a job's way; others follow by name.
  private static let order = ["running", "available", "scheduled", "retryable", "waiting", "held", "computed"]
  /// States that nothing follows, which are counted since the daemon's start.
  private static let finalOrder = ["completed", "discarded", "cancelled", "quarantined"]

  /// The fields that `status` prints.
  func fields(_ times: TimeText) -> FieldList {
    var list = FieldList()
    list.add("bobbind", version)
    list.add("state", state, state == "running" ? .good : .bad)
    for pause in pauses ?? [] { list.add("paused", pause.words, .bad) }
    list.add("process", pid.map { "\($0)" })
    list.add("started", startedAt.map(times.full))
    list.add("up", uptimeSeconds.map(TimeSpan.words(seconds:)))
    list.add("spool", spool)
    list.add("store", store)
    list.add("workers", workers.map { "\($0.busy) of \($0.count) busy" })
    list.add("jobs now", jobsText)
    list.add("since start", endsText)
    list.add("rejected files", rejectedFiles.map { "\($0)" })
    list.add("writer", writerText)
    list.add("writer error", writer?.lastError, .bad)
    list.add("main", mainText)
    return list
  }

  private var jobsText: String? {
    jobs.map { jobs in
      let others = jobs.keys.filter { !(Self.order + Self.finalOrder).contains($0) }.sorted()
      return Self.text(jobs, Self.order + others)
    }
  }

  private var endsText: String? { jobs.map { Self.text($0, Self.finalOrder) } }

  /// Such as `3 running, 12 available`.
  private static func text(_ jobs: [String: Int], _ states: [String]) -> String {
    let counts = states.compactMap { state in jobs[state].flatMap { $0 == 0 ? nil : "\($0) \(state)" } }
    return counts.isEmpty ? "none" : counts.joined(separator: ", ")
  }

  private var writerText: String? {
    guard let writer else { return nil }
    var parts: [String] = []
    if let objects = writer.unflushedObjects {
      let bytes = writer.unflushedBytes.map { " (\($0) bytes)" } ?? ""
      let age = writer.oldestUnflushedSeconds.map { ", the oldest for \(TimeSpan.words(seconds: $0))" } ?? ""
      parts.append("\(objects) unflushed objects\(bytes)\(age)")
    }
    if let flushes = writer.flushes {
      let last = writer.lastFlushSeconds.map { ", the last took \(TimeSpan.words(seconds: $0))" } ?? ""
      parts.append("\(flushes) flushes\(last)")
    }
    return parts.isEmpty ? nil : parts.joined(separator: "; ")
  }

  private var mainText: String? {
    guard let main, let occupations = main.occupations else { return nil }
    let named = [("median", main.p50Seconds), ("99 %", main.p99Seconds), ("longest", main.maxSeconds)]
    let times = named.compactMap { name, seconds in seconds.map { "\(name) \(TimeSpan.words(seconds: $0))" } }
    return (["\(occupations) occupations"] + times).joined(separator: ", ")
  }
}
