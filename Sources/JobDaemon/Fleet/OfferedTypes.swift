import Dispatch
import JobSchedule
import StoreInterface
import Synchronization
import SystemSupport

/// The types that this host offers to its fleet: those that it has handlers for, but for those that a fault of it holds.
///
/// The lead gives it jobs of no others. A reload changes the first, ``HostFaults`` the second; what can't be written, as the
/// database is away, is written once it is back.
final class OfferedTypes: Sendable {
  private struct Offer: Sendable, Equatable {
    var handled: Set<String> = []
    var withheld: Set<String> = []
  }

  private struct State {
    var wanted = Offer()
    var written = Offer()
    /// Writes an offer; nil before the host has joined.
    var write: (@Sendable (_ handled: Set<String>, _ withheld: Set<String>) throws(StoreError) -> Void)?
  }

  private let log: DaemonLog
  private let state = Mutex(State())
  private let writes = Coalescer(queue: DispatchQueue(label: "offered types"))

  init(log: DaemonLog) { self.log = log }

  /// Notes what the host has joined with.
  ///
  /// - Parameter write: writes what is offered, and tells the lead.
  func begin(
    _ handled: Set<String>,
    write: @escaping @Sendable (_ handled: Set<String>, _ withheld: Set<String>) throws(StoreError) -> Void
  ) {
    state.withLock { state in
      state.wanted.handled = handled
      state.written.handled = handled
      state.write = write
    }
    writeIfNeeded()
  }

  /// Sets the types that there are handlers for.
  func setHandled(_ handled: Set<String>) {
    state.withLock { $0.wanted.handled = handled }
    writeIfNeeded()
  }

  /// Has the lead give this host no jobs of some types, or again.
  func setWithheld(_ isWithheld: Bool, _ types: [String]) {
    state.withLock { state in
      if isWithheld { state.wanted.withheld.formUnion(types) } else { state.wanted.withheld.subtract(types) }
    }
    writeIfNeeded()
  }

  /// Writes what is not written yet.
  func writeIfNeeded() {
    if state.withLock({ $0.wanted == $0.written }) { return }
    writes.request { self.write() }
  }

  private func write() {
    let (wanted, write) = state.withLock { ($0.wanted == $0.written ? nil : $0.wanted, $0.write) }
    guard let wanted, let write else { return }
    do throws(StoreError) {
      try write(wanted.handled, wanted.withheld)
      state.withLock { $0.written = wanted }
    } catch {
      // The next beat that is answered leads here again.
      log.debug("the fleet can't be told which types this host handles: \(error)")
    }
  }
}
