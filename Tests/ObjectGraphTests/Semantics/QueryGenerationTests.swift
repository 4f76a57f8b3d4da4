import Foundation
import ObjectGraph
import ObjectGraphTesting
import StoreTesting
import Testing

@Suite("Query generations: a context reads one state of the store until it goes on", .onEachStore)
struct QueryGenerationTests {
  private static let stores = [true, false]

  /// A stack with Ada and Bob, who work in a department, in no context.
  private func stored(inMemory: Bool) throws -> (stack: Stack, ada: ManagedObjectID, bob: ManagedObjectID) {
    let stack = try Stack(People.model, inMemory: inMemory)
    let (ada, bob) = try stack.root().performAndWait { root in
      let (ada, bob) = (Person(context: root), Person(context: root))
      (ada.firstName, bob.firstName) = ("Ada", "Bob")
      let department = Department(context: root)
      department.name = "old"
      (ada.department, bob.department) = (department, department)
      try root.save()
      return (ada.objectID, bob.objectID)
    }
    return (stack, ada, bob)
  }

  /// Renames one person, deletes another, and adds a third, in another context.
  private func change(_ stack: Stack, _ ada: ManagedObjectID, _ bob: ManagedObjectID) throws {
    try stack.there.performAndWait { there in
      let person = try #require(there.existingObject(with: ada) as? Person)
      person.firstName = "new"
      person.department?.name = "new"
      there.delete(there.object(with: bob))
      Person(context: there).firstName = "Cy"
      try there.save()
    }
  }

  private func names(_ context: ManagedObjectContext, _ condition: String = "TRUEPREDICATE") throws -> [String?] {
    try context.performAndWait { context in
      var request = try FetchRequest<Person>(format: condition, sortBy: [.ascending("firstName")])
      request.shouldRefreshRefetchedObjects = true
      return try context.fetch(request).map(\.firstName)
    }
  }

  @Test("The first read pins; fetches, counts, faults and relationships are of that state", arguments: stores)
  func pinning(inMemory: Bool) throws {
    let (stack, ada, bob) = try stored(inMemory: inMemory)
    try stack.here.performAndWait { here in
      #expect(here.queryGeneration == nil)
      try here.setQueryGeneration(from: .current)
      #expect(here.queryGeneration == .current)
    }
    // Not yet.
    try stack.there.performAndWait { there in
      (there.object(with: ada) as? Person)?.lastName = "L"
      try there.save()
    }
    try stack.here.performAndWait { here in
      let count = try here.count(for: FetchRequest<Person>(format: "lastName = 'L'"))
      #expect(count == 1)
      #expect(here.queryGeneration != nil && here.queryGeneration != .current)
    }
    try change(stack, ada, bob)
    #expect(try names(stack.here) == ["Ada", "Bob"])
    #expect(try names(stack.root()) == ["Cy", "new"])
    #expect(try names(stack.here, "department.name = 'old'") == ["Ada", "Bob"])
    try stack.here.performAndWait { here in
      let person = try #require(here.existingObject(with: bob) as? Person)
      #expect(person.department?.name == "old" && person.department?.employees.count == 2)
      let count = try here.count(for: FetchRequest<Person>())
      let rows = try here.fetchDictionaries(FetchRequest<Person>(sortBy: [.ascending("firstName")]))
      #expect(count == 2 && rows.map { $0["firstName"] } == [.string("Ada"), .string("Bob")])
      try here.refresh(person, mergeChanges: false)
      #expect(person.firstName == "Bob")
      here.refreshAllObjects()
      let read = try here.existingObject(with: ada) as? Person
      #expect(read?.firstName == "Ada")
    }
    // What is read under a pin is of no use to others, nor what others have read to it.
    try stack.checkInvariants(stack.here, stack.there)
    try stack.root().performAndWait { root in
      let read = try root.existingObject(with: ada) as? Person
      #expect(read?.firstName == "new")
      #expect(throws: ObjectNotFound.self) { try root.existingObject(with: bob) }
    }
  }

  @Test("A fault that was fetched before the pin moved on is of the new state", arguments: stores)
  func fetchedFaults(inMemory: Bool) throws {
    let (stack, ada, bob) = try stored(inMemory: inMemory)
    try stack.here.performAndWait { here in
      try here.setQueryGeneration(from: .current)
      let persons = try here.fetch(FetchRequest<Person>(sortBy: [.ascending("firstName")]))
      try change(stack, ada, bob)
      #expect(persons[1].firstName == "Bob")
      try here.setQueryGeneration(from: .current)
      #expect(persons[0].isFault && persons[0].firstName == "new")
      #expect(persons[1].firstName == "Bob")
    }
  }

  enum Step: CaseIterable {
    case save, merge, remoteMerge, reset, set, unpin
  }

  @Test("A save, a merge, a reset and the program let a context go on", arguments: Step.allCases, stores)
  func advancing(step: Step, inMemory: Bool) throws {
    let (stack, ada, bob) = try stored(inMemory: inMemory)
    try stack.here.performAndWait { here in
      try here.setQueryGeneration(from: .current)
      _ = try here.count(for: FetchRequest<Person>())
    }
    let events = EventRecorder(stack.there)
    try change(stack, ada, bob)
    #expect(try names(stack.here) == ["Ada", "Bob"])
    let save = try #require(events.didSaves.last)
    try stack.here.performAndWait { here in
      let old = here.queryGeneration
      switch step {
      case .save:
        Department(context: here).name = "another"
        try here.save()
      case .merge: here.mergeChanges(fromContextDidSave: save)
      case .remoteMerge: here.mergeChanges(fromRemoteContextSave: RemoteContextSave(updated: [ada]))
      case .reset: here.reset()
      case .set: try here.setQueryGeneration(from: .current)
      case .unpin: try here.setQueryGeneration(from: nil)
      }
      let count = try here.count(for: FetchRequest<Person>(format: "firstName = 'Cy'"))
      #expect(count == 1 && (here.queryGeneration == nil) == (step == .unpin) && here.queryGeneration != old)
    }
    #expect(try names(stack.here) == ["Cy", "new"])
    try stack.checkInvariants(stack.here)
  }

  @Test("Children read what their root reads, with what it has not saved, and are told to ask it", arguments: stores)
  func children(inMemory: Bool) throws {
    let (stack, ada, bob) = try stored(inMemory: inMemory)
    try stack.writer.performAndWait { writer in
      try writer.setQueryGeneration(from: .current)
      (try writer.existingObject(with: bob) as? Person)?.firstName = "Bert"
    }
    try change(stack, ada, bob)
    #expect(try names(stack.main) == ["Ada", "Bert"])
    #expect(try names(stack.chain(2)[1]) == ["Ada", "Bert"])
    try stack.main.performAndWait { main in
      #expect(main.queryGeneration == nil)
      let error = #expect(throws: StoreError.self) { try main.setQueryGeneration(from: .current) }
      #expect(error?.code == .unsupported)
      Person(context: main).firstName = "Dan"
      try main.save()
    }
    #expect(try names(stack.main) == ["Ada", "Bert", "Dan"])
    // The delete of what was edited is a conflict, wherever the context stands.
    try stack.writer.performAndWait { writer in
      #expect(throws: SaveConflicts.self) { try writer.save() }
      writer.mergePolicy = .mergeByPropertyStoreTrump
      try writer.save()
    }
    #expect(try names(stack.main) == ["Cy", "Dan", "new"])
    try stack.checkInvariants()
  }

  @Test("Two contexts share a state by its token, which keeps it; another coordinator's is refused", arguments: stores)
  func token(inMemory: Bool) throws {
    let (stack, ada, bob) = try stored(inMemory: inMemory)
    let token = try stack.here.performAndWait { here in
      try here.setQueryGeneration(from: .current)
      _ = try here.count(for: FetchRequest<Person>())
      return here.queryGeneration
    }
    try change(stack, ada, bob)
    stack.here.performAndWait { $0.reset() }
    let other = stack.root()
    try other.performAndWait { other in
      try other.setQueryGeneration(from: token)
      #expect(other.queryGeneration == token && token != .current)
    }
    #expect(try names(other) == ["Ada", "Bob"])
    #expect(try names(stack.here) == ["Cy", "new"])
    let stranger = try Stack(People.model, inMemory: inMemory)
    stranger.here.performAndWait { here in
      let error = #expect(throws: StoreError.self) { try here.setQueryGeneration(from: token) }
      #expect(error?.code == .unsupported && here.queryGeneration == nil)
    }
  }

  @Test("What others write in other processes is not seen either, and a pinned store closes")
  func otherProcess() throws {
    let (stack, ada, _) = try stored(inMemory: false)
    try stack.here.performAndWait { here in
      try here.setQueryGeneration(from: .current)
      let person = try #require(here.existingObject(with: ada) as? Person)
      _ = try stack.place.shell("UPDATE Person SET firstName = 'shell'")
      try here.refresh(person, mergeChanges: false)
      #expect(person.firstName == "Ada")
      try here.setQueryGeneration(from: .current)
      try here.refresh(person, mergeChanges: false)
      #expect(person.firstName == "shell")
    }
    try stack.coordinator.close()
    stack.here.performAndWait { here in
      let error = #expect(throws: StoreError.self) { try here.count(for: FetchRequest<Person>()) }
      #expect(error?.code == .noStore)
    }
  }

  @Test(
    "While a state is pinned the journal grows; when it is let go of, it is used again",
    .onlyOnSQLite("PostgreSQL keeps old rows in their tables, and its vacuum removes them"))
  func journal() throws {
    let (stack, ada, _) = try stored(inMemory: false)
    func journalBytes() throws -> Int {
      try FileManager.default.attributesOfItem(atPath: stack.storePath + "-wal")[.size] as? Int ?? 0
    }
    func write(_ rounds: Int) throws {
      try stack.there.performAndWait { there in
        let person = try #require(there.existingObject(with: ada) as? Person)
        for round in 0..<rounds {
          person.firstName = String(repeating: round.isMultiple(of: 2) ? "x" : "y", count: 100_000)
          try there.save()
        }
      }
    }
    try write(100)
    let bytes = try journalBytes()
    try stack.here.performAndWait { here in
      try here.setQueryGeneration(from: .current)
      _ = try here.count(for: FetchRequest<Person>())
    }
    try write(100)
    let pinned = try journalBytes()
    #expect(pinned > bytes + 5_000_000)
    try stack.here.performAndWait { try $0.setQueryGeneration(from: nil) }
    try write(100)
    // The first save after that still writes behind what is there.
    #expect(try journalBytes() < pinned + 1_000_000)
  }
}
