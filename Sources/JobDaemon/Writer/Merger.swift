import JobSchedule
import ObjectGraph
import Synchronization

/// Merges what children have saved into main on into the writer, many jobs at a time.
///
/// Main is occupied for the moment of a save in memory; requests that come while one is queued share it. Not to be called
/// on main's executor, nor on the writer's.
final class Merger: Sendable {
  private struct State {
    var finished: [FinishedJob] = []
    var waiting: [CheckedContinuation<Void, Never>] = []
    var isQueued = false
  }

  private let main: ManagedObjectContext
  private let flusher: Flusher
  private let events: DaemonEvents
  private let state = Mutex(State())

  init(main: ManagedObjectContext, flusher: Flusher, events: DaemonEvents) {
    self.main = main
    self.flusher = flusher
    self.events = events
  }

  /// Merges what is in main; jobs that finished with it are durable after the next flush.
  func merge(finished: [FinishedJob] = []) { request(finished: finished, waiter: nil) }

  /// Merges what is in main, and waits until the writer has it.
  nonisolated(nonsending) func mergeAndWait() async {
    await withCheckedContinuation { request(finished: [], waiter: $0) }
  }

  private func request(finished: [FinishedJob], waiter: CheckedContinuation<Void, Never>?) {
    let mustQueue = state.withLock { state in
      state.finished += finished
      if let waiter { state.waiting.append(waiter) }
      defer { state.isQueued = true }
      return !state.isQueued
    }
    // On the caller's thread, if main is free: waking another one costs more than the save of a small job. Requests
    // that come meanwhile share the save.
    if mustQueue { main.performAndWait { self.run($0) } }
  }

  private func run(_ main: isolated ManagedObjectContext) {
    // Drained before the save: requests from here on get a save of their own.
    let (finished, waiting) = state.withLock { state in
      defer { state = State() }
      return (state.finished, state.waiting)
    }
    do { try main.save() } catch {
      // No job may cause that.
      events.send(.fatal(.internalFailure("main can't be saved: \(error)")))
    }
    flusher.noteMerged(finished: finished)
    for waiter in waiting { waiter.resume() }
  }
}
