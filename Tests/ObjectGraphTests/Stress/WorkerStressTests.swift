import Dispatch
import Foundation
import ObjectGraph
import Synchronization
import TestSupport
import Testing

@Suite("Workers on eight threads")
struct WorkerStressTests {
  private static let threadCount = 8
  private static let roundCount = 16

  @Test(
    "Workers save into one main while main and the writer save: nothing is lost, and main equals the store",
    arguments: [UInt64(1), 2])
  func workers(seed: UInt64) throws {
    let stack = try Stack(People.model)
    let shared = try stack.main.performAndWait { main in
      let ids = (0..<Self.threadCount).map { _ in Person(context: main).objectID }
      try main.save()
      return ids
    }
    let expected = Mutex<[ManagedObjectID: Int64]>([:])
    let isDone = Atomic(false)
    let savers = DispatchGroup()
    for context in [stack.main, stack.writer] {
      DispatchQueue.global().async(group: savers) {
        while !isDone.load(ordering: .acquiring) {
          #expect(throws: Never.self) { try context.performAndWait { try $0.save() } }
        }
      }
    }
    DispatchQueue.concurrentPerform(iterations: Self.threadCount) { thread in
      #expect(throws: Never.self) {
        try work(thread, stack, shared: shared, expected, SeededGenerator(seed: seed << 8 | UInt64(thread)))
      }
    }
    isDone.store(true, ordering: .releasing)
    #expect(savers.wait(timeout: .now() + 60) == .success)
    try stack.flush()

    let ages = expected.withLock { $0 }
    for context in [stack.main, stack.root()] {
      let found = try context.performAndWait { context in
        try context.fetch(FetchRequest<Person>()).map { ($0.objectID, $0.age, $0.lastName) }
      }
      let own = found.filter { !shared.contains($0.0) }
      #expect(Dictionary(uniqueKeysWithValues: own.map { ($0.0, $0.1) }) == ages)
      // Every thread changed another property pair of every shared object, or its own; no change was lost.
      for (index, id) in shared.enumerated() {
        let person = found.first { $0.0 == id }
        #expect(person?.1 == Int64(Self.roundCount - 1))
        #expect(person?.2 == "\((index + 1) % Self.threadCount) \(Self.roundCount - 1)")
      }
    }
  }

  /// One thread's rounds: a fresh worker inserts, changes, deletes and fetches, and saves, or is dropped.
  private func work(
    _ thread: Int, _ stack: Stack, shared: [ManagedObjectID], _ expected: borrowing Mutex<[ManagedObjectID: Int64]>,
    _ generator: SeededGenerator
  ) throws {
    var random = generator
    var mine: [ManagedObjectID: Int64] = [:]
    for round in 0..<Self.roundCount {
      let worker = ManagedObjectContext(parent: stack.main, name: "worker \(thread)")
      let insertCount = Int.random(in: 0..<20, using: &random)
      let isBig = Int.random(in: 0..<8, using: &random) == 0
      let changed = mine.keys.randomElement(using: &random)
      let deleted = mine.keys.randomElement(using: &random)
      let isDropped = Int.random(in: 0..<5, using: &random) == 0
      let base = mine
      mine = try worker.performAndWait { worker in
        var result = base
        for index in 0..<(isBig ? 300 : insertCount) {
          let person = Person(context: worker)
          person.age = Int64(round * 1_000 + index)
          result[person.objectID] = person.age
        }
        if let changed {
          (worker.object(with: changed) as? Person)?.age = Int64(-round)
          result[changed] = Int64(-round)
        }
        if let deleted {
          worker.delete(worker.object(with: deleted))
          result[deleted] = nil
        }
        // Two threads change each shared object: one its age, the other its name.
        (worker.object(with: shared[thread]) as? Person)?.age = Int64(round)
        let neighbour = (thread + Self.threadCount - 1) % Self.threadCount
        (worker.object(with: shared[neighbour]) as? Person)?.lastName = "\(thread) \(round)"
        let visible = try worker.fetchIDs(FetchRequest<Person>())
        #expect(Set(visible).isSuperset(of: result.keys))
        #expect(Set(visible).count == visible.count)
        if isDropped && round < Self.roundCount - 1 { return base }
        try worker.save()
        return result
      }
    }
    expected.withLock { [mine] in $0.merge(mine) { $1 } }
  }
}
