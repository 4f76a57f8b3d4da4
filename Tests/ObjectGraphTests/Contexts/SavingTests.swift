import Foundation
import ObjectGraph
import ObjectGraphTesting
import Testing

@Suite("Saving one level up")
struct SavingTests {
  let stack: Stack

  init() throws { stack = try Stack(People.model) }

  @Test("A failed save keeps the changes, at every step where the store can fail, and the next try succeeds")
  func failingStore() throws {
    for step in 0..<5 {
      let stack = try Stack(People.model)
      stack.faults.fail(with: .inputOutput, atStatement: step)
      try stack.writer.performAndWait { writer in
        let people = (0..<3).map { index in
          let person = Person(context: writer)
          person.age = Int64(index)
          return person
        }
        #expect(throws: StoreError.self) { try writer.save() }
        #expect(writer.insertedObjects == Set(people))
        people[0].age = 7
        try writer.save()
        #expect(writer.hasChanges == false)
      }
      let ages = try stack.root().performAndWait {
        try $0.fetch(FetchRequest<Person>(sortBy: [.ascending(\.age)])).map(\.age)
      }
      #expect(ages == [1, 2, 7])
    }
  }

  @Test("What children save while the root's save is failing is kept on top of what was being saved")
  func childrenDuringFailure() throws {
    let inSave = DispatchSemaphore(value: 0)
    let goOn = DispatchSemaphore(value: 0)
    stack.faults.beforeEachStep { point in
      guard point.step == .commit else { return }
      inSave.signal()
      _ = goOn.wait(timeout: .now() + 10)
    }
    stack.faults.fail(with: .inputOutput, at: .commit)
    let ids = try stack.main.performAndWait { main in
      let people = (0..<4).map { index in
        let person = Person(context: main)
        person.age = Int64(index)
        return person.objectID
      }
      try main.save()
      return people
    }
    let saved = DispatchSemaphore(value: 0)
    stack.writer.perform { writer in
      #expect(throws: StoreError.self) { try writer.save() }
      saved.signal()
    }
    #expect(inSave.wait(timeout: .now() + 10) == .success)
    try stack.main.performAndWait { main in
      (main.object(with: ids[0]) as? Person)?.age = 100
      main.delete(main.object(with: ids[1]))
      Person(context: main).age = 200
      try main.save()
      let ages = try main.fetch(FetchRequest<Person>(sortBy: [.ascending(\.age)])).map(\.age)
      #expect(ages == [2, 3, 100, 200])
    }
    stack.faults.beforeEachStep(nil)
    goOn.signal()
    #expect(saved.wait(timeout: .now() + 10) == .success)
    try stack.writer.performAndWait { writer in
      #expect(writer.insertedObjects.count == 4)
      try writer.save()
    }
    let ages = try stack.root().performAndWait {
      try $0.fetch(FetchRequest<Person>(sortBy: [.ascending(\.age)])).map(\.age)
    }
    #expect(ages == [2, 3, 100, 200])
  }

  @Test("What children save while the root's save succeeds stays pending, and is saved by the next save")
  func childrenDuringSave() throws {
    let inSave = DispatchSemaphore(value: 0)
    let goOn = DispatchSemaphore(value: 0)
    stack.faults.beforeEachStep { point in
      guard point.step == .commit else { return }
      inSave.signal()
      _ = goOn.wait(timeout: .now() + 10)
    }
    let (kept, gone) = try stack.main.performAndWait { main in
      let people = (0..<2).map { _ in Person(context: main) }
      try main.save()
      return (people[0].objectID, people[1].objectID)
    }
    // The writer has both as objects, which must keep the flags of what arrives during the flush.
    let saved = DispatchSemaphore(value: 0)
    stack.writer.perform { writer in
      let objects = [kept, gone].map { writer.object(with: $0) }
      #expect(throws: Never.self) { try writer.save() }
      writer.processPendingChanges()
      #expect(objects[0].isUpdated && !objects[0].isInserted)
      #expect(objects[1].isDeleted)
      saved.signal()
    }
    #expect(inSave.wait(timeout: .now() + 10) == .success)
    try stack.main.performAndWait { main in
      (main.object(with: kept) as? Person)?.age = 5
      main.delete(main.object(with: gone))
      try main.save()
    }
    stack.faults.beforeEachStep(nil)
    goOn.signal()
    #expect(saved.wait(timeout: .now() + 10) == .success)
    let hasChanges = stack.writer.performAndWait { $0.hasChanges }
    #expect(hasChanges)
    try stack.writer.performAndWait { try $0.save() }
    let ages = try stack.root().performAndWait { try $0.fetch(FetchRequest<Person>()).map(\.age) }
    #expect(ages == [5])
  }

  @Test("Without a store, inserting works and saving tells that there is none, again and again")
  func noStore() throws {
    let coordinator = PersistentStoreCoordinator(model: People.model)
    let context = ManagedObjectContext(coordinator: coordinator)
    context.performAndWait { context in
      let people = (0..<3).map { _ in Person(context: context) }
      #expect(Set(people.map(\.objectID)).count == 3)
      for _ in 0..<2 {
        let error = #expect(throws: StoreError.self) { try context.save() }
        #expect(error?.code == .noStore)
      }
      #expect(context.insertedObjects.count == 3)
    }
  }
}
