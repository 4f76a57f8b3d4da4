import Configuration
import Dispatch
import JobSchedule
import ObjectGraph
import Synchronization
import SystemSupport

/// Saves the writer to disk: when its timer is due, at the high-water mark, when something waits, and at shutdown.
///
/// One flush is one transaction for all jobs merged since the last. ``FlushState`` decides; this carries its actions out.
final class Flusher: Sendable {
  private let writer: ManagedObjectContext
  private let waiters: ReleaseWaiters
  private let events: DaemonEvents
  private let queue: DispatchQueue
  private let timer: OneShotTimer
  private let state: Mutex<FlushState>

  /// - Parameters:
  ///   - waiters: those that wait for jobs; an awaited job is flushed at once, but in a fleet.
  ///   - everyJobIsAwaited: true if somebody waits for every job, such as the lead of a fleet.
  init(
    writer: ManagedObjectContext, configuration: Configuration.Writer, waiters: ReleaseWaiters,
    everyJobIsAwaited: Bool = false, events: DaemonEvents
  ) {
    self.writer = writer
    self.waiters = waiters
    self.events = events
    queue = DispatchQueue(label: "flusher")
    timer = OneShotTimer(queue: queue)
    state = Mutex(FlushState(configuration: configuration, everyJobIsAwaited: everyJobIsAwaited))
  }

  var statistics: FlushStatistics {
    let size = writer.pending.size
    return state.withLock { state in
      var statistics = state.statistics
      (statistics.unflushedObjects, statistics.unflushedBytes) = size
      statistics.oldestUnflushed = state.oldest.map { ContinuousClock.now - $0 }
      return statistics
    }
  }

  /// Applies new limits, and flushes what has waited under the old ones.
  func reconfigure(_ configuration: Configuration.Writer) { apply { $0.reconfigure(configuration) } }

  /// Notes that changes were merged into the writer, and starts a flush or arms the timer.
  func noteMerged(finished: [FinishedJob]) {
    let size = writer.pending.size
    apply {
      $0.noteMerged(finished, size: size, isAwaited: waiters.contains(finished.lazy.map(\.objectID)), at: .now)
    }
  }

  /// Starts a flush, or asks for another one after the one under way.
  func flushSoon() { apply { $0.request() } }

  // MARK: Waiting

  /// Waits while twice the high-water mark is unflushed, so that memory stays bounded.
  nonisolated(nonsending) func waitForRoom() async {
    let size = writer.pending.size
    // Asked for after each job, so without a continuation where none is needed.
    if state.withLock({ $0.hasRoom(size) }) { return }
    await withCheckedContinuation { continuation in wait(for: .room) { _ in continuation.resume() } }
  }

  /// Returns true if more may be merged; if not, starts a flush, and calls back after it.
  func hasRoom(else call: @escaping @Sendable () -> Void) -> Bool {
    let size = writer.pending.size
    if state.withLock({ $0.hasRoom(size) }) { return true }
    wait(for: .room) { _ in call() }
    return false
  }

  /// Waits until everything merged by now is durable, even while the disk is full; false if the daemon ends first.
  nonisolated(nonsending) func waitUntilDurable() async -> Bool {
    await withCheckedContinuation { continuation in wait(for: .durable) { continuation.resume(returning: $0) } }
  }

  /// Waits a while, and then until everything merged is durable; false if the daemon ends first.
  ///
  /// For those that need the store for something other than a flush, which may succeed because it has nothing to write.
  func waitUntilWritable() async -> Bool {
    await withCheckedContinuation { continuation in
      queue.async(after: Self.writableDelay) { continuation.resume() }
    }
    return await waitUntilDurable()
  }

  private static let writableDelay = Duration.seconds(1)

  /// Flushes what has been merged by now; returns true if it is durable. Used at shutdown and on request.
  func flush() async -> Bool {
    await withCheckedContinuation { continuation in wait(for: .flush) { continuation.resume(returning: $0) } }
  }

  /// Ends the waits for room and for a full disk, for good: a worker that is to end must not wait.
  func endWaiting() { apply { $0.endWaiting() } }

  private func wait(for wait: FlushState.Wait, _ call: @escaping @Sendable (Bool) -> Void) {
    let size = writer.pending.size
    apply { $0.add(FlushState.Waiter(call: call), for: wait, size: size) }
  }

  // MARK: Actions

  private func apply(_ event: (inout FlushState) -> [FlushState.Action]) {
    let actions = state.withLock { state in
      let actions = event(&state)
      // The timer follows the order of the states, so it is set under the lock; it calls nobody.
      for action in actions {
        switch action {
        case .arm(let delay): timer.arm(after: delay) { [weak self] in self?.apply { $0.timerFired() } }
        case .disarm: timer.disarm()
        case .startFlush, .report, .answer: break
        }
      }
      return actions
    }
    for action in actions {
      switch action {
      case .startFlush: writer.perform { self.flush($0) }
      case .report(let event): events.send(event)
      case .answer(let waiters, let answer): for waiter in waiters { waiter.call(answer) }
      case .arm, .disarm: break
      }
    }
  }

  private func flush(_ writer: isolated ManagedObjectContext) {
    let size = writer.pending.size
    state.withLock { $0.begin(size, at: .now) }
    do {
      try writer.save()
      apply { $0.succeed(at: .now) }
    } catch let error as StoreError where error.isTransient {
      apply { $0.postpone(because: error) }
    } catch {
      apply { $0.fail(because: error) }
    }
  }
}
