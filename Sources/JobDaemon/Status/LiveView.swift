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
    file = job.file == RestoredStore.noFile ? nil : job.file
    host = job.host
    submitter = Int(job.submitter)
    traceparent = JobSpecification.trace(inOptions: job.options)?.parent
    createdAt = job.createdAt.map { Timestamp($0) }
    startedAt = (live?.started ?? job.startedAt).map { Timestamp($0) }
    finishedAt = job.finishedAt.map { Timestamp($0) }
    error = live?.failure ?? job.failure
    ending = live?.ending
    progress = live.flatMap { Progress($0) }
    result = JSONValue(stored: withArguments || isShort ? job.result : nil)
    if !withArguments, state.isFinal { summary = result.flatMap(JobLine.summary(of:)) }
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

/// A look at jobs as they are beyond their records, some at a time.
struct LiveLook {
  private let daemon: Daemon
  /// The states that the lead of a fleet has told of some jobs.
  private let told: [ManagedObjectID: JobState]
  /// False once the lead has not answered.
  private var asksLead = true

  init(_ daemon: Daemon, told: [ManagedObjectID: JobState] = [:]) {
    self.daemon = daemon
    self.told = told
  }

  /// The states of jobs that are not durable; none for those whose records tell.
  ///
  /// Cost: in a fleet a look into its ledger and, if some of the jobs may wait for a time or for others, a question to the
  /// lead; without an answer within a second, the records of those tell, and it is not asked again.
  mutating func views(of jobs: [Job]) throws -> [ManagedObjectID: LiveView] {
    // Most are released, so one look at the schedule is enough for all.
    let unreleased = daemon.scheduler.read { schedule, _ in Set(jobs.lazy.map(\.objectID).filter(schedule.contains)) }
    let unfinished = jobs.filter { !$0.currentState.isFinal }
    let places = try daemon.engine.unfinished.places(of: unfinished.map(\.objectID))
    var views: [ManagedObjectID: LiveView] = [:]
    for job in jobs {
      let (id, place) = (job.objectID, places[job.objectID])
      views[id] = unreleased.contains(id) ? daemon.live(job, place: place) : place.map { LiveView($0) }
    }
    guard daemon.membership != nil else { return views }
    let others = unfinished.filter { views[$0.objectID] == nil }
    let states = told.merging(states(of: others.filter { told[$0.objectID] == nil && $0.mayWait })) { $1 }
    for job in others {
      if let state = states[job.objectID], state != job.currentState { views[job.objectID] = LiveView(state: state) }
    }
    return views
  }

  private mutating func states(of jobs: [Job]) -> [ManagedObjectID: JobState] {
    if jobs.isEmpty || !asksLead { return [:] }
    do { return try daemon.engine.unfinished.states(of: jobs.map(\.objectID), within: .seconds(1)) } catch {
      asksLead = false
      daemon.log.debug("the states of jobs are shown as they are on record: \(error)")
      return [:]
    }
  }
}

extension Job {
  /// False if it waits for nothing but its turn, as far as its record tells.
  fileprivate var mayWait: Bool {
    dueAt != nil || ![.available, .held].contains(currentState) || options?.contains("\"after") == true
  }
}
