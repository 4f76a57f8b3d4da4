import ObjectGraph
import StoreTesting
import Testing

@Suite("Conflicts of unique values", .onEachStore)
struct ConstraintConflictTests {
  private func insertSkill(_ title: String, in context: isolated ManagedObjectContext) -> ManagedObject {
    let skill = context.insertObject(ofEntity: "Skill")
    skill.setValue(title, forKey: "title")
    return skill
  }

  @Test(
    "Each violated constraint is one report, with the values and all objects that share them", arguments: [false, true])
  func reports(inMemory: Bool) throws {
    let stack = try Stack(Zoo.model, inMemory: inMemory)
    try stack.root().performAndWait { context in
      let stored = insertSkill("juggling", in: context).objectID
      try context.save()
      let first = insertSkill("juggling", in: context).objectID
      let pair = [insertSkill("magic", in: context).objectID, insertSkill("magic", in: context).objectID]
      _ = insertSkill("dancing", in: context)
      let error = #expect(throws: SaveConflicts.self) { try context.save() }
      #expect(error?.conflicts.isEmpty == true)
      let reports = error?.constraintConflicts ?? []
      #expect(reports.count == 2)
      let juggling = reports.first { $0.values == ["juggling"] }
      #expect(juggling?.storedObjectID == stored && juggling?.conflictingObjectIDs == [first])
      #expect(juggling?.entityName == "Skill" && juggling?.properties == ["title"])
      let magic = reports.first { $0.values == ["magic"] }
      #expect(magic?.storedObjectID == nil && magic?.conflictingObjectIDs == pair)
      #expect(context.insertedObjects.count == 4)
    }
  }

  @Test("Under every other policy the stored object stays under its ID, and the new one becomes part of it or leaves")
  func upsert() throws {
    let policies: [MergePolicy] = [
      .mergeByPropertyObjectTrump, .overwrite, .mergeByPropertyStoreTrump, .rollback,
    ]
    for policy in policies {
      let stack = try Stack(Zoo.model)
      try stack.root().performAndWait { context in
        context.mergePolicy = policy
        let stored = insertSkill("juggling", in: context)
        try context.save()
        let new = insertSkill("juggling", in: context)
        try context.save()
        #expect(new.managedObjectContext == nil, "\(policy)")
        #expect(context.hasChanges == false)
        let found = try context.fetch(FetchRequest<ManagedObject>(entity: "Skill", nil))
        #expect(found.map(\.objectID) == [stored.objectID])
      }
    }
  }

  @Test("Of new objects with the same unique value the first stays, and links to the others lead to it")
  func firstStays() throws {
    let stack = try Stack(Zoo.model)
    try stack.root().performAndWait { context in
      context.mergePolicy = .mergeByPropertyObjectTrump
      let skills = ["magic", "magic", "dancing"].map { insertSkill($0, in: context) }
      let keeper = Keeper(context: context)
      keeper.skills = Set(skills.dropFirst().compactMap { $0 as? Skill })
      try context.save()
      #expect(skills[0].managedObjectContext != nil && skills[1].managedObjectContext == nil)
      #expect(keeper.skills == Set([skills[0], skills[2]].compactMap { $0 as? Skill }))
    }
    let titles = try stack.root("reader").performAndWait { reader in
      try reader.fetch(FetchRequest<Keeper>()).map { $0.skills.map(\.title).sorted() }
    }
    #expect(titles == [["dancing", "magic"]])
  }

  @Test("Version conflicts are resolved before uniqueness conflicts are looked for")
  func versionsFirst() throws {
    let stack = try Stack(Zoo.model)
    let (here, there) = (stack.root("here"), stack.root("there"))
    let id = try there.performAndWait { there in
      let skill = insertSkill("juggling", in: there)
      try there.save()
      return skill.objectID
    }
    here.performAndWait { here in
      here.object(with: id).setValue("dancing", forKey: "title")
      _ = insertSkill("magic", in: here)
    }
    try there.performAndWait { there in
      there.object(with: id).setValue("magic", forKey: "title")
      try there.save()
    }
    try here.performAndWait { here in
      let error = #expect(throws: SaveConflicts.self) { try here.save() }
      #expect(error?.conflicts.map(\.objectID) == [id] && error?.constraintConflicts.isEmpty == true)
      // With the version conflict resolved in favour of this context, "magic" is free again.
      here.mergePolicy = .mergeByPropertyObjectTrump
      try here.save()
      let titles = try here.fetch(FetchRequest<ManagedObject>(entity: "Skill", nil)).map { $0[attribute: "title"] }
      #expect(Set(titles) == ["dancing", "magic"])
    }
  }

  // MARK: Updates to taken values

  /// What became of two stored skills, the second of which took the first one's title and another level in a save.
  private struct Taking: Sendable {
    /// Title and level, read in the saving context; nil if the object is gone.
    var holder: String?
    var taker: String?
    let ids: [ManagedObjectID]
    /// The skills in the store of a keeper who had the taker and another one.
    var titlesOfKeeper: [String] = []
    var error: SaveConflicts?
  }

  private func useTitleTwice(_ policy: MergePolicy, inMemory: Bool = false) throws -> Taking {
    let stack = try Stack(Zoo.model, inMemory: inMemory)
    let context = stack.root()
    context.mergePolicy = policy
    let (ids, keeper) = try context.performAndWait { context in
      let skills = ["magic", "dancing", "juggling"].map { insertSkill($0, in: context) }
      let keeper = Keeper(context: context)
      keeper.skills = Set([skills[1], skills[2]].compactMap { $0 as? Skill })
      try context.save()
      return (skills.map(\.objectID), keeper.objectID)
    }
    var result = try context.performAndWait { context in
      var result = Taking(ids: ids)
      let taker = try #require(context.object(with: ids[1]) as? Skill)
      (taker.title, taker.level) = ("magic", 7)
      do { try context.save() } catch let error as SaveConflicts { result.error = error }
      let found = try context.fetch(FetchRequest<Skill>())
      result.holder = found.first { $0.objectID == ids[0] }.map { "\($0.title) \($0.level)" }
      result.taker = found.first { $0.objectID == ids[1] }.map { "\($0.title) \($0.level)" }
      let isDone = result.error == nil
      #expect(context.hasChanges != isDone)
      return result
    }
    result.titlesOfKeeper = try stack.root("reader").performAndWait { reader in
      try reader.fetch(FetchRequest<Skill>(format: "ANY keepers == %@", keeper)).map(\.title).sorted()
    }
    return result
  }

  @Test("An update to a taken unique value is one report under the error policy", arguments: [false, true])
  func takenByUpdate(inMemory: Bool) throws {
    let result = try useTitleTwice(.error, inMemory: inMemory)
    let report = try #require(result.error?.constraintConflicts.first)
    #expect(result.error?.constraintConflicts.count == 1 && report.values == ["magic"])
    #expect(report.storedObjectID == result.ids[0] && report.conflictingObjectIDs == [result.ids[1]])
  }

  @Test(
    "Under object trump and overwrite, an update to a taken unique value joins the objects under the holder's ID",
    arguments: [false, true], [false, true])
  func joined(overwrites: Bool, inMemory: Bool) throws {
    let result = try useTitleTwice(overwrites ? .overwrite : .mergeByPropertyObjectTrump, inMemory: inMemory)
    #expect(result.error == nil && result.holder == "magic 7" && result.taker == nil)
    #expect(result.titlesOfKeeper == ["juggling", "magic"])
  }

  @Test("Under store trump an update to a taken unique value keeps its own one, and its other changes")
  func storeTrump() throws {
    let result = try useTitleTwice(.mergeByPropertyStoreTrump)
    #expect(result.error == nil && result.holder == "magic 0" && result.taker == "dancing 7")
  }

  @Test("Under rollback an update to a taken unique value is undone")
  func rollback() throws {
    let result = try useTitleTwice(.rollback)
    #expect(result.error == nil && result.holder == "magic 0" && result.taker == "dancing 0")
    #expect(result.titlesOfKeeper == ["dancing", "juggling"])
  }

  @Test("Objects may exchange their unique values in one save, and a deleted one's is free", arguments: [false, true])
  func exchange(inMemory: Bool) throws {
    let stack = try Stack(Zoo.model, inMemory: inMemory)
    try stack.root().performAndWait { context in
      let skills = ["a", "b", "c", "d"].map { insertSkill($0, in: context) }
      try context.save()
      for (skill, title) in zip(skills, ["b", "c", "a"]) { skill.setValue(title, forKey: "title") }
      context.delete(skills[3])
      _ = insertSkill("d", in: context)
      try context.save()
      let titles = skills[..<3].map { $0[attribute: "title"] }
      #expect(titles == ["b", "c", "a"])
    }
    let stored = try stack.root().performAndWait { context in
      try context.fetch(FetchRequest<Skill>(sortBy: [.ascending(\.title)])).map(\.title)
    }
    #expect(stored == ["a", "b", "c", "d"])
  }

  // MARK: Compound constraints in a hierarchy

  private static func vehicles() throws -> ManagedObjectModel {
    var vehicle = EntityDescription(
      "Vehicle",
      attributes: [
        AttributeDescription("plate", .string), AttributeDescription("country", .string),
        AttributeDescription("colour", .string),
      ])
    vehicle.uniquenessConstraints = [["plate", "country"]]
    return try ManagedObjectModel([
      vehicle, EntityDescription("Car", parent: "Vehicle", attributes: [AttributeDescription("doors", .integer16)]),
      EntityDescription("Truck", parent: "Vehicle", attributes: [AttributeDescription("load", .integer32)]),
    ])
  }

  private func insert(
    _ entity: String, _ plate: String, _ country: String?, _ colour: String, in context: isolated ManagedObjectContext
  ) -> ManagedObject {
    let vehicle = context.insertObject(ofEntity: entity)
    vehicle.setValue(plate, forKey: "plate")
    vehicle.setValue(country, forKey: "country")
    vehicle.setValue(colour, forKey: "colour")
    return vehicle
  }

  @Test("A compound constraint holds across subentities, and for complete values only", arguments: [false, true])
  func compound(inMemory: Bool) throws {
    let stack = try Stack(Self.vehicles(), inMemory: inMemory)
    try stack.root().performAndWait { context in
      let car = insert("Car", "A1", "DE", "red", in: context)
      _ = insert("Truck", "A1", "FR", "red", in: context)
      _ = insert("Car", "A1", nil, "red", in: context)
      _ = insert("Truck", "A1", nil, "red", in: context)
      try context.save()
      let truck = insert("Truck", "A1", "DE", "blue", in: context)
      let error = #expect(throws: SaveConflicts.self) { try context.save() }
      #expect(error?.constraintConflicts.count == 1)
      #expect(error?.constraintConflicts.first?.entityName == "Vehicle")
      #expect(error?.constraintConflicts.first?.properties == ["plate", "country"])
      #expect(error?.constraintConflicts.first?.storedObjectID == car.objectID)
      context.mergePolicy = .mergeByPropertyObjectTrump
      try context.save()
      #expect(truck.managedObjectContext == nil)
      #expect(car[attribute: "colour"] == "blue")
    }
  }

  @Test("A constraint of a subentity holds for that and its heirs only", arguments: [false, true])
  func ofSubentity(inMemory: Bool) throws {
    var car = EntityDescription("Car", parent: "Vehicle")
    car.uniquenessConstraints = [["plate"]]
    let vehicle = EntityDescription("Vehicle", attributes: [AttributeDescription("plate", .string)])
    let stack = try Stack(
      ManagedObjectModel([
        vehicle, car, EntityDescription("Van", parent: "Car"), EntityDescription("Truck", parent: "Vehicle"),
      ]), inMemory: inMemory)
    stack.root().performAndWait { context in
      for entity in ["Truck", "Vehicle", "Truck", "Car"] {
        context.insertObject(ofEntity: entity).setValue("A 1", forKey: "plate")
      }
      #expect(throws: Never.self) { try context.save() }
      context.insertObject(ofEntity: "Van").setValue("A 1", forKey: "plate")
      let error = #expect(throws: SaveConflicts.self) { try context.save() }
      #expect(error?.constraintConflicts.count == 1)
    }
  }

  @Test("A stored object that changes in the same save is still the one that had the value first")
  func changedHolder() throws {
    let stack = try Stack(Zoo.model)
    try stack.root().performAndWait { context in
      let (other, holder) = (insertSkill("dancing", in: context), insertSkill("magic", in: context))
      try context.save()
      other.setValue("magic", forKey: "title")
      holder.setValue(3, forKey: "level")
      let error = #expect(throws: SaveConflicts.self) { try context.save() }
      #expect(error?.constraintConflicts.first?.storedObjectID == holder.objectID)
      #expect(error?.constraintConflicts.first?.conflictingObjectIDs == [other.objectID])
      context.mergePolicy = .mergeByPropertyObjectTrump
      try context.save()
      #expect(other.managedObjectContext == nil)
      #expect(holder[attribute: "level"] == 3)
    }
  }
}
