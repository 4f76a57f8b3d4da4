import Foundation
import ObjectGraph
import ObjectGraphTesting
import PostgresTesting
import StoreTesting
import Testing

@Suite("Batch requests, history: inserts and updates", .onEachStore)
struct BatchRequestTests {
  private func stored(_ stack: Stack, _ entity: String = "Person") throws -> Int {
    try stack.root("reader").performAndWait { try $0.count(for: FetchRequest<ManagedObject>(entity: entity, nil)) }
  }

  @Test(
    "A batch request goes straight to the store: no object is made, no did-save is posted, and merging the IDs shows it",
    arguments: [false, true])
  func straightToTheStore(inMemory: Bool) async throws {
    let stack = try Stack(People.model, inMemory: inMemory)
    let old = try stack.savedPerson("Ada", age: 1)
    let events = EventRecorder(stack.writer)
    let controller = try FetchedResultsController<Person>(.people(0...99), context: stack.main)
    try stack.main.performAndWait { try controller.performFetch(in: $0) }
    let age = stack.main.performAndWait { main in
      main.retainsRegisteredObjects = true
      return (main.object(with: old) as? Person)?.age
    }
    #expect(age == 1)
    let (inserted, updated) = try stack.writer.performAndWait { writer in
      let registered = writer.registeredObjects.count
      var insert = BatchInsertRequest(entity: "Person", rows: [["firstName": "Bea", "age": 2], ["age": 3]])
      insert.resultType = .objectIDs
      var update = BatchUpdateRequest(
        FetchRequest<Person>.people(1...2), propertiesToUpdate: ["age": try Operand(format: "age + 10")])
      update.resultType = .objectIDs
      let results = (try writer.execute(insert), try writer.execute(update))
      let (registeredNow, hasChanges) = (writer.registeredObjects.count, writer.hasChanges)
      #expect(registeredNow == registered && !hasChanges)
      return results
    }
    #expect(events.all.isEmpty)
    #expect(inserted.count == 2 && inserted.objectIDs == inserted.changes.insertedObjectIDs)
    #expect(updated.objectIDs == [old, inserted.objectIDs[0]])
    #expect(inserted.objectIDs.allSatisfy { !$0.isTemporaryID })
    #expect(controller.snapshot.objectIDs == [old])
    for result in [inserted, updated] {
      await ManagedObjectContext.mergeChanges(
        fromRemoteContextSave: result.changes, into: [stack.writer, stack.main])
    }
    #expect(controller.snapshot.objectIDs == [inserted.objectIDs[1], old, inserted.objectIDs[0]])
    let merged = stack.main.performAndWait { ($0.registeredObject(for: old) as? Person)?.age }
    #expect(merged == 11)
  }

  @Test("Results are status, count or IDs")
  func results() throws {
    let stack = try Stack(People.model)
    let results = try stack.writer.performAndWait { writer in
      try [BatchResult.Kind.statusOnly, .count, .objectIDs].map { kind in
        var request = BatchInsertRequest(entity: "Person", rows: [["age": 1], ["age": 2]])
        request.resultType = kind
        return try writer.execute(request)
      }
    }
    #expect(results.map(\.count) == [0, 2, 2])
    #expect(results.map(\.objectIDs.count) == [0, 0, 2])
    #expect(results.map(\.changes.insertedObjectIDs.count) == [0, 0, 2])
    #expect(try stored(stack) == 6)
  }

  @Test(
    "A duplicate unique value in a batch throws under the error policy, and nothing of the batch is stored",
    arguments: [false, true])
  func duplicates(inMemory: Bool) throws {
    let stack = try Stack(Zoo.model, inMemory: inMemory)
    try stack.writer.performAndWait { writer in
      try writer.execute(BatchInsertRequest(entity: "Skill", rows: [["title": "feeding", "level": 1]]))
      // The clash is far behind the first chunk.
      let request = BatchInsertRequest(entity: "Skill") { number in
        number < 3_000 ? ["title": number == 2_500 ? "feeding" : "skill \(number)"] : nil
      }
      let error = #expect(throws: SaveConflicts.self) { try writer.execute(request) }
      #expect(error?.constraintConflicts.first?.properties == ["title"])
      #expect(error?.description.contains("Skill.title") == true)
    }
    #expect(try stored(stack, "Skill") == 1)
  }

  @Test(
    "A duplicate unique value upserts under object trump, stays as it is under store trump, and is replaced by overwrite",
    arguments: [false, true])
  func upserts(inMemory: Bool) throws {
    let stack = try Stack(Zoo.model, inMemory: inMemory)
    func skill(after policy: MergePolicy, _ values: BatchInsertRequest.Values) throws -> (BatchResult, Int64, Int) {
      try stack.root("importer").performAndWait { context in
        context.mergePolicy = policy
        var request = BatchInsertRequest(entity: "Skill", rows: [values, ["title": "new \(UUID())", "level": 7]])
        request.resultType = .objectIDs
        let result = try context.execute(request)
        let skills = try context.fetch(
          FetchRequest<ManagedObject>(entity: "Skill", try Condition(format: "title == 'feeding'")))
        return (result, skills.first?.value(forKey: "level") as? Int64 ?? -1, skills.count)
      }
    }
    let first = try skill(after: .error, ["title": "feeding", "level": 3])
    #expect(first.1 == 3)
    let kept = try skill(after: .mergeByPropertyStoreTrump, ["title": "feeding", "level": 4])
    #expect(kept.1 == 3 && kept.2 == 1 && kept.0.count == 1)
    // The default of level is 0: what is named counts, also if it is the default; what is not named stays.
    let named = try skill(after: .mergeByPropertyObjectTrump, ["title": "feeding", "level": 0])
    #expect(named.1 == 0 && named.2 == 1)
    #expect(named.0.count == 2 && named.0.changes.insertedObjectIDs.count == 1)
    #expect(named.0.changes.updatedObjectIDs == [first.0.objectIDs[0]])
    _ = try skill(after: .mergeByPropertyObjectTrump, ["title": "feeding", "level": 5])
    #expect(try skill(after: .mergeByPropertyObjectTrump, ["title": "feeding"]).1 == 5)
    #expect(try skill(after: .overwrite, ["title": "feeding"]).1 == 0)
  }

  @Test("Equal unique values within one batch become one object under object trump, with the last row's values")
  func duplicatesWithin() throws {
    let stack = try Stack(Zoo.model)
    try stack.writer.performAndWait { writer in
      writer.mergePolicy = .mergeByPropertyObjectTrump
      let request = BatchInsertRequest(entity: "Skill") { $0 < 2_500 ? ["title": "same", "level": $0] : nil }
      try writer.execute(request)
      let skills = try writer.fetch(FetchRequest<Skill>())
      #expect(skills.map(\.level) == [2_499])
    }
  }

  @Test(
    "Using the store in the closure of a batch insert is an error, and nothing is stored", arguments: [false, true])
  func reentry(inMemory: Bool) throws {
    let stack = try Stack(People.model, inMemory: inMemory)
    let request = BatchInsertRequest(entity: "Person") { [there = stack.there] number in
      try there.performAndWait { there in
        Person(context: there).age = 1
        try there.save()
      }
      return number < 10 ? ["age": number] : nil
    }
    stack.writer.performAndWait { writer in
      let error = #expect(throws: StoreError.self) { try writer.execute(request) }
      #expect(error?.code == .busy && error?.message.contains("closure") == true)
    }
    #expect(try stored(stack) == 0)
    // The object waits for a save outside.
    try stack.there.performAndWait { try $0.save() }
    #expect(try stored(stack) == 1)
  }

  @Test("Packed rows upsert too", arguments: [false, true])
  func packed(inMemory: Bool) throws {
    var person = EntityDescription(
      "Person", attributes: [AttributeDescription("age", .integer64), AttributeDescription("name", .string)])
    person.uniquenessConstraints = [["age"]]
    let stack = try Stack(try ManagedObjectModel([person]), inMemory: inMemory)
    try stack.writer.performAndWait { writer in
      writer.mergePolicy = .mergeByPropertyObjectTrump
      try writer.execute(BatchInsertRequest(entity: "Person", rows: [["age": 7, "name": "Ada"]]))
      let batches = Recorder<RowBatch>()
      batches.append(try writer.personBatch(count: 100))
      var request = BatchInsertRequest(entity: "Person", batch: { batches.popFirst() })
      request.resultType = .objectIDs
      let result = try writer.execute(request)
      // The stored person of that age is the hundredth; nothing of it changes.
      #expect(result.count == 99 && result.changes.updatedObjectIDs.isEmpty)
      let names = try writer.fetch(FetchRequest<ManagedObject>(entity: "Person", try Condition(format: "age == 7")))
      #expect(names.map { $0.value(forKey: "name") as? String } == ["Ada"])
    }
    #expect(try stored(stack) == 100)
  }

  @Test("An empty batch does nothing and succeeds", arguments: [false, true])
  func empty(inMemory: Bool) throws {
    let stack = try Stack(People.model, inMemory: inMemory)
    try stack.writer.performAndWait { writer in
      var insert = BatchInsertRequest(entity: "Person", rows: [])
      insert.resultType = .count
      let people = FetchRequest<Person>.people(0...9)
      let counts = [
        try writer.execute(insert), try writer.execute(BatchUpdateRequest(people, propertiesToUpdate: ["age": 1])),
        try writer.execute(BatchUpdateRequest(people, propertiesToUpdate: [:])),
        try writer.execute(BatchDeleteRequest(objectIDs: [])), try writer.execute(BatchDeleteRequest(people)),
      ].map(\.count)
      #expect(counts == [0, 0, 0, 0, 0])
    }
  }

  @Test("A failure at any row leaves nothing of the batch", arguments: [1, 2, 999, 1_001, 1_500])
  func failing(at step: Int) throws {
    let stack = try Stack(People.model)
    try stack.place.refuseWrites(true, to: "Person", stack.faults, after: step - 1)
    let request = BatchInsertRequest(entity: "Person") { $0 < 2_000 ? ["age": $0] : nil }
    stack.writer.performAndWait { writer in
      let error = #expect(throws: StoreError.self) { try writer.execute(request) }
      #expect(error?.code == .inputOutput)
    }
    #expect(try stored(stack) == 0)
    try stack.place.refuseWrites(false, to: "Person", stack.faults)
    // The same request succeeds later.
    try stack.writer.performAndWait { _ = try $0.execute(request) }
    #expect(try stored(stack) == 2_000)
  }

  @Test("What the closure of an insert throws is thrown, and nothing is stored", arguments: [false, true])
  func throwingRows(inMemory: Bool) throws {
    let stack = try Stack(People.model, inMemory: inMemory)
    let request = BatchInsertRequest(entity: "Person") { number in
      if number == 1_500 { throw CancellationError() }
      return ["age": number]
    }
    stack.writer.performAndWait { writer in
      _ = #expect(throws: CancellationError.self) { try writer.execute(request) }
    }
    #expect(try stored(stack) == 0)
  }

  @Test("Unknown entities and properties, abstract entities and values of other types are errors that name them")
  func errors() throws {
    let stack = try Stack(Zoo.model)
    func error(_ request: BatchInsertRequest) -> ConditionError? {
      stack.writer.performAndWait { writer in
        #expect(throws: ConditionError.self) { try writer.execute(request) }
      }
    }
    @Sendable func rows(_ entity: String, _ values: BatchInsertRequest.Values) -> BatchInsertRequest {
      BatchInsertRequest(entity: entity, rows: [values])
    }
    #expect(error(rows("Elephant", [:]))?.description.contains("Elephant") == true)
    #expect(error(rows("Animal", [:]))?.description.contains("Animal is abstract") == true)
    let unknown = error(rows("Skill", ["titel": "x"]))
    #expect(unknown?.code == .unknownProperty && unknown?.description.contains("did you mean \"title\"") == true)
    let mismatch = error(rows("Skill", ["level": "high"]))
    #expect(mismatch?.code == .typeMismatch && mismatch?.description.contains("Skill.level") == true)
    #expect(error(rows("Skill", ["level": 70_000]))?.code == .typeMismatch)
    #expect(error(rows("Everything", ["scratch": "x"]))?.code == .unsupported)
    #expect(error(rows("Shift", ["keeper": "Ada"]))?.description.contains("Shift.keeper") == true)
    stack.writer.performAndWait { writer in
      let required = #expect(throws: ValidationError.self) { try writer.execute(rows("Skill", ["title": nil])) }
      #expect(required?.property == "title" && required?.rule == .missingValue)
      let wrong: [String: Operand] = ["titel": "x", "level": "high", "keepers": .value(nil)]
      for (name, operand) in wrong {
        let request = BatchUpdateRequest(FetchRequest<Skill>(), propertiesToUpdate: [name: operand])
        let error = #expect(throws: ConditionError.self) { try writer.execute(request) }
        #expect(error?.description.contains(name) == true)
      }
      let unknownEntity = FetchRequest<ManagedObject>(entity: "Elephant", nil)
      #expect(throws: ConditionError.self) { try writer.execute(BatchDeleteRequest(unknownEntity)) }
    }
  }

  @Test("A derived attribute can't be set by a batch request")
  func derived() throws {
    let stack = try Stack(Shop.model)
    stack.writer.performAndWait { writer in
      let inserted = #expect(throws: ConditionError.self) {
        try writer.execute(BatchInsertRequest(entity: "Customer", rows: [["spent": 1]]))
      }
      #expect(inserted?.description.contains("Customer.spent is derived") == true)
      let updated = #expect(throws: ConditionError.self) {
        try writer.execute(BatchUpdateRequest(FetchRequest<Customer>(), propertiesToUpdate: ["spent": 1]))
      }
      #expect(updated?.description.contains("Customer.spent is derived") == true)
    }
  }

  @Test("Rows that are inserted have their defaults, and take values of every type", arguments: [false, true])
  func values(inMemory: Bool) throws {
    let stack = try Stack(Zoo.model, inMemory: inMemory)
    let key = UUID()
    let day = Date(timeIntervalSinceReferenceDate: 12.5)
    let link = try #require(URL(string: "https://example.org/x"))
    let blank: String? = nil
    let values: BatchInsertRequest.Values = [
      "small": Int16(3), "exact": Decimal(string: "1.25"), "real": 2.5, "coarse": Float(0.5), "flag": true,
      "text": "héllo", "day": day, "bytes": Data([1, 2]), "key": key, "link": link, "medium": Value.null,
      "class": blank, "large": 4,
    ]
    try stack.writer.performAndWait { writer in
      try writer.execute(BatchInsertRequest(entity: "Everything", rows: [values]))
      let object = try #require(try writer.fetch(FetchRequest<Everything>()).first)
      #expect(object.value(forKey: "small") as? Int64 == 3)
      #expect(object.value(forKey: "exact") as? Decimal == Decimal(string: "1.25"))
      #expect(object.value(forKey: "real") as? Double == 2.5)
      #expect(object.value(forKey: "flag") as? Bool == true)
      #expect(object.value(forKey: "text") as? String == "héllo")
      #expect(object.value(forKey: "day") as? Date == day)
      #expect(object.value(forKey: "bytes") as? Data == Data([1, 2]))
      #expect(object.value(forKey: "key") as? UUID == key)
      #expect(object.value(forKey: "link") as? URL == link)
      #expect(object.value(forKey: "medium") == nil && object.value(forKey: "class") == nil)
      #expect(object.value(forKey: "requiredText") as? String == "a \"quoted\" \\ text")
    }
  }

  @Test("NaN is nil in a batch, and refused where a value is required", arguments: [false, true])
  func notANumber(inMemory: Bool) throws {
    let stack = try Stack(Zoo.model, inMemory: inMemory)
    try stack.writer.performAndWait { writer in
      try writer.execute(BatchInsertRequest(entity: "Everything", rows: [["exact": Decimal.nan, "real": Double.nan]]))
      let nowhere = try writer.count(for: FetchRequest<Everything>(format: "exact == nil AND real == nil"))
      #expect(nowhere == 1)
      let inserted = #expect(throws: ValidationError.self) {
        try writer.execute(BatchInsertRequest(entity: "Everything", rows: [["requiredExact": Decimal.nan]]))
      }
      #expect(inserted?.property == "requiredExact")
      let updated = #expect(throws: ValidationError.self) {
        try writer.execute(
          BatchUpdateRequest(
            FetchRequest<Everything>(), propertiesToUpdate: ["requiredExact": .value(.decimal(.nan))]))
      }
      #expect(updated?.property == "requiredExact")
    }
  }

  @Test("An insert of heirs goes to the table of their family, and IDs tell their entity", arguments: [false, true])
  func inheritance(inMemory: Bool) throws {
    let stack = try Stack(Zoo.model, inMemory: inMemory)
    try stack.writer.performAndWait { writer in
      try writer.execute(BatchInsertRequest(entity: "Dog", rows: [["name": "Rex", "breed": "collie"]]))
      var cats = BatchInsertRequest(entity: "Cat", rows: [["name": "Tom", "lives": 7]])
      cats.resultType = .objectIDs
      #expect(try writer.execute(cats).objectIDs.first?.entity?.name == "Cat")
      var request = BatchUpdateRequest(
        FetchRequest<Animal>(), propertiesToUpdate: ["name": try Operand(format: "uppercase:(name)")])
      request.resultType = .count
      #expect(try writer.execute(request).count == 2)
      let names = try writer.fetch(FetchRequest<Animal>(sortBy: [.ascending("name")])).map(\.name)
      #expect(names == ["REX", "TOM"])
    }
  }

  @Test("A huge insert takes rows one by one, none ahead of those that are written")
  func streaming() throws {
    let stack = try Stack(People.model)
    let written = Recorder<Int>()
    let insert = SQLStore.current == .sqlite ? "INSERT INTO \"Person\"" : "COPY \"Person\""
    // What has been asked for and is not in a chunk that was written is what memory holds.
    try stack.writer.performAndWait { writer in
      _ = stack.statements.drain()
      let ahead = Recorder<Int>()
      let request = BatchInsertRequest(entity: "Person") { [statements = stack.statements] number in
        if number == 50_000 { return nil }
        for event in statements.drain() where event.sql.hasPrefix(insert) {
          for _ in 0..<event.rowCount { written.append(1) }
        }
        if number % 1_000 == 999 { ahead.append(number + 1 - written.all.count) }
        return ["age": number]
      }
      try writer.execute(request)
      #expect(ahead.all.allSatisfy { $0 <= 1_000 })
    }
    #expect(try stored(stack) == 50_000)
  }

  @Test("A large value of a row that a constraint refuses is not left over")
  func refusedLargeValue() throws {
    var picture = AttributeDescription("picture", .binary)
    picture.allowsExternalBinaryDataStorage = true
    var card = EntityDescription("Card", attributes: [AttributeDescription("number", .integer64), picture])
    card.uniquenessConstraints = [["number"]]
    let stack = try Stack(ManagedObjectModel([card]))
    try stack.writer.performAndWait { writer in
      writer.mergePolicy = .mergeByPropertyObjectTrump
      for byte in [1, 2] as [UInt8] {
        let picture = Data(repeating: byte, count: 100_000)
        _ = try writer.execute(
          BatchInsertRequest(entity: "Card", rows: [["number": 1, "picture": picture]]))
      }
    }
    try stack.checkInvariants()
  }
}
