import Foundation
import ObjectGraph
import Testing

@Suite("Change tracking, deletion, undo: undo")
struct UndoTests {
  let stack: Stack

  init() throws { stack = try Stack(People.model) }

  @Test("undoManager is nil by default: then undo does nothing and rollback still works")
  func noUndoManager() throws {
    let id = try stack.savedPerson()
    try stack.main.performAndWait { main in
      #expect(main.undoManager == nil)
      let person = try #require(try main.existingObject(with: id) as? Person)
      person.age = 9
      main.undo()
      main.redo()
      #expect(person.age == 9)
      main.rollback()
      #expect(person.age == 1)
      #expect(main.hasChanges == false)
    }
  }

  @Test("Undo takes inserts, updates and deletes back, redo does them again, and a context without changes is clean")
  func insertUpdateDelete() throws {
    let id = try stack.savedPerson()
    try stack.main.performAndWait { main in
      let undoManager = UndoManager()
      main.undoManager = undoManager
      let ada = try #require(try main.existingObject(with: id) as? Person)

      ada.age = 2
      main.processPendingChanges()
      ada.age = 3
      main.undo()
      #expect(ada.age == 2)
      main.undo()
      #expect(ada.age == 1 && !ada.hasChanges && !undoManager.canUndo)
      #expect(main.hasChanges == false)
      main.redo()
      main.redo()
      #expect(ada.age == 3 && ada.isUpdated && !undoManager.canRedo)
      main.undo()
      main.undo()

      let bea = Person(context: main)
      bea.firstName = "Bea"
      main.undo()
      #expect(main.insertedObjects.isEmpty)
      #expect(main.hasChanges == false)
      let names = try main.fetch(FetchRequest<Person>()).map(\.firstName)
      #expect(names == ["Ada"])
      main.redo()
      #expect(main.insertedObjects == [bea] && bea.firstName == "Bea" && !bea.isDeleted)
      main.undo()

      main.delete(ada)
      main.undo()
      #expect(!ada.isDeleted && ada.firstName == "Ada")
      #expect(main.hasChanges == false)
      main.redo()
      #expect(main.deletedObjects == [ada])
      try main.save()
    }
    try stack.writer.performAndWait { try $0.save() }
    #expect(try SQLiteShell(path: stack.storePath).run("SELECT count(*) FROM Person") == "0")
  }

  @Test("A rollback forgets what could be undone or done again")
  func rolledBack() throws {
    let id = try stack.savedPerson()
    try stack.main.performAndWait { main in
      let undoManager = UndoManager()
      main.undoManager = undoManager
      let person = try #require(try main.existingObject(with: id) as? Person)
      for age in 2...4 as ClosedRange<Int64> {
        person.age = age
        main.processPendingChanges()
      }
      main.undo()
      main.rollback()
      #expect(!undoManager.canUndo && !undoManager.canRedo)
      main.undo()
      main.redo()
      #expect(person.age == 1 && !person.hasChanges)
    }
  }

  @Test("The name of an inner group is that of the whole, unless it has none")
  func nestedNames() {
    let undoManager = UndoManager()
    for name in ["inner", ""] {
      undoManager.beginUndoGrouping()
      undoManager.setActionName("outer")
      undoManager.beginUndoGrouping()
      undoManager.registerUndo(withTarget: self.stack) { _ in }
      if !name.isEmpty { undoManager.setActionName(name) }
      undoManager.endUndoGrouping()
      undoManager.endUndoGrouping()
      #expect(undoManager.undoActionName == (name.isEmpty ? "outer" : name))
    }
  }

  @Test("A large value whose file a save has removed can't be brought back: it is nil, and the next save says so once")
  func lostFile() throws {
    var image = EntityDescription("Image", attributes: [AttributeDescription("data", .binary)])
    image.attributes[0].allowsExternalBinaryDataStorage = true
    let stack = try Stack(ManagedObjectModel([image]))
    let id = try stack.there.performAndWait { there in
      let image = there.insertObject(ofEntity: "Image")
      image.setValue(Data(repeating: 7, count: 200_000), forKey: "data")
      try there.save()
      return image.objectID
    }
    try stack.here.performAndWait { here in
      here.undoManager = UndoManager()
      let image = try here.existingObject(with: id)
      image.setValue(nil, forKey: "data")
      try here.save()
      here.undo()
      #expect(image.value(forKey: "data") == nil)
      let error = #expect(throws: (any Error).self) { try here.save() }
      #expect(error.map { "\($0)" }?.hasPrefix("Image.data can't be brought back") == true)
      #expect(throws: Never.self) { try here.save() }
    }
  }

  @Test(
    "Each perform is one group, an explicit group holds several, and what is done anew forgets what could be redone")
  func grouping() throws {
    let id = try stack.savedPerson()
    stack.main.performAndWait { $0.undoManager = UndoManager() }
    for age in 2...4 {
      try stack.main.performAndWait { main in
        let person = try #require(try main.existingObject(with: id) as? Person)
        person.age = 100
        _ = try main.fetch(FetchRequest<Person>())
        person.age = Int64(age)
      }
    }
    try stack.main.performAndWait { main in
      let person = try #require(try main.existingObject(with: id) as? Person)
      let recorder = main.undoManager
      let undoManager = try #require(recorder)
      main.undo()
      #expect(person.age == 3)
      main.undo()
      #expect(person.age == 2 && undoManager.canRedo)
      undoManager.beginUndoGrouping()
      undoManager.setActionName("Rename")
      person.firstName = "A"
      main.processPendingChanges()
      person.lastName = "B"
      main.processPendingChanges()
      undoManager.endUndoGrouping()
      #expect(!undoManager.canRedo && undoManager.undoActionName == "Rename")
      main.undo()
      #expect(person.firstName == "Ada" && person.lastName == nil && person.age == 2)
      #expect(undoManager.redoActionName == "Rename")
      main.redo()
      #expect(person.firstName == "A" && person.lastName == "B")
    }
  }

  @Test("Registration can be disabled around a change")
  func disabled() throws {
    let id = try stack.savedPerson()
    try stack.main.performAndWait { main in
      let undoManager = UndoManager()
      main.undoManager = undoManager
      let person = try #require(try main.existingObject(with: id) as? Person)
      person.age = 2
      undoManager.disableUndoRegistration()
      person.lastName = "King"
      undoManager.enableUndoRegistration()
      main.undo()
      #expect(person.age == 1 && person.lastName == "King")
      #expect(!undoManager.canUndo)
    }
  }

  @Test("What was saved can be undone too, and the next save writes that", arguments: [true, false])
  func afterSave(throughMain: Bool) throws {
    let ids = [try stack.savedPerson(), try stack.savedPerson("Bea")]
    let context = throughMain ? stack.main : stack.writer
    try context.performAndWait { context in
      context.undoManager = UndoManager()
      let people = try ids.map { try #require(try context.existingObject(with: $0) as? Person) }
      people[0].age = 50
      context.delete(people[1])
      Person(context: context).firstName = "Cleo"
      try context.save()
    }
    try stack.flush()
    try context.performAndWait { context in
      context.undo()
      #expect(context.hasChanges == true)
      let names = try context.fetch(FetchRequest<Person>(sortBy: [.ascending(\.firstName)])).map(\.firstName)
      #expect(names == ["Ada", "Bea"])
      let bea = try #require(try context.existingObject(with: ids[1]) as? Person)
      #expect(bea.isInserted && bea.firstName == "Bea")
      try context.save()
    }
    try stack.flush()
    let shell = SQLiteShell(path: stack.storePath)
    #expect(try shell.run("SELECT firstName, age FROM Person ORDER BY firstName") == "Ada|1\nBea|1")
    try context.performAndWait { context in
      context.redo()
      try context.save()
    }
    try stack.flush()
    #expect(try shell.run("SELECT firstName, age FROM Person ORDER BY firstName") == "Ada|50\nCleo|0")
  }

  @Test("The delete of a child that was saved one level up is undone there before it reaches the store")
  func deleteInBetween() throws {
    let id = try stack.savedPerson()
    try stack.main.performAndWait { main in
      main.undoManager = UndoManager()
      let person = try #require(try main.existingObject(with: id) as? Person)
      main.delete(person)
      try main.save()
      main.undo()
      #expect(!person.isDeleted && person.firstName == "Ada")
      try main.save()
    }
    try stack.writer.performAndWait { writer in
      let person = try #require(try writer.existingObject(with: id) as? Person)
      #expect(!person.isDeleted)
      try writer.save()
    }
    #expect(try SQLiteShell(path: stack.storePath).run("SELECT firstName FROM Person") == "Ada")
  }

  @Test("Undo takes relationship changes back at both ends, the delete rules' included")
  func relationships() throws {
    try stack.main.performAndWait { main in
      let (old, new) = (Department(context: main), Department(context: main))
      let person = Person(context: main)
      person.department = old
      try main.save()
      main.undoManager = UndoManager()
      person.department = new
      #expect(new.employees == [person])
      main.undo()
      #expect(person.department === old && old.employees == [person] && new.employees.isEmpty)
      #expect(main.hasChanges == false)
      main.redo()
      #expect(person.department === new && new.employees == [person])
      main.delete(new)
      main.processPendingChanges()
      #expect(person.department == nil)
      main.undo()
      #expect(person.department === new && new.employees == [person] && !new.isDeleted)
    }
  }

  @Test("Undo takes changes of ordered and many-to-many relationships back", arguments: [true, false])
  func links(saves: Bool) throws {
    let stack = try Stack(Zoo.model)
    try stack.writer.performAndWait { writer in
      let keeper = Keeper(context: writer)
      let animals = (0..<3).map { _ in Dog(context: writer) }
      let skills = ["a", "b", "c"].map { title in
        let skill = Skill(context: writer)
        skill.title = title
        return skill
      }
      let shifts = (0..<3).map { _ in Shift(context: writer) }
      keeper.favourites = animals
      keeper.shifts = shifts
      keeper.skills = [skills[0], skills[1]]
      try writer.save()
      writer.undoManager = UndoManager()
      keeper.favourites = animals.reversed()
      keeper.shifts = [shifts[2], shifts[0], shifts[1]]
      keeper.skills = [skills[1], skills[2]]
      if saves { try writer.save() }
      writer.undo()
      #expect(keeper.favourites == animals && keeper.shifts == shifts)
      #expect(keeper.skills == [skills[0], skills[1]] && skills[2].keepers.isEmpty)
      let hasChanges = writer.hasChanges
      #expect(hasChanges == saves)
      writer.redo()
      #expect(keeper.favourites == animals.reversed() && keeper.shifts == [shifts[2], shifts[0], shifts[1]])
      #expect(keeper.skills == [skills[1], skills[2]] && skills[0].keepers.isEmpty)
      keeper.favourites.remove(at: 1)
      writer.undo()
      #expect(keeper.favourites == animals.reversed())
      writer.delete(keeper)
      writer.processPendingChanges()
      #expect(shifts.allSatisfy(\.isDeleted) && skills[1].keepers.isEmpty)
      writer.undo()
      try writer.save()
      for object in [keeper] + skills as [ManagedObject] { try writer.refresh(object, mergeChanges: false) }
      #expect(keeper.favourites == animals.reversed() && keeper.skills == [skills[1], skills[2]])
      #expect(keeper.shifts == [shifts[2], shifts[0], shifts[1]])
    }
  }

  @Test("What a child saved is undone as one group in its parent")
  func childSaves() throws {
    let id = try stack.savedPerson()
    stack.main.performAndWait { $0.undoManager = UndoManager() }
    let editor = ManagedObjectContext(parent: stack.main, name: "editor")
    try editor.performAndWait { editor in
      let person = try #require(try editor.existingObject(with: id) as? Person)
      person.age = 70
      Person(context: editor).firstName = "Bea"
      try editor.save()
    }
    try stack.main.performAndWait { main in
      let person = try #require(try main.existingObject(with: id) as? Person)
      #expect(person.age == 70)
      main.undo()
      #expect(person.age == 1)
      #expect(main.hasChanges == false)
      main.redo()
      let count = try main.count(for: FetchRequest<Person>())
      #expect(person.age == 70 && count == 2)
    }
  }

  @Test("Rollback is independent of undo: it gives committed values back and forgets what could be undone")
  func rollback() throws {
    let id = try stack.savedPerson()
    try stack.main.performAndWait { main in
      let undoManager = UndoManager()
      main.undoManager = undoManager
      let person = try #require(try main.existingObject(with: id) as? Person)
      person.age = 2
      main.processPendingChanges()
      person.age = 3
      main.rollback()
      #expect(person.age == 1 && !undoManager.canUndo && !undoManager.canRedo)
      main.undo()
      #expect(person.age == 1)
      #expect(main.hasChanges == false)
    }
  }

  @Test("Many objects that were deleted come back in one undo, saved or not", arguments: [true, false])
  func many(saves: Bool) throws {
    let count = 600
    try stack.main.performAndWait { main in
      for index in 0..<count { Person(context: main).age = Int64(index) }
      if saves {
        try main.save()
        try stack.writer.performAndWait { try $0.save() }
      }
      main.processPendingChanges()
      main.undoManager = UndoManager()
      for person in try main.fetch(FetchRequest<Person>()) { main.delete(person) }
      if saves { try main.save() }
      let none = try main.count(for: FetchRequest<Person>())
      #expect(none == 0)
      main.undo()
      let all = try main.fetch(FetchRequest<Person>(sortBy: [.ascending(\.age)])).map(\.age)
      #expect(all == (0..<count).map(Int64.init))
      try main.save()
      try stack.writer.performAndWait { try $0.save() }
    }
    #expect(try SQLiteShell(path: stack.storePath).run("SELECT count(*), sum(age) FROM Person") == "600|179700")
  }

  @Test("The manager keeps as many groups as it is told to, and actions of the program's own")
  func levels() {
    let undoManager = UndoManager()
    undoManager.levelsOfUndo = 2
    final class Counter { var value = 0 }
    let counter = Counter()
    func add(_ number: Int) {
      counter.value += number
      undoManager.beginUndoGrouping()
      undoManager.registerUndo(withTarget: counter) { _ in add(-number) }
      undoManager.endUndoGrouping()
    }
    for number in [1, 10, 100] { add(number) }
    undoManager.undo()
    #expect(counter.value == 11)
    undoManager.redo()
    #expect(counter.value == 111)
    for _ in 0..<3 { undoManager.undo() }
    #expect(counter.value == 1 && !undoManager.canUndo)
  }

  @Test("Who is undone and who is redone is told why its values were replaced")
  func snapshotEvents() throws {
    let stack = try Stack(
      ManagedObjectModel(
        xml: Data(
          """
          <model><entity name="Person" representedClassName="Witness">
            <attribute name="name" optional="YES" attributeType="String"/></entity></model>
          """.utf8), classes: ["Witness": Witness.self]))
    try stack.main.performAndWait { main in
      main.undoManager = UndoManager()
      let person = Witness(context: main)
      main.processPendingChanges()
      main.undo()
      main.redo()
      #expect(person.events == [.undoInsertion])
      try main.save()
      main.delete(person)
      main.processPendingChanges()
      main.undo()
      #expect(person.events == [.undoInsertion, .undoDeletion])
    }
  }

  @Test("A refresh that keeps changes is nothing that could be undone")
  func refreshing() throws {
    let (first, second) = (try stack.savedPerson(), try stack.savedPerson("Bea"))
    try stack.main.performAndWait { main in
      main.undoManager = UndoManager()
      let persons = try [first, second].map { try #require(try main.existingObject(with: $0) as? Person) }
      for person in persons { person.age = 9 }
      main.processPendingChanges()
      try main.refresh(persons[0], mergeChanges: true)
      main.processPendingChanges()
      #expect(persons.map(\.age) == [9, 9])
      main.undo()
      #expect(persons.map(\.age) == [1, 1] && main.hasChanges == false)
    }
  }

  @Test("An undone change leads to nothing that a save has deleted since, whatever the rule", arguments: [true, false])
  func departedDestination(inMemory: Bool) throws {
    let stack = try Stack(Zoo.model, inMemory: inMemory)
    try stack.here.performAndWait { here in
      let (dog, cage) = (Dog(context: here), Cage(context: here))
      dog.cage = cage
      try here.save()
      here.undoManager = UndoManager()
      here.delete(cage)
      here.processPendingChanges()
      dog.cage = nil
      try here.save()
      here.undo()
      here.processPendingChanges()
      #expect(dog.cage == nil)
      try here.save()
      try here.checkInvariants()
    }
    try stack.coordinator.checkInvariants()
  }
}

/// An object that notes why its values were replaced.
private final class Witness: ManagedObject {
  override class var entityName: String { "Person" }
  var events: [SnapshotEventType] = []

  override func awake(fromSnapshotEvents events: SnapshotEventType) { self.events.append(events) }
}
