import Foundation
import ObjectGraph
import Testing

/// Objects that are stored again after their delete: by who undid it, or by a policy that does not give way to it.
@Suite("Conflicts: objects that are made again")
struct ObjectsMadeAgainTests {
  enum Way: CaseIterable {
    case policy
    case undo
  }

  /// Stores a person of age 1, lets the body look, and then deletes the person and makes it again.
  ///
  /// - Returns: the person's ID, and the save that deleted it.
  private func madeAgain(
    _ stack: Stack, _ way: Way, by maker: ManagedObjectContext, deletedBy deleter: ManagedObjectContext? = nil,
    whileStored look: (ManagedObjectID) throws -> Void
  ) throws -> (id: ManagedObjectID, delete: ContextDidSave) {
    let id = try stack.savedPerson()
    try look(id)
    try maker.performAndWait { maker in
      maker.mergePolicy = .mergeByPropertyObjectTrump
      maker.undoManager = way == .undo ? UndoManager() : nil
      (try maker.existingObject(with: id) as? Person)?.lastName = "Again"
      if way == .undo { try maker.save() }
    }
    let deleter = way == .undo ? maker : deleter ?? stack.root()
    let delete = try didSave(in: deleter) { $0.delete(try $0.existingObject(with: id)) }
    try maker.performAndWait { maker in
      if way == .undo { maker.undo() }
      try maker.save()
    }
    return (id, delete)
  }

  private func edit(_ id: ManagedObjectID, age: Int64, _ context: ManagedObjectContext) throws {
    try context.performAndWait { (try $0.existingObject(with: id) as? Person)?.age = age }
  }

  private func names(_ context: ManagedObjectContext) throws -> [String] {
    try context.performAndWait {
      try $0.fetch(FetchRequest<Person>()).map { "\($0.lastName ?? "") \($0.age)" }
    }
  }

  @Test(
    "An edit of what was read before an object was deleted and made again is a conflict, and overwrites nothing",
    arguments: Way.allCases, [true, false])
  func conflict(way: Way, inMemory: Bool) throws {
    let stack = try Stack(People.model, inMemory: inMemory)
    _ = try madeAgain(stack, way, by: stack.here) { try edit($0, age: 5, stack.there) }
    stack.there.performAndWait { there in
      let error = #expect(throws: SaveConflicts.self) { try there.save() }
      #expect(error?.conflicts.count == 1)
    }
    #expect(try names(stack.root()) == ["Again 1"])
    try stack.checkInvariants(stack.here, stack.there)
  }

  @Test("So is a delete, and a reference to it is none", arguments: Way.allCases, [true, false])
  func deleteAndReference(way: Way, inMemory: Bool) throws {
    let stack = try Stack(People.model, inMemory: inMemory)
    let referring = stack.root("referring")
    _ = try madeAgain(stack, way, by: stack.here) { id in
      try stack.there.performAndWait { $0.delete(try $0.existingObject(with: id)) }
      referring.performAndWait { _ = Department(context: $0) }
    }
    stack.there.performAndWait { there in _ = #expect(throws: SaveConflicts.self) { try there.save() } }
    try referring.performAndWait { referring in
      let person = try #require(try referring.fetch(FetchRequest<Person>()).first)
      person.department = referring.insertedObjects.first as? Department
      try referring.save()
    }
    #expect(try names(stack.root()) == ["Again 1"])
  }

  @Test("The save that deleted it takes it from nobody who merges that later", arguments: Way.allCases, [true, false])
  func lateMerge(way: Way, isEdited: Bool) throws {
    let stack = try Stack(People.model)
    let there = stack.there
    let controller = try FetchedResultsController(
      FetchRequest<Person>(sortBy: [.ascending("age")]), context: there)
    try there.performAndWait { try controller.performFetch(in: $0) }
    let (id, delete) = try madeAgain(stack, way, by: stack.here) { id in
      try there.performAndWait { try controller.performFetch(in: $0) }
      if isEdited { try edit(id, age: 5, there) }
    }
    try there.performAndWait { there in
      there.mergeChanges(fromContextDidSave: delete)
      let found = try there.existingObject(with: id)
      #expect(!found.isDeleted)
    }
    #expect(controller.snapshot.objectIDs == [id])
    #expect(try names(there) == [isEdited ? " 5" : "Again 1"])
  }

  @Test("Whoever deleted it takes what children do to it again", arguments: [true, false])
  func childrenOfWhoDeleted(inMemory: Bool) throws {
    let stack = try Stack(People.model, inMemory: inMemory)
    let child = ManagedObjectContext(parent: stack.there, name: "child")
    _ = try madeAgain(stack, .policy, by: stack.here, deletedBy: stack.there) { _ in }
    try child.performAndWait { child in
      let person = try #require(try child.fetch(FetchRequest<Person>()).first)
      person.age = 7
      try child.save()
    }
    try stack.there.performAndWait { there in
      #expect(there.hasChanges == true)
      try there.save()
    }
    #expect(try names(stack.root()) == ["Again 7"])
  }
}
