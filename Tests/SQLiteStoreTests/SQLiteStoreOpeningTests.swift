import Foundation
import ObjectGraph
@testable import SQLiteStore
import Testing

@Suite("Opening an SQLite store")
struct SQLiteStoreOpeningTests {
  /// Runs Debian's own client on a file.
  @discardableResult
  static func sqlite(_ file: URL, _ sql: String) throws -> String {
    let process = Process()
    let output = Pipe()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/sqlite3")
    process.arguments = [file.path, sql]
    process.standardOutput = output
    process.standardError = output
    try process.run()
    let text = output.fileHandleForReading.readDataToEndOfFile()
    return String(decoding: text, as: UTF8.self).trimmingCharacters(in: .newlines)
  }

  private func openingError(_ fixture: StoreFixture, model: ManagedObjectModel? = nil) -> StoreError? {
    #expect(throws: StoreError.self) {
      try PersistentStoreDescription.sqlite(at: fixture.url).open(model ?? fixture.model, 1)
    }
  }

  @Test("finds what was saved, under the same identifier, and hands out new keys")
  func reopening() throws {
    let fixture = try StoreFixture()
    let (id, _) = try fixture.insert("Person", ["name": "Ada", "photo": Data(count: 100_000)])
    let identifier = fixture.store.identifier
    try fixture.store.close()
    fixture.store = try fixture.reopened()
    #expect(fixture.store.identifier == identifier)
    let row = try #require(try fixture.stored(id))
    #expect(row.text(try fixture.slot("Person", "name")) == "Ada")
    #expect(row.version == 1)
    #expect(try row.blob(try fixture.slot("Person", "photo")).load() == Data(count: 100_000))
    #expect(try fixture.newID("Person").key == id.key + 1)
  }

  @Test("writes durably: journal and sync are as a power cut demands")
  func settings() throws {
    let fixture = try StoreFixture()
    try fixture.insert("Person", ["name": "Ada"])
    try fixture.store.close()
    #expect(try Self.sqlite(fixture.url, "PRAGMA journal_mode") == "wal")
    #expect(try Self.sqlite(fixture.url, "PRAGMA application_id") == "1114595950")
    #expect(try Self.sqlite(fixture.url, "PRAGMA user_version") == "1")
    #expect(try Self.sqlite(fixture.url, "PRAGMA integrity_check") == "ok")
    // What holds for a connection is not in the file.
    let connection = try Connection(
      path: fixture.url.path, role: .writer, settings: SQLiteStoreOptions().connection, counter: StatementCounter())
    try StoreOpener.configure(connection)
    #expect(try connection.controlResult("PRAGMA synchronous") { $0.text(0) } == "2")
  }

  @Test("refuses a URL that is none of a file, and makes nothing at its path")
  func otherURL() throws {
    let fixture = try StoreFixture()
    let path = fixture.url.path + ".other"
    let url = try #require(URL(string: "http://example.org\(path)"))
    let error = #expect(throws: StoreError.self) {
      try PersistentStoreDescription.sqlite(at: url).open(fixture.model, 1)
    }
    #expect(error?.code == .cannotOpen && error?.path == url.absoluteString)
    #expect(!FileManager.default.fileExists(atPath: path))
  }

  @Test("gives tables and columns the names of the model")
  func names() throws {
    let fixture = try StoreFixture()
    let (company, _) = try fixture.insert("Company", ["name": "ACME"])
    let (cat, _) = try fixture.insert("Cat", ["name": "Tom"])
    try fixture.insert("Person", ["name": "Ada", "age": 36, "employer": company, "pet": cat])
    let query = """
      SELECT Person.name, age, Company.name, Animal.name, Animal._entity, Person.pet_entity, Person._version \
      FROM Person JOIN Company ON employer = Company._key JOIN Animal ON pet = Animal._key
      """
    #expect(try Self.sqlite(fixture.url, query) == "Ada|36|ACME|Tom|Cat|Cat|1")
  }

  @Test(
    "refuses what is no store of ours and leaves every byte of it",
    arguments: ["text", "empty", "foreign", "versioned", "torn"])
  func foreignFiles(kind: String) throws {
    let fixture = try StoreFixture()
    try fixture.store.close()
    switch kind {
    case "text": try Data(repeating: 0x41, count: 5_000).write(to: fixture.url)
    case "empty": try Data().write(to: fixture.url)
    case "foreign", "versioned":
      try FileManager.default.removeItem(at: fixture.url)
      try Self.sqlite(fixture.url, "CREATE TABLE t (a); INSERT INTO t VALUES (1)")
      if kind == "versioned" { try Self.sqlite(fixture.url, "PRAGMA user_version = 1") }
    default:
      var data = try Data(contentsOf: fixture.url)
      for offset in 16..<60 { data[offset] = 0xff }
      try data.write(to: fixture.url)
    }
    let before = try Data(contentsOf: fixture.url)
    let error = openingError(fixture)
    #expect(error?.code == .notAStore || error?.code == .corrupt)
    #expect(error?.path == fixture.url.path)
    #expect(try Data(contentsOf: fixture.url) == before)
  }

  @Test("refuses a folder, a missing folder, and a journal whose store is missing")
  func unusablePlaces() throws {
    let fixture = try StoreFixture()
    try fixture.store.close()
    let model = fixture.model
    for place in [fixture.folder, fixture.folder.appendingPathComponent("missing/test.sqlite")] {
      let error = #expect(throws: StoreError.self) {
        try PersistentStoreDescription.sqlite(at: place).open(model, 1)
      }
      #expect(error?.code == .cannotOpen)
    }
    try FileManager.default.removeItem(at: fixture.url)
    let journal = URL(fileURLWithPath: fixture.url.path + "-wal")
    try Data([1]).write(to: journal)
    #expect(openingError(fixture)?.message.contains("journal") == true)
    #expect(!FileManager.default.fileExists(atPath: fixture.url.path))
  }

  @Test("refuses a store of a newer release")
  func newerFormat() throws {
    let fixture = try StoreFixture()
    try fixture.store.close()
    try Self.sqlite(fixture.url, "PRAGMA user_version = 99")
    let error = openingError(fixture)
    #expect(error?.code == .incompatibleModel)
    #expect(error?.message.contains("99") == true)
  }

  @Test("names the entity and the property that another model has otherwise")
  func changedModel() throws {
    let fixture = try StoreFixture(
      model: try ManagedObjectModel([EntityDescription("A", attributes: [AttributeDescription("x", .string)])]))
    try fixture.store.close()
    let changed = try ManagedObjectModel([EntityDescription("A", attributes: [AttributeDescription("x", .double)])])
    let message = try #require(openingError(fixture, model: changed)).message
    #expect(message.contains("A.x was String and is Double now"))
  }

  @Test("adds the tables of new entities, and keeps those of lost ones if it is told to")
  func grownModel() throws {
    let (a, b) = (
      EntityDescription("A", attributes: [AttributeDescription("x", .string)]),
      EntityDescription("B", attributes: [AttributeDescription("y", .integer64)])
    )
    let fixture = try StoreFixture(model: try ManagedObjectModel([a]))
    try fixture.insert("A", ["x": "kept"])
    try fixture.store.close()
    let grown = try PersistentStoreDescription.sqlite(at: fixture.url).open(try ManagedObjectModel([a, b]), 1)
    try grown.close()
    var options = SQLiteStoreOptions()
    options.keepsRemovedEntities = true
    let keeping = PersistentStoreDescription.sqlite(at: fixture.url, options: options)
    for model in [[b], [a, b]] { try keeping.open(try ManagedObjectModel(model), 1).close() }
    #expect(try Self.sqlite(fixture.url, "SELECT x, (SELECT count(*) FROM B) FROM A") == "kept|0")
  }

  @Test("hands out no key that another program has used")
  func foreignRows() throws {
    let fixture = try StoreFixture()
    try Self.sqlite(fixture.url, "INSERT INTO Person (_key, _version) VALUES (4711, 1)")
    #expect(try fixture.newID("Person").key == 4712)
  }

  @Test("sees what another connection saves, and conflicts with it")
  func twoConnections() throws {
    let fixture = try StoreFixture()
    let other = try fixture.reopened()
    defer { try? other.close() }
    let (id, row) = try fixture.insert("Person", ["name": "Ada"])
    let name = try fixture.slot("Person", "name")
    let seen = try #require(try other.read { try $0.row(for: id)?.row })
    #expect(seen.text(name) == "Ada")
    let change = try fixture.update(id, seen, "Person", ["name": "theirs"])
    #expect(try other.save(StoreSaveRequest([ChangeSet([change])])).conflicts.isEmpty)
    let mine = try fixture.save(try fixture.update(id, row, "Person", ["name": "mine"]))
    #expect(mine.conflicts.first?.stored?.row.text(name) == "theirs")
    let keys = try other.reserveKeys(KeyReservation(root: try fixture.entity("Person"), count: 3))
    #expect(try fixture.newID("Person").key == keys.upperBound)
  }
}
