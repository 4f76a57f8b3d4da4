import Foundation
import ObjectGraph
import Testing

/// SQL and evaluation in memory on the same data.
@Suite("SQL and evaluation in memory")
struct DifferentialTests {
  /// 500 conditions each; `make test-differential` sets 40.
  private static let seedCount =
    ProcessInfo.processInfo.environment["BOBBIN_DIFFERENTIAL_SEEDS"].flatMap(UInt64.init) ?? 8

  @Test("agree on objects, order and counts for random conditions", arguments: 0..<seedCount)
  func agreement(seed: UInt64) throws {
    let model = try RandomData.model()
    let (disk, memory) = (try StoreFixture(.sqlite, model: model), try StoreFixture(.inMemory, model: model))
    let data = try RandomData(disk, seed: seed)
    _ = try RandomData(memory, seed: seed)
    let stranger = ManagedObjectID(key: data.tags[0].key, entity: try disk.entity("Tag"), coordinatorOrdinal: 99)
    var random = RandomConditions(data: data, stranger: stranger, seed: seed)
    var selective = 0
    for _ in 0..<500 {
      let condition = random.condition()
      var query = StoreQuery(
        entity: try disk.entity(random.one(["Node", "Node", "Leaf"])), sortDescriptors: random.sorts(),
        coordinatorOrdinal: StoreFixture.ordinal)
      query.includesSubentities = random.chance(80)
      query.condition = try condition.resolved(for: query.entity)
      if random.chance(25) {
        query.limit = Int.random(in: 0..<20, using: &random.generator)
        query.offset = Int.random(in: 0..<10, using: &random.generator)
      }
      let found = try keys(query, disk)
      let expected = try keys(query, memory)
      #expect(found == expected, "\(condition) sorted by \(query.sortDescriptors)")
      if found != expected { return }
      if !found.isEmpty && found.count < data.nodes.count { selective += 1 }
      #expect(try disk.store.read { try $0.count(query) } == found.count)
      try checkText(condition, query, expected, memory)
    }
    // Conditions that match all or nothing would prove little.
    #expect(selective > 150, "\(selective) selective conditions")
  }

  /// A condition's description is a format string of the same meaning, where its values have literals.
  private func checkText(
    _ condition: Condition, _ query: StoreQuery, _ expected: [Int64], _ fixture: StoreFixture
  ) throws {
    let text = condition.description
    if ["<object", "inf", "nan", "\0"].contains(where: text.contains) { return }
    var query = query
    query.condition = try Condition(format: text).resolved(for: query.entity)
    #expect(try keys(query, fixture) == expected, "\(text)")
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
}
