import ObjectGraph
import ObjectGraphTesting
import Testing

@Suite("Conflicts: leading to what others have deleted")
struct MissingDestinationTests {
  private static let yielding: [MergePolicy] = [
    .mergeByPropertyStoreTrump, .mergeByPropertyObjectTrump, .overwrite, .rollback,
  ]

  @Test(
    "A reference to an object that others have deleted is a conflict, and nil under every policy that resolves it",
    arguments: [true, false])
  func reference(inMemory: Bool) throws {
    for policy in Self.yielding {
      let stack = try Stack(People.model, inMemory: inMemory)
      let id = try stack.there.performAndWait { there in
        let department = Department(context: there)
        try there.save()
        return department.objectID
      }
      try stack.here.performAndWait { here in
        let department = try #require(here.object(with: id) as? Department)
        let ada = Person(context: here)
        ada.firstName = "Ada"
        ada.department = department
        try stack.there.performAndWait { there in
          there.delete(there.object(with: id))
          try there.save()
        }
        let error = #expect(throws: SaveConflicts.self) { try here.save() }
        #expect(error?.conflicts.map(\.objectID) == [id] && error?.conflicts.first?.storedVersion == nil)
        #expect(ada.department === department && here.hasChanges)
        here.mergePolicy = policy
        try here.save()
        #expect(ada.department == nil && ada.firstName == "Ada" && !here.hasChanges, "\(policy)")
        #expect(department.managedObjectContext == nil)
      }
      try stack.coordinator.checkInvariants()
      let stored = try stack.there.performAndWait { there in
        try there.fetch(FetchRequest<Person>()).map { $0.department == nil && $0.firstName == "Ada" }
      }
      #expect(stored == [true])
    }
  }

  @Test("A required reference to an object that others have deleted is a conflict that no policy resolves")
  func required() throws {
    var required = RelationshipDescription("order", to: "Order", inverse: "lines")
    required.isOptional = false
    let line = EntityDescription("Line", relationships: [required])
    let order = EntityDescription(
      "Order", relationships: [RelationshipDescription("lines", to: "Line", inverse: "order", isToMany: true)])
    for policy in [.error] + Self.yielding {
      let stack = try Stack(ManagedObjectModel([line, order]))
      let id = try stack.there.performAndWait { there in
        let order = there.insertObject(ofEntity: "Order")
        try there.save()
        return order.objectID
      }
      try stack.here.performAndWait { here in
        here.mergePolicy = policy
        let line = here.insertObject(ofEntity: "Line")
        line.setValue(try here.existingObject(with: id), forKey: "order")
        try stack.there.performAndWait { there in
          there.delete(there.object(with: id))
          try there.save()
        }
        let error = #expect(throws: SaveConflicts.self, "\(policy)") { try here.save() }
        #expect(error?.conflicts.map(\.objectID) == [id])
        #expect(here.hasChanges == true)
      }
      try stack.coordinator.checkInvariants()
    }
  }

  @Test(
    "A link to an object that others have deleted is a conflict, and goes under every policy that resolves it",
    arguments: [true, false])
  func link(inMemory: Bool) throws {
    for policy in Self.yielding {
      let stack = try Stack(Zoo.model, inMemory: inMemory)
      let (anna, skills) = try stack.there.performAndWait { there in
        let keeper = Keeper(context: there)
        let skills = (0..<3).map { number in
          let skill = Skill(context: there)
          skill.title = "skill \(number)"
          return skill
        }
        keeper.skills = [skills[0], skills[1]]
        try there.save()
        return (keeper.objectID, skills.map(\.objectID))
      }
      try stack.here.performAndWait { here in
        let keeper = try #require(here.object(with: anna) as? Keeper)
        keeper.addToSkills(try #require(here.object(with: skills[2]) as? Skill))
        #expect(keeper.skills.count == 3)
        try stack.there.performAndWait { there in
          there.delete(there.object(with: skills[2]))
          try there.save()
        }
        let error = #expect(throws: SaveConflicts.self) { try here.save() }
        #expect(error?.conflicts.map(\.objectID) == [skills[2]])
        here.mergePolicy = policy
        try here.save()
        #expect(Set(keeper.skills.map(\.objectID)) == Set(skills[..<2]), "\(policy)")
      }
      try stack.coordinator.checkInvariants()
    }
  }

  @Test("A child's change of an object that its parent took back is dropped: a child's save meets no conflicts")
  func takenBack() throws {
    let stack = try Stack(People.model)
    let child = ManagedObjectContext(parent: stack.main, name: "child")
    try child.performAndWait { child in
      let ada = Person(context: child)
      try child.save()
      stack.main.performAndWait { $0.rollback() }
      ada.age = 2
      try child.save()
      let hasChanges = child.hasChanges
      #expect(!hasChanges)
    }
    #expect(stack.main.performAndWait { $0.hasChanges } == false)
    try stack.flush()
    #expect(try stack.there.performAndWait { try $0.count(for: FetchRequest<Person>()) } == 0)
  }
}
