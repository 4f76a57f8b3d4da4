import Foundation
import ObjectGraph
import ObjectGraphTesting
import PostgresTesting
import StoreTesting
import Testing
import TestSupport

@Suite("Batch requests, history: history", .onEachStore)
struct HistoryTests {
  /// A model with everything that history tells apart.
  private static func model(_ edit: (inout [EntityDescription]) -> Void = { _ in }) throws -> ManagedObjectModel {
    var email = AttributeDescription("email", .string)
    email.preservesValueInHistoryOnDeletion = true
    var born = AttributeDescription("born", .date)
    born.preservesValueInHistoryOnDeletion = true
    var clubs = RelationshipDescription("clubs", to: "Club", inverse: "members", isToMany: true)
    clubs.isOrdered = true
    var entities = [
      EntityDescription(
        "Person", attributes: [AttributeDescription("name", .string), email, born],
        relationships: [clubs, RelationshipDescription("boss", to: "Person")]),
      EntityDescription(
        "Club", attributes: [AttributeDescription("name", .string)],
        relationships: [RelationshipDescription("members", to: "Person", inverse: "clubs", isToMany: true)]),
    ]
    edit(&entities)
    return try ManagedObjectModel(entities)
  }

  private func stack(_ model: ManagedObjectModel? = nil, _ place: StorePlace? = nil) throws -> Stack {
    try Stack(try model ?? Self.model(), place: place, tracksHistory: true)
  }

  private func history(
    _ stack: Stack, after token: PersistentHistoryToken? = nil, where format: String? = nil
  ) throws -> [PersistentHistoryTransaction] {
    var request = PersistentHistoryRequest.fetchHistory(after: token)
    request.condition = try format.map { try Condition(format: $0) }
    return try stack.root("reader").performAndWait { [request] in try $0.execute(request).transactions }
  }

  private func person(_ name: String, _ context: isolated ManagedObjectContext) -> ManagedObject {
    let person = context.insertObject(ofEntity: "Person")
    person.setValue(name, forKey: "name")
    return person
  }

  @Test("Each store transaction has a token, a time, an author, a context name and a process")
  func transactions() throws {
    let stack = try stack()
    let before = Date()
    let start = try stack.coordinator.currentHistoryToken()
    stack.writer.transactionAuthor = "importer"
    try stack.writer.performAndWait { writer in
      _ = person("Ada", writer)
      try writer.save()
    }
    let plain = stack.root("plain")
    try plain.performAndWait { plain in
      _ = person("Bea", plain)
      try plain.save()
    }
    let found = try history(stack)
    #expect(found.map(\.author) == ["importer", nil])
    #expect(found.map(\.contextName) == ["writer", "plain"])
    #expect(found.map(\.token.number) == [1, 2])
    #expect(start < found[0].token && found[0].token < found[1].token)
    #expect(try stack.coordinator.currentHistoryToken() == found[1].token)
    #expect(found.allSatisfy { $0.timestamp >= before && $0.timestamp <= Date() })
    #expect(found.allSatisfy { $0.process.hasSuffix("[\(getpid())]") })
    #expect(try history(stack, after: found[0].token).map(\.token) == [found[1].token])
    #expect(try history(stack, after: found[1].token).isEmpty)
    let copy = try JSONDecoder().decode(PersistentHistoryToken.self, from: JSONEncoder().encode(found[0].token))
    #expect(copy == found[0].token)
  }

  @Test("Changes list updated properties, and deletes keep a tombstone of marked attributes")
  func changes() throws {
    let stack = try stack()
    let born = Date(timeIntervalSinceReferenceDate: -5.5)
    let id = try stack.writer.performAndWait { writer in
      let ada = person("Ada", writer)
      ada.setValue("a@example.org", forKey: "email")
      ada.setValue(born, forKey: "born")
      try writer.save()
      ada.setValue("Augusta", forKey: "name")
      ada.setValue(ada, forKey: "boss")
      try writer.save()
      writer.delete(ada)
      try writer.save()
      return ada.objectID
    }
    let changes = try history(stack).flatMap(\.changes)
    #expect(changes.map(\.kind) == [.insert, .update, .delete])
    #expect(changes.allSatisfy { $0.objectID == id })
    #expect(changes.map(\.updatedProperties) == [[], ["name", "boss"], []])
    #expect(changes.map(\.tombstone) == [[:], [:], ["email": "a@example.org", "born": .date(born)]])
  }

  @Test("Links of a many-to-many relationship are updates of the objects at both ends")
  func links() throws {
    let stack = try stack()
    let (ada, chess, go) = try stack.writer.performAndWait { writer in
      let ada = person("Ada", writer)
      let clubs = ["chess", "go"].map { name in
        let club = writer.insertObject(ofEntity: "Club")
        club.setValue(name, forKey: "name")
        return club
      }
      ada.setValue([clubs[0]], forKey: "clubs")
      try writer.save()
      ada.setValue(clubs, forKey: "clubs")
      try writer.save()
      ada.setValue([clubs[1], clubs[0]], forKey: "clubs")
      ada.setValue("A.", forKey: "name")
      try writer.save()
      return (ada.objectID, clubs[0].objectID, clubs[1].objectID)
    }
    let found = try history(stack)
    #expect(found[0].changes.allSatisfy { $0.kind == .insert } && found[0].changes.count == 3)
    let second = Dictionary(uniqueKeysWithValues: found[1].changes.map { ($0.objectID, $0.updatedProperties) })
    #expect(second == [ada: ["clubs"], go: ["members"]])
    let third = found[2].changes.first { $0.objectID == ada }
    #expect(third?.updatedProperties == ["name", "clubs"])
    _ = chess
  }

  @Test("Saves and batch requests write history, in the same transaction as the rows")
  func batchRequests() throws {
    let stack = try stack()
    try stack.writer.performAndWait { writer in
      try writer.execute(BatchInsertRequest(entity: "Person") { $0 < 5_000 ? ["name": "p\($0)", "email": "e"] : nil })
      let all = FetchRequest<ManagedObject>(entity: "Person", nil)
      try writer.execute(BatchUpdateRequest(all, propertiesToUpdate: ["name": "x"]))
      var some = all
      some.fetchLimit = 2
      try writer.execute(BatchDeleteRequest(some))
      try stack.place.refuseWrites(true, to: "Person", stack.faults, atCommit: true)
      _ = person("lost", writer)
      _ = #expect(throws: StoreError.self) { try writer.save() }
      _ = #expect(throws: StoreError.self) { try writer.execute(BatchDeleteRequest(all)) }
      try stack.place.refuseWrites(false, to: "Person", stack.faults)
    }
    let found = try history(stack)
    #expect(found.map(\.changes.count) == [5_000, 5_000, 2])
    #expect(Set(found[0].changes.map(\.objectID)).count == 5_000)
    #expect(found[1].changes.allSatisfy { $0.kind == .update && $0.updatedProperties == ["name"] })
    #expect(found[2].changes.allSatisfy { $0.tombstone == ["email": "e"] })
    #expect(found.allSatisfy { $0.contextName == "writer" })
    // Readable, and small: what was done to neighbours is one row.
    let number = SQLStore.current == .sqlite ? "number" : "id"
    let rows = try stack.place.shell(
      "SELECT \(number), count(*), sum(last - first + 1) FROM _change GROUP BY \(number) ORDER BY \(number)")
    #expect(rows == "1|1|5000\n2|1|5000\n3|2|2")
  }

  @Test("The context that made the changes is named, also if another saves them; of several, the one that saves")
  func contributors() async throws {
    let stack = try stack()
    func save(_ contexts: ManagedObjectContext...) throws {
      for context in contexts { try context.performAndWait { try $0.save() } }
    }
    func worker(_ name: String) -> ManagedObjectContext {
      let worker = ManagedObjectContext(parent: stack.main, name: name)
      worker.performAndWait { _ = person(name, $0) }
      return worker
    }
    stack.writer.transactionAuthor = "app"
    let one = worker("one")
    one.transactionAuthor = "somebody"
    try save(one, stack.main, stack.writer)
    try save(worker("two"), worker("three"), stack.main, stack.writer)
    try save(worker("four"), stack.main, stack.writer)
    let found = try history(stack)
    #expect(found.map(\.contextName) == ["one", "main", "four"])
    #expect(found.map(\.author) == ["somebody", "app", "app"])
  }

  @Test("Transactions are filtered by a condition on author, context name, process, time and number")
  func filtering() throws {
    let stack = try stack()
    for author in ["a", "b", nil] {
      stack.writer.transactionAuthor = author
      try stack.writer.performAndWait { writer in
        _ = person("x", writer)
        try writer.save()
      }
    }
    #expect(try history(stack, where: "author != 'a'").map(\.author) == ["b", nil])
    #expect(try history(stack, where: "author == nil").map(\.token.number) == [3])
    #expect(try history(stack, where: "contextName BEGINSWITH 'wri' AND number > 1").count == 2)
    let error = #expect(throws: ConditionError.self) { try history(stack, where: "autor == 'a'") }
    #expect(error?.description.contains("author") == true)
    var request = PersistentHistoryRequest.fetchHistory(after: Date.distantPast)
    request.fetchLimit = 1
    request.includesChanges = false
    let result = try stack.writer.performAndWait { [request] in try $0.execute(request) }
    #expect(result.count == 1 && result.transactions[0].changes.isEmpty)
    let later = PersistentHistoryRequest.fetchHistory(after: Date.distantFuture)
    let count = try stack.writer.performAndWait { try $0.execute(later).count }
    #expect(count == 0)
  }

  @Test("Purged history throws expired-token, and the rest can still be had")
  func purging() throws {
    let stack = try stack()
    let start = try stack.coordinator.currentHistoryToken()
    for name in ["a", "b", "c", "d"] {
      try stack.writer.performAndWait { writer in
        _ = person(name, writer)
        try writer.save()
      }
    }
    let tokens = try history(stack).map(\.token)
    let deleted = try stack.writer.performAndWait { try $0.execute(.deleteHistory(before: tokens[2])).count }
    #expect(deleted == 2)
    for token in [start, tokens[0]] {
      let error = #expect(throws: StoreError.self) { try history(stack, after: token) }
      #expect(error?.code == .expiredHistoryToken)
      #expect(error?.description.contains("currentHistoryToken") == true)
    }
    #expect(try history(stack, after: tokens[1]).map(\.token) == [tokens[2], tokens[3]])
    #expect(try history(stack).map(\.token) == [tokens[2], tokens[3]])
    let rest = try stack.writer.performAndWait { try $0.execute(.deleteHistory(before: Date.distantFuture)).count }
    #expect(rest == 2)
    #expect(try history(stack, after: tokens[3]).isEmpty)
    #expect(try stack.place.shell("SELECT count(*) FROM _change") == "0")
    // Numbers are never used twice.
    try stack.writer.performAndWait { writer in
      _ = person("e", writer)
      try writer.save()
    }
    #expect(try history(stack).map(\.token.number) == [5])
  }

  @Test("A token of another store, and a store without history, are errors that say so")
  func refusals() throws {
    let (one, two) = (try stack(), try stack())
    let foreign = try two.coordinator.currentHistoryToken()
    let error = #expect(throws: StoreError.self) { try history(one, after: foreign) }
    #expect(error?.description.contains("another store") == true)
    for inMemory in [false, true] {
      let without = try Stack(try Self.model(), inMemory: inMemory)
      let error = #expect(throws: StoreError.self) { try history(without) }
      #expect(error?.code == .unsupported && error?.description.contains("tracksHistory") == true)
    }
  }

  @Test("A store that keeps history keeps it whoever opens it, and a save without changes of rows writes none")
  func staysOn() throws {
    let first = try stack()
    try first.coordinator.close()
    let second = try Stack(try Self.model(), place: first.place)
    try second.writer.performAndWait { writer in
      _ = person("a", writer)
      try writer.save()
      try writer.save()
      writer.delete(person("b", writer))
      try writer.save()
    }
    #expect(try history(second).count == 1)
  }

  @Test("Another coordinator on the same store merges transactions from the history")
  func otherCoordinators() throws {
    let here = try stack()
    let there = try stack(nil, here.place)
    let start = try here.coordinator.currentHistoryToken()
    let ids = try there.writer.performAndWait { writer in
      let (ada, bea) = (person("Ada", writer), person("Bea", writer))
      try writer.save()
      return [ada.objectID, bea.objectID]
    }
    let mine = try #require(try history(here, after: start).first).changes.map(\.objectID)
    #expect(mine.map(\.uriRepresentation) == ids.map(\.uriRepresentation))
    here.main.performAndWait { main in
      main.retainsRegisteredObjects = true
      #expect(mine.map { main.object(with: $0).value(forKey: "name") as? String } == ["Ada", "Bea"])
    }
    try there.writer.performAndWait { writer in
      writer.object(with: ids[0]).setValue("A.", forKey: "name")
      writer.delete(writer.object(with: ids[1]))
      try writer.save()
    }
    let transaction = try #require(try history(here).last)
    let events = EventRecorder(here.main)
    here.main.performAndWait { main in
      main.mergeChanges(from: transaction)
      #expect(main.registeredObject(for: mine[0])?.value(forKey: "name") as? String == "A.")
      #expect(main.registeredObject(for: mine[1]) == nil)
    }
    #expect(events.didChanges.map(\.deletedObjectIDs) == [[mine[1]]])
    #expect(events.didChanges.map(\.updatedObjectIDs) == [[mine[0]]])
  }

  @Test("History survives a migration: it names the objects as the new model does")
  func migration() throws {
    let first = try stack()
    try first.writer.performAndWait { writer in
      _ = person("Ada", writer)
      _ = writer.insertObject(ofEntity: "Club")
      try writer.save()
    }
    try first.coordinator.close()
    let renamed = try Self.model { entities in
      entities[0].name = "Human"
      entities[0].renamingIdentifier = "Person"
      entities[0].relationships[1].destinationEntity = "Human"
      entities[1].relationships[0].destinationEntity = "Human"
    }
    let second = try Stack(renamed, place: first.place)
    let changes = try history(second).flatMap(\.changes)
    #expect(Set(changes.compactMap { $0.objectID.entity?.name }) == ["Human", "Club"])
    let human = try #require(changes.first { $0.objectID.entity?.name == "Human" })
    let name = try second.writer.performAndWait {
      try $0.existingObject(with: human.objectID).value(forKey: "name") as? String
    }
    #expect(name == "Ada")
  }
}
