import Foundation
import ObjectGraph
import ObjectModel
import Testing

@Suite("Inserting, changing, saving and going back")
struct ChangeTests {
  let stack: Stack

  init() throws { stack = try Stack(People.model) }

  private func savedPerson(_ name: String = "Ada", age: Int64 = 1) throws -> ManagedObjectID {
    let id = stack.main.performAndWait { main in
      let person = Person(context: main)
      person.firstName = name
      person.age = age
      return person.objectID
    }
    try stack.flush()
    return id
  }

  @Test("A save goes one level up only, through a chain of five contexts, and at last into the store")
  func oneLevelAtATime() throws {
    let chain = stack.chain(5)
    let id = try chain[4].performAndWait { context in
      let person = Person(context: context)
      person.firstName = "Ada"
      try context.save()
      return person.objectID
    }
    let levels = Array(([stack.writer, stack.main] + chain).reversed())
    for (below, level) in zip(levels, levels.dropFirst()) {
      let isClean = below.performAndWait { !$0.hasChanges }
      #expect(isClean)
      try level.performAndWait { context in
        #expect(context.insertedObjects.map(\.objectID) == [id])
        #expect(id.isTemporaryID)
        try context.save()
      }
    }
    #expect(!id.isTemporaryID)
    let stored = try stack.root().performAndWait { try $0.fetch(FetchRequest<Person>()).map(\.firstName) }
    #expect(stored == ["Ada"])
  }

  @Test("A failed save keeps the changes, at every step where the store can fail, and the next try succeeds")
  func failingStore() throws {
    let remaining = Recorder<Int>()
    for step in 0..<5 {
      let stack = try Stack(People.model) { point in
        if point.index == step && remaining.all.count <= step {
          remaining.append(step)
          return 10
        }
        return nil
      }
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
    let failures = Recorder<Int>()
    let stack = try Stack(People.model) { point in
      guard point.step == .commit, failures.all.isEmpty else { return nil }
      failures.append(1)
      inSave.signal()
      _ = goOn.wait(timeout: .now() + 10)
      return 10
    }
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
    let calls = Recorder<Int>()
    let stack = try Stack(People.model) { point in
      guard point.step == .commit, calls.all.isEmpty else { return nil }
      calls.append(1)
      inSave.signal()
      _ = goOn.wait(timeout: .now() + 10)
      return nil
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
    goOn.signal()
    #expect(saved.wait(timeout: .now() + 10) == .success)
    let hasChanges = stack.writer.performAndWait { $0.hasChanges }
    #expect(hasChanges)
    try stack.writer.performAndWait { try $0.save() }
    let ages = try stack.root().performAndWait { try $0.fetch(FetchRequest<Person>()).map(\.age) }
    #expect(ages == [5])
  }

  @Test("Edits in a parent that are not published yet survive a child's save to other properties of the object")
  func threeWayMerge() throws {
    let id = try savedPerson()
    let worker = ManagedObjectContext(parent: stack.main, name: "worker")
    try stack.main.performAndWait { main in
      let person = try #require(main.object(with: id) as? Person)
      person.lastName = "Lovelace"
      try worker.performAndWait { worker in
        (worker.object(with: id) as? Person)?.age = 36
        try worker.save()
      }
      main.processPendingChanges()
      #expect(person.lastName == "Lovelace")
      #expect(person.age == 36)
    }
    try stack.flush()
    let stored = try stack.root().performAndWait { root in
      try root.fetch(FetchRequest<Person>()).map { "\($0.firstName ?? "") \($0.lastName ?? "") \($0.age)" }
    }
    #expect(stored == ["Ada Lovelace 36"])
  }

  @Test("Two workers that change different properties of one object both count, whoever saves first")
  func siblings() throws {
    let id = try savedPerson()
    let workers = ["first", "second"].map { ManagedObjectContext(parent: stack.main, name: $0) }
    workers[0].performAndWait { ($0.object(with: id) as? Person)?.age = 2 }
    workers[1].performAndWait { ($0.object(with: id) as? Person)?.lastName = "Byron" }
    try workers[0].performAndWait { try $0.save() }
    try stack.flush()
    try workers[1].performAndWait { try $0.save() }
    try stack.flush()
    // The second worker's row never was the stored one; a further change of it is no conflict.
    try workers[1].performAndWait { worker in
      (worker.object(with: id) as? Person)?.firstName = "Augusta"
      try worker.save()
    }
    try stack.flush()
    let stored = try stack.root().performAndWait { root in
      try root.fetch(FetchRequest<Person>()).map { "\($0.firstName ?? "") \($0.lastName ?? "") \($0.age)" }
    }
    #expect(stored == ["Augusta Byron 2"])
  }

  @Test("A delete is final: an update by a worker that did not know of it comes to nothing")
  func deleteWins() throws {
    let id = try savedPerson()
    let worker = ManagedObjectContext(parent: stack.main, name: "worker")
    worker.performAndWait { ($0.object(with: id) as? Person)?.age = 2 }
    stack.main.performAndWait { main in main.delete(main.object(with: id)) }
    try worker.performAndWait { try $0.save() }
    try stack.flush()
    let count = try stack.root().performAndWait { try $0.count(for: FetchRequest<Person>()) }
    #expect(count == 0)
  }

  @Test("Two root contexts that change one object conflict: the second save lists it and writes nothing")
  func conflict() throws {
    let id = try savedPerson()
    let other = stack.root()
    other.performAndWait { ($0.object(with: id) as? Person)?.age = 50 }
    stack.main.performAndWait { main in (main.object(with: id) as? Person)?.age = 60 }
    try stack.flush()
    other.performAndWait { other in
      Person(context: other).firstName = "Bea"
      let conflicts = #expect(throws: SaveConflicts.self) { try other.save() }
      #expect(conflicts?.conflicts.map(\.objectID) == [id])
      #expect(conflicts?.conflicts.first?.expectedVersion == 1)
      #expect(conflicts?.conflicts.first?.storedVersion == 2)
      #expect(other.hasChanges == true)
    }
    let rowCount = try SQLiteShell(path: stack.storePath).run("SELECT count(*), max(age) FROM Person")
    #expect(rowCount == "1|60")
    // Put on top of the values of now, the same change is no conflict.
    try other.performAndWait { other in
      try other.refresh(other.object(with: id), mergeChanges: true)
      try other.save()
    }
    #expect(try SQLiteShell(path: stack.storePath).run("SELECT count(*), max(age) FROM Person") == "2|50")
  }

  @Test("Rollback gives committed values back, and takes inserted objects and what children saved out of the context")
  func rollback() throws {
    let id = try savedPerson()
    let worker = ManagedObjectContext(parent: stack.main, name: "worker")
    try worker.performAndWait { worker in
      Person(context: worker).firstName = "Bea"
      try worker.save()
    }
    try stack.main.performAndWait { main in
      let person = try #require(main.object(with: id) as? Person)
      person.age = 99
      let inserted = Person(context: main)
      main.processPendingChanges()
      main.delete(person)
      #expect(person.isDeleted)
      main.rollback()
      #expect(person.age == 1 && !person.isDeleted && !person.hasChanges)
      #expect(inserted.managedObjectContext == nil && !inserted.isInserted)
      #expect(main.hasChanges == false)
      let names = try main.fetch(FetchRequest<Person>()).map(\.firstName)
      #expect(names == ["Ada"])
      person.age = 3
      try main.save()
    }
    try stack.writer.performAndWait { try $0.save() }
    #expect(try SQLiteShell(path: stack.storePath).run("SELECT age FROM Person") == "3")
  }

  @Test("Reset forgets objects and changes, pending deletes too, and reports which objects there were")
  func reset() throws {
    let id = try savedPerson()
    let events = EventRecorder(stack.main)
    try stack.main.performAndWait { main in
      let person = try #require(try main.existingObject(with: id) as? Person)
      main.delete(person)
      main.reset()
      #expect(person.managedObjectContext == nil && person.firstName == "Ada")
      #expect(main.hasChanges == false && main.registeredObjects.isEmpty)
      let count = try main.count(for: FetchRequest<Person>())
      #expect(count == 1)
    }
    let resets = events.all.compactMap { if case .didReset(let reset) = $0 { reset.objectIDs } else { nil } }
    #expect(resets == [[id]])
  }

  @Test("Refresh without merging drops the object's changes only, and the next read sees the newest values")
  func refresh() throws {
    let id = try savedPerson()
    try stack.main.performAndWait { main in
      let person = try #require(main.object(with: id) as? Person)
      person.age = 7
      let other = Person(context: main)
      main.processPendingChanges()
      person.lastName = "not published"
      try main.refresh(person, mergeChanges: false)
      #expect(person.isFault && !person.hasChanges)
      #expect(person.age == 1 && person.lastName == nil)
      #expect(main.insertedObjects == [other] && main.updatedObjects.isEmpty)
      person.age = 8
      try main.refresh(person, mergeChanges: true)
      #expect(person.age == 8 && person.isUpdated)
      #expect(person.changedValues() == ["age": .integer(8)])
      #expect(person.committedValues(forKeys: ["age"]) == ["age": .integer(1)])
    }
  }

  @Test("An object that was inserted and deleted again leaves no ghost in any set, at any level")
  func insertAndDelete() throws {
    let worker = ManagedObjectContext(parent: stack.main, name: "worker")
    try worker.performAndWait { worker in
      let first = Person(context: worker)
      worker.delete(first)
      #expect(worker.hasChanges == false)
      let second = Person(context: worker)
      worker.processPendingChanges()
      worker.delete(second)
      worker.processPendingChanges()
      #expect(worker.hasChanges == false && worker.insertedObjects.isEmpty && worker.deletedObjects.isEmpty)
      let third = Person(context: worker)
      try worker.save()
      worker.delete(third)
      try worker.save()
      #expect(third.managedObjectContext == nil)
    }
    let hasChanges = stack.main.performAndWait { $0.hasChanges }
    #expect(!hasChanges)
  }

  @Test("Saves post will-save and did-save once each, with the objects of all levels below, on the executor")
  func notifications() throws {
    let id = try savedPerson()
    let events = EventRecorder(stack.main)
    let worker = ManagedObjectContext(parent: stack.main, name: "worker")
    let inserted = try worker.performAndWait { worker in
      (worker.object(with: id) as? Person)?.age = 5
      let person = Person(context: worker)
      try worker.save()
      return person.objectID
    }
    try stack.main.performAndWait { main in
      (main.object(with: id) as? Person)?.lastName = "King"
      _ = try main.fetch(FetchRequest<Person>())
      try main.save()
      try main.save()
    }
    #expect(events.kinds == ["didChange", "didChange", "willSave", "didSave", "didSaveObjectIDs"])
    #expect(events.allCameOnExecutor)
    let save = try #require(events.didSaves.first)
    #expect(!save.isRoot && save.insertedObjectIDs == [inserted] && save.updatedObjectIDs == [id])
    #expect(save.deletedObjectIDs.isEmpty)
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
