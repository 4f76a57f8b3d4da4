import Foundation
import ObjectGraph
import ObjectModel
import Testing

/// SQL and evaluation in memory on the same objects with to-many relationships.
@Suite("SQL and evaluation in memory, over to-many relationships")
struct ToManyDifferentialTests {
  private static func model() throws -> ManagedObjectModel {
    try ManagedObjectModel([
      EntityDescription(
        "Node",
        attributes: [
          AttributeDescription("name", .string), AttributeDescription("number", .integer64),
          AttributeDescription("weight", .double),
        ],
        relationships: [
          RelationshipDescription("parent", to: "Node", inverse: "children"),
          RelationshipDescription("children", to: "Node", inverse: "parent", isToMany: true),
          RelationshipDescription("tags", to: "Tag", inverse: "nodes", isToMany: true),
          RelationshipDescription("peers", to: "Node", inverse: "peers", isToMany: true),
        ]),
      EntityDescription(
        "Tag", attributes: [AttributeDescription("title", .string), AttributeDescription("level", .integer32)],
        relationships: [RelationshipDescription("nodes", to: "Node", inverse: "tags", isToMany: true)]),
    ])
  }

  @Test("agree on objects and counts for random conditions", arguments: 0..<DifferentialTests.seedCount)
  func agreement(seed: UInt64) throws {
    let model = try Self.model()
    let (disk, memory) = (try StoreFixture(.sqlite, model: model), try StoreFixture(.inMemory, model: model))
    var generator = SeededGenerator(state: seed)
    let (nodes, tags) = try fill(disk, &generator)
    generator = SeededGenerator(state: seed)
    _ = try fill(memory, &generator)
    var random = RandomToManyConditions(generator: generator, nodes: nodes, tags: tags)
    var selective = 0
    for _ in 0..<500 {
      let condition = random.condition()
      var query = StoreQuery(entity: try disk.entity("Node"), coordinatorOrdinal: StoreFixture.ordinal)
      query.condition = try condition.resolved(for: query.entity)
      let found = try keys(query, disk)
      let expected = try keys(query, memory)
      #expect(found == expected, "\(condition)")
      if found != expected { return }
      if !found.isEmpty && found.count < nodes.count { selective += 1 }
      #expect(try disk.store.read { try $0.count(query) } == found.count)
    }
    // Conditions that match all or nothing would prove little.
    #expect(selective > 100, "\(selective) selective conditions")
  }

  private func keys(_ query: StoreQuery, _ fixture: StoreFixture) throws -> [Int64] {
    var keys: [Int64] = []
    try fixture.store.read { reader in
      try reader.fetch(query) { id, _ in
        keys.append(id.key)
        return true
      }
    }
    return keys
  }

  /// Inserts nodes, tags and links; the same ones for the same generator.
  private func fill(
    _ fixture: StoreFixture, _ generator: inout SeededGenerator
  ) throws -> (nodes: [ManagedObjectID], tags: [ManagedObjectID]) {
    func one<Element>(_ list: [Element]) -> Element? {
      let index = Int.random(in: -1..<list.count, using: &generator)
      return index < 0 ? nil : list[index]
    }
    var tags: [ManagedObjectID] = []
    for _ in 0..<5 {
      var values: [String: Any] = [:]
      values["title"] = one(RandomToManyConditions.texts)
      values["level"] = one([Int64(-1), 0, 1, 2])
      tags.append(try fixture.insert("Tag", values).id)
    }
    var nodes: [ManagedObjectID] = []
    for _ in 0..<24 {
      var values: [String: Any] = [:]
      values["name"] = one(RandomToManyConditions.texts)
      values["number"] = one(RandomToManyConditions.numbers)
      values["weight"] = one(RandomToManyConditions.weights + [.nan])
      values["parent"] = one(nodes.suffix(8))
      nodes.append(try fixture.insert("Node", values).id)
    }
    var links: [LinkChange] = []
    func table(_ name: String) throws -> Int {
      try #require(fixture.model.joinTables.first { $0.relationship == name || $0.inverse == name }).index
    }
    for node in nodes {
      for _ in 0..<2 {
        if let tag = one(tags) {
          links.append(LinkChange(LinkKey(table: try table("tags"), left: node, right: tag), isPresent: true))
        }
      }
      if let peer = one(nodes) {
        for (left, right) in [(node, peer), (peer, node)] {
          links.append(LinkChange(LinkKey(table: try table("peers"), left: left, right: right), isPresent: true))
        }
      }
    }
    _ = try fixture.store.save(StoreSaveRequest([ChangeSet([], links: links)]))
    return (nodes, tags)
  }
}
