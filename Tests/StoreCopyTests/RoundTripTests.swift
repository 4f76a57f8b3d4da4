import Foundation
import ObjectGraph
import PostgresTesting
import TestSupport
import Testing

@testable import StoreCopy

@Suite("A copied store", .enabled(if: PostgresCluster.isAvailable()))
struct RoundTripTests {
  private let fixture: CopyFixture

  init() throws { fixture = try CopyFixture() }

  private var source: StoreAddress { fixture.sqlite("first") }
  private var back: StoreAddress { fixture.sqlite("second") }

  private func token(_ address: StoreAddress, _ model: ManagedObjectModel) throws -> PersistentHistoryToken {
    try fixture.with(address, model) { context in try context.coordinator.currentHistoryToken() }
  }

  @Test("has all objects, links, large values and the history, there and back, and can be written to")
  func everything() throws {
    let model = try Museum.model()
    try fixture.with(source, model, tracksHistory: true) { Museum.fill($0) }
    // The second save raises versions, and leaves keys that are gone.
    try fixture.with(source, model) { context in
      let tags = try context.fetch(FetchRequest<ManagedObject>(entity: "Tag", nil))
      for tag in tags { tag.setValue("changed", forKey: String(repeating: "long", count: 20)) }
      context.delete(context.insertObject(ofEntity: "Box"))
      if let tag = tags.last { context.delete(tag) }
    }
    let before = try fixture.objects(source, model)
    let token = try token(source, model)
    let tables = try StoreCopy(from: source, to: fixture.postgres).run()
    #expect(tables.areEqual)
    #expect(tables.map(\.name).contains("_change"))
    #expect(try fixture.objects(fixture.postgres, model) == before)
    #expect(try self.token(fixture.postgres, model) == token)
    let returned = try StoreCopy(from: fixture.postgres, to: back).run()
    #expect(returned.areEqual)
    #expect(try fixture.objects(back, model) == before)
    #expect(try self.token(back, model) == token)
    for address in [fixture.postgres, back] {
      #expect(try StoreComparison.run(source, address).areEqual)
      // New objects get keys that nobody had, and unique values are still unique.
      let keys = try fixture.with(address, model) { context in
        let tag = context.insertObject(ofEntity: "Tag")
        try context.save()
        return tag.objectID.key
      }
      #expect(keys > 10)
      let fixture = fixture
      #expect(throws: (any Error).self) {
        try fixture.with(address, model) { context in
          context.insertObject(ofEntity: "Thing").setValue(Int64(3_000), forKey: "aInteger64")
        }
      }
      let tags = try StoreComparison.run(source, address).first(where: { $0.name == "Tag" })
      #expect(tags?.differences.map(\.kind) == [.onlyInSecond])
    }
  }

  @Test("is told apart from one with other rows, by table, key and column")
  func differences() throws {
    let model = try Museum.model()
    try fixture.with(source, model) { Museum.fill($0) }
    _ = try StoreCopy(from: source, to: fixture.postgres).run()
    try fixture.database.run(
      """
      SET search_path = bobbin; UPDATE "Box" SET _version = 9 WHERE _key = 3; DELETE FROM "Box" WHERE _key = 5;
      INSERT INTO "Box" (_key, _version) VALUES (77, 1);
      UPDATE _file SET bytes = overlay(bytes placing '\\x00' from 5) WHERE part = 0 AND name = (
        SELECT _file_scan FROM "Thing" WHERE _file_scan IS NOT NULL ORDER BY _key LIMIT 1)
      """)
    let tables = try StoreComparison.run(source, fixture.postgres)
    let box = try #require(tables.first { $0.name == "Box" })
    #expect(box.rows == [10, 10] && box.hashes[0] != box.hashes[1])
    #expect(
      box.differences == [
        .init(key: "3", kind: .different(["_version"])), .init(key: "5", kind: .onlyInFirst),
        .init(key: "77", kind: .onlyInSecond),
      ])
    let thing = try #require(tables.first { $0.name == "Thing" })
    #expect(thing.differenceCount == 1 && thing.differences.first?.kind == .different(["scan"]))
    #expect(tables.filter { !$0.isEqual }.map(\.name) == ["Box", "Thing"])
  }

  @Test("that is empty has a hash that anybody can compute, and so has a row")
  func hash() throws {
    let model = try ManagedObjectModel([
      EntityDescription("A", attributes: [.init("n", .integer64), .init("r", .double), .init("t", .string)]),
      EntityDescription("B"),
    ])
    try fixture.with(source, model) { context in
      let object = context.insertObject(ofEntity: "A")
      object.setValue(Int64(-2), forKey: "n")
      object.setValue("é", forKey: "t")
    }
    let tables = try StoreCopy(from: source, to: fixture.postgres).run()
    #expect(tables[1].hashes[0] == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855")
    // printf of key 1, version 1, -2, null and two bytes of text, into sha256sum.
    #expect(tables[0].hashes[0] == "000ed7951a74f0ed2f00e47d645498247963c9996f05bfe9bbfcb6a7c4d1732d")
  }

  @Test("is equal whatever the model and the rows", arguments: 0..<25)
  func random(seed: Int) throws {
    var random = SeededGenerator(seed: UInt64(seed))
    let world = try RandomWorld(&random)
    try fixture.with(source, world.model, tracksHistory: Bool.random(using: &random)) { [random] context in
      var random = random
      world.fill(context, &random)
    }
    let before = try fixture.objects(source, world.model)
    #expect(try StoreCopy(from: source, to: fixture.postgres).run().areEqual, "seed \(seed)")
    #expect(try fixture.objects(fixture.postgres, world.model) == before, "seed \(seed)")
    #expect(try StoreCopy(from: fixture.postgres, to: back).run().areEqual, "seed \(seed)")
    #expect(try StoreComparison.run(source, back).areEqual, "seed \(seed)")
  }
}

/// A model and objects, drawn by chance.
private struct RandomWorld: Sendable {
  let model: ManagedObjectModel

  init(_ random: inout SeededGenerator) throws {
    let types = AttributeType.allCases.filter { $0 != .undefined && $0 != .transformable }
    var entities: [EntityDescription] = []
    for number in 0..<Int.random(in: 1...5, using: &random) {
      var entity = EntityDescription("E\(number)")
      if number > 0, Bool.random(using: &random) { entity.parent = "E\(Int.random(in: 0..<number, using: &random))" }
      for place in 0..<Int.random(in: 0...4, using: &random) {
        // Siblings may have one name for several types.
        let isShared = place == 0 && entity.parent != nil
        var attribute = AttributeDescription(
          isShared
            ? "shared\(entities.count(where: { $0.name == entity.parent }))\(entity.parent ?? "")x"
            : "a\(number)\(place)", types.randomElement(using: &random) ?? .string)
        attribute.allowsExternalBinaryDataStorage = attribute.type == .binary && Bool.random(using: &random)
        entity.attributes.append(attribute)
      }
      entities.append(entity)
    }
    for number in 0..<Int.random(in: 0...4, using: &random) {
      let (from, to) = (
        Int.random(in: entities.indices, using: &random), Int.random(in: entities.indices, using: &random)
      )
      let hasInverse = Bool.random(using: &random)
      var forward = RelationshipDescription(
        "f\(number)", to: entities[to].name, inverse: hasInverse ? "b\(number)" : nil,
        isToMany: Bool.random(using: &random))
      forward.isOrdered = forward.isToMany && Bool.random(using: &random)
      entities[from].relationships.append(forward)
      if !hasInverse { continue }
      var back = RelationshipDescription(
        "b\(number)", to: entities[from].name, inverse: "f\(number)", isToMany: Bool.random(using: &random))
      back.isOrdered = back.isToMany && Bool.random(using: &random)
      entities[to].relationships.append(back)
    }
    model = try ManagedObjectModel(entities)
  }

  func fill(_ context: isolated ManagedObjectContext, _ random: inout SeededGenerator) {
    var objects: [ManagedObject] = []
    for entity in model.entities {
      for _ in 0..<Int.random(in: 0...12, using: &random) {
        let object = context.insertObject(ofEntity: entity.name)
        for property in entity.properties where !property.isHidden {
          guard let type = property.attribute?.type, Int.random(in: 0..<4, using: &random) > 0 else { continue }
          object.setValue(Self.value(type, &random), forKey: property.name)
        }
        objects.append(object)
      }
    }
    for object in objects {
      for property in object.entity.properties where !property.isHidden {
        guard let relationship = property.relationship, let destination = property.destination else { continue }
        let found = objects.filter { $0.entity.isKind(of: destination) && Int.random(in: 0..<4, using: &random) == 0 }
          .shuffled(using: &random)
        if relationship.isOrdered {
          object.setValue(found, forKey: property.name)
        } else if relationship.isToMany {
          object.setValue(Set(found), forKey: property.name)
        } else {
          object.setValue(found.first, forKey: property.name)
        }
      }
    }
  }

  private static func value(_ type: AttributeType, _ random: inout SeededGenerator) -> Any? {
    let number = Int64.random(in: -30_000...30_000, using: &random)
    switch type {
    case .integer16, .integer32: return number
    case .integer64: return Int64.random(in: .min ... .max, using: &random)
    case .boolean: return number > 0
    case .double:
      let value = Double(bitPattern: UInt64.random(in: .min ... .max, using: &random))
      return value.isNaN ? -Double.infinity : value
    case .float: return Double(Float(number) / 8)
    case .decimal: return Decimal(number) / 1_000
    case .date: return Date(timeIntervalSinceReferenceDate: Double(number) * 1e7 / 3)
    case .string: return String(repeating: "x\(number) 🧵", count: Int.random(in: 0...40, using: &random))
    case .uri: return URL(string: "x:\(number)")
    case .uuid: return UUID()
    default: return Data(repeating: UInt8(truncatingIfNeeded: number), count: Int.random(in: 0...3_000, using: &random))
    }
  }
}
