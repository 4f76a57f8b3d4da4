import JobSchedule
import Testing

@testable import JobDaemon

@Suite("The clock of retention")
struct TrustedClockTests {
  private static let hour: Int64 = 3_600_000
  private static let day = 24 * hour
  private static let year = 365 * day
  private static let start = 50 * year

  private func moment(_ wall: Int64, after steady: Int64) -> Moment {
    Moment(steady: 1_000 + steady, wall: Self.start + wall)
  }

  @Test("A clock that goes as it should is believed, however long nobody looks and however slowly it is put right")
  func normal() {
    var clock = TrustedClock(limit: nil, at: moment(0, after: 0))
    for passed in [0, 1, Self.hour, Self.day, 400 * Self.day] {
      #expect(clock.time(at: moment(passed, after: passed)) == Self.start + passed)
    }
    #expect(
      clock.time(at: moment(400 * Self.day + Self.hour, after: 400 * Self.day + 1)) == Self.start + 400 * Self.day
        + Self.hour)
  }

  @Test("A clock that is 20 years ahead makes nothing old that was not, in this run or in a row of short ones")
  func ahead() {
    var clock = TrustedClock(limit: nil, at: moment(0, after: 0))
    for run in 0..<100 {
      clock = TrustedClock(limit: clock.limit, at: moment(20 * Self.year, after: Int64(run)))
      #expect(clock.time(at: moment(20 * Self.year, after: Int64(run))) == Self.start + Self.day)
    }
    // Put right, it is believed again.
    #expect(clock.time(at: moment(Self.day / 2, after: Self.hour)) == Self.start + Self.day / 2)
  }

  @Test("A machine that was off for weeks catches up by a day for each hour, and waits as long as that takes")
  func catchingUp() {
    var clock = TrustedClock(limit: Self.start + Self.day, at: moment(0, after: 0))
    let weeks = 22 * Self.day
    #expect(clock.time(at: moment(weeks, after: 0)) == Self.start + Self.day)
    let delay = clock.delay(until: Self.start + 3 * Self.day, at: moment(weeks, after: 0))
    #expect(delay == 2 * Self.hour)
    #expect(clock.time(at: moment(weeks + delay, after: delay)) == Self.start + 3 * Self.day)
    #expect(clock.time(at: moment(weeks + Self.day, after: Self.day)) == Self.start + weeks + Self.day)
    #expect(
      clock.delay(until: Self.start + weeks + 2 * Self.day, at: moment(weeks + Self.day, after: Self.day)) == Self.day)
  }

  @Test("A clock that is set back for a while takes nothing back")
  func back() {
    var clock = TrustedClock(limit: nil, at: moment(0, after: 0))
    #expect(clock.time(at: moment(-49 * Self.year, after: 1)) == Self.start - 49 * Self.year)
    #expect(clock.time(at: moment(Self.hour, after: Self.hour)) == Self.start + Self.hour)
  }
}
