import Foundation
import ObjectModel
import PostgresTesting
import StoreInterface
import TestSupport
import Testing

@testable import PostgresStore

@Suite("A store that hosts with different versions of the model share", .enabled(if: PostgresCluster.isAvailable()))
struct SharedModelTests {
  private static let name = AttributeDescription("name", .string)
  private static let nick = AttributeDescription("nick", .string)
  private static let rank = AttributeDescription("rank", .integer64, isOptional: false, default: .integer(7))

  private static func model(
    _ attributes: [AttributeDescription], and others: [EntityDescription] = [],
    _ change: (inout EntityDescription) -> Void = { _ in }
  ) throws -> ManagedObjectModel {
    var person = EntityDescription(
      "Person", attributes: attributes,
      relationships: [
        RelationshipDescription("friends", to: "Person", inverse: "friends", isToMany: true),
        RelationshipDescription("mother", to: "Person", inverse: "children"),
        RelationshipDescription("children", to: "Person", inverse: "mother", isToMany: true),
      ])
    change(&person)
    return try ManagedObjectModel([person] + others)
  }

  @Test("A later model adds to it, and hosts with the earlier one go on and come back")
  func expanding() throws {
    let database = try PostgresCluster.makeDatabase()
    let pet = EntityDescription("Pet", attributes: [AttributeDescription("kind", .string)])
    let (early, late) = (try Self.model([Self.name]), try Self.model([Self.nick, Self.rank, Self.name], and: [pet]))
    let ash = try Host(database, early, others: ["birch"])
    let ada = try ash.insert(["name": .string("Ada")])
    #expect(
      try Host.changes(database, late, others: ["ash"]) == ["Person.nick is new", "Person.rank is new", "Pet is new"])
    let birch = try Host(database, late, others: ["ash"])
    #expect(try Host.changes(database, early, others: ["birch"]).isEmpty)
    #expect(try birch.values(ada) == ["name": .string("Ada"), "nick": .null, "rank": .integer(7)])
    let bob = try ash.insert(["name": .string("Bob")])
    #expect(try birch.values(bob) == ["name": .string("Bob"), "nick": .null, "rank": .integer(7)])
    try birch.update(bob, ["nick": .string("Bobby"), "rank": .integer(2)])
    try ash.update(bob, ["name": .string("Robert")])
    #expect(try birch.values(bob) == ["name": .string("Robert"), "nick": .string("Bobby"), "rank": .integer(2)])
    let rex = try birch.insert(["kind": .string("dog")], into: "Pet")

    let back = try Host(database, early, others: ["birch"])
    #expect(try back.values(bob) == ["name": .string("Robert")])
    let again = try Host(database, late, others: ["ash"])
    #expect(try again.values(bob)["nick"] == .string("Bobby"))
    #expect(try again.values(rex, of: "Pet") == ["kind": .string("dog")])
  }

  @Test(
    "A table that somebody reads for long is not waited for, since others would wait behind that, and changed later")
  func heldTable() throws {
    let database = try PostgresCluster.makeDatabase()
    let (early, late) = (try Self.model([Self.name]), try Self.model([Self.name, Self.nick]))
    let ash = try Host(database, early, others: ["birch"])
    let reader = try Connection(Connection.Settings(database.url, options: PostgresStoreOptions()))
    defer { reader.close() }
    try reader.control("BEGIN; LOCK TABLE \"Person\" IN ACCESS SHARE MODE")
    let start = ContinuousClock.now
    let error = #expect(throws: StoreError.self) {
      _ = try Host(database, late, others: ["ash"], lockTimeout: 60)
    }
    #expect(error?.code == .busy, "\(error?.debugDescription ?? "")")
    #expect(ContinuousClock.now < start + .seconds(30), "it waited for the limit of rows")
    let ada = try ash.insert(["name": .string("Ada")])
    try reader.control("COMMIT")
    let birch = try Host(database, late, others: ["ash"])
    #expect(try birch.values(ada) == ["name": .string("Ada"), "nick": .null])
  }

  @Test("Keys that a host reserves while another one changes a table are not given out again")
  func keys() async throws {
    let database = try PostgresCluster.makeDatabase()
    let (early, late) = (try Self.model([Self.name]), try Self.model([Self.name, Self.nick]))
    _ = try Host(database, early, others: []).insert(["name": .string("Ada")])
    let reader = try database.hold(#"LOCK TABLE bobbin."Person" IN ACCESS SHARE MODE"#)
    let change = FirstOutcome<Void>()
    Thread.detachNewThread { change.set(Result { _ = try Host(database, late, others: nil, lockTimeout: 60) }) }
    try database.awaitLock(of: "%")
    try database.run("UPDATE bobbin._keys SET next = 1000000")
    reader.release()
    try await change.value()
    #expect(try database.run("SELECT next FROM bobbin._keys") == "1000000")
  }

  @Test("A host that lacks a model file and attributes takes nothing from the others, also while it is alone")
  func lacking() throws {
    let database = try PostgresCluster.makeDatabase()
    let pet = EntityDescription("Pet", attributes: [AttributeDescription("kind", .string)])
    let full = try Self.model([Self.name, Self.nick, Self.rank], and: [pet])
    let ash = try Host(database, full, others: [])
    let ada = try ash.insert(["name": .string("Ada"), "nick": .string("A."), "rank": .integer(1)])
    let rex = try ash.insert(["kind": .string("dog")], into: "Pet")
    _ = try Host(database, try Self.model([Self.name]), others: [])
    let back = try Host(database, full, others: [])
    #expect(try back.values(ada) == ["name": .string("Ada"), "nick": .string("A."), "rank": .integer(1)])
    #expect(try back.values(rex, of: "Pet") == ["kind": .string("dog")])
  }

  @Test("What others would not understand waits until they are stopped; nothing has changed until then")
  func inPlace() throws {
    var renamed = AttributeDescription("fullName", .string)
    renamed.renamingIdentifier = "name"
    var sum = AttributeDescription("letters", .string)
    sum.derivation = "canonical:(name)"
    let pet = EntityDescription(
      "Pet", relationships: [RelationshipDescription("owner", to: "Person", inverse: nil, isToMany: false)])
    let cases: [(what: String, model: ManagedObjectModel)] = [
      ("Person.fullName was name", try Self.model([renamed])),
      ("Person.name has another type", try Self.model([AttributeDescription("name", .uri)])),
      ("Person.name has another type", try Self.model([AttributeDescription("name", .string, isOptional: false)])),
      (
        "required without a default",
        try Self.model([Self.name, AttributeDescription("age", .integer64, isOptional: false)])
      ),
      ("derived", try Self.model([Self.name, sum])),
      ("uniqueness constraints", try Self.model([Self.name]) { $0.uniquenessConstraints = [["name"]] }),
      ("Pet.owner, which leads to Person", try Self.model([Self.name], and: [pet])),
      (
        "has another parent",
        try Self.model([], and: [EntityDescription("Being", attributes: [Self.name])]) { $0.parent = "Being" }
      ),
      (
        "joins the family",
        try Self.model([Self.name], and: [EntityDescription("Child", parent: "Person")])
      ),
    ]
    for (what, model) in cases {
      let database = try PostgresCluster.makeDatabase()
      let first = try Host(database, try Self.model([Self.name]), others: [])
      let ada = try first.insert(["name": .string("Ada")])
      let schema = "SELECT string_agg(table_name || column_name, ' ' ORDER BY 1) FROM information_schema.columns"
      let before = try database.run(schema)
      let error = #expect(throws: StoreError.self) {
        try Host(database, model, others: ["ash:/spool", "birch:/spool"])
      }
      #expect(error?.code == .incompatibleModel)
      #expect(error?.message.contains(what) == true, "\(what): \(error?.debugDescription ?? "")")
      #expect(error?.message.contains("ash:/spool, birch:/spool have the store open; stop them first") == true)
      #expect(try database.run(schema) == before)
      #expect(try first.values(ada) == ["name": .string("Ada")])
    }
    let database = try PostgresCluster.makeDatabase()
    let ada = try Host(database, try Self.model([Self.name, Self.nick]), others: []).insert([
      "name": .string("Ada"), "nick": .string("A."),
    ])
    let alone = try Host(database, try Self.model([renamed]), others: [])
    #expect(try alone.values(ada) == ["fullName": .string("Ada")])
    // It has stayed for whoever has it in the model again.
    let both = try Host(database, try Self.model([renamed, Self.nick]), others: ["ash:/spool"])
    #expect(try both.values(ada)["nick"] == .string("A."))
  }

  @Test(
    "Hosts that come back with more and less of the model, at random, lose none of the others' values", arguments: 0..<4
  )
  func random(_ seed: UInt64) throws {
    var generator = SeededGenerator(seed: seed)
    let database = try PostgresCluster.makeDatabase()
    let pool = (0..<6).map { number in
      number % 2 == 0
        ? AttributeDescription("a\(number)", .integer64)
        : AttributeDescription("a\(number)", .integer64, isOptional: false, default: .integer(Int64(number) * 100))
    }
    let pet = EntityDescription("Pet", attributes: [Self.name])
    func host() throws -> Host {
      let attributes = [Self.name] + pool.filter { _ in Bool.random(using: &generator) }.shuffled(using: &generator)
      let model = try Self.model(attributes, and: Bool.random(using: &generator) ? [pet] : [])
      return try Host(database, model, others: ["another"])
    }
    var hosts = [try host(), try host(), try host()]
    var rows: [ManagedObjectID: [String: Value]] = [:]
    for step in 0..<40 {
      let place = Int.random(in: 0..<hosts.count, using: &generator)
      let given = hosts[place].attributes("Person").filter { _ in Bool.random(using: &generator) }
      let values = Dictionary(
        uniqueKeysWithValues: given.map { ($0, $0 == "name" ? Value.string("\(step)") : .integer(Int64(step))) })
      switch Int.random(in: 0..<3, using: &generator) {
      case 0: hosts[place] = try host()
      case 1:
        var expected = Dictionary(uniqueKeysWithValues: pool.map { ($0.name, $0.defaultValue) })
        expected["name"] = .null
        rows[try hosts[place].insert(values)] = expected.merging(values) { $1 }
      default:
        guard let id = rows.keys.min(by: { $0.key < $1.key }) else { continue }
        try hosts[place].update(id, values)
        rows[id]?.merge(values) { $1 }
      }
      for host in hosts {
        for (id, expected) in rows {
          let known = Set(host.attributes("Person"))
          #expect(try host.values(id) == expected.filter { known.contains($0.key) }, "seed \(seed), step \(step)")
        }
      }
    }
  }
}

/// A host with a version of the model of its own.
private final class Host {
  private let model: ManagedObjectModel
  private let store: PostgresStore

  /// - Parameter others: the hosts that have the store open as well; nil if it is not shared.
  init(_ database: TestDatabase, _ model: ManagedObjectModel, others: [String]?, lockTimeout: Int? = nil) throws {
    self.model = model
    var options = Self.options(others)
    if let lockTimeout { options.lockTimeout = lockTimeout }
    store = try PostgresStore(
      database.url, model: model, coordinatorOrdinal: PostgresFixture.ordinal, options: options)
  }

  private static func options(_ others: [String]?) -> PostgresStoreOptions {
    var options = PostgresStoreOptions()
    options.sharing = others.map { others in SchemaSharing { others } }
    return options
  }

  static func changes(_ database: TestDatabase, _ model: ManagedObjectModel, others: [String]) throws -> [String] {
    try PostgresStore.changes(byOpening: database.url, model: model, options: options(others)).changes
  }

  deinit { try? store.close() }

  func attributes(_ entity: String) -> [String] {
    model.entitiesByName[entity]?.properties.filter { $0.attribute != nil }.map(\.name) ?? []
  }

  private func entity(_ name: String) throws -> Entity { try #require(model.entitiesByName[name]) }

  func insert(_ values: [String: Value], into name: String = "Person") throws -> ManagedObjectID {
    let entity = try entity(name)
    let key = try store.reserveKeys(KeyReservation(root: entity, count: 1)).lowerBound
    let id = ManagedObjectID(key: key, entity: entity, coordinatorOrdinal: PostgresFixture.ordinal)
    var row = Row(RowLayout(entity))
    for property in entity.properties { Self.set(property.attribute?.defaultValue ?? .null, property, in: &row) }
    try save(RowChange(.insert, id, row: try changed(row, values, entity), base: nil))
    return id
  }

  func update(_ id: ManagedObjectID, _ values: [String: Value]) throws {
    if values.isEmpty { return }
    let entity = try entity("Person")
    let own = ManagedObjectID(key: id.key, entity: entity, coordinatorOrdinal: PostgresFixture.ordinal)
    let base = try #require(try store.read { try $0.row(for: own)?.row })
    try save(RowChange(.update, own, row: try changed(base, values, entity), base: base))
  }

  func values(_ id: ManagedObjectID, of name: String = "Person") throws -> [String: Value] {
    let entity = try entity(name)
    let own = ManagedObjectID(key: id.key, entity: entity, coordinatorOrdinal: PostgresFixture.ordinal)
    let row = try #require(try store.read { try $0.row(for: own)?.row })
    return Dictionary(
      uniqueKeysWithValues: entity.properties.filter { $0.attribute != nil }.map { property in
        let value: Value =
          if row.isNull(property.slot) { .null } else if property.storage == .integer {
            .integer(row.integer(property.slot))
          } else { .string(row.text(property.slot)) }
        return (property.name, value)
      })
  }

  private func changed(_ row: Row, _ values: [String: Value], _ entity: Entity) throws -> Row {
    var row = row
    for (name, value) in values { Self.set(value, try #require(entity.property(named: name)), in: &row) }
    return row
  }

  private static func set(_ value: Value, _ property: Property, in row: inout Row) {
    switch value {
    case .integer(let number): row.setInteger(number, property.slot)
    case .string(let text): row.setText(text, property.slot)
    default: break
    }
  }

  private func save(_ change: RowChange) throws {
    #expect(try store.save(StoreSaveRequest([ChangeSet([change])])).conflicts.isEmpty)
  }
}
