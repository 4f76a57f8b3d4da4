import ControlClient
import Foundation
import JSONText
import ObjectGraph
import ObjectModel
import SystemSupport
import TestSupport
import Testing

@testable import JobDaemon

@Suite("The search for batches")
struct BatchSearchTests {
  @Test("ends after a second, tells the batches of the newest jobs then, and that there may be more")
  func long() async throws {
    let (reply, duration) = try await batches(PersistentStoreDescription { LongSearches(model: $0, ordinal: $1) })
    #expect(reply["mayHaveMore"] == true)
    // The time for counting is over, too; what the schedule has needs none.
    try expectNight(reply, isAtLeast: true)
    #expect(duration > .milliseconds(900) && duration < .seconds(10), "\(duration)")
  }

  @Test("tells all of them where a second is enough")
  func short() async throws {
    let (reply, _) = try await batches(.inMemory)
    #expect(reply["mayHaveMore"] == false)
    try expectNight(reply, isAtLeast: false)
  }

  private func expectNight(_ reply: JSONValue, isAtLeast: Bool) throws {
    #expect(reply["batches"]?.array?.count == 1)
    let night = try #require(reply["batches"]?.array?.first)
    #expect(night["name"] == "night" && night["jobs"] == ["scheduled": 2], "\(night.serialized())")
    #expect(night["atLeast"]?.bool == isAtLeast)
  }

  /// What a daemon with a batch of two jobs, and a job that is in none, answers to a request; and how long that takes.
  private func batches(_ store: PersistentStoreDescription) async throws -> (reply: JSONValue, duration: Duration) {
    let fixture = try DaemonFixture(store: store)
    try fixture.start()
    // Its row is stored at any rate when the search begins.
    try await fixture.run(#"{"type": "noop", "id": "alone"}"#)
    let later = #"{"type": "noop", "notBefore": "2199-01-01T00:00:00Z"}"#
    _ = try fixture.submit(#"{"batch": "night", "jobs": [\#(later), \#(later)]}"#)
    let folder = try TemporaryDirectory()
    let listener = try UnixListener(path: folder.path("socket"), mode: 0o600)
    let server = try StatusService(fixture.daemon).server(on: listener.descriptor)
    try server.start()
    let client = ControlClient(socketPath: folder.path("socket"))
    let start = ContinuousClock.now
    let reply = try await onThread { try client.send("GET", "/v1/batches") }
    let duration = start.duration(to: .now)
    #expect(reply.status == 200)
    try await onThread { server.stop() }
    try await fixture.stop()
    return (try JSONValue(parsing: Array(reply.body), dialect: .json), duration)
  }
}

/// A store in memory in which a search that may be cancelled goes on until it is, as one among very many rows does.
private final class LongSearches: PersistentStore {
  private struct Reader: StoreReader {
    let reader: any StoreReader

    func row(for id: ManagedObjectID) throws(StoreError) -> StoredRow? { try reader.row(for: id) }

    func rows(for ids: [ManagedObjectID]) throws(StoreError) -> [StoredRow?] { try reader.rows(for: ids) }

    func find(_ batch: RowBatch, key: [Property]) throws(StoreError) -> [ManagedObjectID?] {
      try reader.find(batch, key: key)
    }

    func links(of id: ManagedObjectID, _ property: Property, limit: Int?) throws(StoreError) -> [Link] {
      try reader.links(of: id, property, limit: limit)
    }

    func fetch(_ query: StoreQuery, _ body: (ManagedObjectID, StoredRow?) throws -> Bool) throws {
      let end = ContinuousClock.now + .seconds(20)
      while query.isCancellable, ContinuousClock.now < end { try reader.fetch(query) { _, _ in true } }
      try reader.fetch(query, body)
    }

    func count(_ query: StoreQuery) throws -> Int { try reader.count(query) }
  }

  private let store: InMemoryStore

  init(model: ManagedObjectModel, ordinal: UInt32) {
    store = InMemoryStore(model: model, coordinatorOrdinal: ordinal)
  }

  var identifier: UUID { store.identifier }
  var path: String? { nil }
  var stagingDirectory: String? { nil }

  func reserveKeys(_ request: KeyReservation) throws(StoreError) -> Range<Int64> { try store.reserveKeys(request) }

  func save(_ request: StoreSaveRequest) throws(StoreError) -> StoreSaveResult { try store.save(request) }

  func transaction<Result: Sendable>(
    from origin: TransactionOrigin, _ body: (any StoreTransaction) throws -> Result
  ) throws -> Result { try store.transaction(from: origin, body) }

  func read<Result>(_ body: (any StoreReader) throws -> Result) throws -> Result {
    try store.read { try body(Reader(reader: $0)) }
  }

  func close(returning unused: [KeyBlock]) throws(StoreError) { try store.close(returning: unused) }
}
