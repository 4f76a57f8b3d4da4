import PostgresTesting
import StoreInterface
import Testing

@testable import PostgresFleet

@Suite("A fleet behind a pooler", .enabled(if: PostgresCluster.hasPooler()))
struct PoolerTests {
  @Test("is refused, with what to do: hints and names of sessions do not come through")
  func refusal() throws {
    let fixture = try FleetFixture()
    let error = #expect(throws: StoreError.self) {
      try FleetDatabase(
        fixture.database.pooledURL, job: fixture.job, coordinatorOrdinal: FleetFixture.ordinal,
        release: LedgerRelease("1.0"))
    }
    #expect(error?.code == .cannotOpen)
    #expect(error?.message.contains("name the server itself") == true)
  }
}
