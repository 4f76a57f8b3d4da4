import Foundation
import ObjectGraph
import ObjectGraphTesting
import Testing

/// What a context shows, merges and saves when others have changed, deleted or taken back what it knows, and it was not
/// told of that yet. Each test is what the graph's fuzzer made of a longer program.
@Suite("Conflicts: changes that a context was not told of")
struct UntoldChangesTests {
  private static func model() throws -> ManagedObjectModel {
    func toOne(
      _ name: String, inverse: String? = nil, _ rule: RelationshipDescription.DeleteRule = .nullify
    ) -> RelationshipDescription {
      RelationshipDescription(name, to: "Node", inverse: inverse, deleteRule: rule)
    }
    func toMany(
      _ name: String, inverse: String, _ rule: RelationshipDescription.DeleteRule = .nullify
    ) -> RelationshipDescription {
      RelationshipDescription(name, to: "Node", inverse: inverse, isToMany: true, deleteRule: rule)
    }
    // A required name makes each save check the objects.
    return try ManagedObjectModel([
      EntityDescription(
        "Node",
        attributes: [
          AttributeDescription("name", .string, isOptional: false, default: .string("")),
          AttributeDescription("size", .integer64), AttributeDescription("weight", .integer64),
        ],
        relationships: [
          toOne("parent", inverse: "children"), toMany("children", inverse: "parent"),
          toOne("owner", inverse: "owned", .deny), toMany("owned", inverse: "owner", .cascade),
          toMany("links", inverse: "linked"), toMany("linked", inverse: "links", .deny),
          toOne("tail", .cascade), toOne("seen", .noAction),
        ])
    ])
  }

  /// Siblings below the writer.
  private func siblings(_ stack: Stack) -> (ManagedObjectContext, ManagedObjectContext) {
    (
      ManagedObjectContext(parent: stack.writer, name: "first"),
      ManagedObjectContext(parent: stack.writer, name: "second")
    )
  }

  private func node(_ context: isolated ManagedObjectContext) -> ManagedObject {
    context.insertObject(ofEntity: "Node")
  }

  /// New nodes in a context, which is saved unless it is to keep them.
  private func nodes(
    _ count: Int, in context: ManagedObjectContext, isSaved: Bool = true
  ) throws -> [ManagedObjectID] {
    try context.performAndWait { context in
      let ids = (0..<count).map { _ in node(context).objectID }
      if isSaved { try context.save() }
      return ids
    }
  }

  private func set(_ value: Int, _ key: String, of id: ManagedObjectID, in context: ManagedObjectContext) {
    context.performAndWait { $0.object(with: id).setValue(value, forKey: key) }
  }

  private func number(_ key: String, of object: ManagedObject) -> Int64? { object.value(forKey: key) as? Int64 }

  private func relate(
    _ id: ManagedObjectID, _ name: String, _ other: ManagedObjectID?, in context: ManagedObjectContext
  ) {
    context.performAndWait { context in
      context.object(with: id).setValue(other.map { context.object(with: $0) }, forKey: name)
    }
  }

  private func delete(_ id: ManagedObjectID, in context: ManagedObjectContext) {
    context.performAndWait { $0.delete($0.object(with: id)) }
  }

  private func save(_ context: ManagedObjectContext) throws { try context.performAndWait { try $0.save() } }

  private func add(_ other: ManagedObject, to object: ManagedObject, _ name: String) throws {
    object.add(other, toMany: try #require(object.entity.property(named: name)).slot)
  }

  // MARK: What is shown

  @Test("A save does not make an object show values from before it that nobody has asked for")
  func unreadObject() throws {
    let stack = try Stack(Self.model(), inMemory: true)
    let ids = try nodes(3, in: stack.writer)
    let (first, second) = siblings(stack)
    relate(ids[0], "parent", ids[1], in: second)
    try first.performAndWait { first in
      let held = first.object(with: ids[0])
      try add(held, to: first.object(with: ids[2]), "links")
      first.processPendingChanges()
      first.delete(first.object(with: ids[1]))
      first.processPendingChanges()
      first.refreshAllObjects()
      try save(second)
      #expect(held.isFault)
      try first.save()
      #expect(held.value(forKey: "parent") == nil)
      try first.checkInvariants()
    }
  }

  @Test("A link to an object that was taken back above leads nowhere, whether it is read from memory or fetched")
  func linkToTakenBack() throws {
    let stack = try Stack(Self.model(), inMemory: true)
    let first = siblings(stack).0
    try first.performAndWait { first in
      let (object, other) = (node(first), node(first))
      try first.save()
      stack.writer.performAndWait { $0.rollback() }
      let kept = node(first)
      other.setValue(Set([object, kept]), forKey: "links")
      #expect(other.value(forKey: "links") as? Set<ManagedObject> == [kept])
      first.refreshAllObjects()
      #expect(other.value(forKey: "links") as? Set<ManagedObject> == [kept])
      #expect(object.objectIDs(forRelationshipNamed: "linked").isEmpty)
    }
  }

  @Test("An object that others have deleted has no changes, though a cascade looks for it", arguments: [true, false])
  func cascadeToGone(isRoot: Bool) throws {
    let stack = try Stack(Self.model(), inMemory: true)
    let ids = try nodes(2, in: stack.writer)
    let context = isRoot ? stack.here : siblings(stack).0
    relate(ids[0], "tail", ids[1], in: stack.writer)
    try save(stack.writer)
    delete(ids[1], in: stack.writer)
    if isRoot { try save(stack.writer) }
    try context.performAndWait { context in
      let tail = context.object(with: ids[1])
      context.delete(try context.existingObject(with: ids[0]))
      context.processPendingChanges()
      #expect(tail.isDeleted && !tail.hasChanges)
      #expect(context.deletedObjects.map(\.objectID) == [ids[0]])
      try context.checkInvariants()
    }
  }

  @Test("A sibling's delete has its whole effect at once, also while the parent is busy")
  func effectOfDelete() throws {
    let stack = try Stack(Self.model(), inMemory: true)
    let owned = try nodes(2, in: stack.there)
    let owner = try nodes(1, in: stack.writer, isSaved: false)[0]
    let (first, second) = siblings(stack)
    delete(owner, in: second)
    for id in owned { relate(id, "owner", owner, in: stack.writer) }
    relate(owned[0], "owner", owner, in: first)
    set(1, "size", of: owned[0], in: second)
    let (isBusy, goOn) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
    stack.writer.perform { _ in
      isBusy.signal()
      _ = goOn.wait(timeout: .now() + 10)
    }
    #expect(isBusy.wait(timeout: .now() + 10) == .success)
    let delete = try didSave(in: second) { _ in }
    try first.performAndWait { first in
      first.mergeChanges(fromContextDidSave: delete)
      #expect(first.hasChanges == false)
      let count = try first.count(for: FetchRequest<ManagedObject>(entity: "Node"))
      #expect(count == 0)
    }
    goOn.signal()
    try stack.writer.performAndWait { writer in
      #expect(Set(writer.deletedObjects.map(\.objectID)) == Set(owned))
      try writer.save()
    }
    #expect(try stack.there.performAndWait { try $0.count(for: FetchRequest<ManagedObject>(entity: "Node")) } == 0)
    try stack.checkInvariants(first, second)
  }

  @Test("An undo after a save leaves objects unchanged whose values it leaves as they were saved")
  func undoWithoutEffect() throws {
    let stack = try Stack(Self.model(), inMemory: true)
    let ids = try nodes(2, in: stack.writer, isSaved: false)
    let first = siblings(stack).0
    first.performAndWait { first in
      first.undoManager = UndoManager()
      first.object(with: ids[0]).setValue(first.object(with: ids[1]), forKey: "parent")
      first.delete(first.object(with: ids[1]))
    }
    try save(first)
    try first.performAndWait { first in
      first.undo()
      #expect(first.insertedObjects.map(\.objectID) == [ids[1]] && first.updatedObjects.isEmpty)
      try first.checkInvariants()
    }
  }

  // MARK: What is merged

  @Test("A merge of a sibling's save brings what is stored by now, and not what the parent has changed since")
  func mergeOfOldSave() throws {
    let stack = try Stack(Self.model(), inMemory: true)
    let id = try nodes(1, in: stack.writer, isSaved: false)[0]
    let (first, second) = siblings(stack)
    set(4, "weight", of: id, in: second)
    let old = try didSave(in: first) { $0.object(with: id).setValue(5, forKey: "size") }
    set(6, "size", of: id, in: stack.writer)
    try save(stack.writer)
    second.performAndWait { second in
      second.mergeChanges(fromContextDidSave: old)
      let object = second.object(with: id)
      #expect(number("size", of: object) == 6 && number("weight", of: object) == 4)
    }
    try stack.checkInvariants(first, second)
  }

  @Test("A merge by IDs of a delete further up brings the values that a nearer context still has")
  func mergeOfDeleteAbove() throws {
    let stack = try Stack(Self.model(), inMemory: true)
    let id = try nodes(1, in: stack.writer, isSaved: false)[0]
    let (first, second) = siblings(stack)
    let grandchild = ManagedObjectContext(parent: first, name: "grandchild")
    set(7, "size", of: id, in: grandchild)
    set(8, "weight", of: id, in: first)
    let save = try didSave(in: second) { $0.delete($0.object(with: id)) }
    grandchild.performAndWait { grandchild in
      grandchild.mergeChanges(fromRemoteContextSave: RemoteContextSave(deleted: save.deletedObjectIDs))
      let object = grandchild.object(with: id)
      #expect(number("size", of: object) == 7 && number("weight", of: object) == 8)
    }
  }

  // MARK: What is saved

  @Test("A change that a refresh finds to be none is saved under a version of its own", arguments: [true, false])
  func voidChange(inMemory: Bool) throws {
    let stack = try Stack(Self.model(), inMemory: inMemory)
    let id = try nodes(1, in: stack.writer)[0]
    let first = siblings(stack).0
    stack.writer.performAndWait { $0.object(with: id).setValue(nil, forKey: "weight") }
    set(6, "size", of: id, in: first)
    try stack.writer.performAndWait { writer in
      try writer.refresh(writer.object(with: id), mergeChanges: true)
      try writer.save()
    }
    try save(first)
    delete(id, in: stack.writer)
    try save(stack.writer)
    #expect(try stack.there.performAndWait { try $0.count(for: FetchRequest<ManagedObject>(entity: "Node")) } == 0)
  }

  @Test("A new value of a relationship replaces links to what was deleted before, too", arguments: [true, false])
  func linkToDeleted(isRead: Bool) throws {
    let stack = try Stack(Self.model(), inMemory: true)
    let ids = try nodes(2, in: stack.here)
    try stack.here.performAndWait { here in
      let object = here.object(with: ids[0])
      try add(here.object(with: ids[1]), to: object, "links")
      here.processPendingChanges()
      here.delete(here.object(with: ids[1]))
      here.processPendingChanges()
      #expect(throws: ValidationError.self) { try here.save() }
      if isRead { #expect(object.objectIDs(forRelationshipNamed: "links").isEmpty) }
      object.setValue(Set<ManagedObject>(), forKey: "links")
      try here.save()
    }
    #expect(try stack.there.performAndWait { try $0.count(for: FetchRequest<ManagedObject>(entity: "Node")) } == 1)
  }

  @Test("Only references that a save makes are cleared when others have deleted their destination")
  func oldReference() throws {
    let stack = try Stack(Self.model(), inMemory: true)
    stack.there.mergePolicy = .mergeByPropertyStoreTrump
    let ids = try nodes(3, in: stack.there)
    relate(ids[0], "seen", ids[2], in: stack.there)
    try save(stack.there)
    set(1, "size", of: ids[0], in: stack.there)
    relate(ids[1], "seen", ids[2], in: stack.there)
    delete(ids[2], in: stack.here)
    try save(stack.here)
    try stack.there.performAndWait { there in
      try there.save()
      #expect(there.object(with: ids[0]).objectIDs(forRelationshipNamed: "seen") == [ids[2]])
      #expect(there.object(with: ids[1]).objectIDs(forRelationshipNamed: "seen") == [])
    }
  }

  @Test(
    "The undo of a delete that the parent has taken back saves the object as it was before the delete",
    arguments: [true, false], [true, false])
  func undoOfTakenBack(inMemory: Bool, isChangedByOthers: Bool) throws {
    let stack = try Stack(Self.model(), inMemory: inMemory)
    let id = try nodes(1, in: stack.writer)[0]
    let first = siblings(stack).0
    try first.performAndWait { first in
      first.undoManager = UndoManager()
      first.object(with: id).setValue(5, forKey: "size")
      first.processPendingChanges()
      first.delete(first.object(with: id))
      try first.save()
      first.undo()
      stack.writer.performAndWait { $0.rollback() }
      try first.save()
    }
    if isChangedByOthers {
      set(7, "weight", of: id, in: stack.there)
      try save(stack.there)
      stack.writer.performAndWait { writer in
        let error = #expect(throws: SaveConflicts.self) { try writer.save() }
        #expect(error?.conflicts.map(\.objectID) == [id])
        writer.mergePolicy = .overwrite
      }
    }
    try save(stack.writer)
    try stack.root().performAndWait { root in
      let object = try root.existingObject(with: id)
      #expect(number("size", of: object) == 5 && number("weight", of: object) == nil)
    }
    try stack.checkInvariants(first)
  }
}
