import Foundation
import ObjectModel
import SQLGeneration
import StoreInterface
import Testing

@Suite("The SQL of a fetch")
struct SelectGeneratorTests {
  private let model: ManagedObjectModel

  init() throws {
    var animal = EntityDescription("Animal", attributes: [AttributeDescription("name", .string)])
    animal.isAbstract = true
    model = try ManagedObjectModel([
      EntityDescription(
        "Person",
        attributes: [
          AttributeDescription("name", .string), AttributeDescription("age", .integer64),
          AttributeDescription("wealth", .decimal),
        ],
        relationships: [
          RelationshipDescription("boss", to: "Person"), RelationshipDescription("pet", to: "Animal"),
        ]),
      animal, EntityDescription("Dog", parent: "Animal", attributes: [AttributeDescription("tricks", .integer16)]),
      EntityDescription("Puppy", parent: "Dog"), EntityDescription("Cat", parent: "Animal"),
    ])
  }

  private func query(_ entity: String, _ format: String? = nil) throws -> StoreQuery {
    let entity = try #require(model.entitiesByName[entity])
    let condition = try format.map { try Condition(format: $0).resolved(for: entity) }
    return StoreQuery(entity: entity, condition: condition, coordinatorOrdinal: 0)
  }

  private func filter(_ format: String) throws -> (String, [SQLBinding]) {
    let segment = try SelectGenerator(try query("Person", format)).idQuery().segment
    let text = segment.text.replacing(#"SELECT t0."_key" FROM "Person" AS t0"#, with: "")
    return (text.replacing(#" ORDER BY t0."_key""#, with: ""), segment.bindings)
  }

  @Test(
    "compares so that null is never a third truth value",
    arguments: [
      ("age > 1", #" WHERE t0."age" > ?"#, [.integer(1)]),
      ("NOT age > 1", #" WHERE NOT IFNULL(t0."age" > ?, 0)"#, [.integer(1)]),
      ("age == 1", #" WHERE t0."age" = ?"#, [.integer(1)]),
      ("age != 1", #" WHERE t0."age" IS NOT ?"#, [.integer(1)]),
      ("NOT age != 1", #" WHERE t0."age" = ?"#, [.integer(1)]),
      ("age != nil", #" WHERE t0."age" IS NOT NULL"#, []),
      (
        "NOT (age == nil OR age IN {1, 2})", #" WHERE (t0."age" IS NOT NULL AND NOT IFNULL(t0."age" IN (?, ?), 0))"#,
        [.integer(1), .integer(2)]
      ),
      ("name BEGINSWITH 'ab'", #" WHERE (t0."name" >= ? AND t0."name" < ?)"#, [.text("ab"), .text("ac")]),
      ("name ==[c] 'AB'", #" WHERE bobbin_fold(t0."name", 1) = ?"#, [.text("ab")]),
      ("name LIKE 'a*'", #" WHERE bobbin_like(t0."name", ?)"#, [.text("a*")]),
      ("name MATCHES[d] 'a'", #" WHERE bobbin_matches(t0."name", ?, 2)"#, [.text("a")]),
      ("wealth >= 0", #" WHERE bobbin_decimal_key(t0."wealth") >= ?"#, [.blob([2])]),
      (
        "boss.boss.age > boss.age",
        #" LEFT JOIN "Person" AS t1 ON t1."_key" = t0."boss" LEFT JOIN "Person" AS t2 ON t2."_key" = t1."boss""#
          + #" WHERE t2."age" > t1."age""#, []
      ),
    ] as [(String, String, [SQLBinding])])
  func comparing(format: String, text: String, bindings: [SQLBinding]) throws {
    let result = try filter(format)
    #expect(result.0 == text)
    #expect(result.1 == bindings)
  }

  @Test("selects columns of all entities asked for, and only rows of those")
  func hierarchy() throws {
    var query = try query("Dog")
    query.sortDescriptors = [ResolvedSort(keyPath: ["name"], isAscending: false, textOrder: .caseInsensitive)]
    query.limit = 5
    query.offset = 2
    let rows = try SelectGenerator(query).statement()
    #expect(rows.columns == ["_key", "_version", "_entity", "name", "tricks"])
    #expect(rows.entityColumn == 2)
    #expect(
      rows.segment.text
        == #"SELECT t0."_key", t0."_version", t0."_entity", t0."name", t0."tricks" FROM "Animal" AS t0 "#
        + #"WHERE t0."_entity" IN (?, ?) ORDER BY bobbin_fold(t0."name", 1) DESC, t0."_key" LIMIT ? OFFSET ?"#)
    #expect(rows.segment.bindings == [.text("Dog"), .text("Puppy"), .integer(5), .integer(2)])
    query.includesSubentities = false
    query.sortDescriptors = []
    query.limit = nil
    query.offset = 0
    let count = try SelectGenerator(query).countQuery()
    #expect(count.segment.text == #"SELECT count(*) FROM "Animal" AS t0 WHERE t0."_entity" = ?"#)
    let person = try SelectGenerator(try self.query("Person")).rowQuery()
    #expect(person.columns == ["_key", "_version", "name", "age", "wealth", "boss", "pet", "pet_entity"])
  }

  @Test("passes long lists as one parameter and keeps long alternatives shallow")
  func longLists() throws {
    var query = try query("Person")
    query.condition = .isIn(.keyPath(["age"]), (0..<1_000).map { .value(.integer($0)) }, [])
    let list = try SelectGenerator(query).idQuery().segment
    #expect(list.text.contains(#"t0."age" IN (SELECT value FROM json_each(?))"#))
    #expect(list.bindings.count == 1)
    query.condition = .or((0..<5_000).map { .compare(.keyPath(["age"]), .equal, .value(.integer($0)), []) })
    let alternatives = try SelectGenerator(query).idQuery().segment
    var (depth, deepest) = (0, 0)
    for character in alternatives.text {
      depth += character == "(" ? 1 : character == ")" ? -1 : 0
      deepest = max(deepest, depth)
    }
    #expect(depth == 0)
    #expect(deepest < 16)
  }
}

@Suite("The SQL of links")
struct LinkTableTests {
  /// The table of a relationship between persons and clubs, or among persons, which is ordered at its left end.
  private func withTable(to destination: String, _ body: (LinkTable) throws -> Void) throws {
    var clubs = RelationshipDescription("clubs", to: destination, inverse: "members", isToMany: true)
    clubs.isOrdered = true
    let members = RelationshipDescription("members", to: "Person", inverse: "clubs", isToMany: true)
    let model = try ManagedObjectModel(
      destination == "Person"
        ? [EntityDescription("Person", relationships: [clubs, members])]
        : [EntityDescription("Person", relationships: [clubs]), EntityDescription("Club", relationships: [members])])
    try withExtendedLifetime(model) { try body(try #require(Schema(model).linkTables.first)) }
  }

  @Test("A link is made between objects that are there only, and keeps its place if it is made again without one")
  func inserting() throws {
    try withTable(to: "Club") { table in
      let sql = table.insertSQL
      for name in ["Person", "Club"] { #expect(sql.contains(#"EXISTS (SELECT 1 FROM "\#(name)" WHERE _key = ?"#)) }
      #expect(
        sql.firstMatch(of: /DO UPDATE SET ("_order_\w+") = ifnull\(excluded\.("_order_\w+"), "_order_\w+"\)$/) != nil)
    }
  }

  @Test("An object that is deleted takes its links along, at whichever end it is")
  func deleting() throws {
    for (destination, ends) in [("Club", 1), ("Person", 2)] {
      try withTable(to: destination) { table in
        let sql = try #require(table.deleteAllSQL(of: table.table.left))
        #expect(sql.components(separatedBy: " = ?1").count - 1 == ends, "\(sql)")
      }
    }
  }
}
