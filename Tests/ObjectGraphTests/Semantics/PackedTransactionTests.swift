import ObjectGraph
import ObjectGraphTesting
import StoreTesting
import Testing

@Suite("Packed transactions", .onEachStore)
struct PackedTransactionTests {
  /// Gives people an age by their first names, and makes those who are not there.
  private func setAges(_ ages: [(String, Int64)], _ stack: Stack) throws -> PackedNews {
    let entity = try #require(stack.coordinator.model.entitiesByName["Person"])
    let name = try #require(entity.property(named: "firstName"))
    let age = try #require(entity.property(named: "age"))
    let arena = ByteArena(capacity: 64)
    var offsets: [UInt32] = [0]
    for var one in ages {
      one.0.withUTF8 { arena.append(UnsafeRawBufferPointer($0)) }
      offsets.append(UInt32(arena.count))
    }
    let columns = [
      RowBatch.Column(slot: name.slot, values: .bytes(offsets: offsets, arena: arena)),
      RowBatch.Column(slot: age.slot, values: .integers(ages.map(\.1))),
    ].sorted { $0.slot < $1.slot }
    let count = ages.count
    return try stack.writer.performAndWait { writer in
      try writer.executePacked { transaction in
        _ = try transaction.write(columns, count: count, of: entity, key: [name], onConflict: .update)
      }.news
    }
  }

  @Test(
    "Objects in memory show what was written, and edits that wait stay on top without a conflict",
    arguments: [false, true])
  func merging(inMemory: Bool) throws {
    let stack = try Stack(People.model, inMemory: inMemory)
    stack.writer.performAndWait { $0.mergePolicy = .mergeByPropertyObjectTrump }
    let id = try stack.savedPerson("Ada", age: 1)
    // One edit is in the writer, another one in a context that has read the old version.
    try stack.main.performAndWait { main in
      main.retainsRegisteredObjects = true
      (main.object(with: id) as? Person)?.lastName = "Lovelace"
      try main.save()
    }
    let child = ManagedObjectContext(parent: stack.main, name: "child")
    child.performAndWait { child in
      child.retainsRegisteredObjects = true
      (child.object(with: id) as? Person)?.lastName = "King"
    }
    let events = EventRecorder(stack.main)
    let news = try setAges([("Ada", 50), ("Bea", 2), ("Bea", 3)], stack)
    stack.main.performAndWait { $0.mergeChanges(fromPacked: news) }
    #expect(events.all.count == 1)
    let seen = stack.main.performAndWait { main in
      (main.object(with: id) as? Person).map { "\($0.lastName ?? "") \($0.age)" }
    }
    #expect(seen == "Lovelace 50")
    try child.performAndWait { try $0.save() }
    try stack.flush()
    let people = try stack.root("reader").performAndWait { reader in
      try reader.fetch(FetchRequest<Person>()).map { person in
        "\(person.firstName ?? ""), \(person.lastName ?? ""), \(person.age)"
      }.sorted()
    }
    #expect(people == ["Ada, King, 50", "Bea, , 3"])
  }

  @Test("A transaction that throws leaves everything as it was")
  func undone() throws {
    let stack = try Stack(People.model)
    let id = try stack.savedPerson("Ada", age: 1)
    #expect(throws: CancellationError.self) {
      try stack.writer.performAndWait { writer in
        try writer.executePacked { transaction in
          #expect(try transaction.delete([id]) == 1)
          throw CancellationError()
        }
      }
    }
    let age = stack.main.performAndWait { ($0.object(with: id) as? Person)?.age }
    #expect(age == 1)
  }

  @Test("Deleting follows the rules of the model, and objects in memory leave")
  func deleting() throws {
    let stack = try Stack(People.model)
    let id = try stack.savedPerson("Ada", age: 1)
    let entity = try #require(stack.coordinator.model.entitiesByName["Person"])
    stack.main.performAndWait { main in
      main.retainsRegisteredObjects = true
      _ = (main.object(with: id) as? Person)?.age
    }
    let (count, news) = try stack.writer.performAndWait { writer in
      try writer.executePacked { transaction in
        try transaction.delete(try transaction.keys(of: entity), of: entity)
      }
    }
    #expect(count == 1)
    let isGone = stack.main.performAndWait { main in
      main.mergeChanges(fromPacked: news)
      return main.registeredObject(for: id) == nil
    }
    #expect(isGone)
  }
}
