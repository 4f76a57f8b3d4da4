import Fleet
import Foundation
import JobSchedule
import Jobs
import ObjectGraph
import PostgresFleet
import Synchronization
import SystemSupport

/// The removal of final jobs from a fleet's store: the lead deletes them, between two of its rounds.
///
/// Another host, or the contexts of this one, could remove a job that the lead is just putting back.
final class FleetRetentionSteps: RetentionSteps {
  private struct State {
    /// Made with what the database remembers when this host first looks.
    var clock: RetentionClock?
    /// The jobs of each state that ended before all others and were not removed, as something needs them.
    var kept: [JobState: Int] = [:]
  }

  private let membership: Membership
  private let coordinator: PersistentStoreCoordinator
  private let log: DaemonLog
  private let state = Mutex(State())

  init(_ membership: Membership, _ coordinator: PersistentStoreCoordinator, log: DaemonLog) {
    self.membership = membership
    self.coordinator = coordinator
    self.log = log
  }

  var mayRemove: Bool { membership.leads }

  // MARK: Time

  /// The time of the fleet as far as it is believed: the clock of the database's server can be years ahead by mistake as any
  /// other, and with a failover another server's may count. So the belief is in the database, for whoever leads.
  func now() throws -> Date {
    let limit = try membership.reader().believedTime()
    let clock = state.withLock { state in
      let clock = state.clock ?? makeClock(limit)
      state.clock = clock
      return clock
    }
    if let limit { clock.believe(limit) }
    return clock.now()
  }

  private func makeClock(_ limit: Int64?) -> RetentionClock {
    let memory = RetentionClock.Memory(
      clock: "the clock of the fleet's database", place: "what is believed of it",
      cure: "run UPDATE bobbin._metadata SET value = extract(epoch FROM now())::bigint * 1000 WHERE key = 'retention'"
    ) { [membership] in try membership.reader().believe($0) }
    return RetentionClock(limit: limit, memory, log: log) { [membership] in membership.now }
  }

  func arm(_ timer: OneShotTimer, for moment: Date, _ alarm: @escaping @Sendable () -> Void) {
    guard let clock = state.withLock({ $0.clock }) else { return }
    timer.arm(after: clock.delay(until: moment), alarm)
  }

  // MARK: Jobs

  func count(_ state: JobState) async throws -> Int {
    self.state.withLock { $0.kept[state] = 0 }
    // Past main, which would have to wait for it.
    return try await ManagedObjectContext(coordinator: coordinator, name: "retention").perform {
      try $0.count(for: FetchRequest<Job>(state: state))
    }
  }

  func remove(_ state: JobState, endedBefore date: Date, limit: Int) async throws -> Int {
    while mayRemove {
      let kept = self.state.withLock { $0.kept[state] ?? 0 }
      let found = try membership.reader().finalJobs(state, endedBefore: date, skipping: kept, limit: limit)
      if found.isEmpty { return 0 }
      let removed = try await membership.remove(found.map(\.job))
      // The answer may be that of an earlier removal, for which nobody waited any more.
      self.state.withLock { $0.kept[state] = max(0, kept + found.count - removed) }
      if removed > 0 { return removed }
    }
    return 0
  }

  /// True: the lead answers when the removal is on disk.
  func waitUntilDurable() -> Bool { true }

  func oldestEnd(_ state: JobState) async throws -> Date? {
    let kept = self.state.withLock { $0.kept[state] ?? 0 }
    return try membership.reader().finalJobs(state, endedBefore: .distantFuture, skipping: kept, limit: 1).first?.end
  }

  func firstEnd(_ state: JobState, from date: Date) throws -> Date? {
    try membership.reader().firstEnd(state, from: date)
  }

  // MARK: Space

  /// False: the server gives space back by itself.
  func reclaim() -> Bool { false }

  func storeSize() throws -> Int { 0 }
}
