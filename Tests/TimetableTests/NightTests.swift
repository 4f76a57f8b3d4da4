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
    records = timetable.records
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
        timetable.advance(to: time) { _ in false }
        #expect(timetable.pending.isEmpty)
        records = timetable.records
        continue
      case 2: time += Int64.random(in: 0...(3 * 60 * Self.minute), using: &random)
      default: time = max(time, try #require(timetable.nextAlarm))
      }
      for index in places.indices {
        guard let due = places[index].due(at: time) else { continue }
        places[index].last = due
        expected.insert(Firing(schedule: places[index].name, time: due).id)
      }
      timetable.advance(to: time) { _ in false }
      let orders = timetable.pending
      // The daemon writes down what is due before it submits it; then it dies before, while or after it does.
      if Int.random(in: 0..<10, using: &random) == 0 {
        records = timetable.records
        submit(orders.prefix(Int.random(in: 0...orders.count, using: &random)))
        timetable = Timetable(seed: seed)
        timetable.replace(rules, records: records, at: time)
        repeatable = submitted
        #expect(timetable.pending == orders)
      }
      submit(timetable.pending)
      for order in timetable.pending { timetable.noteFired(order.firing) }
      records = timetable.records
    }
    #expect(submitted == expected)
  }

  @Test(
    "Every moment fires once or is told as missed, whatever the overlap, the delay, the zone, and edits of these",
    arguments: 0..<50)
  func account(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    let zones = ["Europe/Berlin", "America/New_York", "Asia/Kathmandu"].map { "*:0/20 \($0)" } + ["*:10 UTC"]
    var rules = try zones.enumerated().map { number, time in
      var rule = ScheduleRule(name: "s\(number)")
      rule.times = [try CalendarExpression(time, localZone: .utc)]
      return rule
    }
    // Of what waits for a delay at the end, nobody knows yet what becomes of it.
    let (start, end, longest) = (Self.midnight, Self.midnight + Self.day, 90 * Self.minute)
    func change() {
      for index in rules.indices {
        rules[index].overlap = Overlap.allCases.randomElement(using: &random) ?? .skip
        rules[index].isPersistent = Bool.random(using: &random)
        rules[index].randomDelay = Int64.random(in: 0...longest, using: &random)
      }
    }
    change()
    var (time, fired, told) = (start, Set<String>(), Set<String>())
    var timetable = Timetable(seed: seed)
    timetable.replace(rules, at: time)
    var records = timetable.records
    while time < end + longest {
      time = max(time, try #require(timetable.nextAlarm))
      switch Int.random(in: 0..<20, using: &random) {
      case 0:
        time += Int64.random(in: 0...(3 * 60 * Self.minute), using: &random)
        timetable = Timetable(seed: seed)
        timetable.replace(rules, records: records, at: time)
      case 1:
        change()
        timetable.replace(rules, at: time)
      default: break
      }
      let isBusy = Bool.random(using: &random)
      timetable.advance(to: time) { _ in isBusy }
      while let missed = timetable.missed.first {
        let rule = try #require(rules.first { $0.name == missed.first.schedule })
        var moment: Int64? = missed.first.time
        while let time = moment, time <= missed.last.time {
          told.insert(Firing(schedule: rule.name, time: time).id)
          moment = rule.next(after: time)
        }
        timetable.dropFirstMissed()
      }
      records = timetable.records
      for order in timetable.pending {
        #expect(fired.insert(order.firing.id).inserted, "\(order.firing.id) fired twice")
        // A kill in between is the other test's.
        timetable.noteFired(order.firing)
      }
      records = timetable.records
    }
    #expect(fired.isDisjoint(with: told))
    for rule in rules {
      var moment = rule.next(after: start)
      while let time = moment, time <= end {
        let id = Firing(schedule: rule.name, time: time).id
        #expect(fired.contains(id) || told.contains(id), "nobody knows of \(id)")
        moment = rule.next(after: time)
      }
    }
  }
}

extension Timetable {
  /// What fires at a time, as if its jobs were submitted at once.
  mutating func orders(at time: Int64, isUnfinished: (Firing) -> Bool) -> [Order] {
    advance(to: time, isUnfinished: isUnfinished)
    let orders = pending
    for order in orders { noteFired(order.firing) }
    return orders
  }
}
