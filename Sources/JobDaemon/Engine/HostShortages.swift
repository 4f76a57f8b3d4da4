import Dispatch
import Foundation
import Jobs
import ObjectGraph
import Synchronization
import SystemSupport

/// The jobs whose last attempt here failed for something that this host lacks, such as space or a path behind a wall of the
/// service: they are tried again by themselves, at no cost, for as long as that takes, so somebody has to be told.
final class HostShortages: Sendable {
  /// The news for people.
  struct Summary: Sendable, Equatable {
    let jobs: Int
    /// The reason of the job that has met one last.
    let reason: String
    /// The moment at which the first of these jobs met one.
    let since: Date
  }

  private struct Wait {
    let reason: String
    let since: Date
    /// The end of the time for which this is known: of a job of a fleet another host may make the next attempt.
    let end: ContinuousClock.Instant
  }

  private struct State {
    var waits: [ManagedObjectID: Wait] = [:]
    var last: ManagedObjectID?
  }

  /// The time after the next attempt is due in which its outcome is awaited.
  private static let patience = Duration.seconds(60)

  private let events: DaemonEvents
  private let scheduler: Scheduler?
  private let timer: OneShotTimer
  private let state = Mutex(State())

  /// - Parameter scheduler: knows which jobs are not tried again, since they were cancelled, say; nil in a fleet, of whose
  ///   jobs the lead knows that.
  init(events: DaemonEvents, scheduler: Scheduler?) {
    self.events = events
    self.scheduler = scheduler
    timer = OneShotTimer(queue: DispatchQueue(label: "host shortages"))
  }

  /// The jobs that wait now; nil if there are none.
  ///
  /// Cost: a look at each of them.
  var summary: Summary? {
    let (waits, last) = state.withLock { ($0.waits, $0.last) }
    if waits.isEmpty { return nil }
    let now = ContinuousClock.now
    var current = waits.filter { $0.value.end > now }
    if let scheduler {
      current = scheduler.read { [current] schedule, _ in
        current.filter { job, _ in schedule.state(of: job).map { !$0.isFinal && $0 != .held } ?? false }
      }
    }
    guard let any = current.values.first else { return nil }
    return Summary(
      jobs: current.count, reason: last.flatMap { current[$0]?.reason } ?? any.reason,
      since: current.values.lazy.map(\.since).min() ?? any.since)
  }

  /// Notes that a job is tried again after a delay, for what its host lacks.
  func note(_ failure: JobFailure, of job: ManagedObjectID, retriedAfter delay: Duration) {
    let end = ContinuousClock.now + delay + Self.patience
    let isNew = state.withLock { state in
      let known = state.waits[job]
      state.waits[job] = Wait(reason: failure.message, since: known?.since ?? Date(), end: end)
      state.last = job
      return known?.reason != failure.message
    }
    timer.arm(after: delay + Self.patience, replacing: false) { [weak self] in self?.prune() }
    if isNew { events.send(.hostFaultsChanged) }
  }

  /// Notes that a job lacks nothing any more.
  func clear(_ job: ManagedObjectID) {
    let wasWaiting = state.withLock { $0.waits.isEmpty ? false : $0.waits.removeValue(forKey: job) != nil }
    if wasWaiting { events.send(.hostFaultsChanged) }
  }

  /// Drops the timer.
  func stop() { timer.cancel() }

  private func prune() {
    let now = ContinuousClock.now
    let next = state.withLock { state in
      state.waits = state.waits.filter { $0.value.end > now }
      return state.waits.values.lazy.map(\.end).min()
    }
    events.send(.hostFaultsChanged)
    if let next { timer.arm(after: max(.zero, next - now)) { [weak self] in self?.prune() } }
  }
}
