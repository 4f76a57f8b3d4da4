import Foundation
import ObjectGraph
import Testing

@Suite("Conflicts")
struct ConflictTests: Neighbours {
  let stack: Stack

  init() throws { stack = try Stack(People.model) }

  private func sqlite(_ sql: String) throws -> String { try SQLiteShell(path: stack.storePath).run(sql) }

  /// Changes a row as another process does, behind the coordinator's back.
  private func changeElsewhere(_ id: ManagedObjectID, _ assignment: String) throws {
    _ = try sqlite("UPDATE Person SET \(assignment), _version = _version + 1 WHERE _key = \(id.key)")
  }

  private func edit(_ id: ManagedObjectID, age: Int64, in context: ManagedObjectContext) {
    context.performAndWait { ($0.object(with: id) as? Person)?.age = age }
  }

  @Test("An update or delete of a row whose version moved is a conflict, and nothing of the save is written")
  func nothingIsWritten() throws {
    let (changed, deleted) = (try savedPerson("Ada"), try savedPerson("Bea"))
    here.performAndWait { here in
      (here.object(with: changed) as? Person)?.age = 5
      here.delete(here.object(with: deleted))
      Person(context: here).firstName = "Cy"
    }
    edit(changed, age: 7, in: there)
    edit(deleted, age: 8, in: there)
    try there.performAndWait { try $0.save() }
    _ = stack.statements.drain()
    here.performAndWait { here in
      let error = #expect(throws: SaveConflicts.self) { try here.save() }
      #expect(Set(error?.conflicts.map(\.objectID) ?? []) == [changed, deleted])
      #expect(error?.conflicts.allSatisfy { $0.kind == .contextAgainstRowCache } == true)
      #expect(error?.conflicts.first { $0.objectID == deleted }?.objectSnapshot == nil)
    }
    #expect(stack.statements.drain().isEmpty)
    #expect(try sqlite("SELECT firstName, age FROM Person ORDER BY firstName") == "Ada|7\nBea|8")
  }

  @Test("What another process changed is a conflict of the row cache with the store, with all three snapshots")
  func otherProcess() throws {
    let id = try savedPerson("Ada", age: 1)
    edit(id, age: 5, in: here)
    try changeElsewhere(id, "age = 9, firstName = 'Zoe'")
    try here.performAndWait { here in
      let error = #expect(throws: SaveConflicts.self) { try here.save() }
      let conflict = try #require(error?.conflicts.first)
      #expect(error?.conflicts.count == 1 && conflict.kind == .rowCacheAgainstStore)
      #expect(conflict.expectedVersion == 1 && conflict.storedVersion == 2)
      #expect(conflict.objectSnapshot?["age"] == 5 && conflict.objectSnapshot?["firstName"] == "Ada")
      #expect(conflict.cachedSnapshot?["age"] == 1 && conflict.cachedSnapshot?["firstName"] == "Ada")
      #expect(conflict.storedSnapshot?["age"] == 9 && conflict.storedSnapshot?["firstName"] == "Zoe")
      // The failed save has taught the cache what is stored, so the way out is open.
      try here.refresh(here.object(with: id), mergeChanges: true)
      try here.save()
    }
    #expect(try sqlite("SELECT age, firstName FROM Person") == "5|Zoe")
  }

  @Test("Each policy resolves a conflict with another process as with another context")
  func policiesAgainstOtherProcess() throws {
    let policies: [(MergePolicy, String)] = [
      (.mergeByPropertyStoreTrump, "9|Zoe|King"), (.mergeByPropertyObjectTrump, "5|Zoe|King"),
      (.overwrite, "5|Ada|King"), (.rollback, "9|Zoe|"),
    ]
    for (policy, expected) in policies {
      let id = try savedPerson("Ada", age: 1)
      here.mergePolicy = policy
      here.performAndWait { here in
        (here.object(with: id) as? Person)?.age = 5
        (here.object(with: id) as? Person)?.lastName = "King"
      }
      try changeElsewhere(id, "age = 9, firstName = 'Zoe'")
      try here.performAndWait { here in
        try here.save()
        let person = try #require(here.object(with: id) as? Person)
        #expect("\(person.age)|\(person.firstName ?? "")|\(person.lastName ?? "")" == expected, "\(policy)")
        #expect(here.hasChanges == false && person.hasChanges == false)
      }
      #expect(try sqlite("SELECT age, firstName, lastName FROM Person WHERE _key = \(id.key)") == expected)
      // The next change starts from what was resolved.
      edit(id, age: 100, in: here)
      try here.performAndWait { try $0.save() }
      #expect(try sqlite("SELECT age FROM Person WHERE _key = \(id.key)") == "100")
    }
  }

  @Test("An object deleted elsewhere stays deleted under store trump and rollback, and is made again under the others")
  func deletedElsewhere() throws {
    for (policy, survives) in [
      (MergePolicy.mergeByPropertyStoreTrump, false), (.rollback, false), (.mergeByPropertyObjectTrump, true),
      (.overwrite, true),
    ] {
      let id = try savedPerson("Ada", age: 1)
      edit(id, age: 5, in: here)
      try there.performAndWait { there in
        there.delete(there.object(with: id))
        try there.save()
      }
      try here.performAndWait { here in
        let person = try #require(here.object(with: id) as? Person)
        here.mergePolicy = .error
        let error = #expect(throws: SaveConflicts.self) { try here.save() }
        #expect(error?.conflicts.first?.storedVersion == nil && error?.conflicts.first?.storedSnapshot == nil)
        here.mergePolicy = policy
        try here.save()
        #expect((person.managedObjectContext != nil) == survives, "\(policy)")
        #expect(here.hasChanges == false)
      }
      let stored = try sqlite("SELECT age, firstName FROM Person WHERE _key = \(id.key)")
      #expect(stored == (survives ? "5|Ada" : ""), "\(policy)")
    }
  }

  @Test("A delete of an object that changed elsewhere is done under object trump and overwrite, and dropped else")
  func deletedHere() throws {
    for (policy, survives) in [
      (MergePolicy.mergeByPropertyStoreTrump, true), (.rollback, true), (.mergeByPropertyObjectTrump, false),
      (.overwrite, false),
    ] {
      let id = try savedPerson("Ada", age: 1)
      here.mergePolicy = policy
      let person = here.performAndWait { here in
        let person = here.object(with: id)
        here.delete(person)
        return person.objectID
      }
      edit(id, age: 7, in: there)
      try there.performAndWait { try $0.save() }
      try here.performAndWait { here in
        try here.save()
        let ages = try here.fetch(FetchRequest<Person>(#Predicate { $0.age == 7 })).map(\.objectID)
        #expect(ages == (survives ? [person] : []), "\(policy)")
        for object in try here.fetch(FetchRequest<Person>()) { here.delete(object) }
        try here.save()
      }
    }
  }

  @Test("A policy from a closure decides each conflict, may keep nothing of either side, and may refuse")
  func closurePolicy() throws {
    struct Refusal: Error {}
    let (first, second) = (try savedPerson("Ada", age: 1), try savedPerson("Bea", age: 1))
    for id in [first, second] { edit(id, age: 5, in: here) }
    for id in [first, second] { edit(id, age: 9, in: there) }
    try there.performAndWait { try $0.save() }
    here.mergePolicy = .custom("refusing") { _ in throw Refusal() }
    here.performAndWait { here in
      #expect(throws: Refusal.self) { try here.save() }
      #expect(here.hasChanges == true)
    }
    here.mergePolicy = .custom("sum") { conflict in
      conflict.objectID == first ? .values(["age": 100]) : .rollback
    }
    try here.performAndWait { here in
      try here.save()
      #expect((here.object(with: first) as? Person)?.age == 100)
      #expect((here.object(with: second) as? Person)?.age == 9)
    }
    #expect(try sqlite("SELECT age FROM Person ORDER BY firstName") == "100\n9")
  }

  @Test("The coordinator's policy is inherited by its contexts and their children, and a context may override it")
  func inheritance() throws {
    #expect(here.mergePolicy.description == "error")
    stack.coordinator.mergePolicy = .mergeByPropertyObjectTrump
    let child = ManagedObjectContext(parent: here, name: "child")
    #expect(here.mergePolicy.description == "merge by property, object trump")
    #expect(child.mergePolicy.description == here.mergePolicy.description)
    here.mergePolicy = .overwrite
    #expect(child.mergePolicy.description == "overwrite")
    #expect(there.mergePolicy.description == "merge by property, object trump")
    let id = try savedPerson()
    edit(id, age: 5, in: there)
    edit(id, age: 6, in: stack.writer)
    try stack.writer.performAndWait { try $0.save() }
    try there.performAndWait { try $0.save() }
    #expect(try sqlite("SELECT age FROM Person") == "5")
  }

  @Test("A container's policy is that of all its contexts")
  func containerPolicy() throws {
    let container = try PersistentContainer(model: People.model, store: .inMemory)
    container.mergePolicy = .rollback
    for context in [container.rootContext, container.defaultContext, container.newBackgroundContext()] {
      #expect(context.mergePolicy.description == "rollback")
    }
  }

  @Test("detectConflicts adds an unchanged object to what a save looks at", arguments: [false, true])
  func detecting(inMemory: Bool) throws {
    let stack = try Stack(People.model, inMemory: inMemory)
    let (here, there) = (stack.root("here"), stack.root("there"))
    let id = try there.performAndWait { there in
      let person = Person(context: there)
      try there.save()
      return person.objectID
    }
    here.performAndWait { here in
      here.detectConflicts(for: here.object(with: id))
      Person(context: here).firstName = "Cy"
      #expect(here.updatedObjects.isEmpty)
    }
    try there.performAndWait { there in
      (there.object(with: id) as? Person)?.age = 9
      try there.save()
    }
    try here.performAndWait { here in
      let error = #expect(throws: SaveConflicts.self) { try here.save() }
      #expect(error?.conflicts.map(\.objectID) == [id])
      try here.refresh(here.object(with: id), mergeChanges: true)
      try here.save()
      // An unchanged object that stays unchanged is none, and its row is not written.
      here.detectConflicts(for: here.object(with: id))
      try here.save()
    }
    let versions = try stack.root().performAndWait { try $0.count(for: FetchRequest<Person>()) }
    #expect(versions == 2)
  }

  @Test("An object that was only looked at keeps what others have stored, whatever the policy, and has it then")
  func lookedAt() throws {
    let policies: [MergePolicy] = [
      .mergeByPropertyObjectTrump, .overwrite, .mergeByPropertyStoreTrump, .rollback,
    ]
    for policy in policies {
      let id = try savedPerson("Ada", age: 1)
      try here.performAndWait { here in
        here.mergePolicy = policy
        let person = try #require(here.object(with: id) as? Person)
        #expect(person.age == 1)
        here.detectConflicts(for: person)
        Person(context: here).firstName = "Cy"
        try there.performAndWait { there in
          (there.object(with: id) as? Person)?.age = 9
          try there.save()
        }
        try here.save()
        #expect(person.age == 9 && !here.hasChanges, "\(policy)")
      }
      #expect(try sqlite("SELECT age FROM Person WHERE _key = \(id.key)") == "9", "\(policy)")
    }
  }

  @Test("A refresh of all objects ends what detectConflicts asked for")
  func refreshedChecks() throws {
    let id = try savedPerson()
    here.performAndWait { here in
      here.detectConflicts(for: here.object(with: id))
      here.refreshAllObjects()
      Person(context: here).firstName = "Cy"
    }
    edit(id, age: 9, in: there)
    try there.performAndWait { try $0.save() }
    here.performAndWait { here in #expect(throws: Never.self) { try here.save() } }
  }

  @Test("A results controller sees what a save has merged into its objects")
  func mergedResult() throws {
    let id = try savedPerson("Ada", age: 1)
    let request = try FetchRequest<Person>(format: "age > 10", sortBy: [.ascending(\.age)])
    let controller = try FetchedResultsController(request, context: here)
    try here.performAndWait { here in
      try controller.performFetch(in: here)
      here.mergePolicy = .mergeByPropertyObjectTrump
      (here.object(with: id) as? Person)?.firstName = "Augusta"
    }
    #expect(controller.snapshot.objectIDs == [])
    edit(id, age: 50, in: there)
    try there.performAndWait { try $0.save() }
    try here.performAndWait { try $0.save() }
    #expect(controller.snapshot.objectIDs == [id])
  }

  @Test("News of a save that come late do not bring older values back, though no row is kept")
  func lateNews() throws {
    let coordinator = PersistentStoreCoordinator(model: People.model, rowCacheByteLimit: 0)
    try coordinator.open(.inMemory)
    let here = ManagedObjectContext(coordinator: coordinator, name: "here")
    let there = ManagedObjectContext(coordinator: coordinator, name: "there")
    let id = try there.performAndWait { there in
      let person = Person(context: there)
      try there.save()
      return person.objectID
    }
    try here.performAndWait { here in
      let person = try #require(try here.existingObject(with: id) as? Person)
      #expect(person.age == 0)
      let saves = try [5, 6].map { age in
        try didSave(in: there) { ($0.object(with: id) as? Person)?.age = age }
      }
      for save in saves.reversed() { here.mergeChanges(fromContextDidSave: save) }
      #expect(person.age == 6)
    }
  }

  @Test(
    "detectConflicts finds what another process wrote, in the save's transaction, and in a child what its parent did")
  func detectingElsewhere() throws {
    let id = try savedPerson()
    here.performAndWait { $0.detectConflicts(for: $0.object(with: id)) }
    try changeElsewhere(id, "age = 9")
    here.performAndWait { here in
      let error = #expect(throws: SaveConflicts.self) { try here.save() }
      #expect(error?.conflicts.first?.kind == .rowCacheAgainstStore)
      here.rollback()
      #expect(throws: Never.self) { try here.save() }
    }
    let child = ManagedObjectContext(parent: there, name: "child")
    child.performAndWait { $0.detectConflicts(for: $0.object(with: id)) }
    edit(id, age: 77, in: there)
    child.performAndWait { child in
      Person(context: child).firstName = "Cy"
      let error = #expect(throws: SaveConflicts.self) { try child.save() }
      #expect(error?.conflicts.map(\.objectID) == [id])
      // Nor may the value be lost that was computed from what others have changed since.
      (child.object(with: id) as? Person)?.age += 1
      #expect(throws: SaveConflicts.self) { try child.save() }
    }
  }

  @Test("A conflict with another context of the process is told as such when that has deleted the object")
  func kindOfDelete() throws {
    let id = try savedPerson("Ada", age: 1)
    edit(id, age: 2, in: here)
    try there.performAndWait { there in
      there.delete(there.object(with: id))
      try there.save()
    }
    here.performAndWait { here in
      let error = #expect(throws: SaveConflicts.self) { try here.save() }
      #expect(error?.conflicts.map(\.kind) == [.contextAgainstRowCache])
    }
  }

  @Test("An object whose conflict was resolved by writing shows what others have linked meanwhile")
  func linksAfterConflict() throws {
    for policy in [MergePolicy.mergeByPropertyObjectTrump, .overwrite, .mergeByPropertyStoreTrump, .rollback] {
      let stack = try Stack(Zoo.model)
      let (keeper, dogs) = try stack.there.performAndWait { there in
        let (keeper, dogs) = (Keeper(context: there), (0..<3).map { _ in Dog(context: there) })
        keeper.favourites = [dogs[0], dogs[1]]
        try there.save()
        return (keeper.objectID, dogs.map(\.objectID))
      }
      try stack.here.performAndWait { here in
        let mine = try #require(try here.existingObject(with: keeper) as? Keeper)
        #expect(mine.favourites.count == 2)
        mine.name = "mine"
        try stack.there.performAndWait { there in
          let theirs = try #require(there.object(with: keeper) as? Keeper)
          theirs.name = "theirs"
          theirs.favourites = dogs[1...].compactMap { there.object(with: $0) as? Animal }
          try there.save()
        }
        here.mergePolicy = policy
        try here.save()
        #expect(mine.favourites.map(\.objectID) == Array(dogs[1...]), "\(policy)")
      }
      try stack.checkInvariants(stack.here)
    }
  }
}
