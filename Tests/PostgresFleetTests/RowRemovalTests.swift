import Foundation
import Jobs
import ObjectGraph
import PostgresTesting
import Testing

@testable import Fleet
@testable import PostgresFleet
@testable import PostgresStore

/// What the ledger's removal of final jobs deletes, and what it leaves alone.
@Suite("The removal of jobs from the store of a fleet", .enabled(if: PostgresCluster.isAvailable()))
struct RowRemovalTests {
  private let fixture: FleetFixture
  private let ledger: PostgresLedger

  init() throws {
    fixture = try FleetFixture()
    ledger = try fixture.ledger()
    _ = try ledger.perform(.join(FleetHost(root: "a", slots: 2, types: ["work"], places: [])))
  }

  private func admit(_ keys: ClosedRange<Int64>) throws {
    let jobs = keys.map {
      FleetJob(id: id($0), name: "job\($0)", specification: JobSpecification(type: "work"), created: 0)
    }
    _ = try ledger.perform(.admit(jobs, Receipt(host: 1, slot: 1, number: 1)))
    try fixture.run(#"UPDATE "Job" SET "state" = 'completed', "finishedAt" = _key"#)
  }

  private func id(_ key: Int64) -> ManagedObjectID {
    ManagedObjectID(key: key, entity: fixture.job, coordinatorOrdinal: FleetFixture.ordinal)
  }

  private func remove(_ keys: ClosedRange<Int64>, _ number: Int64 = 1) throws -> Int? {
    let jobs = keys.map { FinalJob(id: id($0), name: "job\($0)") }
    guard case .removed(let count) = try ledger.perform(.remove(jobs, Receipt(host: 1, slot: 2, number: number))) else {
      return nil
    }
    return count
  }

  private func found(skipping count: Int = 0, before end: Double = 100, limit: Int = 10) throws -> [Int64] {
    let end = Date(timeIntervalSinceReferenceDate: end)
    return try ledger.finalJobs(.completed, endedBefore: end, skipping: count, limit: limit).map(\.job.id.key)
  }

  private var left: String? {
    get throws { try fixture.run(#"SELECT string_agg(_key::text, ' ' ORDER BY _key) FROM "Job""#) }
  }

  @Test("takes all with them that the model's rules delete with a job")
  func dependents() throws {
    let owned = fixture.job.properties.filter { $0.relationship?.deleteRule == .cascade }
    #expect(Set(owned.compactMap(\.destination?.name)) == Set(JobRows.dependents))
    for entity in owned.compactMap(\.destination) {
      #expect(entity.properties.allSatisfy { $0.relationship.map { $0.deleteRule == .nullify } ?? true })
      #expect(entity.properties.allSatisfy { $0.attribute?.type != .binary && $0.attribute?.type != .transformable })
    }
    #expect(fixture.job.properties.allSatisfy { $0.attribute?.type != .binary })
    try admit(1...3)
    for entity in JobRows.dependents {
      for key in 1...3 {
        try fixture.run(
          "INSERT INTO \"\(entity)\" (_key, _version, \"job\") VALUES (\(key), 1, \(key)), (\(key + 10), 1, \(key))")
      }
    }
    #expect(try remove(1...2) == 2)
    #expect(try left == "3")
    for entity in JobRows.dependents {
      #expect(try fixture.run("SELECT string_agg(\"job\"::text, ' ') FROM \"\(entity)\"") == "3 3")
    }
  }

  @Test("spares jobs that are not final, in quarantine, run, or ordered, and those whose files may still be there")
  func spared() throws {
    try admit(1...7)
    try fixture.run(#"UPDATE "Job" SET "state" = 'quarantined' WHERE _key = 1"#)
    try fixture.run(#"UPDATE "Job" SET "state" = 'retryable' WHERE _key = 2"#)
    try fixture.run("INSERT INTO _run (job, host, attempt) VALUES (3, 1, 1)")
    try fixture.run("INSERT INTO _order (host, ticket, body, keys) VALUES (1, 1, '', '{4}')")
    try fixture.run("INSERT INTO _order (host, ticket, body, keys, answer) VALUES (1, 2, '', '{5}', '')")
    try fixture.run("INSERT INTO _outcome (spool, jobs) VALUES ('a', '{99, 6}')")
    #expect(try found() == [3, 4, 5, 7])
    #expect(try remove(1...7) == 2)
    #expect(try left == "1 2 3 4 6")
    try fixture.run("DELETE FROM _outcome")
    #expect(try found(skipping: 2) == [6])
    #expect(try found(before: 4) == [3] && found(limit: 1) == [3])
    #expect(try remove(1...7, 2) == 1)
  }

  @Test("is fenced: a host that was taken over removes nothing, and what was removed is not written twice")
  func fenced() throws {
    try admit(1...2)
    #expect(try remove(1...1) == 1)
    #expect(throws: LedgerError.stale) { try remove(2...2) }
    _ = try ledger.perform(.bury(root: "a"))
    #expect(throws: LedgerError.stale) { try remove(2...2, 2) }
    #expect(try left == "2")
  }

  @Test("believes a time that only grows, whoever leads")
  func belief() throws {
    #expect(try ledger.believedTime() == nil)
    for time in [1_000, 3_000, 2_000] as [Int64] { try ledger.believe(time) }
    #expect(try fixture.ledger("other").believedTime() == 3_000)
  }
}
