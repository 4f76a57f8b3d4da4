import JobSchedule
import ObjectGraph

/// Jobs that are read while others are assigned already.
extension Assigner {
  /// True while jobs are still to be taken in: orders and questions have to wait.
  package var isLoading: Bool { loading != nil }

  /// Takes in jobs that wait on record.
  mutating func load(_ jobs: [FleetJob], at now: Moment) {
    for job in jobs where loading?.putOff(job, isKnown: true) != true { take(job, at: now) }
  }

  /// Takes in what had to wait until all jobs were there, and obeys the orders that have come meanwhile.
  ///
  /// - Parameters:
  ///   - known: by name, those among the jobs that the ones which had to wait name that are known.
  ///   - orders: the orders that have no answer, with the rows of their jobs as they are now.
  mutating func finishLoading(known: [String: NamedJob], orders: [PlacedOrder], at now: Moment) {
    let late = loading?.latecomers ?? []
    loading = nil
    for one in late { take(one.job, known: known, isKnown: one.isKnown, at: now) }
    desk.renew(orders)
    obeyOrders(at: now)
  }
}
