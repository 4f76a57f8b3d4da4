import CalendarTime
import TestSupport
import Testing

@testable import Timetable

/// A day and a night of schedules, with crashes, hours off, and a clock that is put forward and back.
@Suite("A night of schedules")
struct NightTests {
  private static let midnight: Int64 = 1_795_392_000_000
  private static let minute: Int64 = 60_000
  private static let day = 24 * 60 * minute

  /// Schedules, and the moments of each, worked out without the module that they come from.
  private static let moments: [(name: String, time: String, every: Int64, at: Int64)] = [
    ("minutely", "minutely", minute, 0), ("quarter", "*:0/15", 15 * minute, 0), ("hourly", "hourly", 60 * minute, 0),
    ("half", "*:30", 60 * minute, 30 * minute), ("nightly", "3:00", day, 180 * minute),
    ("even", "0/2:10:30", 120 * minute, 10 * minute + 30_000),
  ]

  /// The state of a schedule in the plain model: where it has come to.
  private struct Place {
    let name: String
    let every: Int64
    let at: Int64
    let isPersistent: Bool
    var last: Int64

    /// The last moment up to a time, if it lies after the place.
    func due(at time: Int64) -> Int64? {
      let phase = NightTests.midnight + at
      let moment = phase + Int64((Double(time - phase) / Double(every)).rounded(.down)) * every
      return moment > last ? moment : nil
    }
  }

  @Test("Every firing happens once, whatever ends the daemon and whoever sets the clock", arguments: 0..<100)
  func night(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    let rules = try Self.moments.map { name, time, _, _ in
      var rule = ScheduleRule(name: name)
      rule.times = [try CalendarExpression(time, localZone: .utc)]
      rule.isPersistent = Bool.random(using: &random)
      rule.overlap = .allow
      return rule
    }
    var places = zip(Self.moments, rules).map { moment, rule in
      Place(
        name: moment.name, every: moment.every, at: moment.at, isPersistent: rule.isPersistent, last: Self.midnight)
    }
    var (time, expected, submitted) = (Self.midnight, Set<String>(), Set<String>())
    // What a crash or a clock that was put back lets fire again.
    var repeatable: Set<String> = []
    func submit(_ orders: some Sequence<Timetable.Order>) {
      for order in orders where !submitted.insert(order.firing.id).inserted {
        #expect(repeatable.contains(order.firing.id), "\(order.firing.id) fired twice")
      }
    }
    var (timetable, records) = (Timetable(seed: seed), [String: Timetable.Record]())
    timetable.replace(rules, at: time)
    records = timetable.records()
    while time < Self.midnight + Self.day {
      switch Int.random(in: 0..<40, using: &random) {
      case 0:
        // The host is off for a while: what is not persistent goes on from then.
        time += Int64.random(in: 0...(4 * 60 * Self.minute), using: &random)
        timetable = Timetable(seed: seed)
        timetable.replace(rules, records: records, at: time)
        for index in places.indices where !places[index].isPersistent { places[index].last = time }
      case 1:
        // The clock is put back: what was due fires again, under IDs that are known.
        time -= Int64.random(in: 1...(50 * Self.minute), using: &random)
        for index in places.indices { places[index].last = time }
        repeatable = submitted
        let early = timetable.advance(to: time) { _ in false }
        #expect(early.isEmpty)
        records = timetable.records()
        continue
      case 2: time += Int64.random(in: 0...(3 * 60 * Self.minute), using: &random)
      default: time = max(time, try #require(timetable.nextAlarm))
      }
      for index in places.indices {
        guard let due = places[index].due(at: time) else { continue }
        places[index].last = due
        expected.insert(Firing(schedule: places[index].name, time: due).id)
      }
      let orders = timetable.advance(to: time) { _ in false }
      // The daemon dies before, while or after it submits, and before it writes down where it is.
      let survives =
        Int.random(in: 0..<10, using: &random) > 0 ? orders.count : Int.random(in: 0...orders.count, using: &random)
      submit(orders.prefix(survives))
      if survives == orders.count {
        records = timetable.records()
        continue
      }
      // Only of what is persistent is it known that it was missed.
      let lost = orders.dropFirst(survives).map(\.firing).filter { firing in
        !submitted.contains(firing.id) && !rules.contains { $0.name == firing.schedule && $0.isPersistent }
      }
      expected.subtract(lost.map(\.id))
      timetable = Timetable(seed: seed)
      timetable.replace(rules, records: records, at: time)
      repeatable = submitted
      submit(timetable.advance(to: time) { _ in false })
      records = timetable.records()
      for index in places.indices where !places[index].isPersistent { places[index].last = time }
    }
    #expect(submitted == expected)
  }
}
