import Foundation
import JSONText
import JobSchedule
import Jobs
import SystemSupport
import TextSupport

/// A line of the log about the end of an attempt or of a job.
struct JobLine: Sendable, Equatable {
  /// The subject of a line.
  enum Kind: Sendable, CaseIterable {
    case completed
    case cancelled
    case held
    case interrupted
    /// An attempt has failed, and another one follows.
    case retried
    case discarded
    case quarantined

    /// The end of a job in this state; nil for one that isn't final.
    init?(final state: JobState) {
      guard state.isFinal, let kind = Self.allCases.first(where: { $0.state == state }) else { return nil }
      self = kind
    }

    /// True if an operator wants to know of each.
    var isTrouble: Bool {
      switch self {
      case .completed, .cancelled, .held: false
      case .interrupted, .retried, .discarded, .quarantined: true
      }
    }

    var priority: JournalPriority {
      switch self {
      case .completed: .info
      case .cancelled, .held, .interrupted: .notice
      case .retried, .discarded, .quarantined: .warning
      }
    }

    /// The state that the job is in then.
    var state: JobState {
      switch self {
      case .completed: .completed
      case .cancelled: .cancelled
      case .held: .held
      case .interrupted: .available
      case .retried: .retryable
      case .discarded: .discarded
      case .quarantined: .quarantined
      }
    }

    /// The kind of its message in the journal.
    var message: MessageKind {
      switch self {
      case .completed, .cancelled, .held, .interrupted, .retried: .job
      case .discarded: .jobDiscarded
      case .quarantined: .jobQuarantined
      }
    }

    /// The words for so many jobs.
    func words(count: Int) -> String {
      switch self {
      case .interrupted: count == 1 ? "was interrupted" : "were interrupted"
      case .retried: count == 1 ? "failed and is tried again" : "failed and are tried again"
      default: (count == 1 ? "was " : "were ") + state.rawValue
      }
    }
  }

  let kind: Kind
  let text: String
  let fields: [(String, String)]

  static func == (left: JobLine, right: JobLine) -> Bool {
    left.kind == right.kind && left.text == right.text && left.fields.elementsEqual(right.fields, by: ==)
  }
}

extension JobLine {
  /// Tells that a job is final and on disk.
  init(_ kind: Kind, _ job: FinishedJob) {
    let took = job.attempt.map { TimeSpan.words(seconds: $0.seconds) }
    let attempt = job.attempt.map { "attempt \($0.number) of \($0.limit)" }
    let words =
      switch (kind, attempt, took) {
      case (.completed, let attempt?, let took?):
        (job.attempt?.number ?? 1) > 1 ? " was completed by \(attempt) in \(took)" : " was completed in \(took)"
      case (.discarded, let attempt?, let took?): ": \(attempt) failed after \(took), discarded"
      case (.quarantined, let attempt?, let took?):
        ": \(attempt) failed after \(took), quarantined, since its process crashed too often"
      case (.cancelled, _, let took?): " was cancelled after \(took)"
      default: " was \(job.state.rawValue)"
      }
    let note = kind == .completed ? job.attempt?.result.flatMap(Self.summary(ofResult:)) : job.failure
    self.init(kind, of: job.id, type: job.type, words: words, note: note, attempt: job.attempt)
  }

  /// Tells of a job by its name and type.
  ///
  /// - Parameters:
  ///   - words: the rest of the sentence.
  ///   - note: what else is to be said, such as a reason.
  init(
    _ kind: Kind, of id: String, type: String, words: String, note: String? = nil,
    attempt: FinishedJob.Attempt? = nil
  ) {
    self.kind = kind
    text = "job \(displayName(id)) (\(type))\(words)" + (note.map { ": \($0)" } ?? "")
    var fields = Self.fields(of: id, type, kind.state)
    if let attempt {
      fields += Self.fields(queue: attempt.queue, batch: attempt.batch, trace: attempt.trace)
      fields.append(("JOB_ATTEMPT", "\(attempt.number)"))
      fields.append(("JOB_USEC", "\(Int64(max(0, attempt.seconds) * 1_000_000))"))
    }
    self.fields = fields
  }

  /// Tells how many jobs there were of which nothing was told one by one.
  ///
  /// - Parameters:
  ///   - counts: their numbers by their types.
  ///   - isRest: true if others were told of.
  init(_ kind: Kind, _ counts: [String: Int], isRest: Bool) {
    let count = counts.values.reduce(0, +)
    let types = counts.sorted { ($1.value, $0.key) < ($0.value, $1.key) }
    let shown = types.prefix(10).map { "\($0.key) \($0.value)" }.joined(separator: ", ")
    let jobs = "\(count)\(isRest ? " more" : "") \(count == 1 ? "job" : "jobs")"
    self.kind = kind
    text = "\(jobs) \(kind.words(count: count)): \(shown)\(types.count > 10 ? ", ..." : "")"
    fields = [("JOB_STATE", kind.state.rawValue), ("JOB_COUNT", "\(count)")]
  }

  /// The fields that name a job in the journal.
  static func fields(of id: String, _ type: String, _ state: JobState) -> [(String, String)] {
    [("JOB_ID", id), ("JOB_TYPE", type), ("JOB_STATE", state.rawValue)]
  }

  private static func fields(queue: String, batch: String?, trace: TraceContext?) -> [(String, String)] {
    [("JOB_QUEUE", queue)] + (batch.map { [("JOB_BATCH", $0)] } ?? [])
      + (trace.map { [("JOB_TRACEPARENT", $0.parent)] } ?? [])
  }

  /// A result in short, such as `inserted 5, rejected 2, outputs 3`: what it has at the top, and how many its lists have.
  static func summary(ofResult text: String) -> String? {
    // Only what a handler returned, as the daemon itself has written it down.
    (try? JSONValue(parsing: Array(text.utf8), dialect: .json)).flatMap(summary(of:))
  }

  static func summary(of result: JSONValue) -> String? {
    if result.isNull { return nil }
    guard let object = result.object else { return shortened(result.serialized()) }
    let parts = object.compactMap { key, value -> String? in
      switch value {
      case .null, .object: nil
      case .array(let elements): "\(key) \(elements.count)"
      case .string(let text): "\(key) \(text)"
      default: "\(key) \(value.serialized())"
      }
    }
    return parts.isEmpty ? nil : shortened(parts.joined(separator: ", "))
  }

  private static func shortened(_ text: String) -> String { text.count <= 200 ? text : text.prefix(199) + "…" }
}
