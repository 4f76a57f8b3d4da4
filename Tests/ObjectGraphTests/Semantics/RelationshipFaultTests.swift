import Foundation
import ObjectGraph
import Testing

@Suite("Relationships by name: what is a fault, and the IDs behind it")
struct RelationshipFaultTests {
  /// A department with persons that are stored and in no context.
  private func stored(_ stack: Stack, _ names: [String]) throws -> (ManagedObjectID, [ManagedObjectID]) {
    try stack.there.performAndWait { there in
      let department = Department(context: there)
      let persons = names.map { name in
        let person = Person(context: there)
        person.firstName = name
        person.department = department
        return person
      }
      try there.save()
      return (department.objectID, persons.map(\.objectID))
    }
  }

  @Test("A relationship is a fault until its objects were asked for, and asking whether it is changes nothing")
  func faults() throws {
    let stack = try Stack(People.model)
    let (departmentID, personIDs) = try stored(stack, ["Ada"])
    try stack.here.performAndWait { here in
      let department = try #require(here.existingObject(with: departmentID) as? Department)
      let person = try #require(here.object(with: personIDs[0]) as? Person)
      #expect(department.hasFault(forRelationshipNamed: "employees"))
      #expect(person.hasFault(forRelationshipNamed: "department"))
      #expect(person.isFault)
      // The person's values are needed to know where it leads; what it leads to has its own.
      #expect(person.firstName == "Ada")
      #expect(person.hasFault(forRelationshipNamed: "department") == false)
      try here.refresh(department, mergeChanges: false)
      #expect(person.hasFault(forRelationshipNamed: "department"))
      #expect(department.isFault)
      // A set of faults is no fault itself.
      try here.refresh(person, mergeChanges: false)
      #expect(department.employees.count == 1)
      #expect(department.hasFault(forRelationshipNamed: "employees") == false)
      #expect(person.isFault)
      try here.refresh(department, mergeChanges: false)
      #expect(department.hasFault(forRelationshipNamed: "employees"))
    }
  }

  @Test("A destination that nobody holds is a fault, and none is not; a new object's relationships are none")
  func ends() throws {
    let stack = try Stack(People.model)
    let (_, personIDs) = try stored(stack, ["Ada", "Bob"])
    try stack.here.performAndWait { here in
      let person = try #require(here.existingObject(with: personIDs[0]) as? Person)
      #expect(person.hasFault(forRelationshipNamed: "department"))
      person.department = nil
      #expect(person.hasFault(forRelationshipNamed: "department") == false)
      #expect(person.objectIDs(forRelationshipNamed: "department") == [])
      let (department, new) = (Department(context: here), Person(context: here))
      #expect(department.hasFault(forRelationshipNamed: "employees") == false)
      #expect(new.hasFault(forRelationshipNamed: "department") == false)
      new.department = department
      #expect(new.hasFault(forRelationshipNamed: "department") == false)
      #expect(department.objectIDs(forRelationshipNamed: "employees") == [new.objectID])
    }
  }

  @Test("IDs take one statement, make no objects, fire no fault, and know what is not saved", arguments: [true, false])
  func objectIDs(inMemory: Bool) throws {
    let stack = try Stack(People.model, inMemory: inMemory)
    let (departmentID, personIDs) = try stored(stack, ["Ada", "Bob", "Cy"])
    try stack.here.performAndWait { here in
      let department = try #require(here.existingObject(with: departmentID) as? Department)
      var ids: [ManagedObjectID] = []
      let statements = stack.statementCount { ids = department.objectIDs(forRelationshipNamed: "employees") }
      #expect(Set(ids) == Set(personIDs) && ids.count == 3)
      #expect(statements == (inMemory ? 0 : 1))
      #expect(here.registeredObjects == [department])
      #expect(department.hasFault(forRelationshipNamed: "employees"))
      // One leaves, one is deleted, one comes.
      let (bob, cy) = (here.object(with: personIDs[1]) as? Person, here.object(with: personIDs[2]))
      bob?.department = nil
      here.delete(cy)
      let new = Person(context: here)
      new.department = department
      here.processPendingChanges()
      #expect(Set(department.objectIDs(forRelationshipNamed: "employees")) == [personIDs[0], new.objectID])
      #expect(new.objectIDs(forRelationshipNamed: "department") == [departmentID])
      #expect(bob?.objectIDs(forRelationshipNamed: "department") == [])
      #expect(Set(department.employees.map(\.objectID)) == [personIDs[0], new.objectID])
      #expect(here.registeredObject(for: personIDs[0])?.isFault ?? true)
    }
  }

  @Test("A child's IDs have what its parent has not saved; the to-one end of a fault reads its own row only")
  func child() throws {
    let stack = try Stack(People.model)
    let (departmentID, personIDs) = try stored(stack, ["Ada"])
    let newID = try stack.writer.performAndWait { writer in
      let new = Person(context: writer)
      new.department = try writer.existingObject(with: departmentID) as? Department
      return new.objectID
    }
    try stack.main.performAndWait { main in
      let department = try #require(main.object(with: departmentID) as? Department)
      #expect(Set(department.objectIDs(forRelationshipNamed: "employees")) == [personIDs[0], newID])
      let person = main.object(with: personIDs[0])
      #expect(person.objectIDs(forRelationshipNamed: "department") == [departmentID])
      #expect(department.isFault)
    }
  }

  @Test(
    "IDs of an ordered relationship come in its order, saved or not",
    arguments: ["shifts", "favourites"], [true, false])
  func order(relationship: String, inMemory: Bool) throws {
    let stack = try Stack(Zoo.model, inMemory: inMemory)
    try stack.here.performAndWait { here in
      let keeper = here.insertObject(ofEntity: "Keeper")
      let made = (0..<3).map { _ in here.insertObject(ofEntity: relationship == "shifts" ? "Shift" : "Dog") }
      keeper.setValue([made[2], made[0], made[1]], forKey: relationship)
      let wanted = [made[2], made[0], made[1]].map(\.objectID)
      #expect(keeper.objectIDs(forRelationshipNamed: relationship) == wanted)
      try here.save()
      try here.refresh(keeper, mergeChanges: false)
      #expect(keeper.objectIDs(forRelationshipNamed: relationship) == wanted)
    }
  }
}
