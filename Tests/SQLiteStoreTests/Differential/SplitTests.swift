import Foundation
import ObjectGraph
import SQLGeneration
import Testing

/// Both halves of random conditions, evaluated in memory, beside the whole.
@Suite("The halves of random conditions")
struct SplitTests {
  @Test("lose no object and let none slip in", arguments: UInt64(100)..<104)
  func halves(seed: UInt64) throws {
    let fixture = try StoreFixture(.inMemory, model: try RandomData.model())
    let data = try RandomData(fixture, seed: seed, hasZeros: false)
    let stranger = ManagedObjectID(key: data.tags[0].key, entity: try fixture.entity("Tag"), coordinatorOrdinal: 99)
    var random = RandomConditions(data: data, stranger: stranger, seed: seed)
    var (exact, helpful) = (0, 0)
    for _ in 0..<500 {
      let entity = try fixture.entity(random.one(["Node", "Leaf"]))
      let condition = try random.condition().resolved(for: entity)
      let split = try ConditionSplit(condition, for: entity, dialect: .postgres)
      let all = try keys(condition, entity, fixture)
      let asked = try keys(split.asked ?? .constant(true), entity, fixture)
      #expect(asked.isSuperset(of: all), "\(condition) asks for \(split.asked?.description ?? "everything")")
      let both = Condition.and([split.asked, split.residual].compactMap(\.self))
      #expect(try keys(both, entity, fixture) == all, "\(condition) is \(both)")
      if split.residual == nil { exact += 1 } else if asked.count < data.nodes.count { helpful += 1 }
    }
    // Half of the random conditions fold texts or compute; fewer exact ones mean that SQL has unlearnt something.
    #expect(exact > 150, "\(exact) conditions that SQL answers")
    #expect(helpful > 40, "\(helpful) conditions of which SQL answers a part")
  }

  private func keys(_ condition: Condition, _ entity: Entity, _ fixture: StoreFixture) throws -> Set<Int64> {
    var keys: Set<Int64> = []
    let query = StoreQuery(entity: entity, condition: condition, coordinatorOrdinal: StoreFixture.ordinal)
    try fixture.store.read { reader in
      try reader.fetch(query) { id, _ in
        keys.insert(id.key)
        return true
      }
    }
    return keys
  }
}
