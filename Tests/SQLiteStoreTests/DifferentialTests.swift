import Foundation
import ObjectGraph
import ObjectModel
import SQLiteStore
import Testing

/// SQL and evaluation in memory on the same data.
@Suite("SQL and evaluation in memory")
struct DifferentialTests {
  /// How many rounds of 500 conditions; `make test-differential` sets 40.
  static let seedCount =
    ProcessInfo.processInfo.environment["BOBBIN_DIFFERENTIAL_SEEDS"].flatMap(UInt64.init) ?? 8

  @Test("agree on objects and order for random conditions", arguments: 0..<seedCount)
  func agreement(seed: UInt64) throws {
    let (disk, memory) = (try StoreFixture(.sqlite), try StoreFixture(.inMemory))
    var generator = SeededGenerator(state: seed)
    let (people, companies) = try fill(disk, &generator)
    generator = SeededGenerator(state: seed)
    _ = try fill(memory, &generator)
    let company = try disk.entity("Company")
    var random = RandomConditions(
      generator: generator, people: people, companies: companies,
      stranger: ManagedObjectID(key: companies[0].key, entity: company, coordinatorOrdinal: 99))
    var matches = 0
    var selective = 0
    for _ in 0..<500 {
      let condition = random.condition()
      var query = StoreQuery(
        entity: try disk.entity("Person"), sortDescriptors: random.sorts(), coordinatorOrdinal: StoreFixture.ordinal)
      query.condition = try condition.resolved(for: query.entity)
      if Int.random(in: 0..<4, using: &random.generator) == 0 {
        query.limit = Int.random(in: 0..<20, using: &random.generator)
        query.offset = Int.random(in: 0..<10, using: &random.generator)
      }
      let found = try keys(query, disk)
      query.entity = try memory.entity("Person")
      let expected = try keys(query, memory)
      #expect(found == expected, "\(condition) sorted by \(query.sortDescriptors)")
      if found != expected { return }
      matches += found.count
      if !found.isEmpty && found.count < people.count { selective += 1 }
      #expect(try disk.store.read { try $0.count(query) } == found.count)
    }
    // Conditions that match all or nothing would prove little.
    #expect(matches > 500 && selective > 100, "\(matches) matches, \(selective) selective conditions")
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

  /// Inserts people, companies and pets; the same ones for the same generator.
  private func fill(
    _ fixture: StoreFixture, _ generator: inout SeededGenerator
  ) throws -> (people: [ManagedObjectID], companies: [ManagedObjectID]) {
    func one<Element>(_ list: [Element]) -> Element? {
      let index = Int.random(in: -1..<list.count, using: &generator)
      return index < 0 ? nil : list[index]
    }
    var companies: [ManagedObjectID] = []
    for _ in 0..<5 {
      companies.append(try fixture.insert("Company", one(RandomConditions.texts).map { ["name": $0] } ?? [:]).id)
    }
    // Nobody inserts this one: a reference to it dangles.
    companies.append(try fixture.newID("Company"))
    var pets: [ManagedObjectID] = []
    for index in 0..<6 {
      let values = one(RandomConditions.texts).map { ["name": $0] } ?? [:]
      pets.append(try fixture.insert(index.isMultiple(of: 2) ? "Dog" : "Cat", values).id)
    }
    var people: [ManagedObjectID] = []
    for _ in 0..<80 {
      var values: [String: Any] = [:]
      values["name"] = one(RandomConditions.texts)
      values["age"] = one(RandomConditions.integers)
      values["score"] = one(RandomConditions.reals + [.nan])
      values["isMember"] = one([true, false])
      values["born"] = one(RandomConditions.reals.filter(\.isFinite))
      values["wealth"] = one(RandomConditions.decimals)
      values["identity"] = one(RandomConditions.uuids)
      values["page"] = one(RandomConditions.pages)
      values["icon"] = one([Data([1]), Data()])
      values["employer"] = one(companies)
      values["pet"] = one(pets)
      people.append(try fixture.insert("Person", values).id)
    }
    return (people, companies)
  }
}
