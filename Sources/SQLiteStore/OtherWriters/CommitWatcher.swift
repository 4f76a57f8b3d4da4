internal import Dispatch
import ObjectGraph
import Synchronization

/// Looks for commits of others when the journal of a store is written to.
///
/// The kernel tells of a write a moment before the commit shows, which is after the journal was synced; and it does not
/// tell who wrote. So after a write it looks a few times at growing intervals, and then rests until the next write.
final class CommitWatcher: Sendable {
  private struct State {
    /// Counts the writes that made it start anew, so that looks planned before do not count.
    var generation = 0
    /// How often it has looked since.
    var step = 0
    var isArmed = false
    var isStopped = false
  }

  /// The intervals between looks, in milliseconds.
  private static let intervals = [2, 8, 32, 128, 512, 2_048, 8_192]

  private let queue = DispatchQueue(label: "ObjectGraph.CommitWatcher")
  private let state = Mutex(State())
  private let look: @Sendable () -> Void
  private let watch = Mutex<FileWatch?>(nil)

  /// - Parameter look: is called on a queue of the watcher's own.
  init(journal path: String, look: @escaping @Sendable () -> Void) throws(StoreError) {
    self.look = look
    let made = try FileWatch(path) { [weak self] in self?.journalWasWritten() }
    watch.withLock { $0 = made }
  }

  /// Ends it; a look that is under way is not waited for.
  func stop() {
    state.withLock { $0.isStopped = true }
    let ended = watch.withLock { watch in
      defer { watch = nil }
      return watch
    }
    withExtendedLifetime(ended) {}
  }

  private func journalWasWritten() {
    let generation = state.withLock { state -> Int? in
      // The next look comes soon anyway.
      if state.isStopped || (state.isArmed && state.step == 0) { return nil }
      state.generation += 1
      state.step = 0
      state.isArmed = true
      return state.generation
    }
    if let generation { plan(Self.intervals[0], generation) }
  }

  private func plan(_ milliseconds: Int, _ generation: Int) {
    queue.asyncAfter(deadline: .now() + .milliseconds(milliseconds)) { [weak self] in self?.lookAgain(generation) }
  }

  private func lookAgain(_ generation: Int) {
    let isCurrent = state.withLock { state in
      guard state.generation == generation, !state.isStopped else { return false }
      state.isArmed = false
      state.step += 1
      return true
    }
    guard isCurrent else { return }
    look()
    let interval = state.withLock { state -> Int? in
      guard state.generation == generation, !state.isStopped, state.step < Self.intervals.count else { return nil }
      state.isArmed = true
      return Self.intervals[state.step]
    }
    if let interval { plan(interval, generation) }
  }
}
