import Jobs
import Testing

@testable import Fleet

/// What jobs are told whose hosts or leads die before it is done.
@Suite("The end that a job is told")
struct StopTests {
  @Test("is known to the next lead, also of a quarantined job", arguments: LedgerKind.available)
  func quarantined(_ kind: LedgerKind) throws {
    let fixture = try LedgerFixture(kind)
    let (ledger, a, b) = (fixture.ledger, fixture.a, fixture.b)
    let runs = try fixture.assign([1, 2, 3])
    let ends = runs.map { EndedRun(run: $0, event: .quarantined) }
    _ = try ledger.perform(.flush(ends, fixture.receipt(a, 0)))
    #expect(try fixture.load(by: b).jobs.isEmpty)
    var round = LeadRound(floor: 0)
    round.changes = [JobChange(fixture.id(1), .stop(.cancelled, "enough"))]
    let reverting = Run(job: fixture.id(2), host: a, attempt: 2)
    round.runs = [reverting]
    round.stops = [RunStop(run: reverting, event: .cancelled, reason: "enough")]
    _ = try ledger.perform(.round(round, fixture.receipt(b, 2)))
    for _ in 0..<2 {
      let state = try fixture.load(by: b)
      #expect(state.jobs.map(\.id.key) == [1, 2])
      #expect(state.jobs.allSatisfy { $0.state == .quarantined })
      #expect(state.jobs.first?.stop?.event == .cancelled && state.stops.map(\.run) == state.runs)
      // The run's order becomes one to its job.
      _ = try ledger.perform(.bury(root: "a"))
    }
    #expect(try fixture.load(by: b).jobs.map { $0.stop?.event } == [.cancelled, .cancelled])
  }

  @Test("is known to the next lead if the host gives its run back first", arguments: LedgerKind.available)
  func returned(_ kind: LedgerKind) throws {
    let fixture = try LedgerFixture(kind)
    let (ledger, a, b) = (fixture.ledger, fixture.a, fixture.b)
    let runs = try fixture.assign([1, 2, 3])
    _ = try ledger.perform(.flush([EndedRun(run: runs[1], event: .quarantined)], fixture.receipt(a, 0)))
    var round = LeadRound(floor: 0)
    let reverting = Run(job: fixture.id(2), host: a, attempt: 2)
    round.runs = [reverting]
    round.stops = [
      RunStop(run: runs[0], event: .held, reason: nil), RunStop(run: reverting, event: .cancelled, reason: "enough"),
    ]
    _ = try ledger.perform(.round(round, fixture.receipt(b, 2)))
    let ends = [runs[0], reverting, runs[2]].map { EndedRun(run: $0, event: .interrupted) }
    _ = try ledger.perform(.flush(ends, fixture.receipt(a, 0)))
    let jobs = try fixture.load(by: b).jobs
    #expect(jobs.map(\.id.key) == [1, 2, 3])
    #expect(jobs.map { $0.stop?.event } == [.held, .cancelled, nil])
    #expect(jobs.map(\.state) == [.available, .quarantined, .available])
  }

  @Test(
    "is known to the next lead if the attempt fails before that is on record", arguments: LedgerKind.available)
  func failed(_ kind: LedgerKind) throws {
    let fixture = try LedgerFixture(kind)
    let (ledger, a, b) = (fixture.ledger, fixture.a, fixture.b)
    let runs = try fixture.assign([1, 2, 3])
    let ends = [
      EndedRun(run: runs[0], event: .failed, retryTime: 4_000_000_000_000), EndedRun(run: runs[1], event: .succeeded),
    ]
    _ = try ledger.perform(.flush(ends, fixture.receipt(a, 0)))
    var round = LeadRound(floor: 0)
    round.stops = runs.map { RunStop(run: $0, event: .cancelled, reason: "enough") }
    _ = try ledger.perform(.round(round, fixture.receipt(b, 2)))
    let state = try fixture.load(by: b)
    #expect(state.jobs.map(\.id.key) == [1, 3] && state.stops.map(\.run) == [runs[2]])
    #expect(state.jobs.first?.stop?.event == .cancelled && state.jobs.first?.stop?.reason == "enough")
    #expect(state.jobs.last?.stop == nil)
  }

  @Test("is kept by one that was given up, whatever else it is told", arguments: LedgerKind.available)
  func givenUp(_ kind: LedgerKind) throws {
    let fixture = try LedgerFixture(kind)
    let (ledger, b) = (fixture.ledger, fixture.b)
    let run = try #require(try fixture.assign([1]).first)
    var round = LeadRound(floor: 0)
    round.changes = [JobChange(run.job, .stop(.gaveUp, "too often"))]
    round.stops = [RunStop(run: run, event: .cancelled, reason: "enough")]
    _ = try ledger.perform(.round(round, fixture.receipt(b, 2)))
    _ = try ledger.perform(.bury(root: "a"))
    var job = try #require(try fixture.load(by: b).jobs.first)
    #expect(job.stop?.event == .gaveUp && job.stop?.reason == "too often")
    round = LeadRound(floor: 0, changes: [JobChange(run.job, .stop(.cancelled, "enough"))])
    _ = try ledger.perform(.round(round, fixture.receipt(b, 2)))
    job = try #require(try fixture.load(by: b).jobs.first)
    #expect(job.stop?.event == .gaveUp && job.stop?.reason == "too often")
  }
}
