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
}
