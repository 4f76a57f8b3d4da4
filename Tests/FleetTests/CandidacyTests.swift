import Testing

@testable import Fleet

@Suite("A host that would lead")
struct CandidacyTests {
  private var member = FleetMember(
    number: 1, joinSentAt: 0, clock: FleetClock(serverTime: 0, receivedAt: 0), times: FleetTimes(), agingStep: 1)

  /// Tells it of a beat, which the server has answered at a time of its own.
  private mutating func beat(lead: Int?, sentAt sent: Int64, answeredAt time: Int64, at now: Int64) -> [MemberAction] {
    let beat = Beat(
      time: time, server: LedgerServer(timeline: 1, isReplicated: true), term: 1, lead: lead,
      leadSilence: lead.map { _ in 0 },
      silences: [], runCount: 0)
    return member.handle(.answered(.beat, .success(.beaten(beat)), sentAt: sent), at: now)
  }

  /// The silence for which it asks for the lead's place when its time has come; nil if it does not.
  private mutating func silence(at time: Int64) -> Silence? {
    member.handle(.candidacyDue, at: time).lazy.compactMap {
      if case .send(.lead(_, let silence, _), .lead) = $0 { silence } else { nil }
    }.first
  }

  @Test("It asks where nobody leads, once")
  mutating func nobody() {
    let actions = beat(lead: nil, sentAt: 700, answeredAt: 705, at: 710)
    #expect(actions.contains { if case .wake(.candidacyDue, _) = $0 { true } else { false } })
    let silences = (silence(at: 720), silence(at: 730))
    #expect(silences.0 == Silence(FleetTimes().fence, until: 706) && silences.1 == nil)
  }

  @Test("A new lead asks at once who else is silent, also if a beat is under way, which tells only leads")
  mutating func others() {
    _ = beat(lead: nil, sentAt: 700, answeredAt: 705, at: 710)
    _ = silence(at: 720)
    let underWay = member.handle(.beatDue, at: 730)
    #expect(underWay.contains { if case .send(.beat, .beat) = $0 { true } else { false } })
    _ = member.handle(.answered(.lead, .success(.leads(term: 2)), sentAt: 720), at: 735)
    let pauses = beat(lead: nil, sentAt: 730, answeredAt: 733, at: 740).compactMap { action -> Int64? in
      if case .wake(.beatDue, let pause) = action { pause } else { nil }
    }
    #expect(pauses == [0])
  }

  @Test("A host that was stopped before it had its answer asks for the silence of then, and not for that of since")
  mutating func oldAnswer() {
    _ = beat(lead: nil, sentAt: 700, answeredAt: 705, at: 8_000)
    _ = beat(lead: 2, sentAt: 8_000, answeredAt: 8_003, at: 8_005)
    let asked = silence(at: 8_007)
    #expect(asked == Silence(FleetTimes().fence, until: 706))
  }
}
