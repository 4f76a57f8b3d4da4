import Dispatch
import Foundation
import JobSchedule
import Jobs
import ObjectGraph
import Synchronization

/// Carries out what operators, or the ends of other jobs, decide about jobs.
///
/// One change at a time, on its own queue: first in the schedule, so that no worker starts the job any more, then in
/// the job's record.
final class JobControl: Sendable {
  let engine: JobEngine
  let queue = DispatchQueue(label: "control")
  /// Cancelled jobs that are still being reverted.
  let reverting = RevertingJobs()
  /// The replacements of jobs that are not made yet.
  let replacements = PendingReplacements()
  private let isClosed = Mutex(false)

  init(_ engine: JobEngine) { self.engine = engine }

  typealias Command = JobCommand

  /// The result of a command for one job.
  enum Reply: Sendable, Equatable {
    /// Done, or the running attempt was told to end.
    case done
    case unknown
    /// The job's state does not allow it.
    case impossible(JobState)
    /// Another unfinished job has its unique key.
    case keyTaken(JobState, owner: String)
    /// The job is cancelled, and what its checkpoints have saved is still being reverted.
    case reverting
    /// Another specification is about to take the place of the job's.
    case replacing
    /// Several jobs have the handle.
    case ambiguous([String])
    /// An unfinished job names it.
    case needed(JobState, by: String)
    /// The host of that spool has not removed its file yet.
    case awaited(JobState, by: String?)
    /// It is the job of another user; nil if it is not known of whom.
    case foreign(Int64?)
  }

  /// A command that came too late: its effects might not be on disk before the daemon has ended.
  struct IsClosed: Error {}

  /// Carries a command out for the jobs of these handles, and calls back with their IDs and the replies in their order.
  func perform(
    _ command: Command, on handles: [String], by changer: JobChanger,
    _ answer: @escaping @Sendable (Result<[(id: String, reply: Reply)], any Error>) -> Void
  ) {
    enqueue(answer) { [self] in
      let (found, ambiguous, ids) = try find(handles)
      let refusals = ids.map { id -> Reply? in
        if let ambiguous = ambiguous[id] { return .ambiguous(ambiguous.ids) }
        guard let job = found[id], !changer.mayCommand(jobsOf: job.submitter) else { return nil }
        return .foreign(job.submitter)
      }
      let jobs = zip(ids, refusals).map { id, refusal in refusal == nil ? found[id] : nil }
      let replies: [Reply]
      if let membership = engine.membership {
        replies = try perform(command, jobs.map { $0?.objectID }, on: membership)
      } else {
        let order = TimedCommand(command)
        replies = try jobs.map { job in
          try job.map { try perform(order, $0.objectID, recorded: $0.state) } ?? .unknown
        }
      }
      return ids.indices.map { (ids[$0], refusals[$0] ?? replies[$0]) }
    }
  }

  /// The most handles in one command that are looked for among the files of all jobs.
  private static let fileLimit = 10

  /// Finds the jobs of handles.
  ///
  /// - Returns: the known jobs, the handles that several have, and for each handle its job's ID, or itself.
  func find(
    _ handles: [String]
  ) throws -> (found: KnownJobs, ambiguous: [String: JobHandle.Ambiguous], ids: [String]) {
    try context().performAndWait { [engine] context in
      let scheduler = engine.unfinished.scheduler
      let found = try KnownJobs(handles, context, scheduler: scheduler)
      var ambiguous: [String: JobHandle.Ambiguous] = [:]
      var meant: [String: String] = [:]
      for (number, handle) in handles.lazy.filter({ found[$0] == nil }).enumerated() {
        do {
          let job = try JobHandle(text: handle).jobToChange(in: context, byFile: number < Self.fileLimit)
          meant[handle] = job?.id
        } catch let error as JobHandle.Ambiguous {
          ambiguous[handle] = error
        }
      }
      let ids = handles.map { meant[$0] ?? $0 }
      return (meant.isEmpty ? found : try KnownJobs(ids, context, scheduler: scheduler), ambiguous, ids)
    }
  }

  /// Stops or resumes the start of jobs, also after the next start of the daemon.
  func setPaused(
    _ isPaused: Bool, _ resource: Resource.Name, answer: @escaping @Sendable (Result<Void, any Error>) -> Void
  ) {
    enqueue(answer) { [self] in
      if let membership = engine.membership {
        return try membership.setPaused(isPaused, resource)
      }
      engine.scheduler.change { $0.setPaused(isPaused, resource, at: $1) }
      try record(isPaused, resource)
    }
  }

  func enqueue<Value>(
    _ answer: @escaping @Sendable (Result<Value, any Error>) -> Void, _ body: @escaping @Sendable () throws -> Value
  ) {
    queue.async { [self] in
      answer(Result { if isEnding { throw IsClosed() } else { try body() } })
    }
  }

  private func record(_ isPaused: Bool, _ resource: Resource.Name) throws {
    try context().performAndWait { try PauseRecords.record(isPaused, resource, in: $0) }
    engine.merger.merge()
  }

  func context() -> ManagedObjectContext { ManagedObjectContext(parent: engine.main, name: "control") }

  /// Resolves what waits by name for jobs that were final before they began.
  func resolveNames(of finished: [FinishedJob]) {
    for end in finished {
      let lost = engine.scheduler.change { schedule, now in
        schedule.resolve(name: end.id, as: end.objectID)
        return schedule.unblock(waitingFor: end.objectID, as: end.state, at: now)
      }
      cancel(lost, because: end)
    }
  }

  /// Continues to cancel quarantined jobs.
  func finishQuarantined(_ jobs: [(ManagedObjectID, String)]) {
    if jobs.isEmpty { return }
    queue.async { [self] in
      do { for (id, reason) in jobs { try finishQuarantined(id, reason) } } catch {
        engine.report(error, "quarantined jobs can't be cancelled before the next start")
      }
    }
  }

  /// True once no more commands are carried out.
  var isEnding: Bool { isClosed.withLock { $0 } }

  /// Puts new jobs into the schedule.
  func schedule(_ jobs: [NewJob]) {
    engine.scheduler.add(jobs)
    resolveBlockers(of: jobs)
  }

  /// Looks up what new jobs wait for, where that was final before they entered the schedule.
  func resolveBlockers(of jobs: [NewJob]) {
    let blockers = Set(
      jobs.lazy.flatMap(\.blockers).compactMap { if case .job(let id) = $0.subject { id } else { nil } })
    resolveBlockers(of: blockers)
  }

  /// Unblocks what waits for jobs, or cancels it, if they are final already.
  func resolveBlockers(of blockers: some Sequence<ManagedObjectID>) {
    let over = blockers.filter { id in
      engine.scheduler.read { schedule, _ in schedule.state(of: id)?.isFinal != false }
    }
    if over.isEmpty { return }
    queue.async { [self] in
      do { try unblock(waitingFor: over) } catch {
        engine.report(error, "the jobs that new ones wait for can't be read; the new ones wait until the next start")
      }
    }
  }

  /// Refuses further commands, and waits for earlier ones; what takes too long to revert is reverted at the next start.
  func close() {
    queue.sync { isClosed.withLock { $0 = true } }
    reverting.wait(.seconds(10))
    queue.sync {}
  }

  private func unblock(waitingFor over: [ManagedObjectID]) throws {
    let ends = try context().performAndWait { context in
      try over.map { id in
        let job = try context.job(with: id)
        return FinishedJob(
          objectID: id, id: job.id, type: job.type, state: job.currentState, failure: job.failure, file: nil)
      }
    }
    for end in ends where end.state.isFinal {
      let lost = engine.scheduler.change { $0.unblock(waitingFor: end.objectID, as: end.state, at: $1) }
      cancel(lost, because: end)
    }
  }

  /// Changes a job's record.
  @discardableResult
  func change<Result: Sendable>(_ id: ManagedObjectID, _ body: @Sendable (Job) throws -> Result) throws
    -> Result
  {
    let result = try context().performAndWait { context in
      let result = try body(try context.job(with: id))
      try context.save()
      return result
    }
    engine.merger.merge()
    return result
  }
}
