import Foundation
import ObjectGraph
import TestSupport
import Testing

/// Objects at random, with the same values for the same seed: nodes of three entities, tags, and every kind of link.
struct RandomData {
  static let texts = [
    "", "a", "A", "ab", "AB", "abc", "É", "é", "e\u{301}", "e", "ß", "z", "a\0b", "%", "a*", "?", "\u{1F600}",
    "\u{D7FF}", "\u{E000}", "\u{FFFF}", "\u{10FFFF}", "\u{10FFFF}x", "a\\b", "İ", "12", "1e3",
  ]
  static let integers: [Int64] = [.min, -3, -1, 0, 1, 2, 3, 7, 70_000, 9_007_199_254_740_993, .max]
  static let reals: [Double] = [
    -.infinity, -1e300, -1.5, -1, -0.0, 0, 0.5, 1, 2.5, 9_007_199_254_740_992, 0x1p63, .infinity,
  ]
  static let decimals = [
    "0", "0.00", "-1.50", "-1.5", "1.5", "10", "9.999", "0.001", "-0.001", "123456789012345678901",
  ]
  static let uuids = [1, 2, 255].map { UUID(uuid: ($0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, $0)) }
  static let pages = ["http://a.example", "http://b.example/x", "HTTP://A.example"]

  let nodes: [ManagedObjectID]
  let tags: [ManagedObjectID]

  static func model() throws -> ManagedObjectModel {
    var steps = RelationshipDescription("steps", to: "Tag", inverse: "walkers", isToMany: true)
    steps.isOrdered = true
    var children = RelationshipDescription("children", to: "Node", inverse: "parent", isToMany: true)
    children.isOrdered = true
    return try ManagedObjectModel([
      EntityDescription(
        "Node",
        attributes: [
          AttributeDescription("name", .string), AttributeDescription("number", .integer64),
          AttributeDescription("small", .integer16), AttributeDescription("weight", .double),
          AttributeDescription("member", .boolean), AttributeDescription("born", .date),
          AttributeDescription("wealth", .decimal), AttributeDescription("identity", .uuid),
          AttributeDescription("page", .uri), AttributeDescription("icon", .binary),
        ],
        relationships: [
          RelationshipDescription("parent", to: "Node", inverse: "children"), children, steps,
          RelationshipDescription("home", to: "Tag", inverse: "residents"),
          RelationshipDescription("peers", to: "Node", inverse: "peers", isToMany: true),
          RelationshipDescription("followed", to: "Node", isToMany: true),
        ]),
      EntityDescription("Leaf", parent: "Node", attributes: [AttributeDescription("colour", .string)]),
      EntityDescription("Twig", parent: "Leaf"),
      EntityDescription(
        "Tag",
        attributes: [
          AttributeDescription("title", .string), AttributeDescription("level", .integer32),
          AttributeDescription("price", .decimal),
        ],
        relationships: [
          RelationshipDescription("walkers", to: "Node", inverse: "steps", isToMany: true),
          RelationshipDescription("residents", to: "Node", inverse: "home", isToMany: true, deleteRule: .noAction),
        ]),
    ])
  }

  /// Fills a store.
  ///
  /// - Parameter hasZeros: whether texts may hold U+0000, which PostgreSQL refuses.
  init(_ fixture: StoreFixture, seed: UInt64, hasZeros: Bool = true) throws {
    let texts = hasZeros ? Self.texts : Self.texts.filter { !$0.utf8.contains(0) }
    var generator = SeededGenerator(seed: seed)
    func one<Element>(_ list: [Element]) -> Element? {
      let index = Int.random(in: -1..<list.count, using: &generator)
      return index < 0 ? nil : list[index]
    }
    var changes: [RowChange] = []
    var tags: [ManagedObjectID] = []
    for _ in 0..<6 {
      var values: [String: Any] = [:]
      values["title"] = one(texts)
      values["level"] = one([Int64(-1), 0, 1, 2])
      values["price"] = one(Self.decimals)
      tags.append(try fixture.newID("Tag"))
      changes.append(RowChange(.insert, tags[tags.count - 1], row: try fixture.row("Tag", values), base: nil))
    }
    // Deleted in the end: references to it dangle, as no action lets them.
    let (missing, missingRow) = try fixture.insert("Tag")
    var nodes: [ManagedObjectID] = []
    for _ in 0..<40 {
      var values: [String: Any] = [:]
      values["name"] = one(texts)
      values["number"] = one(Self.integers)
      values["small"] = one([Int64(-2), 0, 1, 5])
      values["weight"] = one(Self.reals + [.nan])
      values["member"] = one([true, false])
      values["born"] = one([-1e300, -1, 0, 0.5, 86_400])
      values["wealth"] = one(Self.decimals)
      values["identity"] = one(Self.uuids)
      values["page"] = one(Self.pages)
      values["icon"] = one([Data([1]), Data()])
      values["parent"] = one(nodes.suffix(8))
      values["home"] = one(tags + [missing])
      let entity = one(["Leaf", "Twig"]) ?? "Node"
      nodes.append(try fixture.newID(entity))
      changes.append(RowChange(.insert, nodes[nodes.count - 1], row: try fixture.row(entity, values), base: nil))
    }
    var links: [LinkChange] = []
    func link(_ relationship: String, _ left: ManagedObjectID, _ right: ManagedObjectID) throws {
      let table = try #require(fixture.model.joinTables.first { $0.relationship == relationship })
      links.append(
        LinkChange(
          LinkKey(table: table.index, left: left, right: right), isPresent: true,
          order: table.isOrdered ? Int64(links.count) : nil))
    }
    for node in nodes {
      for tag in Set([one(tags), one(tags)].compactMap { $0 }) { try link("steps", node, tag) }
      if let other = one(nodes) { try link("followed", node, other) }
      guard let peer = one(nodes) else { continue }
      try link("peers", node, peer)
      if peer != node { try link("peers", peer, node) }
    }
    let saved = try fixture.store.save(StoreSaveRequest([ChangeSet(changes, links: links)]))
    let deleted = try fixture.save(RowChange(.delete, missing, row: nil, base: missingRow))
    #expect(saved.conflicts.isEmpty && deleted.conflicts.isEmpty)
    (self.nodes, self.tags) = (nodes, tags)
  }
}
