import Configuration
import JobSchedule
import ObjectGraph

/// The flusher's state machine: when a flush starts, what it is for, and what its end means.
///
/// A value without threads, timer or store: each event returns the actions that follow from it, in order. The table of
/// its states is in Documentation/JobStates.md.
struct FlushState {
  /// The phases; which events lead from one to another is in the table.
  enum Phase: Equatable {
    /// Nothing is unflushed.
    case idle
    /// Something is unflushed, and the timer is armed for the flush interval.
    case waiting
    /// A flush is under way; another one follows if it was requested meanwhile, at once or after a gathering.
    case flushing(again: Bool)
    /// Jobs are gathered, as long as the flush before took; the timer is armed for the next one.
    case gathering
    /// The disk is full or the store is busy; the timer is armed for the next attempt.
    case retrying
    /// The store failed; nothing is flushed any more.
    case failed
  }

  /// An action that the flusher is to perform.
  enum Action {
    case startFlush
    case arm(after: Duration)
    case disarm
    case report(DaemonEvent)
    case answer([Waiter], Bool)
  }

  /// The end that a waiter waits for.
  enum Wait {
    /// Room for more changes; answered with true.
    case room
    /// The end of the next flush; answered with whether it succeeded.
    case flush
    /// A flush that succeeds, however often it is tried; answered with false if the daemon ends first.
    case durable
  }

  /// The callback of a wait, called once.
  struct Waiter: Sendable {
    let call: @Sendable (Bool) -> Void
  }

  /// The size of what is unflushed.
  typealias Size = (objects: Int, bytes: Int)

  private(set) var phase = Phase.idle
  private(set) var statistics = FlushStatistics()
  private var configuration: Configuration.Writer
  /// True if somebody waits for every job, such as the lead of a fleet.
  private let everyJobIsAwaited: Bool
  /// Finished jobs whose changes are in the writer.
  private var merged: [FinishedJob] = []
  /// When the oldest unflushed change was merged.
  private(set) var oldest: ContinuousClock.Instant?
  /// The delay before the next attempt, once one has found the store unwritable.
  private var retryDelay: Duration?
  private var waitingForRoom: [Waiter] = []
  private var waitingForFlush: [Waiter] = []
  private var waitingForDurable: [Waiter] = []
  /// True once nothing may wait for room or for the disk any more.
  private var isEnding = false
  /// True if what asked for another flush does not wait until jobs are gathered.
  private var isPressing = false
  private var batch = Batch()

  /// The jobs and the waits that one flush is for.
  private struct Batch {
    var start = ContinuousClock.now
    var size: Size = (0, 0)
    var oldest: ContinuousClock.Instant?
    var jobs: [FinishedJob] = []
    var flush: [Waiter] = []
    var durable: [Waiter] = []
  }

  /// The longest time for which jobs are gathered between two flushes: the lead hands out about as many as a host has
  /// ended in 200 ms, for which the gathering and the flushes around it have to do.
  private static let longestGathering = Duration.milliseconds(50)

  /// - Parameter everyJobIsAwaited: true if somebody waits for every job, and not for one flush each: of two flushes in a
  ///   row the second waits as long as the first took, so that it has more jobs, and the store half of its time.
  init(configuration: Configuration.Writer, everyJobIsAwaited: Bool = false) {
    self.configuration = configuration
    self.everyJobIsAwaited = everyJobIsAwaited
  }

  // MARK: Requests

  /// Applies new limits, and flushes what has waited under the old ones.
  mutating func reconfigure(_ configuration: Configuration.Writer) -> [Action] {
    self.configuration = configuration
    return phase == .waiting ? request() : []
  }

  /// Notes that changes were merged into the writer.
  ///
  /// - Parameters:
  ///   - finished: the jobs that finished with them.
  ///   - size: the size of everything unflushed.
  ///   - isAwaited: true if something waits for one of the jobs.
  mutating func noteMerged(
    _ finished: [FinishedJob], size: Size, isAwaited: @autoclosure () -> Bool, at now: ContinuousClock.Instant
  ) -> [Action] {
    merged += finished
    if size.objects == 0 && merged.isEmpty { return [] }
    if oldest == nil { oldest = now }
    if isAboveHighWater(size) { return request() }
    if everyJobIsAwaited { return requestSoon() }
    if isAwaited() { return request() }
    return phase == .idle ? wait() : []
  }

  private func isAboveHighWater(_ size: Size) -> Bool {
    size.objects >= configuration.highWaterObjects || size.bytes >= configuration.highWaterBytes
  }

  private mutating func wait() -> [Action] {
    phase = .waiting
    return [.arm(after: configuration.flushInterval)]
  }

  /// Starts a flush, or asks for another one after the one under way.
  mutating func request() -> [Action] {
    switch phase {
    case .idle, .waiting, .gathering, .retrying:
      phase = .flushing(again: false)
      return [.disarm, .startFlush]
    case .flushing:
      // Even if this one finds the disk full: should there be room, nothing else would start the next one.
      phase = .flushing(again: true)
      isPressing = true
      return []
    case .failed: return []
    }
  }

  /// Starts a flush, unless jobs are gathered for one.
  private mutating func requestSoon() -> [Action] {
    switch phase {
    case .idle, .waiting, .retrying: return request()
    case .flushing:
      phase = .flushing(again: true)
      return []
    case .gathering, .failed: return []
    }
  }

  /// Starts the flush that the timer was armed for.
  mutating func timerFired() -> [Action] {
    switch phase {
    case .waiting, .gathering, .retrying: request()
    case .idle, .flushing, .failed: []
    }
  }

  /// True if more may be merged.
  func hasRoom(_ size: Size) -> Bool {
    let limits = configuration.waitingLimits
    return phase == .failed || isEnding || (size.objects < limits.objects && size.bytes < limits.bytes)
  }

  /// Adds a waiter, and starts the flush that it waits for; answers it at once if there is nothing to wait for.
  mutating func add(_ waiter: Waiter, for wait: Wait, size: Size) -> [Action] {
    switch wait {
    case .room:
      if hasRoom(size) { return [.answer([waiter], true)] }
      waitingForRoom.append(waiter)
    case .flush:
      if phase == .failed { return [.answer([waiter], false)] }
      waitingForFlush.append(waiter)
    case .durable:
      if phase == .failed || isEnding { return [.answer([waiter], false)] }
      waitingForDurable.append(waiter)
    }
    return request()
  }

  /// Ends the waits for room and for a full disk, for good: a worker that is to end must not wait.
  mutating func endWaiting() -> [Action] {
    isEnding = true
    defer { (waitingForRoom, waitingForDurable) = ([], []) }
    return [.answer(waitingForRoom, true), .answer(waitingForDurable, false)]
  }

  // MARK: Flushes

  /// Notes that the flush begins: it is for what was merged and who waits by now.
  ///
  /// - Parameter size: the size of everything unflushed.
  mutating func begin(_ size: Size = (0, 0), at now: ContinuousClock.Instant) {
    phase = .flushing(again: false)
    isPressing = false
    batch = Batch(
      start: now, size: size, oldest: oldest, jobs: merged, flush: waitingForFlush, durable: waitingForDurable)
    (merged, waitingForFlush, waitingForDurable) = ([], [], [])
    oldest = nil
  }

  /// Notes that the flush has succeeded.
  mutating func succeed(at now: ContinuousClock.Instant) -> [Action] {
    let duration = now - batch.start
    statistics.flushes += 1
    statistics.lastDuration = duration
    statistics.lastAge = batch.oldest.map { now - $0 }
    statistics.durations.add(duration / .seconds(1))
    statistics.sizes.add(Double(batch.size.objects))
    statistics.bytes += batch.size.bytes
    statistics.lastError = nil
    var actions: [Action] = retryDelay == nil ? [] : [.report(.storeWritable)]
    retryDelay = nil
    if !batch.jobs.isEmpty { actions.append(.report(.durable(batch.jobs))) }
    actions.append(.report(.flushed))
    actions += [.answer(waitingForRoom, true), .answer(batch.flush + batch.durable, true)]
    waitingForRoom = []
    batch = Batch()
    if phase == .flushing(again: true) {
      if everyJobIsAwaited, !isPressing {
        phase = .gathering
        return [.arm(after: min(duration, Self.longestGathering))] + actions
      }
      phase = .flushing(again: false)
      return actions + [.startFlush]
    }
    phase = .idle
    // Set by what was merged since the flush began.
    return oldest == nil ? actions : wait() + actions
  }

  /// Notes that the flush found the store unwritable: everything is kept for another attempt, after a delay that doubles
  /// up to five seconds.
  mutating func postpone(because error: StoreError) -> [Action] {
    statistics.postponements += 1
    merged = batch.jobs + merged
    oldest = oldest ?? batch.start
    statistics.lastError = error.description
    let delay = min((retryDelay ?? .milliseconds(125)) * 2, .seconds(5))
    retryDelay = delay
    phase = .retrying
    if !isEnding { waitingForDurable += batch.durable }
    defer { batch = Batch() }
    return [
      .arm(after: delay), .answer(batch.flush + (isEnding ? batch.durable : []), false),
      .report(.storeUnwritable(error)),
    ]
  }

  /// Notes that the flush has failed for good; all waits end.
  mutating func fail(because error: any Error) -> [Action] {
    phase = .failed
    statistics.lastError = "\(error)"
    defer { (waitingForRoom, waitingForFlush, waitingForDurable, batch) = ([], [], [], Batch()) }
    return [
      .report(.storeFailed(error)), .answer(waitingForRoom, true),
      .answer(batch.flush + batch.durable + waitingForDurable + waitingForFlush, false),
    ]
  }
}

/// The flusher's statistics, and what is unflushed.
struct FlushStatistics: Sendable {
  var flushes = 0
  var lastDuration: Duration?
  var lastError: String?
  /// The time from the merge of the oldest change of the last flush to the end of that.
  var lastAge: Duration?
  /// The seconds that flushes took, and the numbers of objects that they wrote.
  var durations = Histogram(Histogram.durations)
  var sizes = Histogram(Histogram.amounts)
  var bytes = 0
  /// The flushes that found the store unwritable, and were to be tried again.
  var postponements = 0
  var unflushedObjects = 0
  var unflushedBytes = 0
  var oldestUnflushed: Duration?
}

extension Configuration.Writer {
  /// The limits at which workers wait, twice those at which a flush starts.
  fileprivate var waitingLimits: FlushState.Size { (highWaterObjects * 2, highWaterBytes * 2) }
}
