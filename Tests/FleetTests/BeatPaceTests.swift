import Testing

@testable import Fleet

@Suite("The time until a host beats again")
struct BeatPaceTests {
  private static func member(_ times: FleetTimes) -> FleetMember {
    FleetMember(
      number: 1, joinSentAt: 0, clock: FleetClock(serverTime: 0, receivedAt: 0), times: times, agingStep: 1)
  }

  /// Tells it of a beat that is answered at once; returns the time until the next.
  private static func pause(of member: inout FleetMember, at time: Int64, news: Int64? = nil, outcome: Int64? = nil)
    -> Int64?
  {
    _ = member.handle(.beatDue, at: time)
    let beat = Beat(
      time: time, server: LedgerServer(timeline: 1, isReplicated: true), term: 1, lead: 2, leadSilence: 0, silences: [],
      runCount: 0, news: news, outcome: outcome)
    return next(member.handle(.answered(.beat, .success(.beaten(beat)), sentAt: time), at: time))
  }

  private static func next(_ actions: [MemberAction]) -> Int64? {
    for action in actions { if case .wake(.beatDue, let delay) = action { return delay } }
    return nil
  }

  @Test("Without hints it is short after there was something new, and ever longer while there is nothing")
  func pauses() {
    var member = Self.member(FleetTimes().withoutHints)
    #expect(Self.pause(of: &member, at: 0) == 700)
    #expect(Self.pause(of: &member, at: 700, outcome: 7) == 20)
    // One that lies there is nothing new, another is.
    #expect(Self.pause(of: &member, at: 720, outcome: 7) == 40)
    #expect(Self.pause(of: &member, at: 760, outcome: 8) == 20)
    #expect(Self.pause(of: &member, at: 780, news: 7) == 20)
    #expect(Self.pause(of: &member, at: 800, news: 7) == 40)
    #expect(Self.pause(of: &member, at: 840, news: 8) == 20)
    var (time, pauses): (Int64, [Int64]) = (860, [])
    for _ in 0..<7 {
      let pause = Self.pause(of: &member, at: time) ?? -1
      pauses.append(pause)
      time += pause
    }
    #expect(pauses == [40, 80, 160, 320, 640, 700, 700])
  }

  @Test("Without hints it is short after it has written what others answer, also if a beat is under way")
  func written() {
    var member = Self.member(FleetTimes().withoutHints)
    #expect(Self.next(member.handle(.recorded([]), at: 10)) == 20)
    #expect(Self.pause(of: &member, at: 30) == 40)
    _ = member.handle(.beatDue, at: 70)
    #expect(Self.next(member.handle(.recorded([]), at: 71)) == nil)
    #expect(Self.pause(of: &member, at: 70) == 20)
  }

  @Test("With hints it is always the same")
  func hinted() {
    var member = Self.member(FleetTimes())
    #expect(Self.next(member.handle(.recorded([]), at: 10)) == nil)
    #expect(Self.pause(of: &member, at: 30, outcome: 7) == 700)
  }

  @Test(
    "Without an answer it is that of other requests, less the time for which the answer was awaited",
    arguments: [FleetTimes(), FleetTimes().withoutHints])
  func missed(times: FleetTimes) {
    var member = Self.member(times)
    #expect(Self.pause(of: &member, at: 0) == 700)
    for (sent, error, pause) in [(700, 710, 190), (900, 2_925, 0)] as [(Int64, Int64, Int64)] {
      _ = member.handle(.beatDue, at: sent)
      let actions = member.handle(.answered(.beat, .failure(.unavailable), sentAt: sent), at: error)
      #expect(Self.next(actions) == pause)
    }
    #expect(Self.pause(of: &member, at: 2_925) == 700)
  }
}
