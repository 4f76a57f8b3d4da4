import Dispatch
import Foundation
import JobSchedule
import Jobs
import ObjectGraph
import SystemSupport

/// Commands, for one job.
extension JobControl {
  /// A command, and its deadline for the ends of jobs to be on disk, however many it concerns.
  struct TimedCommand {
    let command: Command
    let deadline = DispatchTime.now() + .seconds(5)

    init(_ command: Command) { self.command = command }
  }

  /// Carries a command out for one job.
  ///
  /// - Parameter recorded: the state in its record.
  func perform(_ order: TimedCommand, _ id: ManagedObjectID, recorded: JobState) throws -> Reply {
    let scheduler = engine.scheduler
    let state = scheduler.read { schedule, _ in schedule.state(of: id) } ?? recorded
    if replacements.contains(id) { return .replacing }
    if reverting.contains(id) { return order.command.isCancel ? .done : .reverting }
    switch order.command {
    case .cancel(let reason):
      if state == .running { return try stop(id, .cancelled(reason)) ? .done : .impossible(state) }
      if state == .quarantined { return try finishQuarantined(id, reason, by: order.deadline) }
      if state.isFinal { return .impossible(state) }
      return try cancelAll([(id, reason)]).contains(id) ? .done : .impossible(state)
    case .hold:
      if state == .running { return try stop(id, .held) ? .done : .impossible(state) }
      guard scheduler.change({ schedule, _ in schedule.hold(id) }) else { return .impossible(state) }
      try change(id) { $0.currentState = .held }
      engine.waiters.tellHeld(id)
    case .release:
      guard let next = scheduler.read({ $0.stateAfterResume(of: id, at: $1) }) else { return .impossible(state) }
      // On record first: once it is resumed, the record is its worker's.
      try change(id) { $0.currentState = next }
      scheduler.change { _ = $0.resume(id, at: $1) }
    case .setPriority(let priority):
      guard scheduler.change({ $0.setPriority(priority, of: id, at: $1) }) else { return .impossible(state) }
      try change(id) { $0.priority = Int32(priority) }
    case .retry:
      guard scheduler.change({ schedule, _ in schedule.forgetTime(of: id) }) else {
        return try putBack(id, state, after: .retried, by: order.deadline)
      }
      try change(id) { [engine] job in
        job.maxAttempts = job.attempt + Int32(try Self.attempts(of: job, engine))
        job.currentState = .available
        job.dueAt = nil
      }
      scheduler.change { _ = $0.resume(id, at: $1) }
    case .redrive: return try putBack(id, state, after: .redriven, by: order.deadline)
    case .delete: return try delete(id, state, by: order.deadline)
    }
    return .done
  }

  /// Deletes a final job and all that is known of it, by the rules of retention.
  private func delete(_ id: ManagedObjectID, _ state: JobState, by deadline: DispatchTime) throws -> Reply {
    // A quarantined job may be completed one day, and may have saved something that only its handler reverts.
    guard state.isFinal, state != .quarantined, waitForRelease(of: id, by: deadline) else { return .impossible(state) }
    let dependent = engine.scheduler.read { schedule, _ in schedule.dependencies.dependent(on: id) }
    if let dependent { return .needed(state, by: try context().performAndWait { try $0.job(with: dependent).id }) }
    // A power cut could bring its file back, which nobody would know any more.
    try engine.syncReleases()
    try context().performAndWait { context in
      context.delete(try context.job(with: id))
      try context.save()
    }
    engine.merger.merge()
    return .done
  }

  /// Puts a final job back into the schedule, with as many attempts as it had originally.
  private func putBack(
    _ id: ManagedObjectID, _ state: JobState, after event: JobEvent, by deadline: DispatchTime
  ) throws -> Reply {
    guard state.isFinal, state.after(event) != nil else { return .impossible(state) }
    if !waitForRelease(of: id, by: deadline) { return .impossible(state) }
    if let owner = try ownerOfKey(of: id) { return .keyTaken(state, owner: owner) }
    let (new, arguments) = try change(id) { [engine] job in
      let specification = try JobSpecification(record: job)
      engine.keepInputs(job.arguments, id)
      job.maxAttempts = job.attempt + Int32(try Self.attempts(of: job, engine))
      job.currentState = .available
      job.failure = nil
      job.result = nil
      job.startedAt = nil
      // What checkpoints had saved was reverted when it was given up; in quarantine it is kept, to continue from.
      if state != .quarantined { job.cursor = nil }
      job.setPendingStop(nil)
      job.crashes = 0
      job.dueAt = nil
      job.finishedAt = nil
      job.file = nil
      var again = specification
      again.notBefore = nil
      return (NewJob(id: id, file: nil, specification: again, name: job.id), job.arguments)
    }
    engine.scheduler.add([new])
    // Once more: the news of the end before may have come in between.
    engine.keepInputs(arguments, id)
    return .done
  }

  /// The ID of the unfinished job that has another job's unique key; nil if none has, or there is no key.
  private func ownerOfKey(of id: ManagedObjectID) throws -> String? {
    try context().performAndWait { [engine] context in
      guard let key = try JobSpecification(record: context.job(with: id), withArguments: false).unique else {
        return nil
      }
      return try engine.scheduler.read { schedule, _ in schedule.uniqueOwners[key] }.map {
        try context.job(with: $0).id
      }
    }
  }

  /// The number of attempts of a new job: that in its file, or that of its type.
  static func attempts(of job: Job, _ engine: JobEngine) throws -> Int {
    var specification = try JobSpecification(record: job, withArguments: false)
    specification.maxAttempts = specification.ownMaxAttempts
    return engine.policy.maxAttempts(of: specification, engine.handlers[job.type])
  }

  /// Waits until the end of a job is on disk, lest it be mixed up with its new start; false if that takes too long.
  private func waitForRelease(of id: ManagedObjectID, by deadline: DispatchTime) -> Bool {
    let released = Latch()
    engine.waiters.add([id], to: engine.scheduler) { released.open() }
    engine.flusher.flushSoon()
    return released.wait(until: deadline)
  }

  private func finishQuarantined(_ id: ManagedObjectID, _ reason: String, by deadline: DispatchTime) throws -> Reply {
    if !waitForRelease(of: id, by: deadline) { return .impossible(.quarantined) }
    try finishQuarantined(id, reason)
    return .done
  }

  /// Cancels a quarantined job, after what its checkpoints have saved was reverted.
  func finishQuarantined(_ id: ManagedObjectID, _ reason: String) throws {
    let isPartial = try change(id) { job in
      guard Reversion.isNeeded(job) else { return false }
      job.setPendingStop(.cancelled, reason)
      return true
    }
    if isPartial { revert(id) { [self] in try endQuarantined(id, reason) } } else { try endQuarantined(id, reason) }
  }

  private func endQuarantined(_ id: ManagedObjectID, _ reason: String) throws {
    let end = try change(id) { job in
      job.currentState = .cancelled
      job.failure = reason
      job.cursor = nil
      job.setPendingStop(nil)
      return FinishedJob(objectID: id, id: job.id, type: job.type, state: .cancelled, failure: reason, file: nil)
    }
    cancel(engine.scheduler.change { $0.unblock(waitingFor: id, as: .cancelled, at: $1) }, because: end)
  }

  /// Tells a running attempt to end; false if there is none, or an earlier reason outweighs this one.
  ///
  /// On record first: after a crash in between, the next start does what was asked for.
  func stop(_ id: ManagedObjectID, _ stop: RunningJob.Stop) throws -> Bool {
    guard let event = stop.event, let running = engine.scheduler.running(id) else { return false }
    if running.stop?.event == event { return true }
    let reason: String? = if case .cancelled(let reason) = stop { reason } else { nil }
    let earlier = try change(id) { job in
      defer { job.setPendingStop(event, reason) }
      return (job.pendingStop, job.stopReason)
    }
    if engine.stop(id, stop) { return true }
    try change(id) { $0.setPendingStop(earlier.0, earlier.1) }
    return false
  }
}
