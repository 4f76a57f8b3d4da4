import Foundation
import ObjectGraph
import ObjectGraphTesting
import StoreTesting
import Testing

@Suite("Batch requests, history: rows that are filled", .onEachStore)
struct BatchRowTests {
  private func stored(_ stack: Stack, _ entity: String = "Person") throws -> Int {
    try stack.root("reader").performAndWait { try $0.count(for: FetchRequest<ManagedObject>(entity: entity, nil)) }
  }

  @Test(
    "Filled rows are stored over several chunks, with their defaults where they set nothing", arguments: [false, true])
  func chunks(inMemory: Bool) throws {
    let stack = try Stack(Zoo.model, inMemory: inMemory)
    var request = BatchInsertRequest(Cat.self) { row in
      if row.number == 2_500 { return true }
      // Which values are set, and in which order, differs from row to row.
      if row.number % 3 == 0 { row.set(\.lives, to: Int16(row.number % 100)) }
      row.set(\.name, to: "cat \(row.number)")
      if row.number % 5 == 0 { row.set(\.name, to: nil) }
      return false
    }
    request.resultType = .objectIDs
    try stack.writer.performAndWait { [request] writer in
      let result = try writer.execute(request)
      #expect(result.count == 2_500 && result.changes.insertedObjectIDs == result.objectIDs)
      for (number, id) in result.objectIDs.enumerated() {
        let cat = try #require(try writer.existingObject(with: id) as? Cat)
        #expect(cat.lives == (number % 3 == 0 ? Int16(number % 100) : 9))
        #expect(cat.name == (number % 5 == 0 ? nil : "cat \(number)"))
      }
    }
    #expect(try stored(stack, "Animal") == 2_500)
    try stack.checkInvariants()
  }

  @Test("A row takes values of every type by key path, and nil in place of a default", arguments: [false, true])
  func typed(inMemory: Bool) throws {
    let stack = try Stack(Zoo.model, inMemory: inMemory)
    let key = UUID()
    let day = Date(timeIntervalSinceReferenceDate: 12.5)
    let link = try #require(URL(string: "https://example.org/x"))
    let request = BatchInsertRequest(Everything.self) { row in
      if row.number == 1 { return true }
      row.set(\.small, to: 3)
      row.set(\.medium, to: -4)
      row.set(\.large, to: .max)
      row.set(\.exact, to: Decimal(string: "1.25"))
      row.set(\.real, to: 2.5)
      row.set(\.coarse, to: 0.5)
      row.set(\.flag, to: true)
      row.set(\.text, to: "héllo")
      row.set(\.day, to: day)
      row.set(\.bytes, to: Data([1, 2]))
      row.set(\.key, to: key)
      row.set(\.link, to: link)
      row.set(\.maybeSmall, to: 7)
      row.set(\.maybeFlag, to: nil)
      row.set(\.requiredText, to: "required")
      return false
    }
    try stack.writer.performAndWait { writer in
      try writer.execute(request)
      let object = try #require(try writer.fetch(FetchRequest<Everything>()).first)
      #expect(object.small == 3 && object.medium == -4 && object.large == .max && object.maybeSmall == 7)
      #expect(object.exact == Decimal(string: "1.25") && object.real == 2.5 && object.coarse == 0.5 && object.flag)
      #expect(object.text == "héllo" && object.day == day && object.key == key && object.link == link)
      #expect(object.bytes == Data([1, 2]) && object.maybeFlag == nil && object.requiredText == "required")
      #expect(object.requiredExact == Decimal(string: "1.50"))
      #expect(object.requiredDay == Date(timeIntervalSinceReferenceDate: 0))
      #expect(object.requiredKey == UUID(uuidString: "6F9619FF-8B86-D011-B42D-00CF4FC964FF"))
    }
  }

  @Test("A row takes values by name, and texts from parts of strings and from bytes", arguments: [false, true])
  func named(inMemory: Bool) throws {
    let stack = try Stack(Zoo.model, inMemory: inMemory)
    let line = "Rex,collie,más"
    let request = BatchInsertRequest("Dog") { row in
      if row.number == 2 { return true }
      let fields = line.split(separator: ",")
      row.set("name", to: row.number == 0 ? fields[0] : fields[2])
      row.set("breed", to: fields[1])
      return false
    }
    let typed = BatchInsertRequest(Dog.self) { row in
      if row.number == 1 { return true }
      row.set(\.name, to: line.dropFirst(11))
      row.set(\.breed, to: line.utf8Span)
      return false
    }
    try stack.writer.performAndWait { writer in
      try writer.execute(request)
      try writer.execute(typed)
      let dogs = try writer.fetch(FetchRequest<Dog>())
      #expect(dogs.map(\.name) == ["Rex", "más", "más"])
      #expect(dogs.map(\.breed) == ["collie", "collie", line])
    }
  }

  @Test("What a row sets twice has the last value, and what the last handler's call set is not inserted")
  func overwritten() throws {
    let stack = try Stack(Zoo.model)
    let request = BatchInsertRequest(Shift.self) { row in
      row.set(\.hours, to: 1)
      row.set(\.hours, to: Int32(row.number + 10))
      row.set(\.begin, to: Date(timeIntervalSinceReferenceDate: 1))
      row.set(\.begin, to: nil)
      return row.number == 3
    }
    let dogs = BatchInsertRequest(Dog.self) { row in
      row.set(\.name, to: "a longer name")
      row.set(\.name, to: "n\(row.number)")
      return row.number == 1_000
    }
    try stack.writer.performAndWait { writer in
      try writer.execute(request)
      let shifts = try writer.fetch(FetchRequest<Shift>())
      #expect(shifts.map(\.hours) == [10, 11, 12])
      #expect(shifts.allSatisfy { $0.begin == nil })
      try writer.execute(dogs)
      #expect(try writer.fetch(FetchRequest<Dog>()).map(\.name) == (0..<1_000).map { "n\($0)" })
    }
  }

  @Test(
    "Under object trump a stored object takes over what its row sets, and keeps what the row leaves out",
    arguments: [false, true])
  func upserts(inMemory: Bool) throws {
    let stack = try Stack(Zoo.model, inMemory: inMemory)
    try stack.writer.performAndWait { writer in
      writer.mergePolicy = .mergeByPropertyObjectTrump
      try writer.execute(
        BatchInsertRequest(entity: "Skill") { $0 < 4 ? ["title": "skill \($0)", "level": 5] : nil })
      var request = BatchInsertRequest(Skill.self) { row in
        if row.number == 6 { return true }
        row.set(\.title, to: "skill \(row.number)")
        // The default of level is 0: what is set counts, also if it is the default.
        if row.number % 2 == 0 { row.set(\.level, to: 0) }
        return false
      }
      request.resultType = .objectIDs
      let result = try writer.execute(request)
      #expect(result.changes.insertedObjectIDs.count == 2 && result.changes.updatedObjectIDs.count == 2)
      let skills = try writer.fetch(FetchRequest<Skill>(sortBy: [.ascending(\.title)]))
      #expect(skills.map(\.level) == [0, 5, 0, 5, 0, 0])
    }
  }

  @Test("Taken unique values throw under the error policy, and nothing is stored", arguments: [false, true])
  func duplicates(inMemory: Bool) throws {
    let stack = try Stack(Zoo.model, inMemory: inMemory)
    stack.writer.performAndWait { writer in
      let request = BatchInsertRequest(Skill.self) { row in
        row.set(\.title, to: row.number == 2_500 ? "skill 0" : "skill \(row.number)")
        return row.number == 3_000
      }
      let error = #expect(throws: SaveConflicts.self) { try writer.execute(request) }
      #expect(error?.constraintConflicts.first?.properties == ["title"])
    }
    #expect(try stored(stack, "Skill") == 0)
  }

  @Test("Mistakes in a row name the property, and nothing is stored", arguments: [false, true])
  func mistakes(inMemory: Bool) throws {
    let stack = try Stack(Zoo.model, inMemory: inMemory)
    @Sendable func request(
      _ entity: String, _ fill: @escaping @Sendable (inout BatchRow<ManagedObject>) -> Void
    ) -> BatchInsertRequest {
      BatchInsertRequest(entity) { row in
        if row.number == 1_200 { fill(&row) }
        return row.number == 1_300
      }
    }
    func error(_ request: BatchInsertRequest) -> ConditionError? {
      stack.writer.performAndWait { writer in
        #expect(throws: ConditionError.self) { try writer.execute(request) }
      }
    }
    #expect(error(request("Elephant") { _ in })?.code == .unknownEntity)
    #expect(error(request("Animal") { _ in })?.description.contains("Animal is abstract") == true)
    let unknown = error(request("Dog") { $0.set("bred", to: "x") })
    #expect(unknown?.code == .unknownProperty && unknown?.description.contains("did you mean \"breed\"") == true)
    let mismatch = error(request("Dog") { $0.set("breed", to: 1) })
    #expect(mismatch?.code == .typeMismatch && mismatch?.description.contains("Dog.breed") == true)
    #expect(error(request("Cat") { $0.set("lives", to: 70_000) })?.code == .typeMismatch)
    #expect(error(request("Cat") { $0.set("lives", toObject: nil) })?.code == .typeMismatch)
    #expect(error(request("Everything") { $0.set("scratch", to: "x") })?.code == .unsupported)
    #expect(error(request("Shift") { $0.set("keeper", to: "Ada") })?.description.contains("Shift.keeper") == true)
    #expect(error(request("Shift") { $0.set("keeper", toObjects: []) })?.code == .typeMismatch)
    let path = BatchInsertRequest(Dog.self) { row in
      row.set(\.isFault, to: true)
      return row.number == 1
    }
    #expect(error(path)?.code == .unknownProperty)
    stack.writer.performAndWait { writer in
      let missing = request("Cat") { $0.set("lives", to: Value.null) }
      let required = #expect(throws: ValidationError.self) { try writer.execute(missing) }
      #expect(required?.property == "lives" && required?.rule == .missingValue)
    }
    for entity in ["Animal", "Everything", "Shift"] { #expect(try stored(stack, entity) == 0) }
  }

  @Test("Rows may set relationships and binary data among rows that do not", arguments: [false, true])
  func relationships(inMemory: Bool) throws {
    let stack = try Stack(Zoo.model, inMemory: inMemory)
    try stack.writer.performAndWait { writer in
      var keepers = BatchInsertRequest(entity: "Keeper", rows: [["name": "Ada"], ["name": "Bea"]])
      keepers.resultType = .objectIDs
      let ids = try writer.execute(keepers).objectIDs
      let dogs = BatchInsertRequest(Dog.self) { row in
        row.set(\.name, to: "dog \(row.number)")
        if row.number % 10 == 3 { row.set(\.keeper, toObject: ids[0]) }
        if row.number % 10 == 4 { row.set(\.fans, toObjects: ids) }
        return row.number == 1_100
      }
      try writer.execute(dogs)
      let found = try writer.fetch(FetchRequest<Dog>())
      #expect(found.count == 1_100)
      #expect(found.count { $0.keeper?.objectID == ids[0] } == 110)
      #expect(found[4].fans.map(\.objectID) == ids && found[5].fans.isEmpty)
      #expect(try writer.existingObject(with: ids[1]).value(forKey: "favourites") as? [ManagedObject] != nil)
      let everything = BatchInsertRequest(Everything.self) { row in
        if row.number == 1 { row.set(\.bytes, to: Data([7])) }
        row.set(\.large, to: Int64(row.number))
        return row.number == 3
      }
      try writer.execute(everything)
      #expect(try writer.fetch(FetchRequest<Everything>()).map(\.bytes) == [nil, Data([7]), nil])
    }
  }

  @Test("What the handler throws is thrown, and nothing is stored", arguments: [false, true])
  func throwing(inMemory: Bool) throws {
    let stack = try Stack(People.model, inMemory: inMemory)
    let request = BatchInsertRequest(Person.self) { row in
      if row.number == 1_500 { throw CancellationError() }
      row.set(\.age, to: 1)
      return false
    }
    stack.writer.performAndWait { writer in
      _ = #expect(throws: CancellationError.self) { try writer.execute(request) }
    }
    #expect(try stored(stack) == 0)
  }

  @Test("A failure at any row leaves nothing of the filled rows", arguments: [1, 2, 999, 1_001, 1_500])
  func failing(at step: Int) throws {
    let stack = try Stack(People.model)
    try stack.place.refuseWrites(true, to: "Person", stack.faults, after: step - 1)
    let request = BatchInsertRequest(Person.self) { row in
      row.set(\.age, to: Int64(row.number))
      return row.number == 2_000
    }
    stack.writer.performAndWait { writer in
      let error = #expect(throws: StoreError.self) { try writer.execute(request) }
      #expect(error?.code == .inputOutput)
    }
    #expect(try stored(stack) == 0)
    try stack.place.refuseWrites(false, to: "Person", stack.faults)
    try stack.writer.performAndWait { _ = try $0.execute(request) }
    #expect(try stored(stack) == 2_000)
  }

  @Test("The history names filled rows as one run of inserts")
  func history() throws {
    let stack = try Stack(People.model, tracksHistory: true)
    try stack.writer.performAndWait { writer in
      let request = BatchInsertRequest(Person.self) { row in
        row.set(\.age, to: Int64(row.number))
        return row.number == 2_200
      }
      try writer.execute(request)
      let transactions = try writer.execute(.fetchHistory(after: nil)).transactions
      #expect(transactions.count == 1)
      #expect(transactions.first?.changes.count == 2_200)
      #expect(transactions.first?.changes.allSatisfy { $0.kind == .insert } == true)
    }
  }

  @Test("Derived attributes of filled rows are computed with the insert", arguments: [false, true])
  func derived(inMemory: Bool) throws {
    let stack = try Stack(Shop.model, inMemory: inMemory)
    try stack.writer.performAndWait { writer in
      let request = BatchInsertRequest(Customer.self) { row in
        row.set(\.name, to: "Élodie \(row.number)")
        return row.number == 1_100
      }
      try writer.execute(request)
      let customers = try writer.fetch(FetchRequest<Customer>())
      #expect(customers.map(\.searchName) == (0..<1_100).map { "elodie \($0)" })
    }
  }

  @Test("A type of one's own can be a value of a row")
  func ownType() throws {
    let stack = try Stack(People.model)
    let request = BatchInsertRequest("Person") { row in
      row.set("age", to: Generation.second)
      return row.number == 1
    }
    try stack.writer.performAndWait { writer in
      try writer.execute(request)
      #expect(try writer.fetch(FetchRequest<Person>()).map(\.age) == [2])
    }
  }
}

private enum Generation: Int, BatchValue {
  case second = 2

  func write(to cell: borrowing BatchCell) { rawValue.write(to: cell) }
}
