import Configuration
import Foundation
import JSONText
import Jobs
import StatusReplies
import SystemSupport
import Timetable

/// An event that operators are told of.
struct Notice: Sendable, Equatable {
  typealias Kind = Configuration.NoticeKind

  let kind: Kind
  /// The part of the notice's ID that tells the event from others: the same event has the same one, whoever sees it.
  let key: String
  /// One line for people.
  let text: String
  /// The rest of what programs are told, beside the kind and the text.
  let details: JSONObject

  var json: JSONValue {
    var object: JSONObject = ["event": .string(kind.rawValue), "text": .string(text)]
    for (key, value) in details { object[key] = value }
    return .object(object)
  }
}

extension Notice {
  /// A job that was discarded or is in quarantine; nil for any other.
  init?(_ job: Job) {
    guard let kind = Kind(rawValue: job.currentState.rawValue) else { return nil }
    self.init(
      kind: kind, key: Self.key(job, kind), text: Self.text(job),
      details: ["job": Self.details(job)])
  }

  /// A job of a schedule's firing that was discarded or is in quarantine; nil for any other.
  init?(ofSchedule job: Job) {
    // Anybody may give a job such an ID.
    guard Kind(rawValue: job.currentState.rawValue) != nil, job.submitter == Int64(Credentials.effectiveUser),
      let firing = Firing(ofJob: job.id)
    else { return nil }
    self.init(
      kind: .scheduleFailed, key: Self.key(job, .scheduleFailed),
      text: "the schedule \(firing.schedule): \(Self.text(job))",
      details: [
        "schedule": .string(firing.schedule), "firing": .string(firing.id), "job": Self.details(job),
        "error": .string(Self.shortened(job.failure ?? "failed")),
      ])
  }

  /// A firing whose jobs are refused.
  init(refused firing: Firing, because reason: String) {
    self.init(
      kind: .scheduleFailed, key: "\(firing.id)-refused",
      text: "the schedule \(firing.schedule): the jobs of \(firing.id) are refused: \(Self.line(reason))",
      details: [
        "schedule": .string(firing.schedule), "firing": .string(firing.id), "job": .null,
        "error": .string(Self.shortened(reason)),
      ])
  }

  /// A schedule whose moments have passed.
  init(_ missed: Timetable.Missed) {
    let (first, last) = (missed.first.moment, missed.last.moment)
    let times = first == last ? "at \(last)" : "from \(first) to \(last)"
    let reason =
      switch missed.reason {
      case .overlap: "a job of the firing before is unfinished"
      case .late: "the daemon did not run then, or took no jobs"
      }
    self.init(
      kind: .scheduleMissed, key: "\(missed.last.id)-missed",
      text: "the schedule \(missed.last.schedule) did not fire \(times): \(reason)",
      details: [
        "schedule": .string(missed.last.schedule), "firing": .string(missed.last.id), "first": .string(first),
        "last": .string(last), "reason": .string(missed.reason.rawValue),
      ])
  }

  /// Each end of a job is an event of its own: one that was deleted may come again under its ID.
  private static func key(_ job: Job, _ kind: Kind) -> String {
    "\(job.id)-\(kind.rawValue)-\(job.finishedAt.map { Timestamp($0).text } ?? "\(job.attempt)")"
  }

  private static func text(_ job: Job) -> String {
    let words = job.currentState == .discarded ? "was discarded" : "is in quarantine"
    return "the job \(job.id) (\(job.type)) \(words): \(line(job.failure ?? "failed"))"
  }

  private static func details(_ job: Job) -> JSONValue {
    .object([
      "id": .string(job.id), "type": .string(job.type), "queue": .string(job.queue),
      "attempt": .integer(Int64(job.attempt)), "submitter": .integer(job.submitter),
      "batch": job.batch.map(JSONValue.string) ?? .null,
      "traceparent": JobSpecification.trace(inOptions: job.options).map { .string($0.parent) } ?? .null,
      "error": .string(shortened(job.failure ?? "failed")),
      "finishedAt": job.finishedAt.map { .string($0.formatted(.iso8601)) } ?? .null,
    ])
  }

  /// A batch all of whose jobs are final.
  init(_ batch: BatchSummary) {
    let failed = batch.failureCount == 0 ? "" : ", of which \(batch.failureCount) failed"
    // One of which jobs were retried, or that got more of them, ends once more.
    let end = batch.lastEnd.map { Timestamp($0).text } ?? "\(batch.count)"
    self.init(
      kind: .batch, key: "\(batch.name)-batch-\(end)",
      text: "the batch \(batch.name) has ended: \(batch.count) jobs\(failed)",
      details: ["batch": batch.listing(failures: 20).json])
  }

  /// A store that had no room.
  ///
  /// - Parameter error: the store's words.
  init(fullStore error: String, since: Date, until: Date) {
    let (since, until) = (since.formatted(.iso8601), until.formatted(.iso8601))
    self.init(
      kind: .storageFull, key: "storage-full-\(since)",
      text: "the store had no room from \(since) to \(until): \(Self.line(error))",
      details: ["since": .string(since), "until": .string(until), "error": .string(Self.shortened(error))])
  }

  private static func shortened(_ text: String) -> String { text.count <= 1_000 ? text : text.prefix(999) + "…" }

  private static func line(_ text: String) -> String {
    let first = text.prefix { !$0.isNewline }
    return first.count <= 300 ? String(first) : first.prefix(299) + "…"
  }
}

extension NoticeLimiter.Outgoing {
  /// The arguments of the notice's job.
  var arguments: JSONValue {
    switch self {
    case .one(let notice): return notice.json
    case .digest(let digest):
      var counts = JSONObject()
      for kind in Notice.Kind.allCases { counts[kind.rawValue] = digest.counts[kind].map { .integer(Int64($0)) } }
      let parts = counts.map { "\($0.value.integer ?? 0) \($0.key)" }
      return [
        "event": "digest", "text": .string("\(digest.count) events: \(parts.joined(separator: ", "))"),
        "counts": .object(counts), "events": .array(digest.notices.map(\.json)),
      ]
    }
  }

  /// The ID of the notice's job, so that the same event is told once; nil for a digest, which there is only one of.
  ///
  /// - Parameter notifier: the name of the section.
  func jobID(of notifier: String) -> String? {
    guard case .one(let notice) = self else { return nil }
    let id = "notice-\(notifier)-\(notice.key)"
    if id.utf8.count <= 200 { return id }
    var hash = StableHash()
    hash.combine(id.utf8)
    return "notice-\(hash.digits)"
  }
}
