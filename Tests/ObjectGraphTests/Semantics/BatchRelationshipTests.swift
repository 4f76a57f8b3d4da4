import Foundation
import ObjectGraph
import ObjectGraphTesting
import StoreTesting
import Testing

@Suite("Batch requests, history: relationships and deletes", .onEachStore)
struct BatchRelationshipTests {
  @discardableResult
  private func insert(
    _ entity: String, _ rows: [BatchInsertRequest.Values], _ context: isolated ManagedObjectContext
  ) throws -> [ManagedObjectID] {
    var request = BatchInsertRequest(entity: entity, rows: rows)
    request.resultType = .objectIDs
    return try context.execute(request).objectIDs
  }

  private func delete(
    _ ids: [ManagedObjectID], _ context: isolated ManagedObjectContext
  ) throws -> BatchResult {
    var request = BatchDeleteRequest(objectIDs: ids)
    request.resultType = .objectIDs
    return try context.execute(request)
  }

  private func count(_ entity: String, _ context: isolated ManagedObjectContext) throws -> Int {
    try context.count(for: FetchRequest<ManagedObject>(entity: entity, nil))
  }

  @Test("Relationships are set by ID: to-one, to-many and many-to-many, from either end", arguments: [false, true])
  func relationships(inMemory: Bool) throws {
    let stack = try Stack(Zoo.model, inMemory: inMemory)
    try stack.writer.performAndWait { writer in
      let dogs = try insert("Dog", [["name": "Rex"], ["name": "Max"]], writer)
      let skills = try insert("Skill", [["title": "a"], ["title": "b"]], writer)
      let friend = try insert("Keeper", [["name": "Bea"]], writer)
      let keeper = try insert(
        "Keeper",
        [
          ["name": "Ada", "animals": dogs, "skills": Set(skills), "favourites": [dogs[1], dogs[0]], "friends": friend]
        ],
        writer)
      try insert("Shift", [["hours": 1, "keeper": keeper[0]], ["hours": 2, "keeper": keeper[0]]], writer)
      let ada = try #require(writer.object(with: keeper[0]) as? Keeper)
      #expect((ada.value(forKey: "animals") as? Set<ManagedObject>)?.count == 2)
      #expect((ada.value(forKey: "skills") as? Set<ManagedObject>)?.count == 2)
      #expect((ada.value(forKey: "favourites") as? [ManagedObject])?.map(\.objectID) == [dogs[1], dogs[0]])
      #expect((ada.value(forKey: "shifts") as? [ManagedObject])?.map { $0.value(forKey: "hours") as? Int64 } == [1, 2])
      #expect((ada.value(forKey: "friends") as? Set<ManagedObject>)?.map(\.objectID) == friend)
      let bea = writer.object(with: friend[0])
      #expect((bea.value(forKey: "friends") as? Set<ManagedObject>)?.map(\.objectID) == keeper)
      #expect((writer.object(with: dogs[0]) as? Dog)?.value(forKey: "keeper") as? ManagedObject === ada)
    }
  }

  @Test("An ID of another entity, or of an object that is not stored, is refused")
  func wrongDestinations() throws {
    let stack = try Stack(Zoo.model)
    let other = try Stack(Zoo.model)
    let foreign = try other.writer.performAndWait { try insert("Keeper", [[:]], $0)[0] }
    try stack.writer.performAndWait { writer in
      let skill = try insert("Skill", [["title": "a"]], writer)[0]
      let unsaved = Keeper(context: writer).objectID
      for id in [skill, foreign] {
        let error = #expect(throws: ConditionError.self) { try insert("Shift", [["keeper": id]], writer) }
        #expect(error?.description.contains("keeper leads to Keeper") == true)
      }
      let error = #expect(throws: ObjectNotFound.self) { try insert("Shift", [["keeper": unsaved]], writer) }
      #expect(error?.objectID == unsaved)
      #expect(try count("Shift", writer) == 0)
    }
  }

  @Test("A one-to-one relationship is set at both ends, and who had the destination before loses it")
  func oneToOne() throws {
    let stack = try Stack(Gallery.model)
    try stack.writer.performAndWait { writer in
      let images = try insert("Image", [["title": "a"], ["title": "b"]], writer)
      let blobs = try insert("ImageBlob", [["image": images[0]], ["image": images[1]]], writer)
      var request = try BatchUpdateRequest(
        FetchRequest<Image>(#Predicate { $0.title == "b" }), propertiesToUpdate: ["blob": .object(blobs[0])])
      request.resultType = .objectIDs
      let result = try writer.execute(request)
      #expect(result.objectIDs == [images[1]])
      #expect(Set(result.changes.updatedObjectIDs) == Set(images + blobs))
      let owners = try stack.place.shell("SELECT title, blob FROM Image ORDER BY title")
      #expect(owners == "a|\nb|\(blobs[0].key)")
      let owned = try stack.place.shell("SELECT _key, image FROM ImageBlob ORDER BY _key")
      #expect(owned == "\(blobs[0].key)|\(images[1].key)\n\(blobs[1].key)|")
    }
  }

  @Test("An update sets constants, computed values, nil and to-one relationships, and moves versions")
  func updates() throws {
    let stack = try Stack(People.model)
    let ada = try stack.savedPerson("Ada", age: 40)
    let other = stack.root()
    let mine = other.performAndWait { other in
      (other.object(with: ada) as? Person)?.age = 41
      return (other.object(with: ada) as? Person)?.age
    }
    #expect(mine == 41)
    let department = try stack.writer.performAndWait { writer in
      let department = try insert("Department", [["name": "Maths"]], writer)[0]
      let update = BatchUpdateRequest(
        FetchRequest<Person>(),
        propertiesToUpdate: [
          "age": try Operand(format: "age * 2 - 1"), "lastName": try Operand(format: "lowercase:(firstName)"),
          "firstName": .value(.null), "department": .object(department),
        ])
      try writer.execute(update)
      let named = BatchUpdateRequest(
        FetchRequest<Person>(), propertiesToUpdate: ["firstName": try Operand(format: "department.name")])
      try writer.execute(named)
      return department
    }
    #expect(
      try stack.place.shell("SELECT firstName, lastName, age, department, _version FROM Person")
        == "Maths|ada|79|\(department.key)|3")
    other.performAndWait { other in
      let error = #expect(throws: SaveConflicts.self) { try other.save() }
      #expect(error?.conflicts.map(\.objectID) == [ada])
    }
  }

  @Test("A computed value that does not fit its attribute is an error, and nothing is changed")
  func unfittingValue() throws {
    let stack = try Stack(Zoo.model)
    try stack.writer.performAndWait { writer in
      try insert("Cat", [["lives": 1], ["lives": 9_000]], writer)
      let request = BatchUpdateRequest(
        FetchRequest<Cat>(), propertiesToUpdate: ["lives": try Operand(format: "lives * 1000")])
      let error = #expect(throws: ConditionError.self) { try writer.execute(request) }
      #expect(error?.description.contains("Cat.lives") == true)
      let nothing = BatchUpdateRequest(FetchRequest<Cat>(), propertiesToUpdate: ["lives": .value(.null)])
      let missing = #expect(throws: ValidationError.self) { try writer.execute(nothing) }
      #expect(missing?.property == "lives")
      #expect(try writer.fetch(FetchRequest<Cat>(sortBy: [.ascending("lives")])).map(\.lives) == [1, 9_000])
    }
  }

  @Test("An update honours limit and order, and sees what matched before it began")
  func updateOfSome() throws {
    let stack = try Stack.people(2_500)
    try stack.writer.performAndWait { writer in
      var oldest = FetchRequest<Person>(sortBy: [.descending("age")])
      oldest.fetchLimit = 2
      try writer.execute(BatchUpdateRequest(oldest, propertiesToUpdate: ["lastName": "old"]))
      // Each of these matches again after it was changed.
      var all = try BatchUpdateRequest(
        FetchRequest<Person>(#Predicate { $0.age >= 0 }), propertiesToUpdate: ["age": try Operand(format: "age + 1")])
      all.resultType = .count
      #expect(try writer.execute(all).count == 2_500)
    }
    #expect(try stack.place.shell("SELECT sum(age) FROM Person") == "\((1...2_500).reduce(0, +))")
    let old = try stack.place.list("SELECT age FROM Person WHERE lastName = 'old' ORDER BY age")
    #expect(old == "2499,2500")
  }

  @Test("Basic delete rules are applied by a batch delete: nullify and cascade", arguments: [false, true])
  func deleteRules(inMemory: Bool) throws {
    let stack = try Stack(Zoo.model, inMemory: inMemory)
    try stack.writer.performAndWait { writer in
      let skills = try insert("Skill", [["title": "a"], ["title": "b"]], writer)
      let badges = try insert("Badge", [["text": "x"], ["text": "y"]], writer)
      let keepers = try insert("Keeper", [["skills": skills, "badges": [badges[0]]], ["skills": skills]], writer)
      let dog = try insert("Dog", [["keeper": keepers[0], "fans": keepers]], writer)[0]
      let shifts = try insert("Shift", [["keeper": keepers[0]], ["keeper": keepers[1]]], writer)
      let result = try delete([keepers[0]], writer)
      #expect(Set(result.objectIDs) == [keepers[0], shifts[0], badges[0]])
      #expect(result.count == 3)
      #expect(result.changes.updatedObjectIDs.contains(dog))
      #expect(try count("Keeper", writer) == 1)
      #expect(try count("Shift", writer) == 1)
      #expect(try count("Badge", writer) == 1)
      #expect(writer.object(with: dog).value(forKey: "keeper") == nil)
      #expect((writer.object(with: dog).value(forKey: "fans") as? [ManagedObject])?.map(\.objectID) == [keepers[1]])
      #expect((writer.object(with: skills[0]).value(forKey: "keepers") as? Set<ManagedObject>)?.count == 1)
    }
  }

  @Test("A deny rule throws and nothing is deleted, unless what it protects is deleted too", arguments: [false, true])
  func denied(inMemory: Bool) throws {
    let stack = try Stack(Zoo.model, inMemory: inMemory)
    try stack.writer.performAndWait { writer in
      let cages = try insert("Cage", [["number": 1], ["number": 2]], writer)
      let dog = try insert("Dog", [["cage": cages[0]]], writer)[0]
      let error = #expect(throws: ValidationError.self) { try delete([cages[1], cages[0]], writer) }
      #expect(error?.rule == .deniedDelete && error?.objectID == cages[0] && error?.property == "animals")
      #expect(try count("Cage", writer) == 2)
      let result = try delete([cages[0], dog, cages[1]], writer)
      #expect(result.count == 3)
      #expect(try count("Cage", writer) == 0)
      // What is gone already is passed over.
      #expect(try delete([dog, dog], writer).count == 0)
    }
  }

  @Test("A batch delete removes rows of join tables and large values, and keeps the places of those that stay")
  func leftovers() throws {
    let stack = try Stack(Zoo.model)
    try stack.writer.performAndWait { writer in
      let dogs = try insert("Dog", [["name": "a"], ["name": "b"], ["name": "c"]], writer)
      let keeper = try insert("Keeper", [["favourites": dogs]], writer)[0]
      try writer.execute(BatchDeleteRequest(FetchRequest<Dog>(#Predicate { $0.name == "b" })))
      #expect(
        (writer.object(with: keeper).value(forKey: "favourites") as? [ManagedObject])?.map(\.objectID)
          == [dogs[0], dogs[2]])
    }
    #expect(try stack.place.shell("SELECT count(*) FROM Animal_fans") == "2")
    let gallery = try GalleryStack()
    try gallery.writer.performAndWait { writer in
      let image = try insert("Image", [["title": "a"]], writer)[0]
      try insert("ImageBlob", [["image": image, "data": Data(repeating: 1, count: 200_000)]], writer)
      #expect(try gallery.largeValueCount() == 1)
      try writer.execute(
        BatchUpdateRequest(
          FetchRequest<ImageBlob>(), propertiesToUpdate: ["data": .value(.data(Data(repeating: 2, count: 300_000)))]))
      #expect(try gallery.largeValueCount() == 1)
      let data = try writer.fetch(FetchRequest<ImageBlob>()).first?.data
      #expect(data == Data(repeating: 2, count: 300_000))
      // By the image's cascade.
      try writer.execute(BatchDeleteRequest(FetchRequest<Image>()))
      #expect(try gallery.largeValueCount() == 0)
    }
  }

  @Test(
    "A huge delete or update goes through chunks, and a failure at any of them undoes all",
    .onlyOnSQLite("its faults are those of a file"), arguments: [1, 2_200])
  func failing(at step: Int) throws {
    let stack = try Stack(People.model)
    try stack.writer.performAndWait { writer in
      try writer.execute(BatchInsertRequest(entity: "Person") { $0 < 2_500 ? ["age": $0] : nil })
      stack.faults.fail(with: .full, at: .delete, after: step - 1)
      let error = #expect(throws: StoreError.self) { try writer.execute(BatchDeleteRequest(FetchRequest<Person>())) }
      #expect(error?.code == .full)
      #expect(try count("Person", writer) == 2_500)
      try writer.execute(BatchUpdateRequest(FetchRequest<Person>(), propertiesToUpdate: ["age": 1]))
      try writer.execute(BatchDeleteRequest(FetchRequest<Person>()))
      #expect(try count("Person", writer) == 0)
    }
  }
}
