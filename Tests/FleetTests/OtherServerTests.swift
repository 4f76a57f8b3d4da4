import Testing

@testable import Fleet

@Suite("A host whose database has failed over")
struct OtherServerTests {
  private var member = FleetMember(
    number: 1, joinSentAt: 0, clock: FleetClock(serverTime: 0, receivedAt: 0), times: FleetTimes(), agingStep: 1)

  private mutating func beat(_ timeline: Int64, isReplicated: Bool, at time: Int64) -> [MemberAction] {
    let beat = Beat(
      time: time, server: LedgerServer(timeline: timeline, isReplicated: isReplicated), term: 1, lead: 2,
      leadSilence: 0, silences: [], runCount: 0)
    return member.handle(.answered(.beat, .success(.beaten(beat)), sentAt: time), at: time)
  }

  /// The number after which an action reads runs.
  private func readFrom(_ actions: [MemberAction]) -> Int64? {
    actions.lazy.compactMap { if case .send(.readRuns(_, let number), .runs) = $0 { number } else { nil } }.first
  }

  @Test("It goes on where a standby was waited for, and reads its runs from the first number again")
  mutating func replicated() {
    _ = beat(1, isReplicated: true, at: 700)
    #expect(readFrom(member.handle(.hinted(.runs), at: 800)) == 0)
    _ = member.handle(.answered(.runs, .success(.runs([], stops: [], last: 9)), sentAt: 800), at: 810)
    // The new one has no standby yet.
    let actions = beat(2, isReplicated: false, at: 1_400)
    #expect(readFrom(actions) == 0)
    #expect(!actions.contains { if case .end = $0 { true } else { false } })
    #expect(!member.handle(.beatDue, at: 2_100).isEmpty)
  }

  @Test("What it reads of the old one while it hears of the new one says nothing about the new one's numbers")
  mutating func readBefore() {
    _ = beat(1, isReplicated: true, at: 700)
    _ = member.handle(.hinted(.runs), at: 800)
    _ = beat(2, isReplicated: true, at: 1_400)
    let actions = member.handle(
      .answered(.runs, .success(.runs([], stops: [], last: 9)), sentAt: 800), at: 1_410)
    #expect(readFrom(actions) == 0)
  }

  @Test("Its writes say which server they go by, unless a standby was waited for; refused by another one, it ends")
  mutating func writes() throws {
    func receipt(_ actions: [MemberAction]) throws -> Receipt {
      let orders = actions.lazy.compactMap { action -> Receipt? in
        if case .send(.order(_, _, let receipt), .intake) = action { receipt } else { nil }
      }
      return try #require(orders.first)
    }
    _ = beat(7, isReplicated: true, at: 700)
    #expect(try receipt(member.handle(.order(.pause(.queue("q"), true), ticket: 1), at: 710)).timeline == nil)
    _ = member.handle(.answered(.intake, .success(.written), sentAt: 710), at: 720)
    _ = beat(7, isReplicated: false, at: 1_400)
    #expect(try receipt(member.handle(.order(.pause(.queue("q"), false), ticket: 2), at: 1_410)).timeline == 7)
    guard case .end(.setBack)? = member.handle(.answered(.intake, .failure(.setBack), sentAt: 1_410), at: 1_420).first
    else {
      Issue.record("it goes on")
      return
    }
    #expect(member.handle(.beatDue, at: 2_100).isEmpty)
  }

  @Test("It ends where none was: what it goes by may be gone, and its numbers somebody else's")
  mutating func notReplicated() {
    _ = beat(1, isReplicated: false, at: 700)
    guard case .end(.setBack)? = beat(2, isReplicated: true, at: 1_400).first else {
      Issue.record("it goes on")
      return
    }
    #expect(member.handle(.beatDue, at: 2_100).isEmpty)
  }
}
