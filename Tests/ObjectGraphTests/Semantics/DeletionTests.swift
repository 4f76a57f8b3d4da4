import Foundation
import ObjectGraph
import ObjectGraphTesting
import Testing

@Suite("Change tracking, deletion, undo: deletion")
struct DeletionTests {
  private func zoo() throws -> Stack { try Stack(Zoo.model) }

  private func skill(_ title: String, _ context: isolated ManagedObjectContext) -> Skill {
    let skill = Skill(context: context)
    skill.title = title
    return skill
  }

  @Test(
    "Delete rules: no action leaves, nullify clears, cascade deletes, deny refuses; targets deleted in the same save don't"
  )
  func rules() throws {
    let stack = try Stack(Zoo.model)
    try stack.main.performAndWait { main in
      let keeper = Keeper(context: main)
      let shifts = (0..<2).map { _ in Shift(context: main) }
      let dog = Dog(context: main)
      let cage = Cage(context: main)
      keeper.setValue(Set<ManagedObject>(shifts), forKey: "shifts")
      dog.setValue(keeper, forKey: "keeper")
      dog.setValue(cage, forKey: "cage")
      try main.save()
      try stack.writer.performAndWait { try $0.save() }

      main.delete(keeper)
      main.processPendingChanges()
      #expect(shifts.filter(\.isDeleted).count == 2)
      #expect(dog.value(forKey: "keeper") == nil && !dog.isDeleted)
      try main.save()

      main.delete(cage)
      let error = #expect(throws: ValidationError.self) { try main.save() }
      #expect(error?.rule == .deniedDelete && error?.property == "animals")
      #expect(dog.value(forKey: "cage") as? Cage === cage)
      main.delete(dog)
      try main.save()
      try stack.writer.performAndWait { try $0.save() }
      for table in ["Keeper", "Shift", "Animal", "Cage"] {
        let count = try SQLiteShell(path: stack.storePath).run("SELECT count(*) FROM \(table)")
        #expect(count == "0")
      }
    }
  }

  @Test("Delete rules hold for many-to-many: deny refuses unless both ends go, nullify unlinks, nothing is left behind")
  func deleteRules() throws {
    let stack = try zoo()
    try stack.writer.performAndWait { writer in
      let keeper = Keeper(context: writer)
      let skills = ["a", "b", "c"].map { skill($0, writer) }
      keeper.skills = Set(skills)
      try writer.save()
      writer.delete(skills[0])
      let error = #expect(throws: ValidationError.self) { try writer.save() }
      #expect(error?.rule == .deniedDelete && error?.property == "keepers")
      writer.rollback()
      #expect(keeper.skills == Set(skills))
      writer.delete(skills[0])
      writer.delete(keeper)
      try writer.save()
      #expect(skills[1].keepers.isEmpty && !skills[1].isDeleted)
    }
    #expect(try SQLiteShell(path: stack.storePath).run("SELECT count(*) FROM Keeper_skills") == "0")
  }

  @Test("A cascade from an object that was never saved leaves no ghost in any set")
  func cascadeOfNew() throws {
    let stack = try Stack(Zoo.model)
    try stack.main.performAndWait { main in
      let keeper = Keeper(context: main)
      let shift = Shift(context: main)
      shift.setValue(keeper, forKey: "keeper")
      main.processPendingChanges()
      main.delete(keeper)
      main.processPendingChanges()
      #expect(main.hasChanges == false && main.deletedObjects.isEmpty && main.insertedObjects.isEmpty)
      try main.save()
      #expect(shift.managedObjectContext == nil)
    }
  }

  @Test(
    "An object that was never saved leaves no ghost where its delete rule is deny or no action",
    arguments: [true, false])
  func ghostsOfOtherRules(endsEvent: Bool) throws {
    let stack = try zoo()
    try stack.writer.performAndWait { writer in
      let (keeper, cage) = (Keeper(context: writer), Cage(context: writer))
      let skills = ["a", "b"].map { skill($0, writer) }
      keeper.skills = Set(skills)
      try writer.save()
      let (new, dog) = (skill("new", writer), Dog(context: writer))
      keeper.addToSkills(new)
      dog.cage = cage
      #expect(cage.animals == [dog])
      if endsEvent { writer.processPendingChanges() }
      writer.delete(new)
      writer.delete(dog)
      writer.processPendingChanges()
      #expect(keeper.skills == Set(skills) && cage.animals.isEmpty)
      #expect(writer.insertedObjects.isEmpty && writer.deletedObjects.isEmpty)
      try writer.save()
      #expect(keeper.skills == Set(skills) && cage.animals.isEmpty)
      // One that others refer to can go without them too.
      let newCage = Cage(context: writer)
      let cat = Cat(context: writer)
      cat.cage = newCage
      writer.delete(newCage)
      writer.processPendingChanges()
      #expect(cat.cage == nil && !cat.isDeleted)
      try writer.save()
    }
    #expect(try SQLiteShell(path: stack.storePath).run("SELECT count(*) FROM Keeper_skills") == "2")
    try stack.checkInvariants()
  }

  @Test("A cascade from an object that was never saved leaves no ghost, linked or not")
  func ghosts() throws {
    let stack = try zoo()
    try stack.main.performAndWait { main in
      let keeper = Keeper(context: main)
      keeper.badges = [Badge(context: main)]
      keeper.shifts = [Shift(context: main), Shift(context: main)]
      main.processPendingChanges()
      main.delete(keeper)
      main.processPendingChanges()
      #expect(!main.hasChanges && main.insertedObjects.isEmpty && main.updatedObjects.isEmpty)
      #expect(main.deletedObjects.isEmpty)
      try main.save()
      #expect(main.registeredObjects.isEmpty)
    }
  }

  @Test("An object that was inserted and deleted again leaves no ghost in any set, at any level")
  func insertAndDelete() throws {
    let stack = try Stack(People.model)
    let worker = ManagedObjectContext(parent: stack.main, name: "worker")
    try worker.performAndWait { worker in
      let first = Person(context: worker)
      worker.delete(first)
      #expect(worker.hasChanges == false)
      let second = Person(context: worker)
      worker.processPendingChanges()
      worker.delete(second)
      worker.processPendingChanges()
      #expect(worker.hasChanges == false && worker.insertedObjects.isEmpty && worker.deletedObjects.isEmpty)
      let third = Person(context: worker)
      try worker.save()
      worker.delete(third)
      try worker.save()
      #expect(third.managedObjectContext == nil)
    }
    let hasChanges = stack.main.performAndWait { $0.hasChanges }
    #expect(!hasChanges)
  }

  @Test("Deletes propagate at the end of the event, or only at save if the context is told so")
  func propagation() throws {
    let stack = try zoo()
    try stack.writer.performAndWait { writer in
      let keeper = Keeper(context: writer)
      let shift = Shift(context: writer)
      shift.keeper = keeper
      try writer.save()
      writer.propagatesDeletesAtEndOfEvent = false
      writer.delete(keeper)
      writer.processPendingChanges()
      #expect(keeper.isDeleted && !shift.isDeleted)
      try writer.save()
      #expect(try writer.count(for: FetchRequest<Shift>()) == 0)
      writer.propagatesDeletesAtEndOfEvent = true
      let (other, second) = (Keeper(context: writer), Shift(context: writer))
      second.keeper = other
      writer.delete(other)
      #expect(!second.isDeleted)
      writer.processPendingChanges()
      #expect(second.isDeleted)
    }
  }

  @Test("Reset forgets objects and changes, pending deletes too")
  func reset() throws {
    let stack = try Stack(People.model)
    let id = try stack.savedPerson()
    try stack.main.performAndWait { main in
      let person = try #require(try main.existingObject(with: id) as? Person)
      main.delete(person)
      main.reset()
      #expect(person.managedObjectContext == nil && person.firstName == "Ada")
      #expect(main.hasChanges == false && main.registeredObjects.isEmpty)
      let count = try main.count(for: FetchRequest<Person>())
      #expect(count == 1)
    }
  }

  @Test("prepareForDeletion runs once per object, for cascades too, while relationships still stand")
  func prepareForDeletion() throws {
    let xml = """
      <model><entity name="Parent" representedClassName="Mourner">
        <attribute name="name" optional="YES" attributeType="String"/>
        <relationship name="relatives" optional="YES" toMany="YES" deletionRule="Cascade" destinationEntity="Parent"
          inverseName="parent"/>
        <relationship name="parent" optional="YES" maxCount="1" deletionRule="Nullify" destinationEntity="Parent"
          inverseName="relatives"/>
      </entity></model>
      """
    let stack = try Stack(ManagedObjectModel(xml: Data(xml.utf8), classes: ["Mourner": Mourner.self]))
    stack.main.performAndWait { main in
      let people = (0..<3).map { _ in Mourner(context: main) }
      for (parent, child) in zip(people, people.dropFirst()) { child.setValue(parent, forKey: "parent") }
      main.processPendingChanges()
      main.delete(people[0])
      #expect(people.map(\.calls) == [[1], [], []])
      main.delete(people[0])
      main.processPendingChanges()
      #expect(people.map(\.calls) == [[1], [1], [0]])
    }
  }
}

/// An object that notes how many relatives it has when it is to go.
private final class Mourner: ManagedObject {
  override class var entityName: String { "Parent" }
  var calls: [Int] = []

  override func prepareForDeletion() {
    calls.append((value(forKey: "relatives") as? Set<ManagedObject>)?.count ?? -1)
  }
}
