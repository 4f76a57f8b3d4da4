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

  /// Notes that all jobs are read.
  ///
  /// - Parameters:
  ///   - known: by name, those among the jobs that the ones which had to wait name that are known.
  ///   - orders: the orders that have no answer, with the rows of their jobs as they are now.
  mutating func finishReading(known: [String: NamedJob], orders: [PlacedOrder]) {
    loading?.finishReading(known: known)
    desk.renew(orders)
  }

  /// Takes in what had to wait until all jobs were read, so many at most, and after the last one obeys the orders that have
  /// come meanwhile.
  ///
  /// One that could begin before another which is taken in later may have its turn: among many that comes within seconds.
  mutating func takeLatecomers(limit: Int, at now: Moment) {
    guard let part = loading?.nextLatecomers(limit: limit) else { return }
    for one in part.jobs { take(one.job, known: part.known, isKnown: one.isKnown, at: now) }
    guard loading?.isOver == true else { return }
    loading = nil
    obeyOrders(at: now)
  }
}
