import Foundation
import ObjectGraph
import ObjectModel
import Testing

@Suite("Identity, faults and lifetime")
struct IdentityTests {
  let stack: Stack

  init() throws { stack = try Stack(People.model) }

  private func savedStaff() throws -> (department: ManagedObjectID, people: [ManagedObjectID]) {
    let ids = stack.main.performAndWait { main in
      let department = Department(context: main)
      department.name = "Engines"
      let people = (0..<10).map { index in
        let person = Person(context: main)
        person.age = Int64(index)
        person.department = department
        return person.objectID
      }
      return (department.objectID, people)
    }
    try stack.flush()
    return ids
  }

  @Test("Fetch, relationship and ID lead to one instance in a context, and to another in another context")
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
      let other = stack.root()
      other.performAndWait { other in
        #expect(ObjectIdentifier(other.object(with: ids.people[0])) != inMain)
        #expect(other.object(with: ids.people[0]).objectID == ids.people[0])
      }
      withExtendedLifetime(people) {}
    }
  }

  @Test("Identity, state and looking objects up fire no fault and run no SQL; the first property does, once")
  func firing() throws {
    let ids = try savedStaff()
    let reader = stack.root()
    try reader.performAndWait { reader in
      var person = Person(context: reader)
      reader.delete(person)
      let quiet = try stack.statementCount {
        #expect(reader.registeredObject(for: ids.people[0]) == nil)
        person = try #require(reader.object(with: ids.people[0]) as? Person)
        #expect(person.isFault && person.objectID == ids.people[0] && person.entity.name == "Person")
        #expect(!person.isInserted && !person.isUpdated && !person.isDeleted && !person.hasChanges)
        #expect(person == person && person.hashValue == person.hashValue && person.managedObjectContext === reader)
        #expect(reader.registeredObject(for: ids.people[0]) === person)
        #expect(person.isFault)
      }
      #expect(quiet == 0)
      let firing = stack.statementCount { #expect(person.age == 0 && !person.isFault && person.firstName == nil) }
      #expect(firing == 1)
    }
  }

  @Test("Faults of a fetch have their values at hand: firing them runs no SQL, and the fetch runs one statement")
  func fetchedFaults() throws {
    _ = try savedStaff()
    let reader = stack.root()
    try reader.performAndWait { reader in
      var people: [Person] = []
      let fetching = try stack.statementCount {
        people = try reader.fetch(FetchRequest<Person>(sortBy: [.ascending(\.age)]))
      }
      #expect(fetching == 1)
      #expect(people.filter(\.isFault).count == 10)
      let reading = stack.statementCount { #expect(people.map(\.age) == Array(0..<10)) }
      #expect(reading == 0)
      var request = FetchRequest<Person>()
      request.returnsObjectsAsFaults = false
      let realised = try stack.root().performAndWait { [request] in try $0.fetch(request).allSatisfy { !$0.isFault } }
      #expect(realised)
    }
  }

  @Test("A relationship that was traversed once costs nothing the second time")
  func traversing() throws {
    let ids = try savedStaff()
    let reader = stack.root()
    try reader.performAndWait { reader in
      let department = try #require(try reader.existingObject(with: ids.department) as? Department)
      for expected in [1, 0] {
        let count = stack.statementCount { #expect(department.employees.count == 10) }
        #expect(count == expected)
      }
    }
  }

  @Test("existingObject returns values or throws, and finds what only an ancestor or the context itself has")
  func existingObjects() throws {
    let ids = try savedStaff()
    let chain = stack.chain(5)
    try chain[4].performAndWait { deepest in
      let stored = try deepest.existingObject(with: ids.people[0])
      #expect(!stored.isFault)
      let own = Person(context: deepest)
      let found = try deepest.existingObject(with: own.objectID)
      #expect(found === own)
      deepest.delete(own)
    }
    let pending = chain[1].performAndWait { context in Person(context: context).objectID }
    try chain[4].performAndWait { deepest in
      let found = try deepest.existingObject(with: pending)
      #expect(!found.isFault)
    }
    chain[1].performAndWait { context in context.delete(context.object(with: ids.people[1])) }
    #expect(throws: ObjectNotFound.self) {
      try chain[4].performAndWait { _ = try $0.existingObject(with: ids.people[1]) }
    }
  }

  @Test("Firing a fault whose row is gone reads as nil, saving tells, and nothing crashes")
  func goneRows() throws {
    let ids = try savedStaff()
    let reader = stack.root()
    try reader.performAndWait { reader in
      let person = try #require(reader.object(with: ids.people[0]) as? Person)
      stack.main.performAndWait { main in main.delete(main.object(with: ids.people[0])) }
      try stack.flush()
      #expect(person.age == 0 && person.firstName == nil && person.department == nil)
      person.age = 4
      #expect(throws: ObjectNotFound.self) { try reader.save() }
      reader.delete(person)
      try reader.save()
      #expect(throws: ObjectNotFound.self) { try reader.existingObject(with: ids.people[0]) }
    }
  }

  @Test("IDs are equal and hash equal before and after the save, and go through a URI and back")
  func identifiers() throws {
    let id = stack.main.performAndWait { main in
      let person = Person(context: main)
      main.processPendingChanges()
      return person.objectID
    }
    let uri = try #require(id.uriRepresentation)
    let hash = id.hashValue
    #expect(id.isTemporaryID)
    #expect(stack.coordinator.objectID(for: uri) == id)
    // The object is held by main because it is not saved.
    try stack.flush()
    let saved = try stack.root().performAndWait { try #require(try $0.fetchIDs(FetchRequest<Person>()).first) }
    #expect(saved == id && saved.hashValue == hash && !saved.isTemporaryID && !id.isTemporaryID)
    #expect(saved.uriRepresentation == uri)
    #expect(stack.coordinator.objectID(for: uri) == saved)
    for bad in ["x-coredata://\(UUID())/Person/p1", "https://example.org/Person/p1", "\(uri)x"] {
      #expect(stack.coordinator.objectID(for: try #require(URL(string: bad))) == nil)
    }
  }

  @Test("Contexts and clean objects go with their last user; changed objects stay until they are saved")
  func lifetimes() throws {
    let ids = try savedStaff()
    weak var context: ManagedObjectContext?
    var survivor: Person?
    do {
      let worker = ManagedObjectContext(parent: stack.main, name: "worker")
      context = worker
      try worker.performAndWait { worker in
        #expect(!worker.object(with: ids.people[0]).hasChanges)
        #expect(worker.registeredObjects.isEmpty)
        (worker.object(with: ids.people[1]) as? Person)?.age = 77
        #expect((worker.registeredObject(for: ids.people[1]) as? Person)?.age == 77)
        try worker.save()
        #expect(worker.registeredObjects.isEmpty)
      }
      survivor =
        worker.performAndWait { worker in
          let person = worker.object(with: ids.people[2]) as? Person
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

  @Test("performAndWait is re-entrant, and perform runs queued blocks in order with their results")
  func performing() async throws {
    let value = stack.main.performAndWait { main in
      main.performAndWait { inner in inner.performAndWait { _ in 7 } }
    }
    #expect(value == 7)
    let order = Recorder<Int>()
    func queueBlocks() { for index in 0..<20 { stack.main.perform { _ in order.append(index) } } }
    queueBlocks()
    let last = await stack.main.perform { _ in order.all }
    #expect(last == Array(0..<20))
  }
}

/// Takes an object out of its context, which only a test of what then happens may do.
private struct Unchecked<Value>: @unchecked Sendable {
  // @unchecked: the test uses the value on one thread at a time.
  let value: Value
  init(_ value: Value) { self.value = value }
}
