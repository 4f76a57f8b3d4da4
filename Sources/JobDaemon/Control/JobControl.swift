import Dispatch
import Foundation
import Jobs
import ObjectGraph

/// Carries out what operators, and the ends of other jobs, decide about jobs.
///
/// One thing at a time, on its own queue: first in the schedule, so that no worker starts the job any more, then in the
/// job's record.
final class JobControl: Sendable {
  private let engine: JobEngine
  private let queue = DispatchQueue(label: "control")
  /// Jobs that are called off, and of which something is still to be taken back.
  private let reverting = DispatchGroup()

  init(_ engine: JobEngine) { self.engine = engine }

  /// What an operator may ask for.
  enum Command: Sendable, Equatable {
    case cancel(reason: String)
    case hold
    case release
    case retry
    case redrive
    case setPriority(Int)
  }

  /// What became of a command for one job.
  enum Reply: Sendable, Equatable {
    /// It is done, or the running attempt was told to end.
    case done
    case unknown
    /// The job's state does not allow it.
    case impossible(JobState)
  }

  /// Carries a command out for the jobs of these IDs, and calls back with the replies in their order.
  func perform(
    _ command: Command, on ids: [String], _ answer: @escaping @Sendable (Result<[Reply], any Error>) -> Void
  ) {
    queue.async { [self] in
      answer(
        Result {
          let found = try context().performAndWait { [engine] context in
            try KnownJobs(ids, context, engine.scheduler)
          }
          return try ids.map { id in
            try found[id].map { try perform(command, $0.objectID, recorded: $0.state) } ?? .unknown
          }
        })
    }
  }

  /// Carries a command out for all jobs that a selection matches, and calls back with how many it could be done for.
  func perform(
    _ command: Command, onAll selection: JobSelection, _ answer: @escaping @Sendable (Result<Int, any Error>) -> Void
  ) {
    queue.async { [self] in
      answer(
        Result {
          let found = try context().performAndWait { [engine] in try selection.find($0, engine.scheduler) }
          if case .cancel(let reason) = command { return try cancelAll(found.map(\.objectID), reason) }
          return try found.count { try perform(command, $0.objectID, recorded: $0.state) == .done }
        })
    }
  }

  /// Stops or resumes the start of jobs, also after the next start of the daemon.
  func setPaused(
    _ isPaused: Bool, _ resource: Resource.Name, _ answer: @escaping @Sendable (Result<Void, any Error>) -> Void
  ) {
    queue.async { [self] in
      answer(
        Result {
          engine.scheduler.change { $0.setPaused(isPaused, resource, at: $1) }
          try record(isPaused, resource)
        })
    }
  }

  private func record(_ isPaused: Bool, _ resource: Resource.Name) throws {
    guard let (kind, name) = resource.kindAndName else { return }
    try context().performAndWait { context in
      let records = try context.fetch(
        FetchRequest<Pause>(
          .and([
            .compare(.keyPath(["kind"]), .equal, .value(.string(kind)), []),
            .compare(.keyPath(["name"]), .equal, .value(.string(name)), []),
          ])))
      if isPaused && records.isEmpty {
        let pause = Pause(context: context)
        (pause.kind, pause.name, pause.since) = (kind, name, Date())
      }
      if !isPaused { for record in records { context.delete(record) } }
      try context.save()
    }
    engine.merger.merge()
  }

  private func context() -> ManagedObjectContext { ManagedObjectContext(parent: engine.main, name: "control") }

  /// Calls off what can't be run any more because a job that it needs has come to nothing.
  func cancel(_ lost: [ManagedObjectID], because needed: FinishedJob) {
    if lost.isEmpty { return }
    let reason = "the job \"\(needed.id)\", which must be completed before it, is \(needed.state)"
    queue.async { [self] in
      do { try cancelAll(lost, reason) } catch {
        engine.log.error("jobs that wait for \"\(needed.id)\" can't be called off before the next start: \(error)")
      }
    }
  }

  /// Tells those who wait, by name, for jobs that were over before they began.
  func settleNames(of finished: [FinishedJob]) {
    for end in finished {
      let lost = engine.scheduler.change { schedule, now in
        schedule.settle(named: end.id, as: end.objectID)
        return schedule.settleWaiting(for: end.objectID, as: end.state, at: now)
      }
      cancel(lost, because: end)
    }
  }

  /// Looks up what new jobs wait for, where that was over before they came into the schedule.
  func settleBlockers(of jobs: [NewJob]) {
    let blockers = Set(
      jobs.lazy.flatMap(\.blockers).compactMap { if case .job(let id) = $0.subject { id } else { nil } })
    let over = blockers.filter { id in
      engine.scheduler.read { schedule, _ in schedule.state(of: id)?.isFinal != false }
    }
    if over.isEmpty { return }
    queue.async { [self] in
      do { try settle(over) } catch {
        engine.log.error("what new jobs wait for can't be read, so that they wait until the next start: \(error)")
      }
    }
  }

  /// Waits for what has been asked so far; what takes too long to take back is taken back when it is asked for again.
  func drain() {
    queue.sync {}
    _ = reverting.wait(timeout: .now() + .seconds(10))
    queue.sync {}
  }

  private func settle(_ over: Set<ManagedObjectID>) throws {
    let ends = try context().performAndWait { context in
      try over.map { id in
        let job = try context.job(with: id)
        return FinishedJob(objectID: id, id: job.id, state: job.currentState, failure: job.failure, file: nil)
      }
    }
    for end in ends where end.state.isFinal {
      let lost = engine.scheduler.change { $0.settleWaiting(for: end.objectID, as: end.state, at: $1) }
      cancel(lost, because: end)
    }
  }

  // MARK: Commands

  private func perform(_ command: Command, _ id: ManagedObjectID, recorded: JobState) throws -> Reply {
    let scheduler = engine.scheduler
    let state = scheduler.read { schedule, _ in schedule.state(of: id) } ?? recorded
    switch command {
    case .cancel(let reason):
      if state == .running {
        if case .cancelled = engine.scheduler.running(id)?.stop { return .done }
        return engine.stop(id, .cancelled(reason)) ? .done : .impossible(state)
      }
      if state == .quarantined { return try finishQuarantined(id, reason) }
      return try cancelAll([id], reason) > 0 ? .done : .impossible(state)
    case .hold:
      if state == .running { return engine.stop(id, .held) ? .done : .impossible(state) }
      guard scheduler.change({ schedule, _ in schedule.hold(id) }) else { return .impossible(state) }
      try change(id) { $0.currentState = .held }
    case .release:
      guard let next = scheduler.read({ $0.stateAfterRelease(of: id, at: $1) }) else { return .impossible(state) }
      // First on record: once it is released, the record is its worker's.
      try change(id) { $0.currentState = next }
      scheduler.change { _ = $0.release(id, at: $1) }
    case .setPriority(let priority):
      guard scheduler.change({ $0.setPriority(priority, of: id, at: $1) }) else { return .impossible(state) }
      try change(id) { $0.priority = Int32(priority) }
    case .retry:
      guard scheduler.change({ schedule, _ in schedule.forgetTime(of: id) }) else {
        return try putBack(id, state, .retried)
      }
      try change(id) { [engine] job in
        job.maxAttempts = job.attempt + Int32(try Self.attempts(of: job, engine))
        job.currentState = .available
        job.dueAt = nil
      }
      scheduler.change { _ = $0.release(id, at: $1) }
    case .redrive: return try putBack(id, state, .redriven)
    }
    return .done
  }

  /// Puts a job that is over back among those to run, with as many attempts as it had in the first place.
  private func putBack(_ id: ManagedObjectID, _ state: JobState, _ event: JobEvent) throws -> Reply {
    guard state.isFinal, state.after(event) != nil else { return .impossible(state) }
    if !waitForRelease(of: id) { return .impossible(state) }
    let unique = try context().performAndWait { try JobSpecification(record: $0.job(with: id)).unique }
    let isTaken = unique.map { key in engine.scheduler.read { schedule, _ in schedule.uniqueOwners[key] != nil } }
    if isTaken == true { return .impossible(state) }
    let new = try change(id) { [engine] job in
      let specification = try JobSpecification(record: job)
      job.maxAttempts = job.attempt + Int32(try Self.attempts(of: job, engine))
      job.currentState = .available
      job.failure = nil
      job.result = nil
      job.startedAt = nil
      // What checkpoints had saved was taken back when it was given up.
      job.cursor = nil
      job.crashes = 0
      job.dueAt = nil
      job.finishedAt = nil
      job.file = nil
      var again = specification
      again.notBefore = nil
      return NewJob(id: id, file: nil, specification: again, name: job.id)
    }
    engine.scheduler.add([new])
    return .done
  }

  /// How many attempts a job has that is new: as many as its file says, or as hold for its type.
  private static func attempts(of job: Job, _ engine: JobEngine) throws -> Int {
    var specification = try JobSpecification(record: job, withArguments: false)
    specification.maxAttempts = specification.ownMaxAttempts
    return engine.policy.maxAttempts(of: specification, engine.handlers[job.type])
  }

  /// Waits until the end of a job is on disk, lest it be mixed up with its new beginning; false if that takes too long.
  private func waitForRelease(of id: ManagedObjectID) -> Bool {
    let released = DispatchSemaphore(value: 0)
    engine.waiters.add(id, isLive: { engine.scheduler.read { schedule, _ in schedule.contains(id) } }) {
      released.signal()
    }
    engine.flusher.flushSoon()
    return released.wait(timeout: .now() + .seconds(5)) == .success
  }

  /// Has taken back what checkpoints of a job have saved, and then calls back on the queue.
  private func revert(_ id: ManagedObjectID, then finish: @escaping @Sendable () throws -> Void) {
    reverting.enter()
    Task(priority: .medium) { [self] in
      let outcome: Result<Void, any Error>
      do { outcome = .success(try await Reversion(engine: engine).run(id)) } catch { outcome = .failure(error) }
      queue.async { [self] in
        do {
          try outcome.get()
          try finish()
        } catch {
          engine.log.error("a job that was called off can't be taken back before the next start: \(error)")
        }
        reverting.leave()
      }
    }
  }

  private func finishQuarantined(_ id: ManagedObjectID, _ reason: String) throws -> Reply {
    if !waitForRelease(of: id) { return .impossible(.quarantined) }
    let isReverted = try context().performAndWait { try !Reversion.isNeeded($0.job(with: id)) }
    if isReverted { return try endQuarantined(id, reason) }
    revert(id) { [self] in _ = try endQuarantined(id, reason) }
    return .done
  }

  private func endQuarantined(_ id: ManagedObjectID, _ reason: String) throws -> Reply {
    let name = try change(id) { job in
      job.currentState = .cancelled
      job.failure = reason
      job.cursor = nil
      return job.id
    }
    let end = FinishedJob(objectID: id, id: name, state: .cancelled, failure: reason, file: nil)
    cancel(engine.scheduler.change { $0.settleWaiting(for: id, as: .cancelled, at: $1) }, because: end)
    return .done
  }

  /// Calls off jobs that do not run, and those that need them; returns how many.
  @discardableResult
  private func cancelAll(_ ids: [ManagedObjectID], _ reason: String) throws -> Int {
    var left = ids.map { ($0, reason) }
    var count = 0
    while !left.isEmpty {
      var next: [(ManagedObjectID, String)] = []
      var gone: [(ManagedObjectID, LiveFile?, String)] = []
      for (id, reason) in left {
        let file = engine.scheduler.read { schedule, _ in schedule.job(id)?.file }
        guard let lost = engine.scheduler.change({ $0.cancel(id, at: $1) }) else {
          // It has begun to run in between.
          if engine.stop(id, .cancelled(reason)) { count += 1 }
          continue
        }
        gone.append((id, file, reason))
        next += lost.map { ($0, "a job that must be completed before it was cancelled") }
      }
      let unfinished = try havingCheckpoints(gone.map(\.0))
      for one in gone where unfinished.contains(one.0) {
        revert(one.0) { [self] in engine.merger.merge(finished: try record([one])) }
      }
      engine.merger.merge(finished: try record(gone.filter { !unfinished.contains($0.0) }))
      count += gone.count
      left = next
    }
    return count
  }

  private func havingCheckpoints(_ ids: [ManagedObjectID]) throws -> Set<ManagedObjectID> {
    if ids.isEmpty { return [] }
    return try context().performAndWait { context in
      Set(try ids.filter { try Reversion.isNeeded(context.job(with: $0)) })
    }
  }

  private func record(_ gone: [(ManagedObjectID, LiveFile?, String)]) throws -> [FinishedJob] {
    if gone.isEmpty { return [] }
    return try context().performAndWait { context in
      let finished = try gone.map { id, file, reason in
        let job = try context.job(with: id)
        job.currentState = .cancelled
        job.failure = reason
        job.cursor = nil
        job.finishedAt = Date()
        return FinishedJob(objectID: id, id: job.id, state: .cancelled, failure: reason, file: file)
      }
      try context.save()
      return finished
    }
  }

  @discardableResult
  private func change<Result: Sendable>(_ id: ManagedObjectID, _ body: @Sendable (Job) throws -> Result) throws
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
