import ObjectGraph
import StoreTesting
import TestSupport
import Testing

/// Random operations in a chain of contexts, after each of which fetches are compared with a model of plain values.
@Suite("Fetches against a brute-force model", .onEachStore)
struct FetchModelTests {
  struct Record: Equatable {
    var age: Int64
    var name: String?
  }

  /// What each level of the chain changed and has not saved: nil stands for a delete.
  private final class Model {
    var stored: [ManagedObjectID: Record] = [:]
    /// From the root down.
    var levels: [[ManagedObjectID: Record?]]

    init(depth: Int) { levels = Array(repeating: [:], count: depth) }

    func visible(from level: Int) -> [ManagedObjectID: Record] {
      var all = stored
      for changes in levels[...level] {
        for (id, record) in changes { all[id] = record }
      }
      return all
    }

    func save(_ level: Int) {
      for (id, record) in levels[level] {
        if level == 0 { stored[id] = record } else { levels[level - 1][id] = .some(record) }
      }
      levels[level] = [:]
    }
  }

  @Test(
    "A child sees the pending changes of all its ancestors in objects, IDs, counts, order, limit and offset",
    arguments: [UInt64](1...12))
  func randomOperations(seed: UInt64) throws {
    let stack = try Stack(People.model, inMemory: seed % 2 == 0)
    let contexts = [stack.writer, stack.main] + stack.chain(3)
    let model = Model(depth: contexts.count)
    var random = SeededGenerator(seed: seed)
    for _ in 0..<150 {
      // One level at a time has changes below which nobody works, as a child keeps what it has once read.
      let level = Int.random(in: 0..<contexts.count, using: &random)
      if model.levels[(level + 1)...].contains(where: { !$0.isEmpty }) {
        let deepest = try #require(model.levels.lastIndex { !$0.isEmpty })
        try contexts[deepest].performAndWait { try $0.save() }
        model.save(deepest)
      } else {
        try change(contexts[level], level, model, &random)
      }
      let reader = Int.random(in: 0..<contexts.count, using: &random)
      try compare(contexts[reader], model.visible(from: reader), &random)
    }
    for level in contexts.indices.reversed() {
      try contexts[level].performAndWait { try $0.save() }
      model.save(level)
    }
    try compare(stack.root(), model.stored, &random)
  }

  private func change(
    _ context: ManagedObjectContext, _ level: Int, _ model: Model, _ random: inout SeededGenerator
  ) throws {
    let known = model.visible(from: level).keys.sorted { $0.uriKey < $1.uriKey }
    let age = Int64.random(in: 0..<40, using: &random)
    let name = ["Ada", "Bea", nil, "Cleo", "ada"].randomElement(using: &random) ?? nil
    let target = known.randomElement(using: &random)
    switch (Int.random(in: 0..<10, using: &random), target) {
    case (0..<4, _), (_, nil):
      let count = Int.random(in: 1...3, using: &random)
      let ids = context.performAndWait { context in
        (0..<count).map { _ in
          let person = Person(context: context)
          person.age = age
          person.firstName = name
          return person.objectID
        }
      }
      for id in ids { model.levels[level][id] = Record(age: age, name: name) }
    case (4..<7, let id?):
      try context.performAndWait { context in
        let person = try #require(context.object(with: id) as? Person)
        try context.refresh(person, mergeChanges: true)
        person.age = age
        person.firstName = name
      }
      model.levels[level][id] = Record(age: age, name: name)
    case (7..<9, let id?):
      context.performAndWait { context in context.delete(context.object(with: id)) }
      model.levels[level][id] = .some(nil)
    default:
      context.performAndWait { $0.rollback() }
      model.levels[level] = [:]
    }
  }

  private func compare(
    _ context: ManagedObjectContext, _ records: [ManagedObjectID: Record], _ random: inout SeededGenerator
  ) throws {
    let bound = Int64.random(in: 0..<40, using: &random)
    let limit = Bool.random(using: &random) ? Int.random(in: 0..<12, using: &random) : nil
    let offset = Int.random(in: 0..<6, using: &random)
    let isAscending = Bool.random(using: &random)
    var request = FetchRequest<Person>(
      .compare(.keyPath(["age"]), .greaterOrEqual, .value(.integer(bound)), []),
      sortBy: [Sort("age", isAscending: isAscending)], limit: limit)
    request.fetchOffset = offset
    let sorted = records.filter { $0.value.age >= bound }.sorted { left, right in
      let (a, b) = (left.value.age, right.value.age)
      return a == b ? left.key.uriKey < right.key.uriKey : isAscending ? a < b : a > b
    }
    let expected = Array(sorted.dropFirst(offset).prefix(limit ?? .max))
    try context.performAndWait { [request] context in
      let objects = try context.fetch(request)
      #expect(objects.map(\.objectID) == expected.map(\.key))
      #expect(objects.map { Record(age: $0.age, name: $0.firstName) } == expected.map(\.value))
      let ids = try context.fetchIDs(request)
      let count = try context.count(for: request)
      let totalCount = try context.count(for: FetchRequest<Person>())
      #expect(ids == expected.map(\.key))
      #expect(count == expected.count)
      #expect(totalCount == records.count)
    }
  }
}

extension ManagedObjectID {
  /// The key, by which ties are broken.
  fileprivate var uriKey: Int64 { key }
}
