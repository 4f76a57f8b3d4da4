import Configuration
import Dispatch
import ObjectGraph
import Synchronization

/// Saves the writer to disk: when its timer is due, at the high-water mark, when somebody waits, and at shutdown.
///
/// One flush is one transaction for all jobs merged since the last. The timer is armed by the first unflushed change;
/// nothing runs while there is nothing to write.
final class Flusher: Sendable {
  /// What the flusher tells of its work.
  enum Event: Sendable {
    /// These jobs are on disk.
    case durable([LiveJob])
    /// The disk is full; nothing is lost, and the flush is tried again.
    case storageFull(StoreError)
    /// There is room again.
    case recovered
    /// The store failed; whether the last changes are on disk is not known.
    case failed(any Error)
  }

  private struct State {
    var configuration: Configuration.Writer
    /// Finished jobs whose changes are in the writer.
    var merged: [LiveJob] = []
    var isFlushing = false
    /// Another flush was asked for while one was under way.
    var isWanted = false
    var oldest: ContinuousClock.Instant?
    var retryDelay: Duration?
    /// A dispatch source is not marked as Sendable, but may be used from any thread; the mutex orders its replacement.
    nonisolated(unsafe) var timer: (any DispatchSourceTimer)?
    var waitingForRoom: [CheckedContinuation<Void, Never>] = []
    var waitingForFlush: [CheckedContinuation<Bool, Never>] = []
    var statistics = FlushStatistics()
    var hasFailed = false
    /// Nobody is made to wait for room any more.
    var isEnding = false
  }

  private let writer: ManagedObjectContext
  private let queue = DispatchQueue(label: "flusher")
  private let onEvent: @Sendable (Event) -> Void
  private let isAwaited: @Sendable ([LiveJob]) -> Bool
  private let state: Mutex<State>

  init(
    writer: ManagedObjectContext, configuration: Configuration.Writer,
    isAwaited: @escaping @Sendable ([LiveJob]) -> Bool, onEvent: @escaping @Sendable (Event) -> Void
  ) {
    self.writer = writer
    self.isAwaited = isAwaited
    self.onEvent = onEvent
    state = Mutex(State(configuration: configuration))
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

  /// Puts new limits into force, and flushes what has waited under the old ones.
  func reconfigure(_ configuration: Configuration.Writer) {
    let isWaiting = state.withLock { state in
      state.configuration = configuration
      return state.timer != nil && state.retryDelay == nil
    }
    if isWaiting { flushSoon() }
  }

  /// Called when changes have reached the writer.
  func noteMerged(finished: [LiveJob]) {
    let size = writer.pending.size
    let awaited = isAwaited(finished)
    let isDue = state.withLock { state in
      state.merged += finished
      if size.objects == 0 && state.merged.isEmpty { return false }
      if state.oldest == nil { state.oldest = .now }
      if awaited || isAboveHighWater(size, state.configuration) { return true }
      if !state.isFlushing { arm(&state, after: state.configuration.flushInterval) }
      return false
    }
    if isDue { flushSoon() }
  }

  private func isAboveHighWater(_ size: (objects: Int, bytes: Int), _ limits: Configuration.Writer) -> Bool {
    size.objects >= limits.highWaterObjects || size.bytes >= limits.highWaterBytes
  }

  /// Waits while twice the high-water mark is unflushed, so that memory stays bounded.
  func waitForRoom() async {
    await withCheckedContinuation { continuation in
      let size = writer.pending.size
      let mustWait = state.withLock { state in
        let limits = state.configuration.waitingLimits
        if state.hasFailed || state.isEnding || (size.objects < limits.objects && size.bytes < limits.bytes) {
          return false
        }
        state.waitingForRoom.append(continuation)
        return true
      }
      if mustWait { flushSoon() } else { continuation.resume() }
    }
  }

  /// Lets go of those who wait for room, for good: a worker that is to end must not wait for a disk that is full.
  func endWaiting() {
    let waiting = state.withLock { state in
      state.isEnding = true
      defer { state.waitingForRoom = [] }
      return state.waitingForRoom
    }
    for waiter in waiting { waiter.resume() }
  }

  /// Flushes what has been merged by now; returns whether it is on disk. Used at shutdown and on request.
  func flush() async -> Bool {
    await withCheckedContinuation { continuation in
      state.withLock { $0.waitingForFlush.append(continuation) }
      flushSoon()
    }
  }

  /// Starts a flush, or asks for another one after the one under way.
  private func flushSoon() {
    let mustStart = state.withLock { state in
      if state.hasFailed { return false }
      if state.isFlushing {
        // Also while a full disk is waited for: should there be room this time, nobody else would come back to it.
        state.isWanted = true
        return false
      }
      state.isFlushing = true
      disarm(&state)
      return true
    }
    if mustStart { writer.perform { self.run($0) } } else { answerIfFailed() }
  }

  private func run(_ writer: isolated ManagedObjectContext) {
    let (jobs, waiting) = state.withLock { state in
      defer {
        state.merged = []
        state.waitingForFlush = []
        state.isWanted = false
      }
      state.oldest = nil
      return (state.merged, state.waitingForFlush)
    }
    let start = ContinuousClock.now
    do {
      try writer.save()
      succeed(jobs, waiting, duration: .now - start)
    } catch let error as StoreError where error.code == .full || error.code == .busy {
      retry(jobs, waiting, since: start, error)
    } catch {
      fail(waiting, error)
    }
  }

  private func succeed(
    _ jobs: [LiveJob], _ waiting: [CheckedContinuation<Bool, Never>], duration: Duration
  ) {
    let (room, again, hasRecovered) = state.withLock { state in
      state.isFlushing = false
      state.statistics.flushes += 1
      state.statistics.lastDuration = duration
      state.statistics.lastError = nil
      let hasRecovered = state.retryDelay != nil
      state.retryDelay = nil
      let again = state.isWanted
      // Set by whatever was merged since this flush took what there was.
      if !again && state.oldest != nil { arm(&state, after: state.configuration.flushInterval) }
      defer { state.waitingForRoom = [] }
      return (state.waitingForRoom, again, hasRecovered)
    }
    if hasRecovered { onEvent(.recovered) }
    if !jobs.isEmpty { onEvent(.durable(jobs)) }
    for waiter in room { waiter.resume() }
    for waiter in waiting { waiter.resume(returning: true) }
    if again { flushSoon() }
  }

  /// Keeps everything, and tries again after a while that doubles up to five seconds.
  private func retry(
    _ jobs: [LiveJob], _ waiting: [CheckedContinuation<Bool, Never>], since: ContinuousClock.Instant,
    _ error: StoreError
  ) {
    state.withLock { state in
      state.isFlushing = false
      state.merged = jobs + state.merged
      state.oldest = state.oldest ?? since
      state.statistics.lastError = error.description
      let delay = min((state.retryDelay ?? .milliseconds(125)) * 2, .seconds(5))
      state.retryDelay = delay
      arm(&state, after: delay)
    }
    for waiter in waiting { waiter.resume(returning: false) }
    onEvent(.storageFull(error))
  }

  private func fail(_ waiting: [CheckedContinuation<Bool, Never>], _ error: any Error) {
    let room = state.withLock { state in
      state.isFlushing = false
      state.hasFailed = true
      state.statistics.lastError = "\(error)"
      defer { state.waitingForRoom = [] }
      return state.waitingForRoom
    }
    onEvent(.failed(error))
    for waiter in room { waiter.resume() }
    for waiter in waiting { waiter.resume(returning: false) }
  }

  /// Whoever waits for a flush after the store has failed is told so.
  private func answerIfFailed() {
    let waiting = state.withLock { state in
      guard state.hasFailed else { return [] as [CheckedContinuation<Bool, Never>] }
      defer { state.waitingForFlush = [] }
      return state.waitingForFlush
    }
    for waiter in waiting { waiter.resume(returning: false) }
  }

  private func arm(_ state: inout State, after delay: Duration) {
    guard state.timer == nil else { return }
    let timer = DispatchSource.makeTimerSource(queue: queue)
    timer.schedule(deadline: .now() + .nanoseconds(Int(delay / .nanoseconds(1))))
    timer.setEventHandler { [weak self] in self?.flushSoon() }
    timer.activate()
    state.timer = timer
  }

  private func disarm(_ state: inout State) {
    state.timer?.cancel()
    state.timer = nil
  }
}

/// What the flusher has done, and what waits.
struct FlushStatistics: Sendable {
  var flushes = 0
  var lastDuration: Duration?
  var lastError: String?
  var unflushedObjects = 0
  var unflushedBytes = 0
  var oldestUnflushed: Duration?
}

extension Configuration.Writer {
  /// The limits at which workers wait, twice those at which a flush starts.
  fileprivate var waitingLimits: (objects: Int, bytes: Int) { (highWaterObjects * 2, highWaterBytes * 2) }
}
