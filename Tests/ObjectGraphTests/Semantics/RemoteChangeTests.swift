import Foundation
import ObjectGraph
import ObjectGraphTesting
import Synchronization
import TestSupport
import Testing

@Suite("Batch requests, history: others on the same file")
struct RemoteChangeTests {
  private let stack: Stack
  private let changes: AsyncStream<PersistentStoreRemoteChange>

  init() throws {
    stack = try Stack(People.model)
    changes = stack.coordinator.remoteChanges()
  }

  private func sqlite(_ sql: String) throws -> String { try SQLiteShell(path: stack.storePath).run(sql) }

  /// The next change that is noticed.
  private func next(_ changes: AsyncStream<PersistentStoreRemoteChange>? = nil) async throws
    -> PersistentStoreRemoteChange
  {
    let changes = changes ?? self.changes
    return try await withTimeout { try #require(await changes.first { _ in true }) }
  }

  /// Waits until a controller's result is as wanted.
  private func wait(
    for controller: FetchedResultsController<Person>, until isWanted: @escaping @Sendable ([ManagedObjectID]) -> Bool
  ) async throws {
    try await withTimeout {
      _ = await controller.snapshots().first { isWanted($0.objectIDs) }
    }
  }

  @Test("A change made by another process on the same file is announced to every coordinator on it")
  func everyCoordinator() async throws {
    let other = try Stack(People.model, place: stack.place)
    let others = other.coordinator.remoteChanges()
    _ = try sqlite("INSERT INTO Person (_version, age) VALUES (1, 5)")
    for changes in [changes, others] {
      let change = try await next(changes)
      #expect(change.changes == nil && change.historyToken == nil)
      #expect(change.storeIdentifier.uuidString.isEmpty == false)
    }
  }

  @Test("A change of another coordinator in the same process is announced, and read from the history if there is one")
  func history() async throws {
    let here = try Stack(People.model, tracksHistory: true)
    let there = try Stack(People.model, place: here.place)
    // What opening has reserved is a commit too, of nothing that anybody could see.
    let noticed = here.coordinator.remoteChanges()
    let ada = try there.savedPerson("Ada", age: 1)
    let token = try there.coordinator.currentHistoryToken()
    let change = try await withTimeout {
      try #require(await noticed.first { $0.changes != nil })
    }
    #expect(change.historyToken == token)
    #expect(change.changes?.insertedObjectIDs.map(\.uriRepresentation) == [ada.uriRepresentation])
    #expect(change.changes?.updatedObjectIDs.isEmpty == true)
  }

  @Test("Own commits are not announced")
  func ownCommits() async throws {
    _ = try stack.savedPerson()
    try stack.writer.performAndWait { writer in
      _ = try writer.execute(BatchInsertRequest(entity: "Person", rows: [["age": 2]]))
    }
    let seen = Recorder<PersistentStoreRemoteChange>()
    let (told, continuation) = AsyncStream.makeStream(of: PersistentStoreRemoteChange.self)
    let observation = stack.coordinator.observeRemoteChanges {
      seen.append($0)
      continuation.yield($0)
    }
    _ = try stack.savedPerson()
    _ = try sqlite("UPDATE Person SET age = 9")
    _ = try await next(told)
    #expect(seen.all.count == 1)
    observation.cancel()
  }

  @Test("A commit of others is noticed while this process saves without a pause")
  func amongOwnCommits() async throws {
    let isNoticed = Mutex(false)
    let observation = stack.coordinator.observeRemoteChanges { _ in isNoticed.withLock { $0 = true } }
    // Far from the keys that this process has reserved.
    _ = try sqlite("INSERT INTO Person (_key, _version, age) VALUES (1000000000000, 1, 5)")
    let writer = stack.writer
    try await withTimeout {
      while !isNoticed.withLock({ $0 }) {
        try await writer.perform { writer in
          for _ in 0..<100 { _ = Person(context: writer) }
          try writer.save()
        }
      }
    }
    observation.cancel()
  }

  @Test("Contexts that merge automatically show what a raw client inserts, updates and deletes, and keep their edits")
  func automaticMerging() async throws {
    // The first key is the deleted one's: SQLite would give the highest to the row that the client inserts.
    let cy = try stack.savedPerson("Cy")
    let ids = [try stack.savedPerson("Ada", age: 1), try stack.savedPerson("Bea", age: 2), cy]
    let root = stack.root("following")
    let child = ManagedObjectContext(parent: root, name: "child")
    for context in [root, child] { context.automaticallyMergesChangesFromParent = true }
    for context in [root, child] {
      context.performAndWait { context in
        context.retainsRegisteredObjects = true
        for id in ids { _ = (context.object(with: id) as? Person)?.age }
        (context.object(with: ids[1]) as? Person)?.lastName = "mine"
      }
    }
    let controller = try FetchedResultsController<Person>(.people(0...99), context: child)
    try await child.perform { try controller.performFetch(in: $0) }
    _ = try sqlite(
      """
      UPDATE Person SET age = 50, _version = _version + 1 WHERE firstName = 'Ada';
      UPDATE Person SET age = 60 WHERE firstName = 'Bea';
      INSERT INTO Person (_version, firstName, age) VALUES (1, 'Di', 70);
      DELETE FROM Person WHERE firstName = 'Cy';
      """)
    try await wait(for: controller) { $0.count == 3 && $0.first == ids[0] && !$0.contains(ids[2]) }
    for context in [root, child] {
      await context.perform { context in
        #expect((context.registeredObject(for: ids[0]) as? Person)?.age == 50)
        let bea = context.registeredObject(for: ids[1]) as? Person
        #expect(bea?.age == 60 && bea?.lastName == "mine")
        #expect(context.registeredObject(for: ids[2]) == nil)
      }
    }
    // The key that the client took is not handed out again, and its row is not taken for an unsaved one.
    let new = try #require(controller.snapshot.objectIDs.last)
    #expect(!new.isTemporaryID)
    // Another row under the same key and version is noticed too.
    await child.perform { child in #expect((child.object(with: new) as? Person)?.age == 70) }
    _ = try sqlite(
      """
      BEGIN;
      DELETE FROM Person WHERE firstName = 'Di';
      INSERT INTO Person (_key, _version, firstName, age) VALUES (\(new.key), 1, 'Ed', 20);
      COMMIT;
      """)
    try await wait(for: controller) { $0.first == new }
    await child.perform { child in #expect((child.registeredObject(for: new) as? Person)?.firstName == "Ed") }
    #expect(try stack.savedPerson("Eve") != new)
    try await root.perform { try $0.save() }
    #expect(try sqlite("SELECT age, lastName FROM Person WHERE firstName = 'Bea'") == "60|mine")
  }

  @Test("A raw client that knows nothing of versions raises them all the same: a save meets a conflict")
  func unknowingClient() throws {
    let quiet = try quietStack()
    let id = try quiet.savedPerson("Ada", age: 1)
    quiet.writer.performAndWait { ($0.object(with: id) as? Person)?.age = 5 }
    let shell = SQLiteShell(path: quiet.storePath)
    _ = try shell.run("UPDATE Person SET age = 7")
    #expect(try shell.run("SELECT _version FROM Person") == "2")
    quiet.writer.performAndWait { writer in
      let error = #expect(throws: SaveConflicts.self) { try writer.save() }
      #expect(error?.conflicts.first?.kind == .rowCacheAgainstStore)
      #expect(error?.conflicts.first?.storedSnapshot?["age"] == 7)
    }
    // Who counts versions up is left alone.
    _ = try shell.run("UPDATE Person SET age = 8, _version = _version + 1")
    #expect(try shell.run("SELECT _version FROM Person") == "3")
  }

  @Test("A store that is not to notice others does not")
  func switchedOff() async throws {
    let quiet = try quietStack()
    let other = try Stack(People.model, place: quiet.place)
    let noticed = other.coordinator.remoteChanges()
    let seen = Recorder<PersistentStoreRemoteChange>()
    let observation = quiet.coordinator.observeRemoteChanges { seen.append($0) }
    _ = try SQLiteShell(path: quiet.storePath).run("INSERT INTO Person (_version) VALUES (1)")
    _ = try await next(noticed)
    #expect(seen.all.isEmpty)
    observation.cancel()
  }

  private func quietStack() throws -> Stack { try Stack(People.model, noticesOtherWriters: false) }

  @Test("A closed store notices nothing more, and can be opened again")
  func closing() async throws {
    try stack.coordinator.close()
    _ = try sqlite("INSERT INTO Person (_version, age) VALUES (1, 5)")
    let again = try Stack(People.model, place: stack.place)
    let noticed = again.coordinator.remoteChanges()
    _ = try sqlite("INSERT INTO Person (_version, age) VALUES (1, 6)")
    _ = try await next(noticed)
    let count = try again.main.performAndWait { try $0.count(for: FetchRequest<Person>()) }
    #expect(count == 2)
  }

  @Test("A long transaction of another process is noticed when it is committed, and one that is undone is not")
  func longTransaction() async throws {
    let seen = Recorder<PersistentStoreRemoteChange>()
    let (told, continuation) = AsyncStream.makeStream(of: PersistentStoreRemoteChange.self)
    let observation = stack.coordinator.observeRemoteChanges {
      seen.append($0)
      continuation.yield($0)
    }
    let insert =
      "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 200000) "
      + "INSERT INTO Person (_version, age, firstName) SELECT 1, i, 'a name of some length ' || i FROM n"
    // With a small cache the journal is written to long before the commit.
    _ = try sqlite("PRAGMA cache_size = 10; BEGIN; \(insert); ROLLBACK")
    _ = try sqlite("PRAGMA cache_size = 10; BEGIN; \(insert); COMMIT")
    _ = try await next(told)
    let count = try stack.root().performAndWait { try $0.count(for: FetchRequest<Person>()) }
    #expect(count == 200_000)
    #expect(seen.all.count == 1)
    observation.cancel()
  }
}
