import CalendarTime
import Foundation
import TestSupport
import Testing

@testable import Timetable

@Suite("Schedules as a value")
struct TimetableTests {
  /// 2026-11-23 00:00:00 UTC.
  private static let midnight: Int64 = 1_795_392_000_000
  private static let minute: Int64 = 60_000
  private static let hour: Int64 = 3_600_000

  private func rule(_ name: String, _ times: String..., change: (inout ScheduleRule) -> Void = { _ in }) throws
    -> ScheduleRule
  {
    var rule = ScheduleRule(name: name)
    rule.times = try times.map { text throws(CalendarError) in try CalendarExpression(text, localZone: .utc) }
    change(&rule)
    return rule
  }

  private func timetable(_ rules: ScheduleRule..., at time: Int64 = midnight) -> Timetable {
    var timetable = Timetable(seed: 0)
    timetable.replace(rules, at: time)
    return timetable
  }

  private func fire(_ timetable: inout Timetable, at time: Int64, unfinished: Bool = false) -> [String] {
    timetable.orders(at: time) { _ in unfinished }.map(\.firing.id)
  }

  @Test("A firing has an ID made of its schedule and its moment")
  func ids() {
    #expect(Firing(schedule: "nightly", time: Self.midnight + 3 * Self.hour).id == "nightly@2026-11-23T03:00:00Z")
    #expect(Firing(schedule: "a", time: Self.midnight + 250).id == "a@2026-11-23T00:00:00.250Z")
  }

  @Test("A job's ID tells the firing that submitted it")
  func firingOfJob() {
    for time in [Self.midnight + 3 * Self.hour, Self.midnight + 250] {
      let firing = Firing(schedule: "nightly", time: time)
      for ending in ["", ".1", "#pack", "#a@2026-11-23T00:00:00Z"] {
        #expect(Firing(ofJob: firing.id + ending) == firing)
      }
    }
    let others = [
      "nightly", "nightly@", "nightly@2026-11-23", "nightly@2026-11-23T03:00:00Zx", "a@2026-11-23T03:00:00.25Z",
      "a@2026-11-23T3:00:00Z", "mail@example.org", "a@Z", "a@2026-11-23T03:00:00+00:00",
    ]
    for id in others { #expect(Firing(ofJob: id) == nil, "\(id)") }
  }

  private func drainMissed(_ timetable: inout Timetable) -> [String] {
    let missed = timetable.missed
    for _ in missed { timetable.dropFirstMissed() }
    return missed.map { "\($0.first.id) \($0.last.moment) \($0.reason)" }
  }

  @Test("Moments that nothing fired at are missed: those before the one that fires late, and those left out")
  func missedMoments() throws {
    var timetable = timetable(try rule("a", "hourly"))
    _ = fire(&timetable, at: Self.midnight + Self.hour)
    #expect(drainMissed(&timetable).isEmpty)
    _ = fire(&timetable, at: Self.midnight + 4 * Self.hour + 5)
    #expect(drainMissed(&timetable) == ["a@2026-11-23T02:00:00Z 2026-11-23T03:00:00Z late"])
    #expect(fire(&timetable, at: Self.midnight + 5 * Self.hour, unfinished: true).isEmpty)
    #expect(drainMissed(&timetable) == ["a@2026-11-23T05:00:00Z 2026-11-23T05:00:00Z overlap"])
    _ = timetable.setPaused(true, "a", at: Self.midnight + 5 * Self.hour)
    _ = fire(&timetable, at: Self.midnight + 9 * Self.hour)
    _ = timetable.setPaused(false, "a", at: Self.midnight + 9 * Self.hour)
    #expect(drainMissed(&timetable).isEmpty)
  }

  @Test("What passed while the daemon was off is missed, but for the last moment of a persistent schedule")
  func missedWhileOff() throws {
    let start = Self.midnight + 90 * Self.minute
    let record = Timetable.Record(last: Self.midnight - 2 * Self.hour, fired: nil)
    var timetable = Timetable(seed: 0)
    let rules = [
      try rule("kept", "hourly") { $0.isPersistent = true }, try rule("new", "hourly"), try rule("off", "hourly"),
    ]
    timetable.replace(rules, records: ["kept": record, "off": record], at: start)
    #expect(fire(&timetable, at: start) == ["kept@2026-11-23T01:00:00Z"])
    #expect(
      drainMissed(&timetable) == [
        "off@2026-11-22T23:00:00Z 2026-11-23T01:00:00Z late", "kept@2026-11-22T23:00:00Z 2026-11-23T00:00:00Z late",
      ])
  }

  @Test("Each of several times fires, at its moment and not before")
  func times() throws {
    var timetable = timetable(try rule("a", "3:00", "*:30"))
    #expect(timetable.nextAlarm == Self.midnight + 30 * Self.minute)
    #expect(fire(&timetable, at: Self.midnight + 30 * Self.minute - 1).isEmpty)
    #expect(fire(&timetable, at: Self.midnight + 30 * Self.minute) == ["a@2026-11-23T00:30:00Z"])
    #expect(fire(&timetable, at: Self.midnight + 30 * Self.minute).isEmpty)
    #expect(fire(&timetable, at: Self.midnight + 90 * Self.minute) == ["a@2026-11-23T01:30:00Z"])
    #expect(fire(&timetable, at: Self.midnight + 3 * Self.hour) == ["a@2026-11-23T03:00:00Z"])
  }

  @Test("An interval fires at its multiples, the same after each start")
  func intervals() throws {
    let rule = try rule("a") { $0.interval = 45 * Self.minute }
    var first = timetable(rule)
    var second = timetable(rule, at: Self.midnight + 7 * Self.minute)
    #expect(first.nextAlarm == second.nextAlarm)
    let due = try #require(first.nextAlarm)
    #expect(due % (45 * Self.minute) == 0)
    #expect(fire(&first, at: due) == fire(&second, at: due))
  }

  @Test("Of moments that pass together only the last one fires")
  func passedTogether() throws {
    var timetable = timetable(try rule("a", "minutely"))
    #expect(fire(&timetable, at: Self.midnight + 10 * Self.minute + 5) == ["a@2026-11-23T00:10:00Z"])
    #expect(timetable.nextAlarm == Self.midnight + 11 * Self.minute)
  }

  @Test("What was missed fires once if the schedule is persistent, and else not", arguments: [true, false])
  func missed(isPersistent: Bool) throws {
    let rule = try rule("a", "hourly") { $0.isPersistent = isPersistent }
    var timetable = timetable(rule)
    _ = fire(&timetable, at: Self.midnight + Self.hour)
    var next = Timetable(seed: 0)
    next.replace([rule], records: timetable.records, at: Self.midnight + 5 * Self.hour + 1)
    let expected = isPersistent ? ["a@2026-11-23T05:00:00Z"] : []
    #expect(fire(&next, at: Self.midnight + 5 * Self.hour + 1) == expected)
    #expect(next.nextAlarm == Self.midnight + 6 * Self.hour)
  }

  @Test("A year of minutes that was missed is not walked through")
  func longAgo() throws {
    let rule = try rule("a", "minutely") { $0.isPersistent = true }
    var timetable = Timetable(seed: 0)
    let record = Timetable.Record(last: Self.midnight - 365 * 24 * Self.hour, fired: nil)
    timetable.replace([rule], records: ["a": record], at: Self.midnight + 1)
    #expect(fire(&timetable, at: Self.midnight + 1) == ["a@2026-11-23T00:00:00Z"])
  }

  @Test(
    "While the one before is unfinished a firing is left out, waits, or is nothing special", arguments: Overlap.allCases
  )
  func overlap(overlap: Overlap) throws {
    var timetable = timetable(try rule("a", "hourly") { $0.overlap = overlap })
    _ = fire(&timetable, at: Self.midnight + Self.hour)
    let orders = timetable.orders(at: Self.midnight + 2 * Self.hour) { $0.id == "a@2026-11-23T01:00:00Z" }
    #expect(orders.map(\.firing.id) == (overlap == .skip ? [] : ["a@2026-11-23T02:00:00Z"]))
    #expect(orders.first?.previous?.id == (overlap == .queue ? "a@2026-11-23T01:00:00Z" : nil))
    // What was left out does not come later, and does not keep later ones out.
    #expect(fire(&timetable, at: Self.midnight + 3 * Self.hour) == ["a@2026-11-23T03:00:00Z"])
  }

  @Test("A paused schedule doesn't fire, and makes up for nothing when it goes on; an operator may fire it")
  func pause() throws {
    var timetable = timetable(try rule("a", "hourly") { $0.isPersistent = true })
    let (isKnown, isUnknown) = (
      timetable.setPaused(true, "a", at: Self.midnight), timetable.setPaused(true, "b", at: Self.midnight)
    )
    #expect(isKnown && !isUnknown)
    #expect(timetable.nextAlarm == nil && timetable.overview.first?.next == nil)
    #expect(fire(&timetable, at: Self.midnight + 2 * Self.hour).isEmpty)
    let orders = [timetable.order("a", at: Self.midnight + 7), timetable.order("b", at: Self.midnight)]
    #expect(orders.map(\.?.firing.id) == ["a@2026-11-23T00:00:00.007Z", nil])
    #expect(timetable.overview.first?.last == nil)
    orders.compactMap(\.?.firing).forEach { timetable.noteFired($0) }
    #expect(timetable.overview.first?.last == orders[0]?.firing)
    _ = timetable.setPaused(false, "a", at: Self.midnight + 2 * Self.hour + 5)
    #expect(fire(&timetable, at: Self.midnight + 3 * Self.hour - 1).isEmpty)
    #expect(fire(&timetable, at: Self.midnight + 3 * Self.hour) == ["a@2026-11-23T03:00:00Z"])
  }

  @Test("A firing not submitted yet is made again by the next run, persistent or not", arguments: [true, false])
  func pendingFirings(isPersistent: Bool) throws {
    let rules = try ["a", "b"].map { try rule($0, "hourly") { $0.isPersistent = isPersistent } }
    let due = Self.midnight + 2 * Self.hour
    var timetable = Timetable(seed: 0)
    timetable.replace(rules, at: Self.midnight)
    _ = fire(&timetable, at: Self.midnight + Self.hour)
    timetable.advance(to: due) { _ in false }
    #expect(timetable.pending.map(\.firing.id) == ["a@2026-11-23T02:00:00Z", "b@2026-11-23T02:00:00Z"])
    // Nothing else fires before, and a pause ends it.
    timetable.advance(to: due + Self.hour) { _ in false }
    _ = timetable.setPaused(true, "b", at: due + Self.hour)
    var next = Timetable(seed: 0)
    next.replace(rules, records: timetable.records, at: due + Self.hour + 1)
    #expect(next.overview.map(\.isPaused) == [false, true])
    #expect(next.overview.first?.last?.id == "a@2026-11-23T01:00:00Z")
    #expect(fire(&next, at: due + Self.hour + 1) == ["a@2026-11-23T02:00:00Z"])
    #expect(fire(&next, at: due + Self.hour + 1) == (isPersistent ? ["a@2026-11-23T03:00:00Z"] : []))
    #expect(next.records["a"]?.due == nil)
  }

  @Test("A run that goes on with the places of one that has just ended misses nothing")
  func continued() throws {
    var timetable = timetable(try rule("a", "hourly"))
    _ = fire(&timetable, at: Self.midnight + Self.hour)
    var next = Timetable(seed: 0)
    let time = Self.midnight + 2 * Self.hour + 10
    next.replace([try rule("a", "hourly")], records: timetable.records, at: time, isContinued: true)
    #expect(fire(&next, at: time) == ["a@2026-11-23T02:00:00Z"])
    #expect(next.missed.isEmpty)
  }

  @Test(
    "After an edit that comes with a start only what was due by the old times is made up for",
    arguments: [true, false])
  func editedMeanwhile(isContinued: Bool) throws {
    let edit = Self.midnight + 2 * Self.hour + 1
    for (old, expected) in [("3:00", []), ("1:30", ["a@2026-11-23T01:30:00Z"])] {
      let timetable = timetable(try rule("a", old) { $0.isPersistent = !isContinued })
      let records = try JSONDecoder().decode(
        [String: Timetable.Record].self, from: JSONEncoder().encode(timetable.records))
      var next = Timetable(seed: 0)
      next.replace(
        [try rule("a", "hourly") { $0.isPersistent = !isContinued }], records: records, at: edit,
        isContinued: isContinued)
      #expect(fire(&next, at: edit) == expected)
      #expect(fire(&next, at: edit).isEmpty && next.missed.isEmpty)
      #expect(next.nextAlarm == Self.midnight + 3 * Self.hour)
    }
  }

  @Test("A firing that waits for its delay fires also after a restart, an edit, or a clock put back a little")
  func delayedFirings() throws {
    let rule = try rule("a", "hourly") { $0.randomDelay = Self.hour / 2 }
    let due = Self.midnight + Self.hour
    var timetable = timetable(rule)
    let alarm = try #require(timetable.nextAlarm)
    try #require(alarm > due + 2)
    var restarted = Timetable(seed: 0)
    restarted.replace([rule], records: timetable.records, at: alarm - 1)
    var edited = timetable
    edited.replace([try self.rule("a", "hourly") { $0.overlap = .allow }], at: alarm - 1)
    timetable.advance(to: alarm - 1) { _ in false }
    timetable.advance(to: alarm - 2) { _ in false }
    for var one in [timetable, restarted, edited] {
      #expect(one.pending.isEmpty)
      #expect(fire(&one, at: alarm) == ["a@2026-11-23T01:00:00Z"])
      #expect(one.missed.isEmpty)
    }
  }

  @Test("Delays that are longer than the interval let every moment fire, and miss none")
  func longDelays() throws {
    var timetable = timetable(try rule("a", "hourly") { $0.randomDelay = 5 * Self.hour })
    var fired: [String] = []
    var time = Self.midnight
    for _ in 0..<24 {
      time = max(time, try #require(timetable.nextAlarm))
      fired += fire(&timetable, at: time)
    }
    #expect(fired.count == 24 && Set(fired).count == 24)
    #expect(timetable.missed.isEmpty)
  }

  @Test("A delay is chance, within its bound, the same for the same host, and changes no ID")
  func delays() throws {
    let rule = try rule("a", "hourly") { $0.randomDelay = Self.hour / 2 }
    var delays: Set<Int64> = []
    for seed in UInt64(0)..<50 {
      var (timetable, again) = (Timetable(seed: seed), Timetable(seed: seed))
      timetable.replace([rule], at: Self.midnight)
      again.replace([rule], at: Self.midnight + 1)
      let alarm = try #require(timetable.nextAlarm)
      #expect(alarm == again.nextAlarm)
      #expect((Self.midnight + Self.hour...Self.midnight + Self.hour * 3 / 2).contains(alarm))
      #expect(fire(&timetable, at: alarm) == ["a@2026-11-23T01:00:00Z"])
      delays.insert(alarm)
    }
    #expect(delays.count > 45)
  }

  @Test("A clock that was years ahead keeps no schedule waiting when it is put right")
  func wrongClock() throws {
    var timetable = timetable(try rule("a", "hourly"), at: Self.midnight + 1000 * 24 * Self.hour)
    #expect(fire(&timetable, at: Self.midnight + 1).isEmpty)
    #expect(timetable.nextAlarm == Self.midnight + Self.hour)
    let record = Timetable.Record(last: Self.midnight + 1000 * 24 * Self.hour, fired: nil)
    var next = Timetable(seed: 0)
    next.replace([try rule("a", "hourly") { $0.isPersistent = true }], records: ["a": record], at: Self.midnight + 1)
    #expect(next.nextAlarm == Self.midnight + Self.hour)
  }

  @Test("A schedule that stays keeps its place when all are read again; a changed one goes on from then")
  func reload() throws {
    var timetable = timetable(try rule("a", "hourly"), try rule("b", "hourly"), try rule("c", "hourly"))
    _ = fire(&timetable, at: Self.midnight + Self.hour)
    _ = timetable.setPaused(true, "a", at: Self.midnight + Self.hour)
    timetable.replace([try rule("a", "hourly"), try rule("b", "*:45")], at: Self.midnight + Self.hour + 1)
    #expect(timetable.overview.map(\.name) == ["a", "b"])
    #expect(timetable.overview.map(\.isPaused) == [true, false])
    #expect(timetable.overview.map(\.last?.time) == [Self.midnight + Self.hour, Self.midnight + Self.hour])
    #expect(timetable.nextAlarm == Self.midnight + Self.hour + 45 * Self.minute)
  }

  @Test("An edited schedule makes up for nothing at the next start that its new rule would have had before the edit")
  func editedSchedule() throws {
    var timetable = timetable(try rule("a", "3:00") { $0.isPersistent = true })
    let edit = Self.midnight + 2 * Self.hour + 1
    let edited = try rule("a", "hourly") { $0.isPersistent = true }
    timetable.replace([edited], at: edit)
    #expect(timetable.records["a"]?.last == edit)
    var next = Timetable(seed: 0)
    next.replace([edited], records: timetable.records, at: edit + 1)
    #expect(fire(&next, at: edit + 1).isEmpty)
    #expect(next.nextAlarm == Self.midnight + 3 * Self.hour)
  }

  @Test(
    "An edit while a firing waits for its delay drops neither that nor makes up for more, also over a restart",
    arguments: [false, true])
  func editedWhileWaiting(isRestarted: Bool) throws {
    var timetable = timetable(try rule("a", "3:00") { ($0.isPersistent, $0.randomDelay) = (true, 2 * Self.hour) })
    let due = Self.midnight + 3 * Self.hour
    let alarm = try #require(timetable.nextAlarm)
    try #require(alarm > due + 10 * Self.minute)
    let edited = try rule("a", "*:0/5") { $0.isPersistent = true }
    timetable.replace([edited], at: alarm - 1)
    if isRestarted {
      let records = timetable.records
      timetable = Timetable(seed: 0)
      timetable.replace([edited], records: records, at: alarm)
    }
    #expect(fire(&timetable, at: alarm) == ["a@2026-11-23T03:00:00Z"])
    #expect(timetable.missed.isEmpty)
    #expect(try #require(timetable.nextAlarm) > alarm - 1)
    let next = try #require(timetable.nextAlarm)
    #expect(fire(&timetable, at: next) == [Firing(schedule: "a", time: next).id])
  }
}
