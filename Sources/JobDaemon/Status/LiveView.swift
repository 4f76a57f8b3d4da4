import Fleet
import Foundation
import JSONText
import JobSchedule
import Jobs
import ObjectGraph
import StatusReplies

extension JobReply {
  /// The longest result that is shown in a list of jobs, in bytes.
  private static let listedResultSize = 4_096

  /// A job as the status interface shows it.
  ///
  /// - Parameters:
  ///   - job: The job's object.
  ///   - live: Its present state, if that is not on disk.
  ///   - withArguments: True if everything is shown; a list leaves out arguments, and results that are long.
  init(_ job: Job, live: LiveView?, withArguments: Bool) {
    self.init(
      id: job.id, type: job.type, state: State(rawValue: (live?.state ?? job.currentState).rawValue),
      durable: live == nil)
    let isShort = job.result?.utf8.count ?? 0 <= Self.listedResultSize
    queue = job.queue
    priority = Int(job.priority)
    attempt = live?.attempt ?? Int(job.attempt)
    maxAttempts = Int(job.maxAttempts)
    notBefore = job.dueAt.map { Timestamp($0) }
    batch = job.batch
    file = job.file
    submitter = Int(job.submitter)
    traceparent = JobSpecification.trace(inOptions: job.options)?.parent
    createdAt = job.createdAt.map { Timestamp($0) }
    startedAt = (live?.started ?? job.startedAt).map { Timestamp($0) }
    finishedAt = job.finishedAt.map { Timestamp($0) }
    error = live?.failure ?? job.failure
    ending = live?.ending
    progress = live.flatMap { Progress($0) }
    result = JSONValue(stored: withArguments || isShort ? job.result : nil)
    if withArguments {
      arguments = JSONValue(stored: job.arguments)
      options = Self.options(of: job)
    }
  }
}

extension JobReply {
  /// The rare keys of the job's file, without what the daemon has added; nil if there are none.
  fileprivate static func options(of job: Job) -> JSONValue? {
    let stored = job.options.map { JSONValue(stored: $0) }
    guard var object = stored?.object else { return stored }
    for key in JobSpecification.ownKeys { object[key] = nil }
    return object.isEmpty ? nil : .object(object)
  }
}

extension JobReply.Progress {
  /// The progress of a running job; nil if it reports none.
  fileprivate init?(_ live: LiveView) {
    guard let progress = live.progress, progress != JobProgress() else { return nil }
    self.init()
    fraction = progress.total.map { $0 > 0 ? Double(progress.done) / Double($0) : 0 }
    unit = progress.unit
    done = Int(progress.done)
    total = progress.total.map { Int($0) }
    message = progress.message
    ratePerSecond = live.pace.ratePerSecond
    secondsLeft = live.pace.secondsLeft
  }
}

extension JSONValue {
  /// A value that the store keeps as text; null if there is none.
  init(stored text: String?) {
    // The daemon's own texts are JSON; a row that somebody edited is shown as the text it has.
    self = text.map { (try? JSONValue(parsing: Array($0.utf8), dialect: .json)) ?? .string($0) } ?? .null
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

extension LiveView {
  /// A job that another host of the fleet runs.
  init(_ place: RunPlace) {
    self.init(state: .running, attempt: place.attempt)
    if place.isStopped { ending = place.reason ?? "it is to be held" }
  }
}

extension Daemon {
  /// Returns a job's state in memory; nil once its end is durable.
  ///
  /// - Parameter place: the host of a fleet that runs it.
  func live(_ job: Job, place: RunPlace? = nil) -> LiveView? {
    let id = job.objectID
    guard let state = scheduler.read({ schedule, _ in schedule.state(of: id) }) else {
      return place.map { LiveView($0) }
    }
    // The schedule of a fleet's host knows what runs here, and what ends.
    if membership != nil, !state.isFinal, state != .running { return place.map { LiveView($0) } }
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
