import Dispatch
import Foundation
import ObjectGraph
import ObjectGraphTesting
import TestSupport
import Testing

@Suite("Contexts, queues, parents")
struct ContextTests {
  let stack: Stack

  init() throws { stack = try Stack(People.model) }

  private func ages(_ context: ManagedObjectContext) throws -> [Int64] {
    try context.performAndWait { try $0.fetch(FetchRequest<Person>(sortBy: [.ascending(\.age)])).map(\.age) }
  }

  private func stored() throws -> String {
    try SQLiteShell(path: stack.storePath).run("SELECT group_concat(age) FROM (SELECT age FROM Person ORDER BY age)")
  }

  @Test("Save commits one level up; the store changes only when the root saves")
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
      #expect(try SQLiteShell(path: stack.storePath).run("SELECT count(*) FROM Person") == "0")
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

  @Test("A child's save makes the parent report did-change at once; its later did-save carries the coalesced totals")
  func coalescedTotals() throws {
    let here = stack.root("here")
    let id = try stack.savedPerson()
    let parent = EventRecorder(here)
    let inserted = try (0..<3).map { age in
      let child = ManagedObjectContext(parent: here, name: "child \(age)")
      // The parent takes notice when it has time, so as not to make the child wait; here it has.
      defer { here.performAndWait { _ in } }
      return try child.performAndWait { child in
        (child.object(with: id) as? Person)?.age = Int64(age)
        let person = Person(context: child)
        try child.save()
        return person.objectID
      }
    }
    let child = ManagedObjectContext(parent: here, name: "deleter")
    try child.performAndWait { child in
      child.delete(child.object(with: inserted[1]))
      try child.save()
    }
    here.performAndWait { _ in }
    #expect(parent.didChanges.count == 4)
    let save = try didSave(in: here) { _ in }
    #expect(Set(save.insertedObjectIDs) == [inserted[0], inserted[2]])
    #expect(save.updatedObjectIDs == [id])
    #expect(save.deletedObjectIDs.isEmpty)
  }

  @Test("A parent never pulls from its children: what a child has not saved stays there")
  func noPulling() throws {
    let id = try stack.savedPerson(age: 1)
    let child = ManagedObjectContext(parent: stack.main, name: "child")
    child.performAndWait { child in
      (child.object(with: id) as? Person)?.age = 2
      Person(context: child).age = 3
    }
    #expect(try ages(stack.main) == [1])
    try stack.flush()
    #expect(try stored() == "1")
    #expect(try ages(child) == [2, 3])
  }

  @Test("A child's fetch sees the pending changes of its parent and its grandparents")
  func pendingOfAncestors() throws {
    let ids = try (1...3).map { try stack.savedPerson(age: $0) }
    let child = ManagedObjectContext(parent: stack.main, name: "child")
    stack.writer.performAndWait { writer in
      (writer.object(with: ids[0]) as? Person)?.age = 10
      Person(context: writer).age = 20
    }
    stack.main.performAndWait { main in
      main.delete(main.object(with: ids[1]))
      Person(context: main).age = 30
    }
    #expect(try ages(child) == [3, 10, 20, 30])
    let count = try child.performAndWait { try $0.count(for: FetchRequest<Person>()) }
    #expect(count == 4)
    #expect(try stored() == "1,2,3")
  }

  @Test(
    "A parent's save does not update a child unless automaticallyMergesChangesFromParent", arguments: [false, true])
  func parentsSave(merges: Bool) throws {
    let id = try stack.savedPerson(age: 1)
    let child = ManagedObjectContext(parent: stack.main, name: "child")
    child.automaticallyMergesChangesFromParent = merges
    let merged = DispatchSemaphore(value: 0)
    let observation = child.observe { _ in merged.signal() }
    try child.performAndWait { child in
      let person = try #require(try child.existingObject(with: id) as? Person)
      child.retainsRegisteredObjects = true
      #expect(person.age == 1)
    }
    try stack.main.performAndWait { main in
      (main.object(with: id) as? Person)?.age = 2
      try main.save()
    }
    if merges { #expect(merged.wait(timeout: .now() + 20) == .success) }
    let age = child.performAndWait { ($0.object(with: id) as? Person)?.age }
    #expect(age == (merges ? 2 : 1))
    observation.cancel()
  }

  @Test("A child's save inside its parent's block is reported before the save returns")
  func childSaveInsideBlock() throws {
    let child = ManagedObjectContext(parent: stack.main, name: "child")
    let events = EventRecorder(stack.main)
    try stack.main.performAndWait { main in
      try child.performAndWait { child in
        Person(context: child).age = 5
        try child.save()
        #expect(events.kinds == ["didChange"])
      }
      #expect(main.insertedObjects.count == 1)
    }
  }

  @Test("perform ends with processPendingChanges: children and observers see what the block did")
  func endOfEvent() async throws {
    let events = EventRecorder(stack.main)
    let child = ManagedObjectContext(parent: stack.main, name: "child")
    await stack.main.perform { main in
      Person(context: main).age = 1
      #expect(events.all.isEmpty)
    }
    #expect(events.kinds == ["didChange"])
    #expect(try ages(child) == [1])
    stack.main.performAndWait { main in
      main.performAndWait { Person(context: $0).age = 2 }
      // The inner block is part of the outer one's event.
      #expect(events.kinds == ["didChange"])
    }
    #expect(events.kinds == ["didChange", "didChange"])
  }

  @Test("performAndWait is re-entrant on its own executor, from inside a child's block too")
  func reentrance() throws {
    let child = ManagedObjectContext(parent: stack.main, name: "child")
    let executor = stack.main.executor
    let value = stack.main.performAndWait { main in
      main.performAndWait { main in
        child.performAndWait { child in
          #expect(!executor.isCurrent)
          return main.performAndWait { main in
            #expect(executor.isCurrent)
            Person(context: main).age = 4
            return child.performAndWait { _ in 7 }
          }
        }
      }
    }
    #expect(value == 7 && !executor.isCurrent)
    #expect(try ages(child) == [4])
  }

  @Test("Blocks of one context run in the order in which they came, and perform gives their results")
  func order() async throws {
    let order = Recorder<Int>()
    func queueBlocks() { for index in 0..<20 { stack.main.perform { _ in order.append(index) } } }
    queueBlocks()
    let last = await stack.main.perform { _ in order.all }
    #expect(last == Array(0..<20))
  }

  @Test("A failed save keeps the pending changes; correcting them makes the same save succeed")
  func correction() throws {
    let id = try stack.savedPerson(age: 1)
    let stack = try Stack(Zoo.model)
    try stack.writer.performAndWait { writer in
      let keeper = writer.insertObject(ofEntity: "Keeper")
      keeper.setValue(nil, forKey: "name")
      let error = #expect(throws: ValidationError.self) { try writer.save() }
      #expect(error?.property == "name")
      #expect(writer.insertedObjects == [keeper] && keeper.isInserted)
      try writer.checkInvariants()
      keeper.setValue("Ada", forKey: "name")
      try writer.save()
      #expect(!writer.hasChanges && !keeper.objectID.isTemporaryID)
    }
    try self.stack.writer.performAndWait { writer in
      (writer.object(with: id) as? Person)?.age = 2
      self.stack.faults.fail(with: .inputOutput, at: .update)
      #expect(throws: StoreError.self) { try writer.save() }
      #expect(writer.updatedObjects.map(\.objectID) == [id])
      try writer.save()
    }
    #expect(try stored() == "2")
  }

  @Test(
    "A save is atomic: a failing disk, a full disk and a locked database throw at any statement and leave nothing half-written",
    arguments: [
      (StoreFault.inputOutput, StoreError.Code.inputOutput), (.full, .full), (.busy, .busy),
    ])
  func atomicity(fault: StoreFault, code: StoreError.Code) throws {
    let ids = try (1...2).map { try stack.savedPerson(age: $0) }
    let other = stack.root("other")
    try stack.writer.performAndWait { writer in
      let department = Department(context: writer)
      let inserted = Person(context: writer)
      inserted.age = 30
      inserted.department = department
      (writer.object(with: ids[0]) as? Person)?.age = 10
      writer.delete(writer.object(with: ids[1]))
      _ = stack.faults.drainSteps()
      // begin, delete, update, two inserts, commit
      for number in 0..<6 {
        stack.faults.fail(with: fault, atStatement: number)
        let error = #expect(throws: StoreError.self) { try writer.save() }
        #expect(error?.code == code)
        #expect(writer.insertedObjects == [department, inserted] && writer.deletedObjects.count == 1)
        #expect(writer.updatedObjects.map(\.objectID) == [ids[0]])
        #expect(inserted.objectID.isTemporaryID)
        #expect(try stored() == "1,2")
        #expect(try ages(other) == [1, 2])
      }
      #expect(
        stack.faults.drainSteps().filter { $0 != .read }.suffix(6) == [
          .begin, .delete, .update, .insert, .insert, .commit,
        ])
      try writer.save()
    }
    #expect(try stored() == "10,30")
    try stack.checkInvariants(other)
  }

  @Test("While another process writes, a save throws busy when its patience is over, and succeeds afterwards")
  func lockedDatabase() throws {
    let patient = try Stack(People.model, place: stack.place, busyTimeout: 20)
    let (inSave, goOn) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
    stack.faults.beforeEachStep { point in
      guard point.step == .commit else { return }
      inSave.signal()
      #expect(goOn.wait(timeout: .now() + 20) == .success)
    }
    // The other process is another coordinator on the file, which knows nothing of this one.
    stack.writer.perform { writer in
      Person(context: writer).age = 1
      #expect(throws: Never.self) { try writer.save() }
    }
    #expect(inSave.wait(timeout: .now() + 20) == .success)
    try patient.writer.performAndWait { writer in
      Person(context: writer).age = 2
      let error = #expect(throws: StoreError.self) { try writer.save() }
      #expect(error?.code == .busy && writer.insertedObjects.count == 1)
      goOn.signal()
      stack.writer.performAndWait { _ in }
      try writer.save()
    }
    #expect(try stored() == "1,2")
  }

  @Test("A parent never waits for a child: it fetches and saves while a child's block goes on")
  func busyChild() throws {
    let child = ManagedObjectContext(parent: stack.main, name: "child")
    let (isBusy, goOn) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
    child.perform { child in
      Person(context: child).age = 1
      isBusy.signal()
      #expect(goOn.wait(timeout: .now() + 20) == .success)
      #expect(throws: Never.self) { try child.save() }
    }
    #expect(isBusy.wait(timeout: .now() + 20) == .success)
    stack.main.performAndWait { Person(context: $0).age = 2 }
    #expect(try ages(stack.main) == [2])
    try stack.flush()
    #expect(try stored() == "2")
    goOn.signal()
    child.performAndWait { _ in }
    #expect(try ages(stack.main) == [1, 2])
  }

  @Test("Locks are taken from child to parent to coordinator: a child fetches and saves while both wait for the disk")
  func busyParents() throws {
    let id = try stack.savedPerson(age: 1)
    let child = ManagedObjectContext(parent: stack.main, name: "child")
    let (inSave, goOn) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
    stack.faults.beforeEachStep { point in
      guard point.step == .commit else { return }
      inSave.signal()
      #expect(goOn.wait(timeout: .now() + 20) == .success)
    }
    stack.main.perform { [stack] main in
      (main.object(with: id) as? Person)?.age = 2
      #expect(throws: Never.self) {
        try main.save()
        try stack.writer.performAndWait { try $0.save() }
      }
    }
    #expect(inSave.wait(timeout: .now() + 20) == .success)
    try child.performAndWait { child in
      #expect(try child.fetch(FetchRequest<Person>()).map(\.age) == [2])
      Person(context: child).age = 3
      try child.save()
    }
    stack.faults.beforeEachStep(nil)
    goOn.signal()
    #expect(try ages(stack.main) == [2, 3])
    #expect(try stored() == "2")
  }
}
