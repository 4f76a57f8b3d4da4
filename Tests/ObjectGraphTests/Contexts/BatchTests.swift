import Foundation
import ObjectGraph
import StoreTesting
import Testing

@Suite("Packed inserts", .onEachStore)
struct BatchTests {
  @Test("Packed inserts that are not saved yet are found by conditions")
  func conditions() throws {
    let stack = try Stack(People.model)
    try stack.main.performAndWait { main in
      main.insert(try main.personBatch(count: 100))
      let found = try main.fetch(FetchRequest<Person>(format: "age >= 97", sortBy: [.ascending(\.age)]))
      #expect(found.map(\.age) == [97, 98, 99])
      #expect(try main.count(for: FetchRequest<Person>(format: "age < 10")) == 10)
    }
  }

  @Test(
    "Packed inserts can be fetched, changed and deleted, before and after the flush",
    arguments: [true, false])
  func batches(inMemory: Bool) throws {
    let stack = try Stack(People.model, inMemory: inMemory)
    let ids = try stack.main.performAndWait { main in
      let batch = try main.personBatch(count: 1_000)
      main.insert(batch)
      return (0..<1_000).map { batch.id(at: $0) }
    }
    func expectState(_ context: ManagedObjectContext, count: Int, oldest: Int64) throws {
      try context.performAndWait { context in
        let found = try context.count(for: FetchRequest<Person>())
        let first = try context.fetch(FetchRequest<Person>(sortBy: [.descending(\.age)], limit: 1)).first
        #expect(found == count)
        #expect(first?.age == oldest)
      }
    }
    let worker = ManagedObjectContext(parent: stack.main, name: "worker")
    try expectState(worker, count: 1_000, oldest: 999)
    try worker.performAndWait { worker in
      (worker.object(with: ids[3]) as? Person)?.age = 5_000
      worker.delete(worker.object(with: ids[4]))
      try worker.save()
    }
    try expectState(stack.main, count: 999, oldest: 5_000)
    try stack.main.performAndWait { try $0.save() }
    try worker.performAndWait { worker in
      (worker.object(with: ids[5]) as? Person)?.age = 6_000
      worker.delete(worker.object(with: ids[6]))
      try worker.save()
    }
    stack.main.performAndWait { main in
      #expect(main.updatedObjects.map(\.objectID) == [ids[5]])
      #expect(main.deletedObjects.map(\.objectID) == [ids[6]])
    }
    try stack.flush()
    #expect(ids.allSatisfy { !$0.isTemporaryID || $0 == ids[4] || $0 == ids[6] })
    for context in [worker, stack.main, stack.writer, stack.root()] {
      try expectState(context, count: 998, oldest: 6_000)
    }
    stack.main.performAndWait { main in
      (main.object(with: ids[7]) as? Person)?.age = 7_000
      main.delete(main.object(with: ids[5]))
    }
    try stack.flush()
    try expectState(stack.root(), count: 997, oldest: 7_000)
  }
}
