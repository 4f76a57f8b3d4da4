import Foundation
import ObjectGraph
import StoreTesting
import Testing

@Suite("Uniquing, faults, lifetime", .onEachStore)
struct UniquingTests {
  let stack: Stack

  init() throws { stack = try Stack(People.model) }

  /// A department and ten persons of ages 0 to 9 in it, in the store and in nobody's memory.
  private func savedStaff() throws -> (department: ManagedObjectID, people: [ManagedObjectID]) {
    let importer = stack.root("importer")
    return try importer.performAndWait { importer in
      let department = Department(context: importer)
      department.name = "Engines"
      let people = (0..<10).map { index in
        let person = Person(context: importer)
        person.age = Int64(index)
        person.department = department
        return person.objectID
      }
      try importer.save()
      return (department.objectID, people)
    }
  }

  @Test("Two routes to one record give the same instance in a context, and two contexts give two with equal IDs")
  func uniquing() throws {
    let ids = try savedStaff()
    try stack.main.performAndWait { main in
      let people = try main.fetch(FetchRequest<Person>(sortBy: [.ascending(\.age)]))
      let byID = main.objects(with: ids.people)
      let department = try #require(main.object(with: ids.department) as? Department)
      #expect(zip(people, byID).allSatisfy { $0 === $1 })
      #expect(department.employees == Set(people))
      #expect(people[3].department === department)
      let inMain = ObjectIdentifier(people[0])
      stack.root().performAndWait { other in
        let copy = other.object(with: ids.people[0])
        #expect(ObjectIdentifier(copy) != inMain)
        #expect(copy.objectID == ids.people[0])
      }
      withExtendedLifetime(people) {}
    }
  }

  @Test("registeredObject(for:) is nil for an unregistered ID and never does I/O")
  func registeredObject() throws {
    let ids = try savedStaff()
    stack.main.performAndWait { main in
      let statements = stack.statementCount {
        #expect(main.registeredObject(for: ids.people[0]) == nil)
        let person = main.object(with: ids.people[0])
        #expect(main.registeredObject(for: ids.people[0]) === person)
      }
      #expect(statements == 0)
    }
  }

  @Test("object(with:) never is nil, never does I/O and assumes that the row exists")
  func assumedObject() throws {
    let id = try savedStaff().people[0]
    let other = stack.root()
    try other.performAndWait { other in
      other.delete(other.object(with: id))
      try other.save()
    }
    stack.main.performAndWait { main in
      let statements = stack.statementCount {
        let person = main.object(with: id)
        #expect(person.isFault && person.objectID == id && !person.isDeleted)
      }
      #expect(statements == 0)
    }
  }

  @Test("existingObject(with:) does I/O if it must, throws if the row is absent, and never gives a fault")
  func existingObject() throws {
    let ids = try savedStaff()
    let reader = try stack.freshCoordinator()
    let uris = [ids.people[0], ids.people[1]].compactMap(\.uriRepresentation)
    let here = uris.compactMap(reader.coordinator.objectID(for:))
    try reader.main.performAndWait { main in
      for expected in [1, 0] {
        var isFault = true
        let statements = try reader.statementCount { isFault = try main.existingObject(with: here[0]).isFault }
        #expect(statements == expected && !isFault)
      }
      _ = try stack.place.shell("DELETE FROM Person WHERE _key = \(here[1].key)")
      #expect(throws: ObjectNotFound(objectID: here[1])) { try main.existingObject(with: here[1]) }
    }
  }

  @Test("Equality, hash, ID, entity, state and context do not fire a fault; the first property does, once")
  func firing() throws {
    let ids = try savedStaff()
    let reader = try stack.freshCoordinator()
    let id = try #require(ids.people[0].uriRepresentation.flatMap(reader.coordinator.objectID(for:)))
    try reader.main.performAndWait { main in
      let person = try #require(main.object(with: id) as? Person)
      let quiet = reader.statementCount {
        #expect(person.objectID == id && person.entity.name == "Person")
        #expect(!person.isInserted && !person.isUpdated && !person.isDeleted && !person.hasChanges)
        #expect(person == person && person.hashValue == person.hashValue && Set([person]).contains(person))
        #expect(person.managedObjectContext === main && "\(person)".contains("fault"))
        #expect(person.isFault)
      }
      #expect(quiet == 0)
      let firing = reader.statementCount { #expect(person.age == 0 && !person.isFault && person.firstName == nil) }
      #expect(firing == 1)
    }
  }

  @Test("A fetch gives faults whose values are in the row cache: firing them runs no SQL, in other contexts too")
  func fetchedFaults() throws {
    let ids = try savedStaff()
    let here = try stack.freshCoordinator()
    let here0 = try #require(ids.people[0].uriRepresentation.flatMap(here.coordinator.objectID(for:)))
    try here.main.performAndWait { main in
      var people: [Person] = []
      let fetching = try here.statementCount {
        people = try main.fetch(FetchRequest<Person>(sortBy: [.ascending(\.age)]))
      }
      #expect(fetching == 1)
      #expect(people.filter(\.isFault).count == 10)
      let reading = here.statementCount { #expect(people.map(\.age) == Array(0..<10)) }
      #expect(reading == 0)
    }
    let other = here.root()
    other.performAndWait { other in
      let reading = here.statementCount { #expect((other.object(with: here0) as? Person)?.age == 0) }
      #expect(reading == 0)
    }
  }

  @Test("returnsObjectsAsFaults = false gives realised objects")
  func realisedObjects() throws {
    _ = try savedStaff()
    var request = FetchRequest<Person>()
    request.returnsObjectsAsFaults = false
    try stack.main.performAndWait { [request] main in
      let people = try main.fetch(request)
      #expect(people.count == 10 && !people.contains { $0.isFault })
    }
  }

  @Test("Traversing a relationship costs nothing in the context, no SQL in the row cache, else one SELECT")
  func traversing() throws {
    let ids = try savedStaff()
    let reader = try stack.freshCoordinator()
    let here = try ([ids.department] + ids.people).map {
      try #require($0.uriRepresentation.flatMap(reader.coordinator.objectID(for:)))
    }
    /// Statements of a first and a second traversal, with and without a row cache that knows the destination.
    func costs(_ context: ManagedObjectContext) throws -> (toOne: [Int], toMany: [Int]) {
      try context.performAndWait { context in
        let person = try #require(try context.existingObject(with: here[1]) as? Person)
        let department = try #require(person.department)
        let toOne = (0..<2).map { _ in reader.statementCount { #expect(person.department?.name == "Engines") } }
        let toMany = (0..<2).map { _ in reader.statementCount { #expect(department.employees.count == 10) } }
        return (toOne, toMany)
      }
    }
    let cold = try costs(reader.root("cold"))
    #expect(cold.toOne == [1, 0] && cold.toMany == [1, 0])
    let warm = try costs(reader.root("warm"))
    #expect(warm.toOne == [0, 0] && warm.toMany == [0, 0])
  }

  @Test("What the row cache remembers of a relationship goes with the next save, and pending changes count")
  func staleTraversals() throws {
    let ids = try savedStaff()
    func employees(_ context: ManagedObjectContext) throws -> Int {
      try context.performAndWait { context in
        try #require(context.object(with: ids.department) as? Department).employees.count
      }
    }
    #expect(try employees(stack.root()) == 10)
    let editor = stack.root("editor")
    editor.performAndWait { ($0.object(with: ids.people[0]) as? Person)?.department = nil }
    #expect(try employees(editor) == 9)
    #expect(try employees(ManagedObjectContext(parent: editor)) == 9)
    #expect(try employees(stack.root()) == 10)
    try editor.performAndWait { try $0.save() }
    #expect(try employees(stack.root()) == 9)
  }

  @Test("Prefetching a key path costs one extra fetch per entity, not one per object")
  func prefetching() throws {
    _ = try savedStaff()
    let reader = try stack.freshCoordinator()
    var request = FetchRequest<Person>()
    request.relationshipKeyPathsForPrefetching = ["department"]
    try reader.main.performAndWait { [request] main in
      var people: [Person] = []
      let fetching = try reader.statementCount { people = try main.fetch(request) }
      let reading = reader.statementCount { #expect(people.allSatisfy { $0.department?.name == "Engines" }) }
      #expect(fetching == 2 && reading == 0)
    }
  }

  @Test("shouldRefreshRefetchedObjects = true overwrites realised, unchanged values; false leaves them")
  func refetching() throws {
    let ids = try savedStaff().people
    for refreshes in [false, true] {
      let context = stack.root()
      try context.performAndWait { context in
        let people = context.objects(with: ids.prefix(2)).compactMap { $0 as? Person }
        let names = people.map(\.lastName)
        people[1].firstName = "mine"
        try stack.root().performAndWait { other in
          for case let person as Person in other.objects(with: ids) { person.lastName = "theirs \(refreshes)" }
          try other.save()
        }
        var request = FetchRequest<Person>(sortBy: [.ascending(\.age)], limit: 2)
        request.shouldRefreshRefetchedObjects = refreshes
        let refetched = try context.fetch(request)
        #expect(refetched == people)
        #expect(people[0].lastName == (refreshes ? "theirs true" : names[0]))
        #expect(people[1].lastName == names[1] && people[1].firstName == "mine")
      }
    }
  }

  @Test("refresh(mergeChanges: false) drops pending changes and transient values and makes the object a fault")
  func refreshDropping() throws {
    let stack = try Stack(Zoo.model)
    let (here, there) = (stack.root("here"), stack.root("there"))
    let id = try here.performAndWait { here in
      let object = here.insertObject(ofEntity: "Everything")
      try here.save()
      return object.objectID
    }
    try here.performAndWait { here in
      let object = here.object(with: id)
      object.setValue("mine", forKey: "text")
      object.setValue("note", forKey: "scratch")
      here.processPendingChanges()
      try there.performAndWait { there in
        there.object(with: id).setValue("theirs", forKey: "text")
        try there.save()
      }
      try here.refresh(object, mergeChanges: false)
      #expect(object.isFault && !object.hasChanges && !here.hasChanges)
      #expect(object[attribute: "text"] == "theirs" && object[attribute: "scratch"] == .null)
      try here.checkInvariants()
    }
  }

  @Test("refresh(mergeChanges: true) puts the pending changes on top of the new values")
  func refreshMerging() throws {
    let id = try savedStaff().people[0]
    try stack.main.performAndWait { main in
      let person = try #require(main.object(with: id) as? Person)
      person.age = 50
      try stack.root().performAndWait { other in
        (other.object(with: id) as? Person)?.lastName = "King"
        try other.save()
      }
      try main.refresh(person, mergeChanges: true)
      #expect(person.age == 50 && person.lastName == "King" && person.isUpdated)
      #expect(person.changedValues() == ["age": .integer(50)])
    }
  }

  @Test("refreshAllObjects makes clean objects faults; dirty ones keep their changes and stay realised")
  func refreshAll() throws {
    let ids = try savedStaff().people
    try stack.main.performAndWait { main in
      let clean = try #require(main.existingObject(with: ids[0]) as? Person)
      let dirty = try #require(main.existingObject(with: ids[1]) as? Person)
      let new = Person(context: main)
      dirty.age = 50
      try stack.root().performAndWait { other in
        (other.object(with: ids[0]) as? Person)?.age = 9
        try other.save()
      }
      main.refreshAllObjects()
      #expect(clean.isFault && !dirty.isFault && !new.isFault)
      #expect(dirty.age == 50 && dirty.isUpdated && new.isInserted)
      #expect(clean.age == 9)
    }
  }

  @Test("Firing a fault whose row is gone is a deleted object with nil properties, or an error value, never a crash")
  func goneRows() throws {
    let ids = try savedStaff()
    let (lenient, strict) = (stack.root("lenient"), stack.root("strict"))
    try stack.main.performAndWait { main in
      main.delete(main.object(with: ids.people[0]))
      try main.save()
    }
    try stack.writer.performAndWait { try $0.save() }
    try lenient.performAndWait { lenient in
      let person = try #require(lenient.object(with: ids.people[0]) as? Person)
      #expect(person.age == 0 && person.firstName == nil && person.department == nil && person.isDeleted)
      #expect(throws: ObjectNotFound.self) { try lenient.realize(person) }
      lenient.delete(person)
      try lenient.save()
      // What is set on it is dropped, and keeps nothing else from being saved.
      person.firstName = "set"
      #expect(!person.hasChanges)
      #expect(lenient.hasChanges == false)
      Person(context: lenient).firstName = "saved"
      try lenient.save()
      #expect(try lenient.count(for: FetchRequest<Person>(format: "firstName IN {'set', 'saved'}")) == 1)
    }
    try strict.performAndWait { strict in
      strict.shouldDeleteInaccessibleFaults = false
      let person = try #require(strict.object(with: ids.people[0]) as? Person)
      #expect(throws: ObjectNotFound.self) { try strict.realize(person) }
      #expect(person.age == 0 && person.firstName == nil && !person.isDeleted)
      #expect(throws: ObjectNotFound.self) { try strict.save() }
      person.firstName = "set"
      #expect(throws: ObjectNotFound.self) { try strict.save() }
    }
  }

  @Test("A context holds only inserted, updated and deleted objects; the rest live as long as somebody uses them")
  func lifetimes() throws {
    let ids = try savedStaff().people
    try stack.main.performAndWait { main in
      _ = try main.fetch(FetchRequest<Person>()).map(\.age)
      #expect(main.registeredObjects.isEmpty)
      let inserted = Person(context: main).objectID
      (main.object(with: ids[0]) as? Person)?.age = 77
      main.delete(main.object(with: ids[1]))
      #expect(Set(main.registeredObjects.map(\.objectID)) == [inserted, ids[0], ids[1]])
      #expect((main.registeredObject(for: ids[0]) as? Person)?.age == 77)
      try main.save()
      #expect(main.registeredObjects.isEmpty)
    }
  }

  @Test("retainsRegisteredObjects makes a context hold all its objects until it is reset")
  func retaining() throws {
    _ = try savedStaff()
    try stack.main.performAndWait { main in
      main.retainsRegisteredObjects = true
      _ = try main.fetch(FetchRequest<Person>())
      #expect(main.registeredObjects.count == 10)
      main.retainsRegisteredObjects = false
      #expect(main.registeredObjects.isEmpty)
      main.retainsRegisteredObjects = true
      _ = try main.fetch(FetchRequest<Person>())
      main.reset()
      #expect(main.registeredObjects.isEmpty)
    }
  }

  @Test("A context goes with its last user; an object that outlives it keeps the values it has")
  func survivors() throws {
    let ids = try savedStaff().people
    weak var context: ManagedObjectContext?
    var survivor: Person?
    do {
      let worker = ManagedObjectContext(parent: stack.main, name: "worker")
      context = worker
      survivor =
        worker.performAndWait { worker in
          let person = worker.object(with: ids[2]) as? Person
          #expect(person?.age == 2)
          return Unchecked(person)
        }.value
    }
    #expect(context == nil)
    #expect(survivor?.managedObjectContext == nil)
    #expect(survivor?.age == 2 && survivor?.department == nil)
  }

  @Test("A fault that came from an ancestor's pending changes shows those, not an older stored row")
  func pendingBeatsCache() throws {
    let ids = try savedStaff()
    _ = try stack.root().performAndWait { try $0.fetch(FetchRequest<Person>()).map(\.age) }
    stack.main.performAndWait { ($0.object(with: ids.people[0]) as? Person)?.age = 55 }
    let worker = ManagedObjectContext(parent: stack.main, name: "worker")
    let ages = try worker.performAndWait { worker in
      try worker.fetch(FetchRequest<Person>(sortBy: [.ascending(\.age)])).map(\.age)
    }
    #expect(ages == [1, 2, 3, 4, 5, 6, 7, 8, 9, 55])
  }
}

/// Takes an object out of its context, which only a test of what then happens may do.
private struct Unchecked<Value>: @unchecked Sendable {
  // @unchecked: the test uses the value on one thread at a time.
  let value: Value
  init(_ value: Value) { self.value = value }
}
