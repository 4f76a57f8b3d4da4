import Dispatch
import Foundation
import JobSchedule
import Jobs
import ObjectGraph
import SystemSupport

/// The end of jobs that are not running, and of those that depend on them.
extension JobControl {
  /// Cancels jobs that can't run any more because a job that they depend on has failed.
  func cancel(_ lost: [ManagedObjectID], because needed: FinishedJob) {
    cancel(lost.map { ($0, needed.reasonForOthers) })
  }

  /// Cancels jobs later, on the queue, each for its reason.
  func cancel(_ jobs: [(ManagedObjectID, String)]) {
    if jobs.isEmpty { return }
    queue.async { [self] in
      do { try cancelAll(jobs) } catch {
        engine.report(error, "\(jobs.count) jobs can't be cancelled before the next start")
      }
    }
  }

  /// Cancels jobs, and those that depend on them; returns which.
  @discardableResult
  func cancelAll(_ jobs: [(ManagedObjectID, String)]) throws -> Set<ManagedObjectID> {
    var left = jobs
    var ended: Set<ManagedObjectID> = []
    while !left.isEmpty {
      var gone: [Gone] = []
      for (id, reason) in left {
        let file = engine.scheduler.read { schedule, _ in schedule.job(id)?.file }
        if engine.scheduler.change({ schedule, _ in schedule.cancel(id) }) {
          gone.append((id, file, reason))
        } else if try stop(id, .cancelled(reason)) {
          ended.insert(id)
        }
      }
      let partial = try markPartial(gone)
      for one in gone where partial.contains(one.id) {
        revert(one.id) { [self] in cancel(try end([one])) }
      }
      left = try end(gone.filter { !partial.contains($0.id) })
      ended.formUnion(gone.map(\.id))
    }
    return ended
  }

  /// Records the end of jobs that are cancelled in the schedule, and only then unblocks those that wait for them: no
  /// start that an end allows may be on disk before that end.
  ///
  /// - Returns: the jobs to be cancelled with them, and why.
  private func end(_ gone: [Gone]) throws -> [(ManagedObjectID, String)] {
    let finished = try record(gone)
    let lost = finished.flatMap { end in
      engine.scheduler.change { $0.finish(end.objectID, as: end.state, at: $1) }.map { ($0, end.reasonForOthers) }
    }
    engine.merger.merge(finished: finished)
    return lost
  }

  private typealias Gone = (id: ManagedObjectID, file: LiveFile?, reason: String)

  /// Finds those whose checkpoints have saved something, and puts their cancellation on record: reverting them may
  /// outlast the daemon.
  private func markPartial(_ gone: [Gone]) throws -> Set<ManagedObjectID> {
    if gone.isEmpty { return [] }
    return try context().performAndWait { context in
      var partial: Set<ManagedObjectID> = []
      for one in gone {
        let job = try context.job(with: one.id)
        guard Reversion.isNeeded(job) else { continue }
        if job.pendingStop != .gaveUp { job.setPendingStop(.cancelled, one.reason) }
        partial.insert(one.id)
      }
      try context.save()
      return partial
    }
  }

  private func record(_ gone: [Gone]) throws -> [FinishedJob] {
    if gone.isEmpty { return [] }
    return try context().performAndWait { context in
      let finished = try gone.map { id, file, reason in
        let job = try context.job(with: id)
        // A job that had been given up, and was being reverted when the daemon ended, keeps its end.
        let isGivenUp = job.pendingStop == .gaveUp
        job.currentState = isGivenUp ? .discarded : .cancelled
        job.failure = reason
        job.cursor = nil
        job.setPendingStop(nil)
        job.finishedAt = Date()
        return FinishedJob(
          objectID: id, id: job.id, type: job.type, state: job.currentState, failure: reason, batch: job.batch,
          file: file)
      }
      try context.save()
      return finished
    }
  }

  /// Reverts what a job's checkpoints have saved, and then calls back on the queue.
  func revert(_ id: ManagedObjectID, then finish: @escaping @Sendable () throws -> Void) {
    guard reverting.enter(id) else { return }
    Task(executorPreference: WorkQueues.tasks, priority: .medium) { [self] in
      let outcome: Result<Void, any Error>
      do { outcome = .success(try await Reversion(engine: engine).run(id)) } catch { outcome = .failure(error) }
      queue.async { [self] in
        do {
          try outcome.get()
          try finish()
        } catch {
          engine.report(error, "a cancelled job can't be reverted before the next start")
        }
        reverting.leave(id)
        noteEnds(of: [id])
      }
    }
  }
}
