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
    /// Whether the next write will be told; after one was, no other is until it has looked.
    var isWatching = false
    var isStopped = false
  }

  /// The intervals between looks, in milliseconds.
  private static let intervals = [2, 8, 32, 128, 512, 2_048, 8_192]

  private let path: String
  private let queue = DispatchQueue(label: "ObjectGraph.CommitWatcher")
  private let state = Mutex(State())
  private let look: @Sendable () -> Void
  private let watch = Mutex<FileWatch?>(nil)

  /// - Parameter look: is called on a queue of the watcher's own.
  init(journal path: String, look: @escaping @Sendable () -> Void) throws(StoreError) {
    self.path = path
    self.look = look
    try watchAgain()
  }

  private func watchAgain() throws(StoreError) {
    state.withLock { $0.isWatching = true }
    let made: FileWatch
    do throws(StoreError) {
      made = try FileWatch(path) { [weak self] in self?.journalWasWritten() }
    } catch {
      state.withLock { $0.isWatching = false }
      throw error
    }
    let former = watch.withLock { watch in
      let former = watch
      watch = state.withLock { $0.isStopped } ? nil : made
      return former
    }
    withExtendedLifetime(former) {}
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
      state.isWatching = false
      // The next look comes soon anyway.
      if state.isStopped || (state.isArmed && state.step == 0) { return nil }
      state.generation += 1
      state.step = 0
      state.isArmed = true
      return state.generation
    }
    if let generation { plan(Self.intervals[0], generation) }
  }

  /// Watches the journal again, or else goes on looking: the process may have used all its watches up meanwhile.
  private func tryToWatch() {
    do throws(StoreError) { try watchAgain() } catch { return }
  }

  private func plan(_ milliseconds: Int, _ generation: Int) {
    queue.asyncAfter(deadline: .now() + .milliseconds(milliseconds)) { [weak self] in self?.lookAgain(generation) }
  }

  private func lookAgain(_ generation: Int) {
    let isWatching = state.withLock { state -> Bool? in
      guard state.generation == generation, !state.isStopped else { return nil }
      state.isArmed = false
      state.step += 1
      return state.isWatching
    }
    guard let isWatching else { return }
    // Before it looks, so that what is written meanwhile is told.
    if !isWatching { tryToWatch() }
    look()
    let interval = state.withLock { state -> Int? in
      guard state.generation == generation, !state.isStopped else { return nil }
      if state.step == Self.intervals.count {
        if state.isWatching { return nil }
        state.step -= 1
      }
      state.isArmed = true
      return Self.intervals[state.step]
    }
    if let interval { plan(interval, generation) }
  }
}
