import Foundation
import ObjectGraph
import Testing

/// Changes that give way to others: deletes that a policy drops, objects that are taken back, links nobody has read.
@Suite("Conflicts: changes that are taken back")
struct ChangesTakenBackTests {
  /// Nodes lead to nodes by relationships of several kinds; leaves are nodes with relationships of their own.
  private static func model() throws -> ManagedObjectModel {
    func pair(
      _ name: String, _ inverse: String, toMany: Bool, inverseToMany: Bool,
      _ rule: RelationshipDescription.DeleteRule = .nullify, inverseRule: RelationshipDescription.DeleteRule = .nullify,
      to entity: String = "Node", from owner: String = "Node"
    ) -> [RelationshipDescription] {
      [
        RelationshipDescription(name, to: entity, inverse: inverse, isToMany: toMany, deleteRule: rule),
        RelationshipDescription(inverse, to: owner, inverse: name, isToMany: inverseToMany, deleteRule: inverseRule),
      ]
    }
    let twins = pair("twin", "original", toMany: false, inverseToMany: false, to: "Bud", from: "Leaf")
    return try ManagedObjectModel([
      EntityDescription(
        "Node", attributes: [AttributeDescription("name", .string)],
        relationships: pair("links", "linked", toMany: true, inverseToMany: true)
          + pair("parts", "wholes", toMany: true, inverseToMany: true, .cascade)
          + pair("parent", "children", toMany: false, inverseToMany: true)
          + pair("keeper", "kept", toMany: false, inverseToMany: true, .deny, inverseRule: .noAction)
          + [RelationshipDescription("seen", to: "Node", isToMany: true)]),
      EntityDescription("Leaf", parent: "Node", relationships: [twins[0]]),
      EntityDescription("Bud", parent: "Node", relationships: [twins[1]]),
    ])
  }

  private func node(_ context: isolated ManagedObjectContext, _ name: String) -> ManagedObject {
    let node = context.insertObject(ofEntity: "Node")
    node.setValue(name, forKey: "name")
    return node
  }

  /// Two nodes that are stored.
  private func pair(_ stack: Stack) throws -> (ManagedObjectID, ManagedObjectID) {
    try stack.writer.performAndWait { writer in
      let pair = (node(writer, "first").objectID, node(writer, "second").objectID)
      try writer.save()
      return pair
    }
  }

  private func slot(_ name: String, of object: ManagedObject) throws -> Int {
    try #require(object.entity.property(named: name)).slot
  }

  private func add(_ other: ManagedObject, to object: ManagedObject, _ name: String) throws {
    object.add(other, toMany: try slot(name, of: object))
  }

  private func count(_ format: String, _ context: ManagedObjectContext) throws -> Int {
    try context.performAndWait {
      try $0.count(for: FetchRequest<ManagedObject>(entity: "Node", Condition(format: format, arguments: [])))
    }
  }

  @Test(
    "A link that is removed between objects that nobody has read is a change like others", arguments: [true, false])
  func unreadLink(inMemory: Bool) throws {
    let stack = try Stack(Self.model(), inMemory: inMemory)
    let (first, second) = try pair(stack)
    try stack.writer.performAndWait { writer in
      try add(writer.object(with: second), to: writer.object(with: first), "links")
      try writer.save()
    }
    let child = ManagedObjectContext(parent: stack.here)
    try child.performAndWait { child in
      let object = child.object(with: first)
      object.remove(child.object(with: second), fromMany: try slot("links", of: object))
      #expect(child.hasChanges == true)
      let request = FetchRequest<ManagedObject>(entity: "Node", try Condition(format: "links.@count > 0"))
      let found = try child.count(for: request)
      #expect(found == 0)
      try child.save()
    }
    try stack.here.performAndWait { try $0.save() }
    #expect(try count("links.@count > 0", stack.there) == 0)
  }

  @Test("A delete cascades along a link of the same event", arguments: [true, false])
  func cascadeAlongNewLink(isStored: Bool) throws {
    let stack = try Stack(Self.model(), inMemory: true)
    let (part, _) = try pair(stack)
    try stack.here.performAndWait { here in
      let whole = node(here, "whole")
      if isStored { try here.save() }
      try add(here.object(with: part), to: whole, "parts")
      here.delete(whole)
      try here.save()
    }
    #expect(try count("name = 'first'", stack.there) == 0)
  }

  @Test("What a policy lets stay can be changed again", arguments: [true, false])
  func droppedDelete(inMemory: Bool) throws {
    let stack = try Stack(Self.model(), inMemory: inMemory)
    let (id, other) = try pair(stack)
    stack.here.mergePolicy = .mergeByPropertyStoreTrump
    let child = ManagedObjectContext(parent: stack.here)
    try stack.here.performAndWait { $0.delete(try $0.existingObject(with: id)) }
    try stack.there.performAndWait { there in
      (try there.existingObject(with: id)).setValue("changed", forKey: "name")
      try there.save()
    }
    try stack.here.performAndWait { try $0.save() }
    try stack.here.performAndWait { here in
      try add(here.existingObject(with: id), to: here.existingObject(with: other), "links")
      try here.save()
    }
    try child.performAndWait { child in
      (try child.existingObject(with: id)).setValue("again", forKey: "name")
      try child.save()
    }
    try stack.here.performAndWait { try $0.save() }
    #expect(try count("name = 'again' AND linked.@count = 1", stack.there) == 1)
  }

  @Test("A delete that an ancestor rolled back can be made again")
  func rolledBackDelete() throws {
    let stack = try Stack(Self.model(), inMemory: true)
    let (id, _) = try pair(stack)
    for _ in 0..<2 {
      try stack.main.performAndWait { main in
        (try main.existingObject(with: id)).setValue("about to go", forKey: "name")
        main.delete(try main.existingObject(with: id))
        try main.save()
      }
      stack.writer.performAndWait { $0.rollback() }
    }
    let child = ManagedObjectContext(parent: stack.main)
    try child.performAndWait { child in
      (try child.existingObject(with: id)).setValue("still here", forKey: "name")
      try child.save()
    }
    try stack.flush()
    #expect(try count("name = 'still here'", stack.there) == 1)
  }

  @Test("A reference to what the policy makes again stays", arguments: [true, false])
  func madeAgain(toItself: Bool) throws {
    let stack = try Stack(Self.model(), inMemory: true)
    let (id, other) = try pair(stack)
    stack.here.mergePolicy = .overwrite
    try stack.here.performAndWait { here in
      let object = try here.existingObject(with: id)
      object.setValue("made again", forKey: "name")
      let owner = try toItself ? object : here.existingObject(with: other)
      owner.setValue(object, forKey: "parent")
    }
    try stack.there.performAndWait { there in
      there.delete(try there.existingObject(with: id))
      try there.save()
    }
    try stack.here.performAndWait { try $0.save() }
    #expect(try count("name = 'made again' AND children.@count = 1", stack.there) == 1)
  }

  @Test("An object is deleted whose family has a one-to-one relationship that it has not", arguments: [true, false])
  func slotOfAnotherEntity(inMemory: Bool) throws {
    let stack = try Stack(Self.model(), inMemory: inMemory)
    let (id, _) = try pair(stack)
    try stack.here.performAndWait { here in
      here.delete(try here.existingObject(with: id))
      try here.save()
    }
    #expect(try count("name = 'first'", stack.there) == 0)
  }

  @Test("A link to an object that was taken back before it was saved leads nowhere")
  func linkToTakenBack() throws {
    let stack = try Stack(Self.model(), inMemory: true)
    let seen = stack.writer.performAndWait { node($0, "new").objectID }
    try stack.main.performAndWait { main in
      let watcher = node(main, "watcher")
      try add(main.object(with: seen), to: watcher, "seen")
    }
    stack.writer.performAndWait { $0.delete($0.object(with: seen)) }
    let child = ManagedObjectContext(parent: stack.main)
    let found = try child.performAndWait { child in
      try child.fetch(FetchRequest<ManagedObject>(entity: "Node", Condition(format: "name = 'watcher'"))).map {
        ($0.value(forKey: "seen") as? Set<ManagedObject>)?.count
      }
    }
    #expect(found == [0])
  }

  @Test("News of an insert that was taken back since tell that the object is gone")
  func lateNews() throws {
    let stack = try Stack(Self.model(), inMemory: true)
    let child = ManagedObjectContext(parent: stack.main)
    let news = Recorder()
    let observation = stack.main.observe { if case .didSave(let save) = $0 { news.save = save } }
    let id = try stack.main.performAndWait { main in
      let id = node(main, "new").objectID
      try main.save()
      return id
    }
    try child.performAndWait { (try $0.existingObject(with: id)).setValue("edited", forKey: "name") }
    stack.writer.performAndWait { $0.delete($0.object(with: id)) }
    try child.performAndWait { child in
      child.mergeChanges(fromContextDidSave: try #require(news.save))
      #expect(child.hasChanges == false)
    }
    observation.cancel()
  }

  /// A save that was told, on the thread that waits for it.
  private final class Recorder: @unchecked Sendable {
    var save: ContextDidSave?
  }

  @Test("Undo brings an object back with the link to itself that its delete removed")
  func undoneLinkToItself() throws {
    let stack = try Stack(Self.model(), inMemory: true)
    let (id, _) = try pair(stack)
    stack.here.performAndWait { $0.undoManager = UndoManager() }
    try stack.here.performAndWait { here in
      try add(here.existingObject(with: id), to: here.existingObject(with: id), "parts")
    }
    try stack.here.performAndWait { $0.delete(try $0.existingObject(with: id)) }
    try stack.here.performAndWait { here in
      here.undo()
      try here.save()
    }
    #expect(try count("name = 'first' AND parts.@count = 1", stack.there) == 1)
  }

  @Test("A destination that somebody else has deleted denies no delete", arguments: [true, false])
  func deniedByNobody(inMemory: Bool) throws {
    let stack = try Stack(Self.model(), inMemory: inMemory)
    let (keeper, kept) = try pair(stack)
    try stack.writer.performAndWait { writer in
      (try writer.existingObject(with: kept)).setValue(try writer.existingObject(with: keeper), forKey: "keeper")
      try writer.save()
    }
    try stack.there.performAndWait { there in
      there.delete(try there.existingObject(with: keeper))
      try there.save()
    }
    try stack.here.performAndWait { here in
      here.delete(try here.existingObject(with: kept))
      try here.save()
    }
    #expect(try count("TRUEPREDICATE", stack.there) == 0)
  }

  @Test("An object that a child inserts, links to itself and deletes leaves nothing in the parent")
  func linkToItself() throws {
    let stack = try Stack(Self.model(), inMemory: true)
    let id = stack.main.performAndWait { node($0, "new").objectID }
    try stack.main.performAndWait { main in
      let new = main.object(with: id)
      try add(new, to: new, "links")
      main.delete(new)
    }
    try stack.main.performAndWait { try $0.save() }
    for context in [stack.main, stack.writer] {
      let hasChanges = context.performAndWait { $0.hasChanges }
      #expect(!hasChanges)
    }
    try stack.checkInvariants()
  }

  @Test("A cascade reaches an object that the parent deletes and the context has changed")
  func cascadeToDeletedAbove() throws {
    let stack = try Stack(Self.model(), inMemory: true)
    let (whole, part) = try pair(stack)
    try stack.main.performAndWait { main in
      try add(main.existingObject(with: part), to: main.existingObject(with: whole), "parts")
    }
    stack.writer.performAndWait { $0.delete($0.object(with: part)) }
    try stack.main.performAndWait { main in
      (main.object(with: part)).setValue("edited", forKey: "name")
      main.delete(try main.existingObject(with: whole))
    }
    stack.main.performAndWait { main in #expect(main.object(with: part).isDeleted) }
  }

  @Test("An object whose delete gives way shows what another delete's rule has cleared", arguments: [true, false])
  func clearedSurvivor(inMemory: Bool) throws {
    let stack = try Stack(Self.model(), inMemory: inMemory)
    let (parent, child) = try pair(stack)
    stack.here.performAndWait { $0.mergePolicy = .mergeByPropertyStoreTrump }
    try stack.here.performAndWait { here in
      here.delete(try here.existingObject(with: parent))
      here.delete(try here.existingObject(with: child))
    }
    try stack.there.performAndWait { there in
      there.object(with: child).setValue(there.object(with: parent), forKey: "parent")
      try there.save()
    }
    try stack.here.performAndWait { here in
      let survivor = here.object(with: child)
      try here.save()
      #expect(!survivor.isDeleted && survivor.managedObjectContext != nil && survivor.value(forKey: "parent") == nil)
    }
    #expect(try count("parent = nil", stack.root()) == 1)
  }

  @Test("A delete that was undone and done again before the next save takes nothing away that a parent keeps")
  func deletedAgain() throws {
    let stack = try Stack(Self.model(), inMemory: true)
    let (id, _) = try pair(stack)
    try stack.main.performAndWait { main in
      main.undoManager = UndoManager()
      main.delete(try main.existingObject(with: id))
      try main.save()
      main.undo()
      main.redo()
      try main.save()
    }
    stack.writer.performAndWait { $0.rollback() }
    #expect(try count("name = 'first'", stack.main) == 1)
  }

  @Test("Undo makes no second object of one whose delete the parent has taken back")
  func undoneAboveFirst() throws {
    let stack = try Stack(Self.model(), inMemory: true)
    let (id, _) = try pair(stack)
    try stack.main.performAndWait { main in
      main.undoManager = UndoManager()
      main.delete(try main.existingObject(with: id))
      try main.save()
    }
    stack.writer.performAndWait { $0.rollback() }
    try stack.main.performAndWait { main in
      main.undo()
      #expect(main.insertedObjects.isEmpty)
      try main.save()
    }
    try stack.writer.performAndWait { try $0.save() }
    #expect(try count("name = 'first'", stack.there) == 1)
  }
}
