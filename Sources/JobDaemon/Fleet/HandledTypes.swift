import Fleet
import JobSchedule
import StoreInterface
import Synchronization
import SystemSupport

/// The types of jobs that some host of a fleet handles, be it up or down, as they were a second ago at most.
final class HandledTypes: Sendable {
  /// The age in milliseconds from which they are asked for again: a file of a million jobs of such a type asks a few times.
  private static let age: Int64 = 1_000

  private let membership: Membership
  private let log: DaemonLog
  private let known = Mutex<(names: Set<String>, asked: Int64)?>(nil)

  init(_ membership: Membership, log: DaemonLog) { (self.membership, self.log) = (membership, log) }

  /// True also while it can't be found out: then the admission fails for the same reason, and is tried again.
  func contains(_ type: String) -> Bool {
    let now = Moment.now().steady
    if let known = known.withLock({ $0 }), now - known.asked < Self.age { return known.names.contains(type) }
    do throws(StoreError) {
      let names = try membership.reader().knownHosts().reduce(into: Set()) { $0.formUnion($1.types) }
      known.withLock { $0 = (names, now) }
      return names.contains(type)
    } catch {
      log.debug("whether another host handles the type \"\(displayName(type))\" can't be found out: \(error)")
      return true
    }
  }
}
