import JobSchedule
import Jobs
import ObjectGraph
import Testing

@testable import Fleet
@testable import FleetSimulation

@Suite("The rates of a fleet")
struct RateTests {
  private static func job(_ number: Int64, _ limit: JobLimit) -> FleetJob {
    var specification = JobSpecification(type: "work", id: "job\(number)")
    specification.limit = limit
    let id = ManagedObjectID(key: number, entityIndex: 0, rootIndex: 0, coordinatorOrdinal: 0)
    return FleetJob(id: id, name: "job\(number)", specification: specification, created: number)
  }

  /// Has the lead go on; returns the milliseconds after which there were so many runs.
  private func time(until count: Int, _ desk: LeadDesk) throws -> Int64? {
    let start = desk.ledger.now
    while desk.ledger.now - start < 7_200_000 {
      if desk.ledger.runs.all(for: 0).count == count { return desk.ledger.now - start }
      desk.ledger.now += 500
      try desk.goOnAlone()
    }
    return nil
  }

  @Test("are kept on record while they count, and looked at once in a minute, as an old snapshot keeps all of them")
  func forgetting() throws {
    let limit = JobLimit(key: "k", rate: JobLimit.Rate(1, per: .seconds(2)))
    let desk = try LeadDesk((1...100).map { Self.job($0, limit) })
    try desk.settle()
    var counts: [Int] = []
    for _ in 1...100 {
      _ = try #require(try time(until: 1, desk))
      try desk.end(try #require(desk.ledger.runs.all(for: 0).first?.key.key), .succeeded)
      counts.append(desk.ledger.starts.all(for: 0).count)
    }
    // One counts, and those of a minute wait for its end.
    #expect(counts.max() ?? 0 > 20 && counts.allSatisfy { $0 < 40 }, "\(counts)")
  }

  @Test("count the starts that other leads have made, and no others: a new lead waits for no longer than the old one")
  func newLead() throws {
    let limit = JobLimit(key: "k", rate: JobLimit.Rate(2, per: .seconds(3_600)))
    let desk = try LeadDesk((1...3).map { Self.job($0, limit) })
    try desk.settle()
    #expect(desk.ledger.runs.all(for: 0).count == 2, "nothing was started before")
    desk.ledger.now += 1_200_000
    try desk.replaceLead()
    desk.ledger.now += 1_200_000
    try desk.replaceLead()
    let waited = try #require(try time(until: 3, desk))
    #expect((1_190_000...1_203_000).contains(waited), "after \(waited) ms")
  }
}
