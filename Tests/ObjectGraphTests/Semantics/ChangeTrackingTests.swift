import Foundation
import ObjectGraph
import Testing

@Suite("Change tracking, deletion, undo: change tracking")
struct ChangeTrackingTests {
  let stack: Stack

  init() throws { stack = try Stack(People.model) }

  @Test("changedValues is since the last fetch or save, committedValues is as last fetched or saved")
  func changedAndCommitted() throws {
    let id = try stack.savedPerson()
    try stack.main.performAndWait { main in
      let person = try #require(try main.existingObject(with: id) as? Person)
      #expect(person.changedValues().isEmpty && !person.hasPersistentChangedValues)
      person.age = 2
      main.processPendingChanges()
      person.age = 3
      person.lastName = "King"
      #expect(person.changedValues() == ["age": 3, "lastName": "King"] && person.hasPersistentChangedValues)
      #expect(person.committedValues(forKeys: ["age", "lastName"]) == ["age": 1, "lastName": nil])
      try main.save()
      #expect(person.changedValues().isEmpty)
      #expect(person.committedValues(forKeys: ["age"]) == ["age": 3])
    }
  }

  @Test("changedValuesForCurrentEvent is since the last did-change, and still there while that is posted")
  func currentEvent() throws {
    let id = try stack.savedPerson()
    let seen = Recorder<[String: Value]>()
    let main = stack.main
    let observation = main.observe { event in
      guard case .didChange = event else { return }
      main.assumeIsolated { seen.append($0.registeredObject(for: id)?.changedValuesForCurrentEvent() ?? [:]) }
    }
    defer { observation.cancel() }
    try main.performAndWait { main in
      let person = try #require(try main.existingObject(with: id) as? Person)
      #expect(person.changedValuesForCurrentEvent().isEmpty)
      person.age = 2
      #expect(person.changedValuesForCurrentEvent() == ["age": 2])
      _ = try main.fetch(FetchRequest<Person>())
      person.lastName = "King"
      #expect(person.changedValuesForCurrentEvent() == ["age": 2, "lastName": "King"])
      main.processPendingChanges()
      #expect(person.changedValuesForCurrentEvent().isEmpty)
      person.age = 3
      #expect(person.changedValuesForCurrentEvent() == ["age": 3])
      #expect(person.changedValues() == ["age": 3, "lastName": "King"])
    }
    #expect(seen.all == [["age": 2, "lastName": "King"], ["age": 3]])
  }

  @Test("Primitive writes are not tracked, unless the change was announced")
  func primitives() throws {
    let id = try stack.savedPerson()
    try stack.main.performAndWait { main in
      let person = try #require(try main.existingObject(with: id) as? Person)
      person.setPrimitiveValue(7, forKey: "age")
      #expect(person.age == 7 && person.primitiveValue(forKey: "age") == 7)
      #expect(!person.hasChanges && person.changedValues().isEmpty)
      #expect(main.hasChanges == false)
      try main.save()
      try main.refresh(person, mergeChanges: false)
      #expect(person.age == 1)
      person.willChangeValue(forKey: "age")
      person.setPrimitiveValue(8, forKey: "age")
      #expect(person.isUpdated && person.changedValues() == ["age": 8])
      main.processPendingChanges()
      person.setPrimitiveValue("King", forKey: "lastName")
      try main.save()
      try stack.writer.performAndWait { try $0.save() }
    }
    #expect(try SQLiteShell(path: stack.storePath).run("SELECT age, lastName FROM Person") == "8|King")
  }

  @Test("Setting one side of a relationship sets the inverse in memory at once: to-one, to-many, many-to-many, ordered")
  func inverses() throws {
    let stack = try Stack(Zoo.model)
    stack.main.performAndWait { main in
      let (anna, bert) = (Keeper(context: main), Keeper(context: main))
      let dogs = (0..<2).map { _ in Dog(context: main) }
      let (skill, shifts) = (Skill(context: main), (0..<2).map { _ in Shift(context: main) })
      dogs[0].keeper = anna
      #expect(anna.animals == [dogs[0]])
      bert.animals = Set(dogs)
      #expect(dogs[0].keeper === bert && dogs[1].keeper === bert && anna.animals.isEmpty)
      anna.addToSkills(skill)
      #expect(skill.keepers == [anna])
      skill.keepers = [bert]
      #expect(anna.skills.isEmpty && bert.skills == [skill])
      anna.shifts = shifts
      #expect(shifts.allSatisfy { $0.keeper === anna })
      shifts[0].keeper = nil
      #expect(anna.shifts == [shifts[1]])
      anna.favourites = dogs
      #expect(dogs.allSatisfy { $0.fans == [anna] })
      dogs[0].fans = []
      #expect(anna.favourites == [dogs[1]])
    }
  }

  @Test("changedValues and hasPersistentChangedValues tell of to-many relationships too, from either end")
  func changedRelationships() throws {
    let stack = try Stack(Zoo.model)
    try stack.main.performAndWait { main in
      let (keeper, dog, shift) = (Keeper(context: main), Dog(context: main), Shift(context: main))
      try main.save()
      keeper.addToFavourites(dog)
      shift.keeper = keeper
      #expect(Set(keeper.changedValues().keys) == ["favourites", "shifts"])
      #expect(Set(dog.changedValues().keys) == ["fans"] && Set(shift.changedValues().keys) == ["keeper"])
      #expect(keeper.hasPersistentChangedValues && dog.hasPersistentChangedValues)
      try main.save()
      #expect(keeper.changedValues().isEmpty && !dog.hasPersistentChangedValues)
      keeper.favourites = []
      main.rollback()
      #expect(keeper.changedValues().isEmpty && keeper.favourites == [dog])
    }
  }
}
