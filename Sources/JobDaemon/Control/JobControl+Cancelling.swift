import Dispatch
import Foundation
import Jobs
import ObjectGraph
import SystemSupport

/// The end of jobs that do not run, and of those that need them.
extension JobControl {
  /// Calls off what can't be run any more because a job that it needs has come to nothing.
  func cancel(_ lost: [ManagedObjectID], because needed: FinishedJob) {
    let reason = "the job \"\(needed.id)\", which must be completed before it, is \(needed.state)"
    cancel(lost.map { ($0, reason) })
  }

  /// Calls off jobs later, each for its reason.
  func cancel(_ jobs: [(ManagedObjectID, String)]) {
    if jobs.isEmpty { return }
    queue.async { [self] in
      do { try cancelAll(jobs) } catch {
        engine.report(error, "\(jobs.count) jobs can't be called off before the next start")
      }
    }
  }

  /// Calls off jobs that do not run, and those that need them; returns how many.
  @discardableResult
  func cancelAll(_ jobs: [(ManagedObjectID, String)]) throws -> Int {
    var left = jobs
    var count = 0
    while !left.isEmpty {
      var next: [(ManagedObjectID, String)] = []
      var gone: [Gone] = []
      for (id, reason) in left {
        let file = engine.scheduler.read { schedule, _ in schedule.job(id)?.file }
        guard let lost = engine.scheduler.change({ $0.cancel(id, at: $1) }) else {
          // It is at work, or over.
          if try stop(id, .cancelled(reason)) { count += 1 }
          continue
        }
        gone.append((id, file, reason))
        next += lost.map { ($0, "a job that must be completed before it was cancelled") }
      }
      let partial = try markPartial(gone)
      for one in gone where partial.contains(one.0) {
        revert(one.0) { [self] in engine.merger.merge(finished: try record([one])) }
      }
      engine.merger.merge(finished: try record(gone.filter { !partial.contains($0.0) }))
      count += gone.count
      left = next
    }
    return count
  }

  private typealias Gone = (id: ManagedObjectID, file: LiveFile?, reason: String)

  /// Finds those of which checkpoints have saved something, and has it on record that they are called off: taking that
  /// back may last beyond the daemon.
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
        // One that had come to nothing by itself, and was being taken back when the daemon ended, keeps its end.
        let isGivenUp = job.pendingStop == .gaveUp
        job.currentState = isGivenUp ? .discarded : .cancelled
        job.failure = reason
        job.cursor = nil
        job.setPendingStop(nil)
        job.finishedAt = Date()
        return FinishedJob(objectID: id, id: job.id, state: job.currentState, failure: reason, file: file)
      }
      try context.save()
      return finished
    }
  }

  /// Has taken back what checkpoints of a job have saved, and then calls back on the queue.
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
          engine.report(error, "a job that was called off can't be taken back before the next start")
        }
        reverting.leave(id)
      }
    }
  }
}
