import ObjectGraph
import Testing

@testable import Fleet

@Suite("A host that reads its runs")
struct RunReadingTests {
  private var member = FleetMember(
    number: 1, joinSentAt: 0, clock: FleetClock(serverTime: 0, receivedAt: 0), times: FleetTimes(), agingStep: 1)

  /// The number after which it reads, when it is hinted to.
  private mutating func number(at time: Int64) -> Int64? {
    member.handle(.hinted(.runs), at: time).lazy.compactMap { action in
      if case .send(.readRuns(_, let number), .runs) = action { number } else { nil }
    }.first
  }

  private mutating func answer(_ key: Int64, attempt: Int = 1, last: Int64, at time: Int64) -> Int {
    let reply = LedgerReply.runs([Self.run(key, attempt)], stops: [], last: last)
    let actions = member.handle(.answered(.runs, .success(reply), sentAt: time), at: time)
    return actions.count { if case .start = $0 { true } else { false } }
  }

  @Test("It reads those only that were assigned since") mutating func onwards() {
    #expect(number(at: 10) == 0)
    #expect(answer(1, last: 7, at: 10) == 1)
    #expect(number(at: 20) == 7)
    #expect(answer(2, last: 9, at: 20) == 1)
    let beat = member.handle(.beatDue, at: 30)
    #expect(beat.contains { if case .send(.beat(_, let floors), .beat) = $0, floors.runs == 9 { true } else { false } })
  }

  private static func run(_ key: Int64, _ attempt: Int) -> Run {
    let id = ManagedObjectID(key: key, entityIndex: 0, rootIndex: 0, coordinatorOrdinal: 0)
    return Run(job: id, host: 1, attempt: attempt)
  }

  @Test("Another attempt at a job whose last one is not known to be on record is read again, once it is")
  mutating func early() {
    #expect(number(at: 10) == 0)
    #expect(answer(1, last: 7, at: 10) == 1)
    #expect(number(at: 20) == 7)
    #expect(answer(1, attempt: 2, last: 8, at: 20) == 0)
    let ended = EndedRun(run: Self.run(1, 1), event: .failed)
    let actions = member.handle(.recorded([ended]), at: 30)
    #expect(actions.contains { if case .send(.readRuns(_, after: 7), .runs) = $0 { true } else { false } })
    #expect(answer(1, attempt: 2, last: 8, at: 30) == 1)
  }

  @Test("What it may not begin it reads again") mutating func doubtful() {
    let late = FleetTimes().stop
    #expect(number(at: 10) == 0)
    #expect(answer(1, last: 7, at: late) == 0)
    #expect(number(at: late) == 0)
  }
}
