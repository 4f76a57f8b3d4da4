import Testing

@testable import Fleet

@Suite("The clock of a fleet")
struct FleetClockTests {
  private var clock = FleetClock(serverTime: 1_000_000, receivedAt: 500)

  @Test("It is the server's, as late as it can be until more is known")
  func first() { #expect(clock.moment(at: 1_500).wall == 1_001_000) }

  @Test("An answer that contradicts nothing changes nothing, however slow it was")
  mutating func slowAnswer() {
    clock.note(serverTime: 1_000_700, sentAt: 1_190, receivedAt: 3_000)
    #expect(clock.moment(at: 3_000).wall == 1_002_500)
  }

  @Test("It is moved as little as an answer demands", arguments: [-1, 1])
  mutating func correction(direction: Int64) {
    let step = direction * 3_600_000
    clock.note(serverTime: 1_000_700 + step, sentAt: 1_190, receivedAt: 1_210)
    #expect(clock.moment(at: 1_200).wall == 1_000_700 + step + direction * -10)
  }

  @Test("A host has only its steady clock, and beats tell it what that means")
  func hours() {
    let times = FleetTimes()
    var member = FleetMember(
      number: 1, joinSentAt: 0, clock: FleetClock(serverTime: 7_200_000, receivedAt: 0), times: times, agingStep: 1)
    #expect(member.moment(at: 10).wall == 7_200_010)
    // The server's clock was set back by an hour.
    let beat = Beat(
      time: 3_600_700, server: LedgerServer(timeline: 1, isReplicated: false), term: 1, lead: 1, leadSilence: 0,
      silences: [], runCount: 0)
    _ = member.handle(.answered(.beat, .success(.beaten(beat)), sentAt: 690), at: 700)
    #expect(member.moment(at: 700).wall == 3_600_710)
  }
}
