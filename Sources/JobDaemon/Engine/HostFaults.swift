import Dispatch
import Foundation
import JobSchedule
import Jobs
import Synchronization
import SystemSupport

/// The types that a fault of this host holds, each until it is tried again.
///
/// One job of the type is enough to find out: it fails again without an attempt, and the type is held for twice as long,
/// or it works, and all go on. In a fleet the type is not held, as other hosts may have no fault; the jobs come back later.
final class HostFaults: Sendable {
  /// A type that is held, as people are told.
  struct HeldType: Sendable, Equatable {
    let type: String
    let reason: String
    let since: Date
  }

  private struct Fault {
    var reason: String
    let since: Date
    /// The time for which the type is held now, or was held last.
    var delay: Duration
    /// False from when the type is tried again until a job has shown how it is.
    var isHeld = true
    let timer: OneShotTimer
  }

  private let scheduler: Scheduler
  private let holdsTypes: Bool
  private let delays: ClosedRange<Duration>
  private let events: DaemonEvents
  private let log: DaemonLog
  private let queue = DispatchQueue(label: "host faults")
  private let faults = Mutex<[String: Fault]>([:])

  /// - Parameters:
  ///   - holdsTypes: false in a fleet, whose lead has the schedule.
  ///   - delays: the first time for which a type is held, and the longest.
  init(
    _ scheduler: Scheduler, holdsTypes: Bool, delays: ClosedRange<Duration> = .seconds(1) ... .seconds(60),
    events: DaemonEvents, log: DaemonLog
  ) {
    self.scheduler = scheduler
    self.holdsTypes = holdsTypes
    self.delays = delays
    self.events = events
    self.log = log
  }

  /// The types that are held at this moment, by name.
  var heldTypes: [HeldType] {
    faults.withLock { faults in
      faults.filter { $0.value.isHeld }.map { HeldType(type: $0.key, reason: $0.value.reason, since: $0.value.since) }
    }.sorted { $0.type < $1.type }
  }

  /// The reason for which a type is held; nil if it is not.
  func reason(of type: String) -> String? {
    faults.withLock { faults in faults[type].flatMap { $0.isHeld ? $0.reason : nil } }
  }

  /// Holds a type whose job met a fault; it is told once, until the type has worked or the reason changes.
  func note(_ fault: HostFault, of type: String) {
    let (isNew, isChange) = faults.withLock { faults in
      let known = faults[type]
      // Other workers meet the same.
      if let known, known.isHeld, known.reason == fault.description { return (false, false) }
      var new = known ?? Fault(reason: "", since: Date(), delay: delays.lowerBound, timer: OneShotTimer(queue: queue))
      if let known, !known.isHeld { new.delay = min(known.delay * 2, delays.upperBound) }
      new.reason = fault.description
      new.isHeld = true
      new.timer.arm(after: new.delay) { [weak self] in self?.tryAgain([type]) }
      faults[type] = new
      setHeld(true, [type])
      return (known?.reason != fault.description, true)
    }
    if isNew {
      log.error("the type \"\(type)\" is held until this is mended, and goes on by itself then: \(fault)")
    }
    if isChange { events.send(.heldTypesChanged) }
  }

  /// Notes that a job of a type has worked, whatever came of it.
  func noteWork(of type: String) {
    let isMended = faults.withLock { faults in
      // One that had begun before the fault shows nothing.
      guard let fault = faults[type], !fault.isHeld else { return false }
      faults[type] = nil
      return true
    }
    if isMended { log.notice("the type \"\(type)\" goes on") }
  }

  /// Tries all types again, as after a reload.
  func tryAll() { tryAgain(Array(faults.withLock { $0.keys })) }

  /// Drops all timers; nothing is tried again.
  func stop() { faults.withLock { faults in for fault in faults.values { fault.timer.cancel() } } }

  private func tryAgain(_ types: [String]) {
    let hasChanged = faults.withLock { faults in
      let held = types.filter { type in
        guard faults[type]?.isHeld == true else { return false }
        faults[type]?.isHeld = false
        faults[type]?.timer.disarm()
        return true
      }
      setHeld(false, held)
      return !held.isEmpty
    }
    if hasChanged { events.send(.heldTypesChanged) }
  }

  /// Tells the schedule, under the lock, so that it hears of a fault and of the next trial in their order.
  private func setHeld(_ isHeld: Bool, _ types: [String]) {
    guard holdsTypes else { return }
    scheduler.change { schedule, now in
      for type in types { schedule.setRoom(!isHeld, of: .type(type), now: now) }
    }
  }
}
