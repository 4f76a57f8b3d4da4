import Dispatch
import StoreInterface
import Synchronization

/// Looks for commits of others when the journal of a store is written to.
///
/// The kernel tells of a write a moment before the commit shows, which is after the journal was synced; and it does not
/// tell who wrote. So after a write it looks a few times at growing intervals, and then rests until the next write.
final class CommitWatcher: Sendable {
  /// Looks for commits of others.
  ///
  /// - Parameters:
  ///   - mayWait: whether to wait until the store can be looked at, or else to return false at once.
  ///   - watchAgain: is to be called before the look, so that what is written meanwhile is told.
  /// - Returns: whether it has looked; if not, it is called again soon.
  typealias Look = @Sendable (_ mayWait: Bool, _ watchAgain: () -> Void) -> Bool

  private struct State {
    /// Counts the writes that made it start anew, so that looks planned before do not count.
    var generation = 0
    /// The number of times that it has looked since.
    var step = 0
    /// The number of times that it could not look since it last did.
    var missed = 0
    var isArmed = false
    /// True if the next write will be told; after one was, no other is until it has looked.
    var isWatching = false
    var isStopped = false
  }

  /// The intervals between looks, in milliseconds.
  private static let intervals = [2, 8, 32, 128, 512, 2_048, 8_192]

  /// When to try again if it could not look, in milliseconds.
  private static let busyInterval = 8
  /// The number of tries before it waits its turn: one who saves without a pause never lets go for long.
  private static let missedLimit = 32

  private let path: String
  private let queue = DispatchQueue(label: "ObjectGraph.CommitWatcher")
  private let state = Mutex(State())
  private let look: Look
  private let watch = Mutex<FileWatch?>(nil)

  /// - Parameter look: is called on a queue of the watcher's own.
  init(journal path: String, look: @escaping Look) throws(StoreError) {
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

  /// Watches the journal again if its last watch is used up. It goes on looking if it can't: the process may have used
  /// up all its watches meanwhile.
  private func tryToWatch() {
    if state.withLock({ $0.isWatching }) { return }
    do throws(StoreError) { try watchAgain() } catch { return }
  }

  /// Plans a look. The queue's own delays will do: a look that was planned before a later write finds another generation.
  /// The daemon's timers are not at hand, since the library has none of the daemon's modules beneath it.
  private func plan(_ milliseconds: Int, _ generation: Int) {
    queue.asyncAfter(deadline: .now() + .milliseconds(milliseconds)) { [weak self] in self?.lookAgain(generation) }
  }

  private func lookAgain(_ generation: Int) {
    let missed = state.withLock { state -> Int? in
      guard state.generation == generation, !state.isStopped else { return nil }
      state.isArmed = false
      return state.missed
    }
    guard let missed else { return }
    let hasLooked = look(missed >= Self.missedLimit) { tryToWatch() }
    let interval = state.withLock { state -> Int? in
      state.missed = hasLooked ? 0 : state.missed + 1
      guard state.generation == generation, !state.isStopped else { return nil }
      if hasLooked { state.step += 1 }
      guard state.step < Self.intervals.count || !state.isWatching else { return nil }
      state.isArmed = true
      return hasLooked ? Self.intervals[min(state.step, Self.intervals.count - 1)] : Self.busyInterval
    }
    if let interval { plan(interval, generation) }
  }
}
