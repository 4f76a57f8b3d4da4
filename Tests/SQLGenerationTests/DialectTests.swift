import Foundation
import ObjectModel
import SQLGeneration
import StoreInterface
import Testing

/// Persons and animals, some of whose names are too long for PostgreSQL.
private func families() throws -> ManagedObjectModel {
  var photo = AttributeDescription("photo", .binary)
  photo.allowsExternalBinaryDataStorage = true
  var person = EntityDescription(
    "Person",
    attributes: [
      AttributeDescription("name", .string), AttributeDescription("age", .integer64),
      AttributeDescription("score", .double), AttributeDescription("wealth", .decimal), photo,
      AttributeDescription(longName, .boolean), AttributeDescription("identity", .uuid),
    ],
    relationships: [
      RelationshipDescription("boss", to: "Person", inverse: "staff"),
      RelationshipDescription("staff", to: "Person", inverse: "boss", isToMany: true),
      RelationshipDescription("pets", to: "Animal", inverse: "keepers", isToMany: true),
    ])
  person.uniquenessConstraints = [["name"]]
  person.fetchIndexes = [
    .init(name: "byAge", elements: [.init(property: "age", isAscending: false), .init(property: "name")])
  ]
  return try ManagedObjectModel([
    person,
    EntityDescription(
      "Animal", attributes: [AttributeDescription("name", .string)],
      relationships: [RelationshipDescription("keepers", to: "Person", inverse: "pets", isToMany: true)]),
    EntityDescription("Dog", parent: "Animal", attributes: [AttributeDescription("size", .integer16)]),
    EntityDescription("Cat", parent: "Animal", attributes: [AttributeDescription("size", .string)]),
  ])
}

private let longName = "isAMemberOfTheAssociationForThePreservationOfOverlyLongAttributeNames"

@Suite("The SQL of PostgreSQL")
struct DialectTests {
  private let model: ManagedObjectModel

  init() throws { model = try families() }

  private func plan(_ format: String, _ change: (inout StoreQuery) -> Void = { _ in }) throws -> SelectPlan {
    let entity = try #require(model.entitiesByName["Person"])
    var query = StoreQuery(
      entity: entity, condition: try Condition(format: format).resolved(for: entity), wantsRows: false,
      coordinatorOrdinal: 0)
    change(&query)
    return try SelectPlan(query, dialect: .postgres)
  }

  @Test(
    "asks what SQL answers as Swift does, so that indexes serve it",
    arguments: [
      ("age > 1", #"t0."age" > $1"#, [.integer(1)]),
      ("NOT age > 1", #"(t0."age" > $1) IS NOT TRUE"#, [.integer(1)]),
      ("age == 1", #"t0."age" = $1"#, [.integer(1)]),
      ("age != 1", #"(t0."age" IS DISTINCT FROM $1)"#, [.integer(1)]),
      ("age > 1.5", #"t0."age" > $1"#, [.integer(1)]),
      ("age <= 1.5", #"t0."age" <= $1"#, [.integer(1)]),
      ("age < 1e300", #"t0."age" IS NOT NULL"#, []),
      ("score < 9007199254740993", #"t0."score" <= $1"#, [.double(9_007_199_254_740_992)]),
      ("age IN {1, 2, 2.5}", #"t0."age" = ANY($1)"#, [.array(.integers([1, 2]))]),
      (
        "NOT (age == nil OR age IN {1, 2})",
        #"(t0."age" IS NOT NULL AND (t0."age" = ANY($1)) IS NOT TRUE)"#, [.array(.integers([1, 2]))]
      ),
      ("name BEGINSWITH 'ab'", #"(t0."name" >= $1 AND t0."name" < $2)"#, [.text("ab"), .text("ac")]),
      ("name ENDSWITH 'b'", #"right(t0."name", length($1)) = $2"#, [.text("b"), .text("b")]),
      ("name CONTAINS 'b'", #"strpos(t0."name", $1) > 0"#, [.text("b")]),
      (#"name LIKE 'a%?\\*b*'"#, #"t0."name" LIKE $1"#, [.text(#"a\%_*b%"#)]),
      ("photo == nil", #"(t0."photo" IS NULL AND t0."_file_photo" IS NULL)"#, []),
      ("photo != nil", #"(t0."photo" IS NOT NULL OR t0."_file_photo" IS NOT NULL)"#, []),
      ("TRUEPREDICATE OR age == 1", "", []),
      ("FALSEPREDICATE", "FALSE", []),
      (#"boss == SELF"#, #"(t0."boss" = t0."_key" OR (t0."boss" IS NULL AND t0."_key" IS NULL))"#, []),
    ] as [(String, String, [SQLBinding])])
  func exact(format: String, text: String, bindings: [SQLBinding]) throws {
    let plan = try plan(format)
    #expect(!plan.needsMemory)
    let segment = plan.statement.segment
    let expected = text.isEmpty ? "" : " WHERE " + text
    #expect(segment.text == #"SELECT t0."_key" FROM "Person" AS t0"# + expected + #" ORDER BY t0."_key""#)
    #expect(segment.bindings == bindings)
  }

  @Test("asks for folded texts as far as they are ASCII, and for all others")
  func folding() throws {
    let plan = try plan("name ==[c] 'AB'")
    #expect(
      plan.statement.segment.text.contains(
        #" WHERE (lower(t0."name") = $1 OR octet_length(t0."name") <> length(t0."name"))"#))
    #expect(plan.statement.segment.bindings == [.text("ab")])
    #expect(plan.residual != nil && plan.hasRows)
  }

  @Test("compares decimals as numbers, and takes a text that is none for null")
  func decimals() throws {
    let segment = try plan("wealth >= 0.5").statement.segment
    #expect(segment.text.contains(#"THEN t0."wealth"::numeric END >= $1::numeric"#))
    #expect(segment.bindings == [.text("0.5")])
    let list = try plan("wealth IN {1, 2.5}").statement.segment
    #expect(list.text.contains("= ANY($1::numeric[])"))
    #expect(list.bindings == [.array(.texts(["1", "2.5"]))])
  }

  @Test("orders nil first, and leaves to memory what only Swift can order")
  func ordering() throws {
    let ordered = try plan("TRUEPREDICATE") {
      $0.sortDescriptors = [ResolvedSort(keyPath: ["age"], isAscending: false)]
      ($0.limit, $0.offset) = (5, 2)
    }
    #expect(
      ordered.statement.segment.text.hasSuffix(
        #" ORDER BY t0."age" DESC NULLS LAST, t0."_key" LIMIT $1 OFFSET $2"#))
    #expect(!ordered.needsMemory && ordered.limit == nil && ordered.offset == 0)
    let unordered = try plan("TRUEPREDICATE") {
      $0.sortDescriptors = [ResolvedSort(keyPath: ["name"], isAscending: true, textOrder: .localizedStandard)]
      ($0.limit, $0.offset) = (5, 2)
    }
    #expect(!unordered.statement.segment.text.contains("LIMIT"))
    #expect(unordered.sorts.count == 1 && unordered.limit == 5 && unordered.offset == 2 && unordered.hasRows)
  }

  @Test("counts in SQL, or in memory what SQL can't tell")
  func counting() throws {
    let entity = try #require(model.entitiesByName["Person"])
    func plan(_ format: String, limit: Int? = nil) throws -> SelectPlan {
      let query = StoreQuery(
        entity: entity, condition: try Condition(format: format).resolved(for: entity), limit: limit,
        coordinatorOrdinal: 0)
      return try SelectPlan(query, dialect: .postgres, isCount: true)
    }
    #expect(try plan("age > 1").statement.segment.text == #"SELECT count(*) FROM "Person" AS t0 WHERE t0."age" > $1"#)
    #expect(
      try plan("age > 1", limit: 3).statement.segment.text
        == #"SELECT count(*) FROM (SELECT 1 FROM "Person" AS t0 WHERE t0."age" > $1 LIMIT $2) AS matches"#)
    let rest = try plan("name MATCHES 'a+'", limit: 3)
    #expect(rest.statement.segment.text.contains(#"WHERE t0."name" IS NOT NULL"#))
    #expect(rest.hasRows && rest.limit == 3)
  }

  @Test("gives each type a column of its own, and a long name a hash")
  func columns() throws {
    let schema = Schema(model, dialect: .postgres)
    let animals = try #require(schema.tables.first { $0.root.name == "Animal" })
    #expect(
      animals.createSQL == """
        CREATE TABLE "Animal" (
          _key bigint PRIMARY KEY,
          _version bigint NOT NULL,
          _entity text COLLATE "C" NOT NULL,
          "name" text COLLATE "C",
          "size_number" bigint,
          "size_text" text COLLATE "C"
        )
        """)
    #expect(Schema(model).table(of: animals.root).columnNames == ["_key", "_version", "_entity", "name", "size"])
    let persons = try #require(schema.tables.first { $0.root.name == "Person" })
    let hashed = try #require(persons.columnNames.first { $0.hasPrefix("isAMember") })
    #expect(hashed.utf8.count == 63 && longName.hasPrefix(hashed.prefix(46)))
    #expect(
      persons.indexes.map(\.sql) == [
        #"CREATE INDEX "_files_Person.photo" ON "Person" ("_file_photo") WHERE "_file_photo" IS NOT NULL"#,
        #"CREATE INDEX "_index_Person.boss" ON "Person" ("boss")"#,
        #"CREATE UNIQUE INDEX "_unique_Person.name" ON "Person" ("name")"#,
        #"CREATE INDEX "_fetch_Person.byAge" ON "Person" ("age" DESC NULLS LAST, "name" NULLS FIRST)"#,
      ])
    let links = try #require(schema.linkTables.first)
    #expect(!links.createSQL.contains("ROWID") && !links.createSQL.contains("REFERENCES"))
    #expect(schema.nameClash == nil)
  }

  @Test("numbers parameters, and leaves question marks in literals alone")
  func numbering() throws {
    let segment = try plan("wealth > 1 AND age < 3").statement.segment
    #expect(segment.text.contains(#"~ '^[+-]?("#))
    #expect(segment.text.contains("$1::numeric") && segment.text.contains(#""age" < $2"#))
    #expect(segment.bindings == [.text("1"), .integer(3)])
  }
}

@Suite("The halves of a condition")
struct ConditionSplitTests {
  private let model: ManagedObjectModel

  init() throws { model = try families() }

  private func split(_ format: String) throws -> ConditionSplit {
    let entity = try #require(model.entitiesByName["Person"])
    return try ConditionSplit(
      try Condition(format: format).resolved(for: entity), for: entity, dialect: .postgres)
  }

  @Test(
    "are what follows from it for SQL, and what is left for memory",
    arguments: [
      // All of it is SQL's.
      ("age > 1 AND NOT name LIKE 'a*'", "age > 1 AND NOT (name LIKE \"a*\")", nil),
      ("ANY staff.age > 3", "SUBQUERY(staff, $_0, $_0.age > 3).@count > 0", nil),
      ("staff.@count > 2", "staff.@count > 2", nil),
      ("staff.@max.age >= 40", "staff.@max.age >= 40", nil),
      ("NONE staff.age > 3", "NOT (SUBQUERY(staff, $_0, $_0.age > 3).@count > 0)", nil),
      // A part of a conjunction.
      ("age > 1 AND name MATCHES 'a+'", "age > 1 AND NOT (name == nil)", "name MATCHES \"a+\""),
      ("NOT (age > 1 OR name MATCHES 'a+')", "NOT (age > 1)", "NOT (name MATCHES \"a+\")"),
      // A disjunction needs all of its parts.
      (
        "age > 1 OR name MATCHES 'a+'", "age > 1 OR NOT (name == nil)",
        "age > 1 OR name MATCHES \"a+\""
      ),
      ("age > 1 OR NOT name MATCHES 'a+'", nil, "age > 1 OR NOT (name MATCHES \"a+\")"),
      // Folded texts are asked for in a wider sense.
      ("NOT name ==[c] 'a'", "NOT (name ==[c] \"a\")", "NOT (name ==[c] \"a\")"),
      // There is an object only if there is one in a wider sense, and none only if there is none in a narrower one.
      (
        "SUBQUERY(staff, $s, $s.age > 3 AND $s.name MATCHES 'a').@count > 0",
        "SUBQUERY(staff, $s, $s.age > 3 AND NOT ($s.name == nil)).@count > 0",
        "SUBQUERY(staff, $s, $s.age > 3 AND $s.name MATCHES \"a\").@count > 0"
      ),
      ("NONE staff.name MATCHES 'a'", nil, "NOT (SUBQUERY(staff, $_0, $_0.name MATCHES \"a\").@count > 0)"),
      ("NONE staff.name ==[c] 'a'", nil, "NOT (SUBQUERY(staff, $_0, $_0.name ==[c] \"a\").@count > 0)"),
      // Arithmetic, and numbers of which one would be rounded.
      ("age / 2 > 3", nil, "(age / 2) > 3"),
      ("age > score", "NOT (age == nil)", "age > score"),
      ("age + 1 > 3 AND age < 5", "age < 5", "(age + 1) > 3"),
      ("staff.@sum.age > 3", nil, "staff.@sum.age > 3"),
    ] as [(String, String?, String?)])
  func halves(format: String, asked: String?, residual: String?) throws {
    let split = try split(format)
    #expect(split.asked?.description == asked)
    #expect(split.residual?.description == residual)
  }

  @Test("leave nothing to memory where nothing can match, and everything to a dialect that calls Swift")
  func ends() throws {
    let impossible = try split("FALSEPREDICATE AND name MATCHES 'a'")
    #expect(impossible.asked == .constant(false) && impossible.residual == nil)
    let entity = try #require(model.entitiesByName["Person"])
    let condition = try Condition(format: "name MATCHES 'a' AND age / 2 == 1").resolved(for: entity)
    let whole = try ConditionSplit(condition, for: entity, dialect: .sqlite)
    #expect(whole.asked == condition && whole.residual == nil)
  }

  @Test("keep a text with U+0000 from a database that has none")
  func zeros() throws {
    let entity = try #require(model.entitiesByName["Person"])
    let name = Operand.keyPath(["name"])
    let order = try ConditionSplit(
      .compare(name, .less, .value(.string("a\0b")), []), for: entity, dialect: .postgres)
    #expect(order.asked == .not(.isNull(name)) && order.residual != nil)
    let list = try ConditionSplit(.isIn(name, [.value(.string("a\0b")), "c"], []), for: entity, dialect: .postgres)
    #expect(list.asked == .isIn(name, ["c"], []) && list.residual == nil)
  }
}
