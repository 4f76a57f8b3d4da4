import Configuration
import Dispatch
import ObjectGraph
import Synchronization

/// Saves the writer to disk: when its timer is due, at the high-water mark, when somebody waits, and at shutdown.
///
/// One flush is one transaction for all jobs merged since the last. The timer is armed by the first unflushed change;
/// nothing runs while there is nothing to write.
final class Flusher: Sendable {
  /// A report of the flusher.
  enum Event: Sendable {
    /// These jobs are durable.
    case durable([FinishedJob])
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
    var merged: [FinishedJob] = []
    var isFlushing = false
    /// True if another flush was asked for while one was under way.
    var isWanted = false
    var oldest: ContinuousClock.Instant?
    var retryDelay: Duration?
    /// A dispatch source is not marked as Sendable, but may be used from any thread; the mutex orders its replacement.
    nonisolated(unsafe) var timer: (any DispatchSourceTimer)?
    var waitingForRoom: [@Sendable () -> Void] = []
    var waitingForFlush: [CheckedContinuation<Bool, Never>] = []
    /// Those that keep waiting while the disk is full.
    var waitingForDisk: [CheckedContinuation<Bool, Never>] = []
    var statistics = FlushStatistics()
    var hasFailed = false
    /// True once nothing may wait for room or for the disk any more.
    var isEnding = false
  }

  private let writer: ManagedObjectContext
  private let queue = DispatchQueue(label: "flusher")
  private let onEvent: @Sendable (Event) -> Void
  private let isAwaited: @Sendable ([FinishedJob]) -> Bool
  private let state: Mutex<State>

  init(
    writer: ManagedObjectContext, configuration: Configuration.Writer,
    isAwaited: @escaping @Sendable ([FinishedJob]) -> Bool, onEvent: @escaping @Sendable (Event) -> Void
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

  /// Applies new limits, and flushes what has waited under the old ones.
  func reconfigure(_ configuration: Configuration.Writer) {
    let isWaiting = state.withLock { state in
      state.configuration = configuration
      return state.timer != nil && state.retryDelay == nil
    }
    if isWaiting { flushSoon() }
  }

  /// Notes that changes were merged into the writer, and starts a flush or arms the timer.
  func noteMerged(finished: [FinishedJob]) {
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
  nonisolated(nonsending) func waitForRoom() async {
    await withCheckedContinuation { continuation in
      if hasRoom(else: { continuation.resume() }) { continuation.resume() }
    }
  }

  /// Returns true if more may be merged; if not, starts a flush, and calls back after it.
  func hasRoom(else call: @escaping @Sendable () -> Void) -> Bool {
    let size = writer.pending.size
    let mustWait = state.withLock { state in
      let limits = state.configuration.waitingLimits
      if state.hasFailed || state.isEnding || (size.objects < limits.objects && size.bytes < limits.bytes) {
        return false
      }
      state.waitingForRoom.append(call)
      return true
    }
    if mustWait { flushSoon() }
    return !mustWait
  }

  /// Ends the waits for room and for a full disk, for good: a worker that is to end must not wait.
  func endWaiting() {
    let (room, disk) = state.withLock { state in
      state.isEnding = true
      defer { (state.waitingForRoom, state.waitingForDisk) = ([], []) }
      return (state.waitingForRoom, state.waitingForDisk)
    }
    for call in room { call() }
    for waiter in disk { waiter.resume(returning: false) }
  }

  /// Waits until everything merged by now is durable, even while the disk is full; false if the daemon ends first.
  nonisolated(nonsending) func waitUntilDurable() async -> Bool {
    await withCheckedContinuation { continuation in
      let mayWait = state.withLock { state in
        if state.hasFailed || state.isEnding { return false }
        state.waitingForDisk.append(continuation)
        return true
      }
      if mayWait { flushSoon() } else { continuation.resume(returning: false) }
    }
  }

  /// Waits a while, and then until everything merged is durable; false if the daemon ends first.
  ///
  /// For those that need the store for something other than a flush, which may succeed because it has nothing to write.
  func waitUntilWritable() async -> Bool {
    await withCheckedContinuation { continuation in
      queue.asyncAfter(deadline: .now() + Self.writableDelay) { continuation.resume() }
    }
    return await waitUntilDurable()
  }

  private static let writableDelay = DispatchTimeInterval.seconds(1)

  /// Flushes what has been merged by now; returns true if it is durable. Used at shutdown and on request.
  func flush() async -> Bool {
    await withCheckedContinuation { continuation in
      state.withLock { $0.waitingForFlush.append(continuation) }
      flushSoon()
    }
  }

  /// Starts a flush, or asks for another one after the one under way.
  func flushSoon() {
    let mustStart = state.withLock { state in
      if state.hasFailed { return false }
      if state.isFlushing {
        // Also while waiting for a full disk: should there be room this time, nothing else would start the flush.
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
    let batch = state.withLock { state in
      defer {
        (state.merged, state.waitingForFlush, state.waitingForDisk) = ([], [], [])
        state.isWanted = false
      }
      state.oldest = nil
      return Batch(jobs: state.merged, waiting: state.waitingForFlush, patient: state.waitingForDisk)
    }
    let start = ContinuousClock.now
    do {
      try writer.save()
      succeed(batch, duration: .now - start)
    } catch let error as StoreError where error.code == .full || error.code == .busy {
      retry(batch, since: start, error)
    } catch {
      fail(batch, error)
    }
  }

  /// The jobs and the waits that one flush is for.
  private struct Batch {
    let jobs: [FinishedJob]
    let waiting: [CheckedContinuation<Bool, Never>]
    let patient: [CheckedContinuation<Bool, Never>]
  }

  private func succeed(_ batch: Batch, duration: Duration) {
    let (room, again, hasRecovered) = state.withLock { state in
      state.isFlushing = false
      state.statistics.flushes += 1
      state.statistics.lastDuration = duration
      state.statistics.lastError = nil
      let hasRecovered = state.retryDelay != nil
      state.retryDelay = nil
      let again = state.isWanted
      // Set by what was merged since this flush began.
      if !again && state.oldest != nil { arm(&state, after: state.configuration.flushInterval) }
      defer { state.waitingForRoom = [] }
      return (state.waitingForRoom, again, hasRecovered)
    }
    if hasRecovered { onEvent(.recovered) }
    if !batch.jobs.isEmpty { onEvent(.durable(batch.jobs)) }
    for call in room { call() }
    for waiter in batch.waiting + batch.patient { waiter.resume(returning: true) }
    if again { flushSoon() }
  }

  /// Keeps everything, and tries again after a while that doubles up to five seconds.
  private func retry(_ batch: Batch, since: ContinuousClock.Instant, _ error: StoreError) {
    let isEnding = state.withLock { state in
      state.isFlushing = false
      state.merged = batch.jobs + state.merged
      if !state.isEnding { state.waitingForDisk += batch.patient }
      state.oldest = state.oldest ?? since
      state.statistics.lastError = error.description
      let delay = min((state.retryDelay ?? .milliseconds(125)) * 2, .seconds(5))
      state.retryDelay = delay
      arm(&state, after: delay)
      return state.isEnding
    }
    for waiter in batch.waiting + (isEnding ? batch.patient : []) { waiter.resume(returning: false) }
    onEvent(.storageFull(error))
  }

  private func fail(_ batch: Batch, _ error: any Error) {
    let (room, disk) = state.withLock { state in
      state.isFlushing = false
      state.hasFailed = true
      state.statistics.lastError = "\(error)"
      defer { (state.waitingForRoom, state.waitingForDisk) = ([], []) }
      return (state.waitingForRoom, state.waitingForDisk)
    }
    onEvent(.failed(error))
    for call in room { call() }
    for waiter in batch.waiting + batch.patient + disk { waiter.resume(returning: false) }
    answerIfFailed()
  }

  /// Ends waits for a flush after the store has failed.
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

extension Configuration.Writer {
  /// The limits at which workers wait, twice those at which a flush starts.
  fileprivate var waitingLimits: (objects: Int, bytes: Int) { (highWaterObjects * 2, highWaterBytes * 2) }
}

/// The flusher's statistics, and what is unflushed.
struct FlushStatistics: Sendable {
  var flushes = 0
  var lastDuration: Duration?
  var lastError: String?
  var unflushedObjects = 0
  var unflushedBytes = 0
  var oldestUnflushed: Duration?
}
