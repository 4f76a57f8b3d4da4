import Configuration
import Dispatch
import Foundation
import JobSchedule
import Jobs
import ObjectGraph
import Synchronization
import SystemSupport

/// Removes final jobs when they are too old, too many, or the store is too large.
///
/// It works in small steps, each on disk before the next, so that nothing waits for it. In between it sleeps: it is
/// woken by jobs that end, and by one timer for the age of the oldest, or for another look at those that something still
/// needs. In a fleet only the lead's removes any.
final class Retention: Sendable {
  private struct State {
    var counts: [JobState: Int]?
    /// Jobs that ended since those of their state were last counted.
    var arrivals: [JobState: Int] = [:]
    /// Jobs that ended since the size of the store was last checked.
    var unseen = 0
    /// The states for the age of whose jobs the timer is armed, or for something earlier: what ends later is too old later.
    var waits: Set<JobState> = []
    /// The time since which none has gone of the jobs that had to stay; nil if there are none.
    var leftSince: Date?
  }

  private static let states: [JobState] = [.completed, .cancelled, .discarded]
  /// A count may be exceeded by this share of itself before jobs are removed, so that not every job costs a run.
  private static let slack = 16
  /// Jobs that end between two checks of the store's size.
  private static let jobsPerLook = 1_000
  /// Jobs removed in one step, which occupies whoever removes them for some milliseconds.
  private static let stepSize = 500
  /// The bounds of the time, in seconds, until the next look at jobs that had to stay, since nobody tells when they need no
  /// longer: it is as long as none of them has gone so far.
  private static let patience: ClosedRange<TimeInterval> = 10...3600

  private let engine: JobEngine
  private let steps: any RetentionSteps
  private let runs = TaskCoalescer()
  private let timer = OneShotTimer(queue: DispatchQueue(label: "retention", qos: .default))
  private let state = Mutex(State())

  init(_ engine: JobEngine, _ steps: any RetentionSteps) {
    self.engine = engine
    self.steps = steps
  }

  private var settings: Configuration.Retention { engine.policy.configuration.value.retention }

  /// Counts jobs that have ended durably, by their states, and starts a run if there may be too many.
  func note(_ ends: [JobState: Int]) {
    let settings = settings
    // Quarantined ones stay.
    let ends = ends.filter { Self.states.contains($0.key) }
    let isDue = state.withLock { state in
      state.arrivals.merge(ends) { $0 + $1 }
      state.unseen += ends.values.reduce(0, +)
      // Nothing is known yet, or there was nothing whose age could be waited for.
      guard state.counts != nil, state.waits.isSuperset(of: ends.keys) else { return true }
      return Self.areTooMany(state, settings) || (settings.storeSize > 0 && state.unseen >= Self.jobsPerLook)
    }
    if isDue { runSoon() }
  }

  private static func areTooMany(_ state: State, _ settings: Configuration.Retention) -> Bool {
    states.contains { one in
      let limit = settings.count(one)
      return (state.counts?[one] ?? 0) + (state.arrivals[one] ?? 0) > limit + max(limit / slack, 100)
    }
  }

  /// Starts a run, or another one after the one under way.
  func runSoon() { runs.request { await self.run() } }

  /// Stops after the step under way.
  func stop() {
    runs.stop()
    timer.cancel()
  }

  private func run() async {
    do { if try await removeAll() { return } } catch {
      // A host that is leaving its fleet leaves them to others.
      if steps.mayRemove {
        engine.report(error, "final jobs can't be removed; retention tries again when the next ones end")
      }
    }
    state.withLock { $0.waits = [] }
  }

  private var isStopped: Bool { runs.isStopped }

  /// Removes what is to go; false if that was left in the middle.
  private func removeAll() async throws -> Bool {
    if !steps.mayRemove { return false }
    let settings = settings
    var counts: [JobState: Int] = [:]
    var total = 0
    let now = try steps.now()
    for state in Self.states {
      // Those that end from now on are counted, too, or come on top: rather twice than not at all.
      self.state.withLock { $0.arrivals[state] = 0 }
      var count = try await steps.count(state)
      let cutoff = now - settings.age(state) / .seconds(1)
      while !isStopped {
        // By age first; what is left may still be too many.
        var removed = try await steps.remove(state, endedBefore: cutoff, limit: Self.stepSize)
        if removed == 0 && count > settings.count(state) {
          let surplus = min(count - settings.count(state), Self.stepSize)
          removed = try await steps.remove(state, endedBefore: .distantFuture, limit: surplus)
        }
        if removed == 0 { break }
        count -= removed
        total += removed
        if !(await steps.waitUntilDurable()) { return false }
      }
      counts[state] = count
    }
    let (areTooMany, areNew) = state.withLock { state in
      state.counts = counts
      state.unseen = 0
      return (Self.areTooMany(state, settings), state.arrivals.values.contains { $0 > 0 })
    }
    // Those that can't be removed are no reason to look again at once.
    if areTooMany && areNew { runSoon() }
    total += try await shrink(settings.storeSize)
    if total > 0 {
      while !isStopped { if !(try await steps.reclaim()) { break } }
      engine.log.notice("retention removed \(total) final jobs")
    }
    try await arm(settings, now, hasRemoved: total > 0)
    return true
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
      let removed = try await steps.remove(oldest.state, endedBefore: next, limit: Self.stepSize)
      if removed == 0 { break }
      total += removed
      if !(await steps.waitUntilDurable()) { break }
      while !isStopped { if !(try await steps.reclaim()) { break } }
    }
    return total
  }

  /// Arms the timer for when the next job becomes too old, or for another look at those that had to stay.
  ///
  /// - Parameters:
  ///   - now: the time up to which jobs were looked at.
  ///   - hasRemoved: true if some could go.
  private func arm(_ settings: Configuration.Retention, _ now: Date, hasRemoved: Bool) async throws {
    var due: Date?
    var waits: Set<JobState> = []
    var areLeft = state.withLock { state in Self.states.contains { state.counts?[$0] ?? 0 > settings.count($0) } }
    for state in Self.states {
      let age = settings.age(state) / .seconds(1)
      var first = try await steps.firstEnd(state, from: .distantPast)
      if let end = first, end < now - age {
        areLeft = true
        first = try await steps.firstEnd(state, from: now - age)
      }
      guard let end = first else { continue }
      // A second late, so that jobs that ended together are removed together.
      due = min(due ?? .distantFuture, end + age + 1)
      waits.insert(state)
    }
    let leftSince = state.withLock { state in
      state.leftSince = areLeft ? hasRemoved ? now : state.leftSince ?? now : nil
      return state.leftSince
    }
    if let leftSince {
      let patience = min(max(now.timeIntervalSince(leftSince), Self.patience.lowerBound), Self.patience.upperBound)
      due = min(due ?? .distantFuture, now + patience)
    }
    if let due { steps.arm(timer, for: due) { [weak self] in self?.runSoon() } } else { timer.disarm() }
    let areMissed = state.withLock { state in
      state.waits = waits
      // They have ended behind the look for the first of their state.
      return state.arrivals.contains { !waits.contains($0) && $1 > 0 }
    }
    if areMissed { runSoon() }
  }
}

extension Configuration.Retention {
  fileprivate func age(_ state: JobState) -> Duration { state == .completed ? completedAge : failedAge }
  fileprivate func count(_ state: JobState) -> Int { state == .completed ? completedCount : failedCount }
}

/// The removal of final jobs, a few at a time: from a store of this host's own, or from a fleet's.
protocol RetentionSteps: Sendable {
  /// True if this host is to remove jobs.
  var mayRemove: Bool { get }
  /// The time as far as it is believed.
  func now() throws -> Date
  /// Arms a timer for when a moment has come by that time.
  func arm(_ timer: OneShotTimer, for moment: Date, _ alarm: @escaping @Sendable () -> Void)
  /// Counts the jobs in a state.
  func count(_ state: JobState) async throws -> Int
  /// Removes the oldest jobs of a state, as far as nothing needs their records, and returns how many.
  ///
  /// - Parameters:
  ///   - date: only jobs that ended before it.
  ///   - limit: how many at most.
  func remove(_ state: JobState, endedBefore date: Date, limit: Int) async throws -> Int
  /// Waits until what was removed is on disk; false if it can't be.
  func waitUntilDurable() async -> Bool
  /// The end of a state's oldest job that may be removed; nil if there is none.
  func oldestEnd(_ state: JobState) async throws -> Date?
  /// The end of the job of a state that ended first since a date; nil if there is none.
  func firstEnd(_ state: JobState, from date: Date) async throws -> Date?
  /// Returns free space to the file system; false if there is no more.
  func reclaim() async throws -> Bool
  /// The bytes of the store in use, without space that was freed but not returned yet.
  func storeSize() throws -> Int
}

/// The removal of final jobs from a store of this host's own.
struct StoreRetentionSteps: RetentionSteps {
  /// Bytes returned to the file system in one step.
  private static let byteCount = 1 << 20

  let engine: JobEngine
  let coordinator: PersistentStoreCoordinator
  let clock: RetentionClock
  let control: JobControl

  var mayRemove: Bool { true }

  func now() -> Date { clock.now() }

  func arm(_ timer: OneShotTimer, for moment: Date, _ alarm: @escaping @Sendable () -> Void) {
    timer.arm(at: clock.deadline(until: moment), alarm)
  }

  func count(_ state: JobState) async throws -> Int {
    try await context().perform { try $0.count(for: FetchRequest<Job>(state: state)) }
  }

  /// Between what operators decide about jobs, none of which is put back or replaced in the middle of its removal.
  func remove(_ state: JobState, endedBefore date: Date, limit: Int) async throws -> Int {
    do {
      return try await withCheckedThrowingContinuation { continuation in
        control.enqueue({ continuation.resume(with: $0) }) {
          try context().performAndWait { context in
            let request = try FetchRequest<Job>(format: "state == %@ AND finishedAt < %@", state.rawValue, date)
            let ids = try oldest(request, limit: limit, context)
            let jobs = try context.fetch(FetchRequest<Job>(objectIDs: ids))
            for job in jobs { context.delete(job) }
            try context.save()
            return jobs.count
          }
        }
      }
    } catch is JobControl.IsClosed {
      return 0
    }
  }

  func waitUntilDurable() async -> Bool {
    await engine.merger.mergeAndWait()
    return await engine.flusher.waitUntilDurable()
  }

  func oldestEnd(_ state: JobState) async throws -> Date? {
    try await context().perform { context in
      let first = try oldest(FetchRequest<Job>(state: state), limit: 1, context).first
      return try first.flatMap { try context.job(with: $0).finishedAt }
    }
  }

  func firstEnd(_ state: JobState, from date: Date) async throws -> Date? {
    try await context().perform { context in
      var request = try FetchRequest<Job>(format: "state == %@ AND finishedAt >= %@", state.rawValue, date)
      request.fetchLimit = 1
      request.sortDescriptors = [.ascending("finishedAt")]
      return try context.fetchIDs(request).first.flatMap { try context.job(with: $0).finishedAt }
    }
  }

  /// The jobs that ended first, without those that unfinished jobs name: after a restart these could not be told from
  /// jobs yet to come.
  private func oldest(
    _ request: FetchRequest<Job>, limit: Int, _ context: isolated ManagedObjectContext
  ) throws -> [ManagedObjectID] {
    let named = engine.scheduler.read { schedule, _ in Set(schedule.dependencies.needed) }
    // The jobs of replacements that are not made yet count as unfinished.
    let needed = named.union(control.replacements.jobs)
    var request = request
    request.fetchLimit = limit + needed.count
    request.sortDescriptors = [.ascending("finishedAt")]
    return Array(try context.fetchIDs(request).lazy.filter { !needed.contains($0) }.prefix(limit))
  }

  func reclaim() async throws -> Bool {
    try await context().perform { [coordinator] _ in try coordinator.reclaimSpace(atMost: Self.byteCount) > 0 }
  }

  func storeSize() throws -> Int { try coordinator.bytesInUse() }

  private func context() -> ManagedObjectContext { ManagedObjectContext(parent: engine.main, name: "retention") }
}
