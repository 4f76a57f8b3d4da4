import Foundation
import ObjectModel
import PostgresTesting
import StoreInterface
import Testing

@testable import PostgresStore

@Suite("A store on PostgreSQL", .enabled(if: PostgresCluster.isAvailable()))
struct PostgresStoreTests {
  @Test("lets a second host open the same store, and tells it of conflicts")
  func twoHosts() throws {
    let fixture = try PostgresFixture()
    let other = try fixture.another()
    defer { try? other.close() }
    #expect(other.identifier == fixture.store.identifier)
    let (id, row) = try fixture.insert(["name": "Ada", "email": "ada@example.org"])
    let theirs = try #require(try other.read { try $0.row(for: id)?.row })
    #expect(theirs.text(try fixture.slot("name")) == "Ada")
    let change = try fixture.change(.update, id, ["name": "Augusta"], base: theirs)
    #expect(try other.save(StoreSaveRequest([ChangeSet([change])])).conflicts.isEmpty)
    let late = try fixture.save(try fixture.change(.update, id, ["name": "Ada L."], base: row))
    #expect(late.conflicts.first?.stored?.version == 2)
    let keys = try other.reserveKeys(KeyReservation(root: try fixture.person, count: 10))
    #expect(try fixture.newID().key == keys.upperBound)
  }

  @Test("lets several hosts make the store at the same time")
  func concurrentOpening() async throws {
    let database = try PostgresCluster.makeDatabase()
    let model = try PostgresFixture.model()
    let identifiers = try await withThrowingTaskGroup(of: UUID.self) { group in
      for _ in 0..<4 {
        group.addTask {
          let store = try PostgresStore(database.url, model: model, coordinatorOrdinal: 1)
          defer { try? store.close() }
          return store.identifier
        }
      }
      return try await group.reduce(into: Set<UUID>()) { $0.insert($1) }
    }
    #expect(identifiers.count == 1)
  }

  @Test("refuses tables of other programs and stores of newer releases, and leaves them alone")
  func foreignSchemas() throws {
    let database = try PostgresCluster.makeDatabase()
    try database.run("CREATE SCHEMA bobbin; CREATE TABLE bobbin.orders (k bigint)")
    let model = try PostgresFixture.model()
    let foreign = #expect(throws: StoreError.self) {
      try PostgresStore(database.url, model: model, coordinatorOrdinal: 1)
    }
    #expect(foreign?.code == .notAStore)
    #expect(try database.run("SELECT count(*) FROM pg_tables WHERE schemaname = 'bobbin'") == "1")
    let fixture = try PostgresFixture()
    try fixture.database.run("UPDATE bobbin._metadata SET value = '2' WHERE key = 'format'")
    let newer = #expect(throws: StoreError.self) { try fixture.another() }
    #expect(newer?.code == .incompatibleModel)
    #expect(newer?.message.contains("newer release") == true)
  }

  @Test("adds to tables where they are, and names what can't be inferred")
  func additions() throws {
    let fixture = try PostgresFixture()
    let (id, _) = try fixture.insert(["name": "Ada"])
    let table = "SELECT 'bobbin.\"Person\"'::regclass::oid"
    let before = try fixture.database.run(table)
    var size = AttributeDescription("size", .integer64)
    size.defaultValue = .integer(7)
    var folded = AttributeDescription("folded", .string)
    folded.derivation = "canonical:(name)"
    let larger = try PostgresFixture.model { $0 += [size, folded] }
    let store = try fixture.another(larger)
    defer { try? store.close() }
    let entity = try #require(larger.entitiesByName["Person"])
    let row = try #require(try store.read { try $0.row(for: id)?.row })
    #expect(row.integer(try #require(entity.property(named: "size")).slot) == 7)
    #expect(row.text(try #require(entity.property(named: "folded")).slot) == "ada")
    #expect(try fixture.database.run(table) == before)
    let other = try PostgresFixture.model { attributes in
      attributes.removeAll { $0.name == "age" }
      attributes.append(AttributeDescription("age", .date))
    }
    let error = #expect(throws: StoreError.self) { try fixture.another(other) }
    #expect(error?.code == .incompatibleModel)
    #expect(error?.message.contains("Person.age was Integer 64 and is Date now") == true, "\(error?.message ?? "")")
  }

  @Test("keeps large values in parts, and removes them with their rows")
  func largeValues() throws {
    let fixture = try PostgresFixture()
    let photo = Data((0..<700_000).map { UInt8(truncatingIfNeeded: $0 &* 31 >> 3) })
    let (id, row) = try fixture.insert(["photo": photo])
    #expect(try fixture.database.run("SELECT count(*) FROM bobbin._file") == "3")
    let slot = try fixture.slot("photo")
    let stored = try #require(try fixture.stored(id))
    #expect(stored.blob(slot).byteCount == 700_000)
    #expect(try stored.blob(slot).load() == photo)
    let renamed = try fixture.change(.update, id, ["name": "Ada"], base: stored)
    #expect(try fixture.save(renamed).conflicts.isEmpty)
    #expect(try fixture.stored(id)?.blob(slot).load() == photo)
    let second = try #require(try fixture.stored(id))
    _ = try fixture.save(try fixture.change(.update, id, ["photo": Data(repeating: 1, count: 70_000)], base: second))
    #expect(try fixture.database.run("SELECT count(*) FROM bobbin._file") == "1")
    #expect(throws: StoreError.self) { try stored.blob(slot).load() }
    let last = try #require(try fixture.stored(id))
    _ = try fixture.save(RowChange(.delete, id, row: nil, base: last))
    #expect(try fixture.database.run("SELECT count(*) FROM bobbin._file") == "0")
    _ = row
  }

  @Test("lets two objects exchange unique values in one save")
  func exchange() throws {
    let fixture = try PostgresFixture()
    let (a, rowA) = try fixture.insert(["email": "a@example.org"])
    let (b, rowB) = try fixture.insert(["email": "b@example.org"])
    let result = try fixture.save(
      try fixture.change(.update, a, ["email": "b@example.org"], base: rowA),
      try fixture.change(.update, b, ["email": "a@example.org"], base: rowB))
    #expect(result.conflicts.isEmpty)
    let slot = try fixture.slot("email")
    #expect(try [a, b].map { try fixture.stored($0)?.text(slot) } == ["b@example.org", "a@example.org"])
  }

  @Test("refuses U+0000 in a text by the attribute's name, and writes nothing")
  func zeroInText() throws {
    let fixture = try PostgresFixture()
    let (good, bad) = (try fixture.newID(), try fixture.newID())
    let error = #expect(throws: StoreError.self) {
      try fixture.save(
        try fixture.change(.insert, good, ["name": "good"]), try fixture.change(.insert, bad, ["name": "b\0d"]))
    }
    #expect(error?.code == .unsupported)
    #expect(error?.message.contains("Person.name") == true)
    #expect(try fixture.stored(good) == nil)
    try fixture.insert(["name": "later"])
  }

  @Test("says that nothing was written when its server ends the connection, and goes on with a new one")
  func lostServer() throws {
    let fixture = try PostgresFixture()
    let (id, row) = try fixture.insert(["name": "Ada"])
    try fixture.database.run(
      "SELECT count(pg_terminate_backend(pid, 10000)) FROM pg_stat_activity "
        + "WHERE datname = current_database() AND pid <> pg_backend_pid()")
    let change = try fixture.change(.update, id, ["name": "Augusta"], base: row)
    let error = #expect(throws: StoreError.self) { try fixture.save(change) }
    #expect(error?.code == .unavailable)
    #expect(try fixture.stored(id)?.version == 1)
    #expect(try fixture.save(change).conflicts.isEmpty)
    #expect(try fixture.stored(id)?.version == 2)
  }

  @Test("saves thousands of objects, which go the way of COPY")
  func manyObjects() throws {
    let fixture = try PostgresFixture()
    let keys = try fixture.store.reserveKeys(KeyReservation(root: try fixture.person, count: 3_000))
    let changes = try keys.map { key in
      try fixture.change(
        .insert, ManagedObjectID(key: key, entity: fixture.person, coordinatorOrdinal: PostgresFixture.ordinal),
        ["name": "n\(key)", "age": Int(key)])
    }
    #expect(try fixture.store.save(StoreSaveRequest([ChangeSet(changes)])).conflicts.isEmpty)
    let count = try fixture.store.read {
      try $0.count(StoreQuery(entity: try fixture.person, coordinatorOrdinal: PostgresFixture.ordinal))
    }
    #expect(count == 3_000)
    #expect(try fixture.stored(changes[2_999].id)?.text(try fixture.slot("name")) == "n\(keys.upperBound - 1)")
  }

  @Test("keeps a history in which who reads early passes by no transaction that commits late")
  func history() throws {
    var options = PostgresStoreOptions()
    options.tracksHistory = true
    let fixture = try PostgresFixture(options: options)
    let history = try #require(fixture.store.history)
    let start = try history.currentToken()
    let other = try fixture.another()
    defer { try? other.close() }
    let (late, early) = (try fixture.newID(), try fixture.newID())
    // Another transaction is made and read of before this one commits.
    var between: PersistentHistoryToken?
    try fixture.store.transaction(from: TransactionOrigin(author: "late")) { transaction in
      _ = try transaction.write(ChangeSet([try fixture.change(.insert, late, ["name": "late"])]))
      let change = try fixture.change(.insert, early, ["name": "early"])
      _ = try other.save(StoreSaveRequest([ChangeSet([change])], origin: TransactionOrigin(author: "early")))
      between = try other.history?.currentToken()
    }
    func authors(after token: PersistentHistoryToken) throws -> [String?] {
      var authors: [String?] = []
      try history.transactions(after: .token(token)) { transaction, changes in
        authors.append(transaction.author)
        let kinds = try changes().map(\.kind)
        #expect(kinds == [.insert])
        return true
      }
      return authors
    }
    #expect(try authors(after: start) == ["early", "late"])
    #expect(try authors(after: try #require(between)) == ["late"])
    #expect(try history.deleteTransactions(before: .token(try history.currentToken())) == 1)
    let expired = #expect(throws: StoreError.self) { try authors(after: start) }
    #expect(expired?.code == .expiredHistoryToken)
  }
}
