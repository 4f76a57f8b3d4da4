import Foundation
import ObjectGraph
import Testing

/// SQL and evaluation in memory on the same data.
@Suite("SQL and evaluation in memory")
struct DifferentialTests {
  /// 500 conditions each; `make test-differential` sets 40.
  private static let seedCount =
    ProcessInfo.processInfo.environment["BOBBIN_DIFFERENTIAL_SEEDS"].flatMap(UInt64.init) ?? 8
  private static let conditionCount = 500
  private static let databases = StoreKind.allCases.filter { $0 == .sqlite || $0 == .postgres }

  @Test("agree on objects, order and counts for random conditions", arguments: databases, 0..<seedCount)
  func agreement(kind: StoreKind, seed: UInt64) throws {
    let model = try RandomData.model()
    let (disk, memory) = (try StoreFixture(kind, model: model), try StoreFixture(.inMemory, model: model))
    let data = try RandomData(disk, seed: seed, hasZeros: kind.keepsZeroInTexts)
    _ = try RandomData(memory, seed: seed, hasZeros: kind.keepsZeroInTexts)
    let stranger = ManagedObjectID(key: data.tags[0].key, entity: try disk.entity("Tag"), coordinatorOrdinal: 99)
    var random = RandomConditions(data: data, stranger: stranger, seed: seed)
    var selective = 0
    var leftToMemory = LeftToMemory(disk.store)
    for _ in 0..<Self.conditionCount {
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
      #expect(try leftToMemory.count { try disk.store.read { try $0.count(query) } } == found.count)
      try checkText(condition, query, expected, memory)
    }
    // Conditions that match all or nothing would prove little.
    #expect(selective > 150, "\(selective) selective conditions")
    // More of either means that SQL has unlearnt something, though all answers stay right.
    let (queries, rows) = (leftToMemory.queries, leftToMemory.rows)
    #expect(queries <= 350, "\(queries) of \(Self.conditionCount) conditions left to memory")
    #expect(rows <= queries * 30, "\(rows) rows of \(data.nodes.count) read for each of \(queries) conditions")
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

/// The work that SQL leaves to memory in some queries of a store; SQLite leaves none.
private struct LeftToMemory {
  private let counter: ResidualCount?
  private(set) var queries = 0
  private(set) var rows = 0

  init(_ store: any PersistentStore) { counter = (store as? PostgresStore)?.residuals }

  /// Runs queries that need no order, and adds what they left.
  mutating func count<Result>(_ body: () throws -> Result) rethrows -> Result {
    let before = (counter?.queries ?? 0, counter?.rows ?? 0)
    let result = try body()
    queries += (counter?.queries ?? 0) - before.0
    rows += (counter?.rows ?? 0) - before.1
    return result
  }
}
