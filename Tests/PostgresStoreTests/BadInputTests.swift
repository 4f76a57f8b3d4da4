import Foundation
import ObjectModel
import PostgresTesting
import StoreInterface
import TestSupport
import Testing

@testable import PostgresStore

@Suite("What is wrong around a store on PostgreSQL", .enabled(if: PostgresCluster.isAvailable()))
struct BadInputTests {
  private func failure(_ url: String, _ change: (inout PostgresStoreOptions) -> Void = { _ in }) throws -> StoreError? {
    var options = PostgresStoreOptions()
    change(&options)
    let model = try PostgresFixture.model()
    return #expect(throws: StoreError.self) {
      try PostgresStore(url, model: model, coordinatorOrdinal: 1, options: options).close()
    }
  }

  @Test("A wrong password, none, and a right one that anybody may read")
  func passwords() throws {
    let database = try PostgresCluster.makeDatabase()
    try database.makeRoleWithPassword()
    let directory = try TemporaryDirectory()
    let url = database.url.replacing("postgres@", with: "\(PostgresCluster.roleWithPassword)@")
    let none = try failure(url) { $0.passwordFile = directory.path("absent") }
    #expect(none?.code == .cannotOpen)
    #expect(none?.message.contains("password file") == true, "\(none?.debugDescription ?? "")")
    #expect(none?.message.contains("the role \(PostgresCluster.roleWithPassword)") == true)
    let file = directory.path("passwords")
    func write(_ password: String, _ mode: Int) throws {
      try Data("*:*:*:*:\(password)\n".utf8).write(to: URL(fileURLWithPath: file))
      try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: file)
    }
    for (password, mode) in [("wrong", 0o600), (PostgresCluster.password, 0o644)] {
      try write(password, mode)
      let error = try failure(url) { $0.passwordFile = file }
      #expect(error?.code == .cannotOpen)
      #expect(error?.message.contains("0600") == true, "\(error?.debugDescription ?? "")")
      #expect(error.map { "\($0.debugDescription)".contains(password) } == false)
    }
    try write(PostgresCluster.password, 0o600)
    var options = PostgresStoreOptions()
    options.passwordFile = file
    try PostgresStore(url, model: try PostgresFixture.model(), coordinatorOrdinal: 1, options: options).close()
  }

  @Test("A database that takes no changes, before and while the store is open; nothing is lost")
  func readOnly() throws {
    let fixture = try PostgresFixture()
    let (id, row) = try fixture.insert(["name": "Ada"])
    try fixture.database.run("ALTER DATABASE \(fixture.database.name) SET default_transaction_read_only = on")
    let opening = try failure(fixture.database.url)
    #expect(opening?.code == .unavailable)
    #expect(opening?.message.contains("takes no changes") == true, "\(opening?.debugDescription ?? "")")
    try fixture.database.run(
      "SELECT count(pg_terminate_backend(pid, 10000)) FROM pg_stat_activity "
        + "WHERE datname = current_database() AND pid <> pg_backend_pid()")
    let change = try fixture.change(.update, id, ["name": "Augusta"], base: row)
    for _ in 0..<2 {
      let error = #expect(throws: StoreError.self) { try fixture.save(change) }
      #expect(error?.code == .unavailable)
    }
    try fixture.database.run("ALTER DATABASE \(fixture.database.name) SET default_transaction_read_only = off")
    #expect(try fixture.save(change).conflicts.isEmpty)
    #expect(try fixture.stored(id)?.version == 2)
  }

  @Test("A role without rights: to make the schema, to use it, to write to its tables")
  func rights() throws {
    let fixture = try PostgresFixture()
    let (id, row) = try fixture.insert(["name": "Ada"])
    try fixture.database.makeRole("visitor")
    let url = fixture.database.url.replacing("postgres@", with: "visitor@")
    let making = try failure(url) { $0.schemaName = "another" }
    #expect(making?.code == .readOnly)
    #expect(making?.message.contains("GRANT") == true, "\(making?.debugDescription ?? "")")
    let using = try failure(url)
    #expect(using?.code == .cannotOpen)
    #expect(using?.message.contains("GRANT USAGE ON SCHEMA") == true, "\(using?.debugDescription ?? "")")
    #expect(using?.message.contains("visitor") == true)
    try fixture.database.run(
      "GRANT USAGE ON SCHEMA bobbin TO visitor; GRANT SELECT ON ALL TABLES IN SCHEMA bobbin TO visitor")
    let store = try PostgresStore(url, model: fixture.model, coordinatorOrdinal: PostgresFixture.ordinal)
    defer { try? store.close() }
    let change = try fixture.change(.update, id, ["name": "Augusta"], base: row)
    let writing = #expect(throws: StoreError.self) { try store.save(StoreSaveRequest([ChangeSet([change])])) }
    #expect(writing?.code == .readOnly)
    #expect(writing?.message.contains("the role visitor lacks a right") == true, "\(writing?.debugDescription ?? "")")
    #expect(writing?.message.contains("GRANT") == true)
    #expect(try store.read { try $0.row(for: id)?.row.text(try fixture.slot("name")) } == "Ada")
  }

  @Test("Names of more than 63 bytes, alike in all of those, in tables, columns, constraints and links")
  func longNames() throws {
    let long = "theAssociationForThePreservationOfOverlyLongNamesInDatabases"
    func model(_ extra: [AttributeDescription] = []) throws -> ManagedObjectModel {
      var first = EntityDescription(
        long + "First", attributes: [AttributeDescription(long + "Name", .string)] + extra,
        relationships: [RelationshipDescription(long + "Others", to: long + "Second", inverse: nil, isToMany: true)])
      first.uniquenessConstraints = [[long + "Name"]]
      let second = EntityDescription(
        long + "Second",
        attributes: [AttributeDescription(long + "NameA", .string), AttributeDescription(long + "NameB", .string)])
      return try ManagedObjectModel([first, second])
    }
    let database = try PostgresCluster.makeDatabase()
    for extra in [[], [AttributeDescription(long + "Number", .integer64)]] {
      let model = try model(extra)
      let store = try PostgresStore(database.url, model: model, coordinatorOrdinal: 1)
      defer { try? store.close() }
      let (first, second) = (
        try #require(model.entitiesByName[long + "First"]), try #require(model.entitiesByName[long + "Second"])
      )
      func id(_ entity: Entity) throws -> ManagedObjectID {
        let key = try store.reserveKeys(KeyReservation(root: entity, count: 1)).lowerBound
        return ManagedObjectID(key: key, entity: entity, coordinatorOrdinal: 1)
      }
      func row(_ entity: Entity, _ values: [String: String]) throws -> Row {
        var row = Row(RowLayout(entity))
        for (name, value) in values { row.setText(value, try #require(entity.property(named: name)).slot) }
        return row
      }
      let (a, b) = (try id(first), try id(second))
      let name = "name \(extra.count)"
      let link = LinkChange(LinkKey(table: 0, left: a, right: b), isPresent: true, order: nil)
      let inserts = [
        RowChange(.insert, a, row: try row(first, [long + "Name": name]), base: nil),
        RowChange(.insert, b, row: try row(second, [long + "NameA": "A", long + "NameB": "B"]), base: nil),
      ]
      #expect(try store.save(StoreSaveRequest([ChangeSet(inserts, links: [link])])).conflicts.isEmpty)
      let found = try #require(try store.read { try $0.row(for: b)?.row })
      #expect(found.text(try #require(second.property(named: long + "NameA")).slot) == "A")
      #expect(found.text(try #require(second.property(named: long + "NameB")).slot) == "B")
      let others = try #require(first.property(named: long + "Others"))
      #expect(try store.read { try $0.links(of: a, others).map(\.destination) } == [b])
      let twin = RowChange(.insert, try id(first), row: try row(first, [long + "Name": name]), base: nil)
      let error = #expect(throws: StoreError.self) { try store.save(StoreSaveRequest([ChangeSet([twin])])) }
      #expect(error?.code == .constraint)
      #expect(error?.message.contains(long + "Name") == true)
    }
  }

  @Test("Tables that another host has brought to another model meanwhile: nothing is written, and it says so")
  func otherModelMeanwhile() throws {
    let fixture = try PostgresFixture()
    let (id, row) = try fixture.insert(["name": "Ada"])
    let smaller = try PostgresFixture.model { $0.removeAll { $0.name == "age" } }
    try fixture.another(smaller).close()
    let change = try fixture.change(.update, id, ["name": "Augusta", "age": 36], base: row)
    let error = #expect(throws: StoreError.self) { try fixture.save(change) }
    #expect(error?.code == .incompatibleModel, "\(error?.debugDescription ?? "")")
    #expect(error?.message.contains("another host") == true)
    #expect(try fixture.database.run("SELECT name FROM bobbin.\"Person\"") == "Ada")
  }
}
