import Foundation
import JSONText
import Jobs
import ObjectGraph

/// A job as the status API shows it; Documentation/StatusAPI.md explains each field.
struct JobJSON: Sendable {
  private var object: JSONObject

  var value: JSONValue { .object(object) }

  /// The number of records that an import has rejected; nil for other jobs.
  var rejects: JSONValue? {
    get { object["rejects"] }
    set { object["rejects"] = newValue }
  }

  /// The longest result that is shown in a list of jobs, in bytes.
  private static let listedResultSize = 4_096

  /// - Parameter withArguments: true to show everything; a list leaves out arguments, and long results.
  init(_ job: Job, live: LiveView?, withArguments: Bool) {
    let result = withArguments || job.result?.utf8.count ?? 0 <= Self.listedResultSize ? job.result : nil
    let state = live?.state ?? job.currentState
    object = [
      "id": .string(job.id), "type": .string(job.type), "queue": .string(job.queue),
      "priority": .integer(Int64(job.priority)), "state": .string(state.rawValue),
      "durable": .bool(live == nil), "attempt": .integer(Int64(live?.attempt ?? Int(job.attempt))),
      "maxAttempts": .integer(Int64(job.maxAttempts)), "notBefore": Self.time(job.dueAt),
      "batch": job.batch.map(JSONValue.string) ?? .null, "file": job.file.map(JSONValue.string) ?? .null,
      "submitter": .integer(job.submitter), "createdAt": Self.time(job.createdAt),
      "startedAt": Self.time(live?.started ?? job.startedAt), "finishedAt": Self.time(job.finishedAt),
      "error": (live?.failure ?? job.failure).map(JSONValue.string) ?? .null, "result": Self.json(result),
      "ending": live?.ending.map(JSONValue.string) ?? .null, "progress": live.flatMap(Self.progress) ?? .null,
    ]
    if withArguments {
      object["arguments"] = Self.json(job.arguments)
      if let options = job.options { object["options"] = Self.json(options) }
    }
  }

  /// A running job's progress; nil if it reports none.
  private static func progress(_ live: LiveView) -> JSONValue? {
    guard let progress = live.progress, progress != JobProgress() else { return nil }
    let fraction = progress.total.map { $0 > 0 ? Double(progress.done) / Double($0) : 0 }
    return .object([
      "fraction": fraction.map(JSONValue.number) ?? .null, "unit": .string(progress.unit),
      "done": .integer(progress.done), "total": progress.total.map(JSONValue.integer) ?? .null,
      "message": progress.message.map(JSONValue.string) ?? .null,
      "ratePerSecond": live.pace.ratePerSecond.map(JSONValue.number) ?? .null,
      "secondsLeft": live.pace.secondsLeft.map(JSONValue.number) ?? .null,
    ])
  }

  /// A moment as ISO 8601 with milliseconds.
  static func time(_ date: Date?) -> JSONValue {
    date.map { .string($0.formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: true))) } ?? .null
  }

  static func json(_ text: String?) -> JSONValue {
    // The daemon writes JSON; a row that somebody edited is shown as text.
    text.map { (try? JSONValue(parsing: Array($0.utf8), dialect: .json)) ?? .string($0) } ?? .null
  }
}

/// The state of a job in memory, beyond its record, until it is durable.
struct LiveView: Sendable {
  let state: JobState
  var attempt: Int?
  /// The start of the running attempt.
  var started: Date?
  var progress: JobProgress?
  var pace = ProgressPace()
  /// The reason why the running attempt is to end, if it was told to.
  var ending: String?
  /// The reason why it is held, if that is not in its record.
  var failure: String?
}

extension DaemonCore {
  /// Returns a job's state in memory; nil once its end is durable.
  func live(_ job: Job) -> LiveView? {
    let id = job.objectID
    guard let state = scheduler.read({ schedule, _ in schedule.state(of: id) }) else { return nil }
    var view = LiveView(state: state)
    let running = state == .running ? scheduler.running(id) : nil
    view.ending = running?.stop?.description
    if let attempt = running?.attempt {
      view.attempt = attempt.number
      view.started = attempt.started
      let (progress, pace) = attempt.execution.lookAtProgress()
      view.progress = progress
      view.pace = pace
    }
    if state == .held && handlers[job.type] == nil { view.failure = UnknownType(name: job.type).description }
    return view
  }
}
