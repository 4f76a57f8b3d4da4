import Foundation

extension StatusReply {
  /// States in the order of a job's way; others follow by name.
  private static let order = [
    "available", "scheduled", "waiting", "held", "running", "retryable", "computed", "completed", "discarded",
    "cancelled", "quarantined",
  ]

  /// What `status` prints.
  func fields(_ times: TimeText) -> FieldList {
    var list = FieldList()
    list.add("bobbind", version)
    list.add("state", state, state == "running" ? .good : .bad)
    list.add("process", pid.map { "\($0)" })
    list.add("started", startedAt.map(times.full))
    list.add("up", uptimeSeconds.map(TimeText.duration))
    list.add("spool", spool)
    list.add("store", store)
    list.add("workers", workers.map { "\($0.busy) of \($0.count) busy" })
    list.add("jobs", jobsText)
    list.add("rejected files", rejectedFiles.map { "\($0)" })
    list.add("writer", writerText)
    list.add("writer error", writer?.lastError, .bad)
    list.add("main", mainText)
    return list
  }

  private var jobsText: String? {
    jobs.map { jobs in
      let known = Self.order.filter { jobs[$0] != nil }
      let others = jobs.keys.filter { !Self.order.contains($0) }.sorted()
      return (known + others).map { "\(jobs[$0] ?? 0) \($0)" }.joined(separator: ", ")
    }
  }

  private var writerText: String? {
    guard let writer else { return nil }
    var parts: [String] = []
    if let objects = writer.unflushedObjects {
      let bytes = writer.unflushedBytes.map { " (\($0) bytes)" } ?? ""
      let age = writer.oldestUnflushedSeconds.map { ", the oldest for \(TimeText.duration($0))" } ?? ""
      parts.append("\(objects) unflushed objects\(bytes)\(age)")
    }
    if let flushes = writer.flushes {
      let last = writer.lastFlushSeconds.map { ", the last took \(TimeText.duration($0))" } ?? ""
      parts.append("\(flushes) flushes\(last)")
    }
    return parts.isEmpty ? nil : parts.joined(separator: "; ")
  }

  private var mainText: String? {
    guard let main, let occupations = main.occupations else { return nil }
    let named = [("median", main.p50Seconds), ("99 %", main.p99Seconds), ("longest", main.maxSeconds)]
    let times = named.compactMap { name, seconds in seconds.map { "\(name) \(TimeText.duration($0))" } }
    return (["\(occupations) occupations"] + times).joined(separator: ", ")
  }
}
