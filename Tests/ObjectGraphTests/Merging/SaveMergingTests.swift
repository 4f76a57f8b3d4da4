import Dispatch
import Foundation
import ObjectGraph
import ObjectGraphTesting
import Testing

@Suite("Merging saves")
struct SaveMergingTests: Neighbours {
  let stack: Stack

  init() throws { stack = try Stack(People.model) }

  @Test("An older save merged after a newer one does not bring old values back")
  func outOfOrder() throws {
    let id = try savedPerson()
    #expect(age(id, in: here) == 1)
    let first = try didSave(in: there) { ($0.object(with: id) as? Person)?.age = 2 }
    let second = try didSave(in: there) { ($0.object(with: id) as? Person)?.age = 3 }
    here.performAndWait { here in
      here.mergeChanges(fromContextDidSave: second)
      here.mergeChanges(fromContextDidSave: first)
    }
    #expect(age(id, in: here) == 3)
  }

  @Test("A relationship that was traversed before the merge shows the merged destinations after it")
  func relationships() throws {
    let (department, ada) = try there.performAndWait { there in
      let department = Department(context: there)
      let ada = Person(context: there)
      ada.department = department
      try there.save()
      return (department.objectID, ada.objectID)
    }
    try here.performAndWait { here in
      let held = try #require(here.object(with: department) as? Department)
      #expect(held.employees.map(\.objectID) == [ada])
      let save = try didSave(in: there) { there in
        (there.object(with: ada) as? Person)?.department = nil
        Person(context: there).department = there.object(with: department) as? Department
      }
      here.mergeChanges(fromContextDidSave: save)
      #expect(held.employees.map(\.objectID) == save.insertedObjectIDs)
      #expect((here.object(with: ada) as? Person)?.department == nil)
    }
  }

  private final class Held: @unchecked Sendable {
    // @unchecked: changed by the test's thread, while it waits in a context's block.
    var objects: [ManagedObject] = []
  }

  // MARK: Automatically

  @Test(
    "A context merges what is saved into its coordinator by itself if it is told to, on its executor, and only then")
  func automaticFromCoordinator() throws {
    let id = try savedPerson()
    #expect(age(id, in: here) == 1)
    #expect(!here.automaticallyMergesChangesFromParent)
    _ = try didSave(in: there) { ($0.object(with: id) as? Person)?.age = 2 }
    let held = Held()
    here.performAndWait { held.objects = [$0.object(with: id)] }
    here.automaticallyMergesChangesFromParent = true
    let merged = DispatchSemaphore(value: 0)
    let executor = here.executor
    let observation = here.observe { _ in
      #expect(executor.isCurrent)
      merged.signal()
    }
    _ = try didSave(in: there) { ($0.object(with: id) as? Person)?.age = 3 }
    #expect(merged.wait(timeout: .now() + 10) == .success)
    #expect(age(id, in: here) == 3)
    here.automaticallyMergesChangesFromParent = false
    _ = try didSave(in: there) { ($0.object(with: id) as? Person)?.age = 4 }
    here.performAndWait { _ in }
    #expect(age(id, in: here) == 3)
    observation.cancel()
  }

  @Test("A child with automatic merging takes over its parent's saves and its siblings', and its own edits stay")
  func automaticFromParent() throws {
    let id = try savedPerson()
    let follower = ManagedObjectContext(parent: here, name: "follower")
    let other = ManagedObjectContext(parent: here, name: "other")
    let sibling = ManagedObjectContext(parent: here, name: "sibling")
    let held = Held()
    for context in [follower, other] {
      context.performAndWait { context in
        held.objects.append(context.object(with: id))
        _ = (held.objects.last as? Person)?.age
      }
    }
    follower.automaticallyMergesChangesFromParent = true
    follower.performAndWait { ($0.object(with: id) as? Person)?.lastName = "King" }
    let merged = DispatchSemaphore(value: 0)
    let observation = follower.observe { event in if case .didChange = event { merged.signal() } }
    _ = try didSave(in: sibling) { ($0.object(with: id) as? Person)?.age = 2 }
    #expect(merged.wait(timeout: .now() + 10) == .success)
    #expect(age(id, in: follower) == 2 && age(id, in: other) == 1)
    _ = try didSave(in: here) { ($0.object(with: id) as? Person)?.age = 3 }
    #expect(merged.wait(timeout: .now() + 10) == .success)
    #expect(age(id, in: follower) == 3 && age(id, in: other) == 1)
    follower.performAndWait { follower in
      #expect((follower.object(with: id) as? Person)?.lastName == "King")
      #expect((follower.object(with: id) as? Person)?.changedValues().keys.sorted() == ["lastName"])
    }
    observation.cancel()
  }

  @Test("Rolling back after a merge that found a conflict shows what is stored")
  func rollbackAfterMerge() throws {
    let id = try savedPerson()
    try here.performAndWait { here in
      let person = try #require(here.existingObject(with: id) as? Person)
      person.age = 50
      let save = try didSave(in: there) { ($0.object(with: id) as? Person)?.age = 9 }
      here.mergeChanges(fromContextDidSave: save)
      #expect(person.age == 50)
      here.rollback()
      #expect(person.age == 9 && !person.hasChanges)
      person.age = 10
      try here.save()
    }
    #expect(try SQLiteShell(path: stack.storePath).run("SELECT age FROM Person") == "10")
  }

  @Test(
    "Rolling back after a merge that told of a delete takes the object out, and so does undo", arguments: [true, false])
  func rollbackAfterMergedDelete(undoes: Bool) throws {
    let id = try savedPerson()
    try here.performAndWait { here in
      here.undoManager = undoes ? UndoManager() : nil
      let person = try #require(here.existingObject(with: id) as? Person)
      let request = FetchRequest<Person>(sortBy: [.ascending("age")])
      let controller = try FetchedResultsController(request, context: self.here)
      try controller.performFetch(in: here)
      person.age = 50
      let save = try didSave(in: there) { $0.delete($0.object(with: id)) }
      here.mergeChanges(fromContextDidSave: save)
      #expect(person.age == 50 && controller.snapshot.objectIDs == [id])
      if undoes { here.undo() } else { here.rollback() }
      here.processPendingChanges()
      #expect(controller.snapshot.objectIDs.isEmpty && person.managedObjectContext == nil)
      #expect(here.hasChanges == false)
    }
  }

  // MARK: Deletes

  private func merge(_ save: ContextDidSave, byIDs: Bool, _ context: isolated ManagedObjectContext) {
    if !byIDs { return context.mergeChanges(fromContextDidSave: save) }
    context.mergeChanges(
      fromRemoteContextSave: RemoteContextSave(
        inserted: save.insertedObjectIDs, updated: save.updatedObjectIDs, deleted: save.deletedObjectIDs))
  }

  @Test(
    "A delete that a child saved and its parent dropped takes nothing from who merges it later",
    arguments: [true, false])
  func droppedDelete(byIDs: Bool) throws {
    let (id, other) = (try stack.savedPerson(), try stack.savedPerson("Bea"))
    let children = ["a", "b"].map { ManagedObjectContext(parent: stack.main, name: $0) }
    try children[0].performAndWait { child in
      let (edited, unchanged) = (try child.existingObject(with: id), try child.existingObject(with: other))
      (edited as? Person)?.age = 5
      let save = try didSave(in: children[1]) { child in
        for id in [id, other] { child.delete(try child.existingObject(with: id)) }
      }
      stack.main.performAndWait { $0.rollback() }
      merge(save, byIDs: byIDs, child)
      #expect((edited as? Person)?.age == 5 && edited.isUpdated)
      #expect((unchanged as? Person)?.firstName == "Bea" && unchanged.managedObjectContext === child)
      try child.checkInvariants()
    }
  }

  @Test("A merge lets nothing lead to what the context has deleted", arguments: [true, false])
  func mergedReference(byIDs: Bool) throws {
    let id = try stack.savedPerson()
    let department = try stack.main.performAndWait { main in
      let department = Department(context: main).objectID
      try main.save()
      return department
    }
    let children = ["a", "b"].map { ManagedObjectContext(parent: stack.main, name: $0) }
    try children[0].performAndWait { child in
      let person = try #require(try child.existingObject(with: id) as? Person)
      person.age = 5
      child.delete(try child.existingObject(with: department))
      child.processPendingChanges()
      let save = try didSave(in: children[1]) { child in
        (try child.existingObject(with: id) as? Person)?.department = child.object(with: department) as? Department
      }
      merge(save, byIDs: byIDs, child)
      #expect(person.department == nil && person.age == 5)
      let below = ManagedObjectContext(parent: child, name: "below")
      try below.performAndWait { below in
        let person = try #require(try below.existingObject(with: id) as? Person)
        #expect(person.department == nil)
      }
      try child.save()
    }
    try stack.flush()
    try stack.checkInvariants()
  }

  // MARK: Cost

  @Test("Merging ten thousand changes runs no statement")
  func manyChanges() throws {
    let ids = try there.performAndWait { there in
      let people = (0..<10_000).map { _ in Person(context: there) }
      try there.save()
      return people.map(\.objectID)
    }
    try here.performAndWait { here in
      let people = try here.fetch(FetchRequest<Person>())
      for person in people { _ = person.age }
      let save = try didSave(in: there) { there in
        for (index, id) in ids.enumerated() { (there.object(with: id) as? Person)?.age = Int64(index) }
      }
      let statements = stack.statementCount { here.mergeChanges(fromContextDidSave: save) }
      #expect(statements == 0)
      #expect(people.map(\.age).reduce(0, +) == 49_995_000)
    }
  }
}
