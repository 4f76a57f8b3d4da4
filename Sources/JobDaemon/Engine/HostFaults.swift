import Dispatch
import Foundation
import Jobs
import ObjectGraph
import Synchronization
import SystemSupport

/// The types that a fault of this host holds, each until it is tried again.
///
/// One job of the type is enough to find out: it fails again without an attempt, and the type is held for twice as long,
/// or it works, and all go on. Where a file is missing, such as the socket of a service, its coming begins the trial.
/// In a fleet the type is withheld by this host alone, as others may have no fault: the lead gives it no jobs of the type.
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
    /// Watches while it is held for what may mend it.
    var watch: AncestorWatch?
  }

  /// The number of times that each job has met what may be its own fault, whatever others of its type have shown since.
  ///
  /// A job is forgotten when it works or is charged; of those that end otherwise only so many are kept.
  private struct Suspects {
    private static let limit = 1_000

    private var times: [ManagedObjectID: Int] = [:]

    /// Returns how often the job has met it by now.
    mutating func note(_ job: ManagedObjectID) -> Int {
      if times[job] == nil, times.count >= Self.limit, let oldest = times.keys.min(by: { $0.key < $1.key }) {
        times[oldest] = nil
      }
      times[job, default: 0] += 1
      return times[job, default: 0]
    }

    mutating func clear(_ job: ManagedObjectID) { if !times.isEmpty { times[job] = nil } }
  }

  private struct State {
    var faults: [String: Fault] = [:]
    var suspects = Suspects()
  }

  private let setHeld: @Sendable (_ isHeld: Bool, _ types: [String]) -> Void
  private let delays: ClosedRange<Duration>
  private let events: DaemonEvents
  private let log: DaemonLog
  private let queue = DispatchQueue(label: "host faults")
  private let state = Mutex(State())

  /// - Parameters:
  ///   - setHeld: holds types, or no more; called under a lock, so that faults and trials are told in their order.
  ///   - delays: the first time for which a type is held, and the longest.
  init(
    delays: ClosedRange<Duration> = .seconds(1) ... .seconds(60), events: DaemonEvents, log: DaemonLog,
    setHeld: @escaping @Sendable (_ isHeld: Bool, _ types: [String]) -> Void
  ) {
    self.setHeld = setHeld
    self.delays = delays
    self.events = events
    self.log = log
  }

  /// The types that are held at this moment, by name.
  var heldTypes: [HeldType] {
    state.withLock { state in
      state.faults.filter { $0.value.isHeld }
        .map { HeldType(type: $0.key, reason: $0.value.reason, since: $0.value.since) }
    }.sorted { $0.type < $1.type }
  }

  /// The reason for which a type is held; nil if it is not.
  func reason(of type: String) -> String? {
    state.withLock { state in state.faults[type].flatMap { $0.isHeld ? $0.reason : nil } }
  }

  /// The times that one job meets a fault that may be its own, until it is.
  private static let suspicionLimit = 5

  /// Holds a type whose job met a fault; it is told once, until the type has worked or the reason changes.
  ///
  /// - Returns: false if the fault is that job's own, and not the host's: others may run.
  func note(_ fault: HostFault, of type: String, by job: ManagedObjectID) -> Bool {
    let outcome: (isNew: Bool, isChange: Bool)? = state.withLock { state in
      let known = state.faults[type]
      // Other workers meet the same.
      if let known, known.isHeld, known.reason == fault.description { return (false, false) }
      if !fault.isCertain, state.suspects.note(job) > Self.suspicionLimit {
        state.suspects.clear(job)
        known?.timer.cancel()
        state.faults[type] = nil
        return nil
      }
      var new = known ?? Fault(reason: "", since: Date(), delay: delays.lowerBound, timer: OneShotTimer(queue: queue))
      if let known, !known.isHeld { new.delay = min(known.delay * 2, delays.upperBound) }
      new.reason = fault.description
      new.isHeld = true
      new.timer.arm(after: new.delay) { [weak self] in self?.tryAgain([type]) }
      state.faults[type] = new
      setHeld(true, [type])
      return (known?.reason != fault.description, true)
    }
    guard let (isNew, isChange) = outcome else { return false }
    if isNew {
      log.error(
        "the type \"\(type)\" is held until this is mended, and goes on by itself then: \(fault)", as: .typeHeld,
        fields: [("JOB_TYPE", type)])
    }
    guard isChange else { return true }
    events.send(.hostFaultsChanged)
    if let path = fault.awaited { watch(for: path, of: type) }
    return true
  }

  /// Watches for something to come to a path; what comes before that is found by the timer.
  private func watch(for path: String, of type: String) {
    do throws(SystemError) {
      let watch = try AncestorWatch(path, queue: queue) { [weak self] in
        guard let self else { return }
        state.withLock { self.trySoon(type, in: &$0.faults) }
      }
      state.withLock { state in if state.faults[type]?.isHeld == true { state.faults[type]?.watch = watch } }
    } catch {
      log.warning("the type \"\(type)\" is tried again after a while only, as \(path) can't be watched for: \(error)")
    }
  }

  /// Tries a held type again in a moment: a socket is there a little before anybody listens.
  private func trySoon(_ type: String, in faults: inout [String: Fault]) {
    guard faults[type]?.isHeld == true else { return }
    faults[type]?.delay = delays.lowerBound
    faults[type]?.timer.arm(after: min(Self.settlingTime, delays.lowerBound)) { [weak self] in
      self?.tryAgain([type])
    }
  }

  private static let settlingTime = Duration.milliseconds(100)

  /// Notes that a job of a type has worked, whatever came of it.
  func noteWork(of type: String, by job: ManagedObjectID) {
    let isMended = state.withLock { state in
      state.suspects.clear(job)
      guard let fault = state.faults[type] else { return false }
      if fault.isHeld {
        // One that had begun before the fault shows nothing, but what it had is free now, such as one of few connections.
        trySoon(type, in: &state.faults)
        return false
      }
      state.faults[type] = nil
      return true
    }
    if isMended { log.notice("the type \"\(type)\" goes on", as: .typeGoesOn, fields: [("JOB_TYPE", type)]) }
  }

  /// Tries all types again, as after a reload.
  func tryAll() { tryAgain(Array(state.withLock { $0.faults.keys })) }

  /// Drops all timers; nothing is tried again.
  func stop() {
    state.withLock { state in
      for fault in state.faults.values {
        fault.timer.cancel()
        fault.watch?.stop()
      }
    }
  }

  private func tryAgain(_ types: [String]) {
    let hasChanged = state.withLock { state in
      let held = types.filter { type in
        guard state.faults[type]?.isHeld == true else { return false }
        state.faults[type]?.isHeld = false
        state.faults[type]?.timer.disarm()
        state.faults[type]?.watch = nil
        return true
      }
      setHeld(false, held)
      return !held.isEmpty
    }
    if hasChanged { events.send(.hostFaultsChanged) }
  }
}
