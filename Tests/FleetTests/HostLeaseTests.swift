import Testing

@testable import Fleet

@Suite("The lease of a host")
struct HostLeaseTests {
  private var lease = HostLease(joinSentAt: 0, times: FleetTimes())

  @Test("It lasts 2.7 s from when the last answered beat was sent, however late the answer came")
  mutating func fromSending() {
    lease.noteAnswer(toBeatSentAt: 700)
    #expect(lease.phase(at: 3_399) == .alive)
    #expect(lease.phase(at: 3_400) == .doubtful)
  }

  @Test("A late answer to an earlier beat shortens nothing")
  mutating func lateAnswer() {
    lease.noteAnswer(toBeatSentAt: 1_400)
    lease.noteAnswer(toBeatSentAt: 700)
    #expect(lease.phase(at: 4_099) == .alive)
    #expect(lease.phase(at: 4_100) == .doubtful)
  }

  @Test("A doubtful host is alive again with an answer, and a fenced one never")
  mutating func back() {
    #expect(lease.phase(at: 9_000) == .doubtful)
    lease.noteAnswer(toBeatSentAt: 9_000)
    #expect(lease.phase(at: 9_100) == .alive)
    lease.noteFence()
    lease.noteAnswer(toBeatSentAt: 9_700)
    #expect(lease.phase(at: 9_701) == .fenced)
  }

  @Test("Others' silence counts as far as the host has had the database itself", arguments: [false, true])
  mutating func silence(isMissed: Bool) {
    for time in stride(from: Int64(700), through: 4_200, by: 700) { lease.noteAnswer(toBeatSentAt: time) }
    #expect(lease.presence(at: 4_300) == 4_300)
    #expect(lease.presence(at: 6_900) == 0)
    // Either a beat was not answered, or the host was stopped itself and has noticed nothing.
    if isMissed { lease.noteMissedBeat() }
    #expect(lease.presence(at: 4_300) == (isMissed ? 0 : 4_300))
    let back: Int64 = isMissed ? 4_900 : 6_000
    lease.noteAnswer(toBeatSentAt: back)
    lease.noteAnswer(toBeatSentAt: back + 1_400)
    #expect(lease.presence(at: back + 2_000) == 2_000)
  }

  @Test("A host whose answer was long on its way has what is left of the time since it asked")
  func slowAnswer() {
    let clock = FleetClock(serverTime: 0, receivedAt: 0)
    var member = FleetMember(number: 1, joinSentAt: 0, clock: clock, times: FleetTimes(), agingStep: 60_000)
    let beat = Beat(
      time: 1_000, server: LedgerServer(timeline: 1, isReplicated: false), term: 1, lead: 2, leadSilence: 0,
      silences: [], runCount: 0)
    _ = member.handle(.answered(.beat, .success(.beaten(beat)), sentAt: 700), at: 2_600)
    #expect(member.lease.phase(at: 3_399) == .alive)
    #expect(member.lease.phase(at: 3_400) == .doubtful)
  }

  @Test("A host tells that it is doubtful as soon as it is, and not while beats are answered")
  mutating func told() {
    var member = FleetMember(
      number: 1, joinSentAt: 0, clock: FleetClock(serverTime: 0, receivedAt: 0), times: FleetTimes(), agingStep: 1)
    func due(_ actions: [MemberAction]) -> Int64? {
      actions.lazy.compactMap { if case .wake(.leaseDue, let delay) = $0 { delay } else { nil } }.first
    }
    func isTold(_ actions: [MemberAction]) -> Bool {
      actions.contains { if case .report(.leaseIsDoubtful) = $0 { true } else { false } }
    }
    func answer(sentAt sent: Int64, at now: Int64) -> [MemberAction] {
      let beat = Beat(
        time: now, server: LedgerServer(timeline: 1, isReplicated: true), term: 1, lead: 2, leadSilence: 0,
        silences: [],
        runCount: 0)
      return member.handle(.answered(.beat, .success(.beaten(beat)), sentAt: sent), at: now)
    }
    #expect(due(answer(sentAt: 700, at: 710)) == 2_690)
    _ = answer(sentAt: 1_400, at: 1_410)
    let early = member.handle(.leaseDue, at: 3_400)
    #expect(due(early) == 700 && !isTold(early))
    #expect(isTold(member.handle(.leaseDue, at: 4_100)))
    #expect(due(answer(sentAt: 9_000, at: 9_010)) == 2_690)
  }
}
