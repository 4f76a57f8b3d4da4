import Foundation
import ObjectGraph
import ObjectGraphTesting
import Testing

@Suite("Identifiers")
struct IdentifierTests {
  let stack: Stack

  init() throws { stack = try Stack(People.model) }

  /// Whether the inserted IDs were temporary when each did-save of a context was told.
  private func temporariness(_ context: ManagedObjectContext) -> (Recorder<[Bool]>, ContextObservation) {
    let seen = Recorder<[Bool]>()
    return (
      seen,
      context.observe { event in
        if case .didSave(let save) = event { seen.append(save.insertedObjectIDs.map(\.isTemporaryID)) }
      }
    )
  }

  @Test("A new object's ID is temporary; after a save that reaches the store it is permanent")
  func permanence() throws {
    let id = stack.main.performAndWait { Person(context: $0).objectID }
    #expect(id.isTemporaryID)
    try stack.main.performAndWait { try $0.save() }
    #expect(id.isTemporaryID)
    try stack.writer.performAndWait { try $0.save() }
    #expect(!id.isTemporaryID)
  }

  @Test("A save that fails leaves new IDs temporary")
  func failedSave() throws {
    let id = stack.writer.performAndWait { Person(context: $0).objectID }
    stack.faults.fail(with: .full, at: .commit)
    #expect(throws: StoreError.self) { try stack.writer.performAndWait { try $0.save() } }
    #expect(id.isTemporaryID)
    try stack.writer.performAndWait { try $0.save() }
    #expect(!id.isTemporaryID)
  }

  @Test("A child's did-save carries temporary IDs for inserts, a root's permanent ones")
  func didSaves() throws {
    let (child, root) = (temporariness(stack.main), temporariness(stack.writer))
    _ = stack.main.performAndWait { Person(context: $0).objectID }
    try stack.flush()
    #expect(child.0.all == [[true]])
    #expect(root.0.all == [[false]])
    withExtendedLifetime((child.1, root.1)) {}
  }

  @Test(
    "Temporary and permanent ID are one identity: equal, of equal hash, and they resolve in every context of the stack")
  func oneIdentity() throws {
    let before = stack.main.performAndWait { Person(context: $0).objectID }
    let (hash, uri) = (before.hashValue, before.uriRepresentation)
    let byID = [before: "known"]
    try stack.flush()
    let after = try stack.root().performAndWait { try #require(try $0.fetchIDs(FetchRequest<Person>()).first) }
    #expect(after == before && after.hashValue == hash && after.uriRepresentation == uri && byID[after] == "known")
    let child = ManagedObjectContext(parent: stack.main, name: "child")
    for context in [stack.main, stack.writer, stack.root(), child] {
      try context.performAndWait { context in
        let object = try context.existingObject(with: before)
        #expect(object === context.object(with: after) && object.objectID == after)
      }
    }
  }

  @Test("An ID that any ancestor knows resolves through existingObject in a child, also before its row exists")
  func unsavedAncestors() throws {
    let chain = stack.chain(5)
    for ancestor in [stack.writer, stack.main, chain[1], chain[3]] {
      let id = ancestor.performAndWait { ancestor in
        let person = Person(context: ancestor)
        person.age = 7
        return person.objectID
      }
      try chain[4].performAndWait { deepest in
        let person = try #require(try deepest.existingObject(with: id) as? Person)
        #expect(!person.isFault && person.age == 7 && !person.isInserted)
      }
    }
    let own = try chain[4].performAndWait { deepest in
      let person = Person(context: deepest)
      let found = try deepest.existingObject(with: person.objectID)
      #expect(found === person)
      return person.objectID
    }
    #expect(throws: ObjectNotFound(objectID: own)) {
      try chain[3].performAndWait { _ = try $0.existingObject(with: own) }
    }
  }

  @Test("An ID resolves in a child while the block that inserted its object still waits for the child")
  func unfinishedEvent() throws {
    let child = ManagedObjectContext(parent: stack.main, name: "child")
    let editor = ManagedObjectContext(parent: stack.main, name: "editor", executor: stack.main.executor)
    try stack.main.performAndWait { main in
      let person = Person(context: main)
      person.age = 7
      let id = person.objectID
      for context in [child, editor] {
        try context.performAndWait { context in
          #expect((try context.existingObject(with: id) as? Person)?.age == 7)
          let ages = try context.fetch(FetchRequest<Person>()).map(\.age)
          #expect(ages == [7])
        }
      }
      let late = Person(context: main).objectID
      let found = try editor.assumeIsolated { try $0.existingObject(with: late).objectID }
      #expect(found == late)
    }
  }

  @Test("An object that an ancestor deleted does not exist for a child")
  func deletedInAncestor() throws {
    let id = try stack.savedPerson()
    let child = ManagedObjectContext(parent: stack.main, name: "child")
    stack.main.performAndWait { $0.delete($0.object(with: id)) }
    #expect(throws: ObjectNotFound(objectID: id)) {
      try child.performAndWait { _ = try $0.existingObject(with: id) }
    }
  }

  @Test("IDs are Sendable and Hashable, and convert to a URI and back through the coordinator")
  func uris() async throws {
    func isSendable<Value: Sendable & Hashable>(_ value: Value) -> Bool { true }
    let id = try stack.savedPerson()
    #expect(isSendable(id))
    let fromTask = await Task.detached { Set([id, id]) }.value
    #expect(fromTask == [id])
    let uri = try #require(id.uriRepresentation)
    #expect(uri.scheme == "x-coredata" && uri.path.hasPrefix("/Person/p"))
    #expect(stack.coordinator.objectID(for: uri) == id)
    // The same record by another coordinator on the same file.
    let other = try stack.freshCoordinator()
    let there = try #require(other.coordinator.objectID(for: uri))
    let name = try other.main.performAndWait { (try $0.existingObject(with: there) as? Person)?.firstName }
    #expect(name == "Ada" && there != id)
    for bad in ["x-coredata://\(UUID())/Person/p1", "https://example.org/Person/p1", "\(uri)x"] {
      #expect(stack.coordinator.objectID(for: try #require(URL(string: bad))) == nil)
    }
  }
}
