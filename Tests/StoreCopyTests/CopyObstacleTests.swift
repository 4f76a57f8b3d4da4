import Foundation
import ObjectGraph
import PostgresTesting
import TestSupport
import Testing

@testable import StoreCopy

@Suite("What keeps a store from being copied", .enabled(if: PostgresCluster.isAvailable()))
struct CopyObstacleTests {
  private let fixture: CopyFixture
  private let model: ManagedObjectModel

  init() throws {
    fixture = try CopyFixture()
    model = try ManagedObjectModel([EntityDescription("Note", attributes: [AttributeDescription("text", .string)])])
  }

  private var source: StoreAddress { fixture.sqlite("source") }

  private func fill(_ text: String = "x") throws {
    try fixture.with(source, model) { context in
      for _ in 0..<3 { context.insertObject(ofEntity: "Note").setValue("fine", forKey: "text") }
      context.insertObject(ofEntity: "Note").setValue(text, forKey: "text")
    }
  }

  private func failure(_ from: StoreAddress, _ to: StoreAddress) -> StoreError? {
    #expect(throws: StoreError.self) { try StoreCopy(from: from, to: to).run() }
  }

  @Test("U+0000 in a text is found before, and named by table, column and key; without it the copy goes on")
  func zero() async throws {
    try fill("a\u{0}b")
    let trial = try CopyTrial.run(from: source, to: fixture.postgres)
    #expect(trial.tables.first { $0.name == "Note" }?.size == .init(rows: 4, bytes: 15))
    #expect(trial.obstacles.count == 1)
    #expect(trial.obstacles.first?.contains("Note.text of the row with the key 4 holds the character U+0000") == true)
    #expect(try fixture.database.run("SELECT to_regnamespace('bobbin') IS NULL") == "t")
    let error = failure(source, fixture.postgres)
    #expect(error?.code == .unsupported && error?.message == trial.obstacles.first)
    #expect(try CopyTrial.run(from: source, to: fixture.sqlite("other")).obstacles.isEmpty)
    try fixture.with(source, model) { context in
      for note in try context.fetch(FetchRequest<ManagedObject>(entity: "Note", nil)) {
        note.setValue("mended", forKey: "text")
      }
    }
    #expect(try StoreCopy(from: source, to: fixture.postgres).run().areEqual)
  }

  @Test("A place that has a store already, of whatever kind, is left as it is")
  func occupied() throws {
    try fill()
    let other = fixture.sqlite("other")
    try fixture.with(other, model) { $0.insertObject(ofEntity: "Note").setValue("other", forKey: "text") }
    try fixture.with(fixture.postgres, model) { $0.insertObject(ofEntity: "Note").setValue("there", forKey: "text") }
    for place in [other, fixture.postgres] {
      let before = try fixture.objects(place, model)
      #expect(failure(source, place)?.message.contains("there is a store already, and it is not overwritten") == true)
      #expect(try CopyTrial.run(from: source, to: place).obstacles.count == 1)
      #expect(try fixture.objects(place, model) == before)
    }
  }

  @Test("The beginning of the copy of another store is in the way")
  func otherBeginning() throws {
    try fill()
    struct Cut: Error {}
    for place in [fixture.sqlite("target"), fixture.postgres] {
      #expect(throws: Cut.self) { try StoreCopy(from: source, to: place) { _ in throw Cut() }.run() }
    }
    let other = fixture.sqlite("other")
    try fixture.with(other, model) { $0.insertObject(ofEntity: "Note").setValue("other", forKey: "text") }
    for place in [fixture.sqlite("target"), fixture.postgres] {
      #expect(failure(other, place)?.message.contains("an unfinished copy of another store") == true)
      #expect(try StoreCopy(from: source, to: place).run().areEqual)
    }
  }

  @Test("Tables of another program, a newer format, another database and nothing at all are no source and no target")
  func foreign() throws {
    try fill()
    try fixture.database.run("CREATE SCHEMA bobbin; CREATE TABLE bobbin.other (x int)")
    #expect(failure(source, fixture.postgres)?.code == .notAStore)
    #expect(failure(fixture.postgres, fixture.sqlite("x"))?.code == .notAStore)
    try fixture.database.run("DROP SCHEMA bobbin CASCADE")
    #expect(failure(fixture.postgres, fixture.sqlite("x"))?.code == .notAStore)
    #expect(failure(fixture.sqlite("absent"), fixture.sqlite("x"))?.code == .cannotOpen)
    let file = fixture.folder.path("text.sqlite")
    try Data(repeating: 65, count: 1_000).write(to: URL(fileURLWithPath: file))
    #expect(failure(.sqlite(file), fixture.sqlite("x"))?.code == .notAStore)
    _ = try StoreCopy(from: source, to: fixture.postgres).run()
    try fixture.database.run("UPDATE bobbin._metadata SET value = '2' WHERE key = 'format'")
    #expect(failure(fixture.postgres, fixture.sqlite("x"))?.message.contains("newer release") == true)
    #expect(!FileManager.default.fileExists(atPath: fixture.folder.path("x.sqlite.copying")))
  }

  @Test("A store that is open, a server that is away, a wrong database and a role without rights are told apart")
  func surroundings() throws {
    try fill()
    let coordinator = PersistentStoreCoordinator(model: model)
    try coordinator.open(.sqlite(at: URL(fileURLWithPath: source.description)))
    let inUse = failure(source, fixture.postgres)
    #expect(inUse?.code == .busy && inUse?.message.contains("stop the daemon") == true)
    // A comparison changes nothing.
    #expect(try StoreComparison.run(source, source).areEqual)
    try coordinator.close()
    let away = failure(source, .postgres("postgresql://nobody@127.0.0.1:1/none"))
    #expect(away?.code == .unavailable)
    #expect(failure(source, .postgres("postgresql://a:secret@localhost/x"))?.message.contains("password") == true)
    #expect(
      failure(source, .postgres("postgresql://db.example.org/x?sslmode=disable"))?.message.contains("verify-full")
        == true)
    let none = failure(source, .postgres(fixture.database.url + "none"))
    #expect(none?.message.contains("no such database") == true)
    try fixture.database.run(
      "DO $$ BEGIN CREATE ROLE copier LOGIN; EXCEPTION WHEN duplicate_object OR unique_violation THEN NULL; END $$")
    let address = StoreAddress.postgres(fixture.database.url.replacing("postgres@", with: "copier@"))
    let denied = failure(source, address)
    #expect(denied?.code == .readOnly && denied?.message.contains("GRANT") == true)
    #expect(try CopyTrial.run(from: source, to: address).obstacles.first?.contains("GRANT CREATE") == true)
  }

  @Test("A store in PostgreSQL whose fleet is alive is in use")
  func fleet() throws {
    try fill()
    _ = try StoreCopy(from: source, to: fixture.postgres).run()
    try fixture.database.run(
      """
      SET search_path = bobbin; CREATE TABLE _host (number bigint, root text, state text);
      CREATE TABLE _beat (host bigint, seen timestamptz);
      INSERT INTO _host VALUES (1, 'ash:/spool', 'alive'); INSERT INTO _beat VALUES (1, now())
      """)
    let error = failure(fixture.postgres, fixture.sqlite("x"))
    #expect(error?.code == .busy && error?.message.contains("ash:/spool") == true)
    try fixture.database.run("UPDATE bobbin._beat SET seen = now() - interval '11 s'")
    #expect(try StoreCopy(from: fixture.postgres, to: fixture.sqlite("x")).run().areEqual)
  }

  @Test("Tables that are no entity's stay behind, and are told")
  func foreignTables() async throws {
    try fill()
    _ = try await Tool.run(
      "/usr/bin/sqlite3", [source.description, "CREATE TABLE mine (x); INSERT INTO mine VALUES (1)"])
    let trial = try CopyTrial.run(from: source, to: fixture.postgres)
    #expect(trial.foreignTables == ["mine"] && trial.obstacles.isEmpty)
    #expect(try StoreCopy(from: source, to: fixture.postgres).run().map(\.name) == ["Note"])
  }
}
