import Foundation
import JobSchedule
import Jobs
import ObjectGraph
import Synchronization

/// The records of starts that count for rates, by which rates hold over the restarts of a host with a store of its own.
///
/// Each start is a row for each rate that it counts for. They are on disk with the next flush; those of attempts with effects
/// outside are before these begin.
final class RateRecords: Sendable {
  /// Rows that are removed in one step.
  private static let stepSize = 500
  /// Starts after which those that do not count any more are removed.
  private static let startsPerRemoval = 1_000

  private let main: ManagedObjectContext
  private let starts = Mutex(0)

  init(main: ManagedObjectContext) { self.main = main }

  /// Adds the records of a start to a context, which is to be saved.
  ///
  /// - Parameter rates: the rates for which it counts, with their periods in milliseconds.
  static func note(
    _ rates: [(name: Resource.Name, period: Int64)], at started: Date, in context: isolated ManagedObjectContext
  ) {
    for rate in rates {
      let record = RateStart(context: context)
      (record.kind, record.name) = rate.name.record
      record.startedAt = started
      record.until = started + Double(rate.period) / 1000
    }
  }

  /// Returns the starts that are on record, as a schedule counts them.
  ///
  /// One that a clock ahead of this one has dated counts as if it were now.
  func read(at now: Moment) throws -> [Resource.Name: [Int64]] {
    try ManagedObjectContext(parent: main, name: "rates").performAndWait { context in
      var starts: [Resource.Name: [Int64]] = [:]
      for record in try context.fetch(FetchRequest<RateStart>(sortBy: [.ascending(\.startedAt)])) {
        guard let name = Resource.Name(kind: record.kind, name: record.name), let started = record.startedAt else {
          continue
        }
        starts[name, default: []].append(now.steady - max(0, now.wall - started.milliseconds))
      }
      return starts
    }
  }

  /// Notes that a start went on record, and removes those that do not count any more once there are many new ones.
  func noteStart(at date: Date) throws {
    let isDue = starts.withLock { starts in
      starts += 1
      if starts < Self.startsPerRemoval { return false }
      starts = 0
      return true
    }
    if isDue { try removeOld(at: date) }
  }

  /// Removes the records of starts that do not count any more.
  func removeOld(at date: Date) throws {
    var removed = Self.stepSize
    while removed == Self.stepSize {
      removed = try ManagedObjectContext(parent: main, name: "rates").performAndWait { context in
        let isOver = try Condition(format: "until <= %@", date)
        let records = try context.fetch(FetchRequest<RateStart>(isOver, limit: Self.stepSize))
        for record in records { context.delete(record) }
        try context.save()
        return records.count
      }
    }
  }
}
