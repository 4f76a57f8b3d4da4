import Configuration
import Dispatch
import Foundation
import Jobs
import Synchronization
import SystemSupport

/// Removes final jobs when they are too old, too many, or the store is too large.
///
/// It works in small steps, each on disk before the next, so that nothing waits for it. In between it sleeps: it is
/// woken by jobs that end, and by one timer for the age of the oldest.
final class Retention: Sendable {
  private struct State {
    var counts: [JobState: Int]?
    /// Jobs that ended since the size of the store was last checked.
    var unseen = 0
    var isRunning = false
    var isWanted = false
    var isStopped = false
    /// A dispatch source is not marked as Sendable, but may be used from any thread; the mutex orders its replacement.
    nonisolated(unsafe) var timer: (any DispatchSourceTimer)?
  }

  private static let states: [JobState] = [.completed, .cancelled, .discarded]
  /// A count may be exceeded by this share of itself before jobs are removed, so that not every job costs a run.
  private static let slack = 16
  /// Jobs that end between two checks of the store's size.
  private static let jobsPerLook = 1_000

  private let engine: JobEngine
  private let steps: RetentionSteps
  private let clock: RetentionClock
  private let queue = DispatchQueue(label: "retention", qos: .default)
  private let state = Mutex(State())

  init(_ engine: JobEngine, _ steps: RetentionSteps, _ clock: RetentionClock) {
    self.engine = engine
    self.clock = clock
    self.steps = steps
  }

  private var settings: Configuration.Retention { engine.policy.configuration.value.retention }

  /// Counts jobs that have become durable, and starts a run if there may be too many.
  func note(_ jobs: [FinishedJob]) {
    let settings = settings
    let isDue = state.withLock { state in
      // Nothing is known yet, or there was nothing whose age could be waited for.
      guard state.counts != nil, state.timer != nil else { return true }
      for job in jobs { state.counts?[job.state, default: 0] += 1 }
      state.unseen += jobs.count
      return Self.states.contains { one in
        let limit = settings.count(one)
        return (state.counts?[one] ?? 0) > limit + max(limit / Self.slack, 100)
      } || (settings.storeSize > 0 && state.unseen >= Self.jobsPerLook)
    }
    if isDue { runSoon() }
  }

  /// Starts a run, or another one after the one under way.
  func runSoon() {
    let mustStart = state.withLock { state in
      if state.isStopped { return false }
      state.isWanted = true
      defer { state.isRunning = true }
      return !state.isRunning
    }
    if mustStart { Task(executorPreference: WorkQueues.tasks, priority: .medium) { await self.run() } }
  }

  /// Stops after the step under way.
  func stop() {
    state.withLock { state in
      state.isStopped = true
      state.timer?.cancel()
      state.timer = nil
    }
  }

  private func run() async {
    while takeWanted() {
      do { try await removeAll() } catch {
        engine.report(error, "jobs that are over can't be removed; it is tried again when the next ones end")
      }
    }
  }

  private func takeWanted() -> Bool {
    state.withLock { state in
      if !state.isWanted || state.isStopped {
        state.isRunning = false
        return false
      }
      state.isWanted = false
      return true
    }
  }

  private var isStopped: Bool { state.withLock { $0.isStopped } }

  private func removeAll() async throws {
    let settings = settings
    var counts: [JobState: Int] = [:]
    var total = 0
    let now = clock.now()
    for state in Self.states {
      var count = try await steps.count(state)
      let cutoff = now - settings.age(state) / .seconds(1)
      while !isStopped {
        // By age first; what is left may still be too many.
        var removed = try await steps.remove(state, endedBefore: cutoff, limit: RetentionSteps.jobCount)
        if removed == 0 && count > settings.count(state) {
          removed = try await steps.remove(state, endedBefore: .distantFuture, limit: count - settings.count(state))
        }
        if removed == 0 { break }
        count -= removed
        total += removed
        if !(await isOnDisk()) { return }
      }
      counts[state] = count
    }
    state.withLock { state in
      state.counts = counts
      state.unseen = 0
    }
    total += try await shrink(settings.storeSize)
    if total > 0 {
      while !isStopped { if !(try await steps.reclaim()) { break } }
      engine.log.notice("retention removed \(total) jobs that are over")
    }
    try await arm(settings)
  }

  private func isOnDisk() async -> Bool {
    await engine.merger.mergeAndWait()
    return await engine.flusher.waitUntilDurable()
  }

  /// Removes the oldest jobs while the store is too large; returns how many.
  private func shrink(_ size: Int) async throws -> Int {
    var total = 0
    while try size > 0 && !isStopped && steps.storeSize() > size {
      // From the state with the oldest job, up to where another state's is older.
      var ends: [(state: JobState, date: Date)] = []
      for state in Self.states {
        if let date = try await steps.oldestEnd(state) { ends.append((state, date)) }
      }
      ends.sort { $0.date < $1.date }
      guard let oldest = ends.first else { break }
      let next = ends.count > 1 ? max(ends[1].date, oldest.date + 0.001) : .distantFuture
      let removed = try await steps.remove(oldest.state, endedBefore: next, limit: RetentionSteps.jobCount)
      if removed == 0 { break }
      total += removed
      if !(await isOnDisk()) { break }
      while !isStopped { if !(try await steps.reclaim()) { break } }
    }
    return total
  }

  /// Arms the timer for when the oldest job is too old.
  private func arm(_ settings: Configuration.Retention) async throws {
    var due: Date?
    for state in Self.states {
      guard let end = try await steps.oldestEnd(state) else { continue }
      due = min(due ?? .distantFuture, end + settings.age(state) / .seconds(1))
    }
    state.withLock { state in
      state.timer?.cancel()
      state.timer = nil
      guard let due, !state.isStopped else { return }
      let timer = DispatchSource.makeTimerSource(queue: queue)
      // A second late, so that jobs that ended together are removed together.
      timer.schedule(wallDeadline: clock.deadline(until: due) + .seconds(1))
      timer.setEventHandler { [weak self] in self?.runSoon() }
      timer.activate()
      state.timer = timer
    }
  }
}

extension Configuration.Retention {
  fileprivate func age(_ state: JobState) -> Duration { state == .completed ? completedAge : failedAge }
  fileprivate func count(_ state: JobState) -> Int { state == .completed ? completedCount : failedCount }
}
