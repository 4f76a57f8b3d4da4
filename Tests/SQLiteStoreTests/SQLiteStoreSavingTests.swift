import Foundation
import ObjectGraph
import ObjectGraphTesting
@testable import SQLiteStore
import Testing

@Suite("Saving to an SQLite store")
struct SQLiteStoreSavingTests {
  private static let faults: [(fault: StoreFault, expected: StoreError.Code)] = [
    (.busy, .busy), (.readOnly, .readOnly), (.inputOutput, .inputOutput), (.corrupt, .corrupt), (.full, .full),
  ]

  private func files(_ fixture: StoreFixture) throws -> Set<String> {
    Set(try FileManager.default.contentsOfDirectory(atPath: fixture.filesFolder.path).filter { $0 != "staging" })
  }

  @Test("leaves nothing half done, whichever step fails and however", arguments: faults.indices)
  func failingSteps(index: Int) throws {
    let (fault, expected) = Self.faults[index]
    let faults = StoreFaults()
    var options = SQLiteStoreOptions()
    options.externalDataThreshold = 10
    options.failure = faults.strike
    let fixture = try StoreFixture(options: options)
    let (deleted, deletedRow) = try fixture.insert("Person", ["name": "deleted", "photo": Data(count: 100)])
    let (updated, updatedRow) = try fixture.insert("Person", ["name": "updated", "photo": Data(count: 200)])
    let before = try files(fixture)
    let staged = try #require(fixture.store.stagingDirectory) + "/staged"
    try Data(count: 300).write(to: URL(fileURLWithPath: staged))
    let id = try fixture.newID("Person")
    let inserted = try fixture.row("Person", ["photo": Blob(stagedFile: staged, byteCount: 300)])
    let change = try fixture.update(updated, updatedRow, "Person", ["name": "after", "photo": Data(count: 250)])
    let batch = try fixture.batch(2)
    let request = StoreSaveRequest(
      [
        ChangeSet(
          [
            RowChange(.insert, id, row: inserted, base: nil), change,
            RowChange(.delete, deleted, row: nil, base: deletedRow),
          ], batches: [batch])
      ], reservations: [KeyReservation(root: try fixture.entity("Company"), count: 1)])
    // In this order, with two inserts for the rows of the batch.
    let steps: [FaultPoint.Step] = [
      .begin, .delete, .file, .update, .insert, .file, .insert, .insert, .reserve, .commit,
    ]
    for (number, step) in steps.enumerated() {
      _ = faults.drainSteps()
      faults.fail(with: fault, atStatement: number)
      let error = #expect(throws: StoreError.self) { try fixture.store.save(request) }
      #expect(error?.code == expected, "\(step)")
      #expect(faults.drainSteps() == Array(steps[...number]))
      #expect(error?.path == fixture.url.path)
      #expect(inserted.version == 0 && change.row?.version == 0 && batch.row(at: 0).version == 0)
      #expect(try fixture.stored(id) == nil)
      #expect(try fixture.stored(batch.id(at: 0)) == nil)
      #expect(try fixture.stored(updated)?.version == 1)
      #expect(try fixture.stored(deleted) != nil)
      // The files of a commit whose outcome is unknown stay until the store is opened again.
      if expected != .inputOutput || step != .commit {
        #expect(try files(fixture) == before, "\(step)")
      } else {
        #expect(try files(fixture).isStrictSuperset(of: before), "\(step)")
      }
    }
    #expect(try fixture.store.save(request).conflicts.isEmpty)
    let photo = try fixture.slot("Person", "photo")
    #expect(inserted.version == 1 && batch.row(at: 0).version == 1)
    #expect(try fixture.stored(id)?.blob(photo).load() == Data(count: 300))
    #expect(!FileManager.default.fileExists(atPath: staged))
    #expect(try fixture.stored(updated)?.blob(photo).load() == Data(count: 250))
    #expect(try fixture.stored(deleted) == nil)
    #expect(try fixture.newID("Company").key == 2)
    try fixture.store.close()
    fixture.store = try fixture.reopened()
    #expect(try files(fixture).count == 2)
  }

  @Test("keeps large values in files and small ones in the row, and removes files that are dropped")
  func largeValues() throws {
    let fixture = try StoreFixture()
    let (id, first) = try fixture.insert("Person", ["photo": Data(count: 65_536), "icon": Data(count: 70_000)])
    #expect(try files(fixture).isEmpty)
    let large = try fixture.update(id, first, "Person", ["photo": Data(count: 65_537)])
    #expect(try fixture.save(large).conflicts.isEmpty)
    let names = try files(fixture)
    #expect(names.count == 1)
    // Another value of the row changes: the file stays the same.
    let renamed = try fixture.update(id, try #require(large.row), "Person", ["name": "Ada"])
    #expect(try fixture.save(renamed).conflicts.isEmpty)
    #expect(try files(fixture) == names)
    let stored = try #require(try fixture.stored(id))
    let photo = stored.blob(try fixture.slot("Person", "photo"))
    #expect(photo.byteCount == 65_537)
    #expect(photo.residentByteCount < 1_000)
    // A second object with the same value has a file of its own.
    let (copy, _) = try fixture.insert("Person", ["photo": photo])
    #expect(try files(fixture).count == 2)
    #expect(try fixture.save(RowChange(.delete, id, row: nil, base: stored)).conflicts.isEmpty)
    #expect(try files(fixture).count == 1)
    let kept = try fixture.stored(copy)?.blob(try fixture.slot("Person", "photo")).load()
    #expect(kept == Data(count: 65_537))
  }

  @Test("removes the files of a step that is taken back, and keeps those of the steps around it")
  func filesOfSteps() throws {
    let fixture = try StoreFixture()
    let (old, oldRow) = try fixture.insert("Person", ["email": "a@example.org"])
    _ = try fixture.save(try fixture.update(old, oldRow, "Person", ["age": 1]))
    func insert(_ email: String) throws -> RowChange {
      let row = try fixture.row("Person", ["email": email, "photo": Data(count: 100_000)])
      return RowChange(.insert, try fixture.newID("Person"), row: row, base: nil)
    }
    let stale = RowChange(.update, old, row: oldRow, base: oldRow)
    let fine = ChangeSet([try insert("b@example.org")])
    let outdated = ChangeSet([try insert("c@example.org"), stale])
    let clash = ChangeSet([try insert("d@example.org"), try insert("b@example.org")])
    try fixture.store.transaction(from: TransactionOrigin()) { transaction throws in
      #expect(try transaction.write(fine).isEmpty)
      #expect(try transaction.write(outdated).map(\.change.id) == [old])
      #expect(throws: StoreError.self) { try transaction.write(clash) }
    }
    #expect(try files(fixture).count == 1)
  }

  @Test("sweeps what a crash left over, but nothing that another process has staged")
  func sweeping() throws {
    let fixture = try StoreFixture()
    try fixture.insert("Person", ["photo": Data(count: 100_000)])
    let names = try files(fixture)
    let left = fixture.filesFolder.appendingPathComponent("0b4b5a52-0000-4000-8000-000000000000.5")
    let staged = fixture.filesFolder.appendingPathComponent("staging/half")
    try Data(count: 5).write(to: left)
    try Data(count: 5).write(to: staged)
    let other = try fixture.reopened()
    #expect(try files(fixture) == names)
    #expect(FileManager.default.fileExists(atPath: staged.path))
    try other.close()
    try fixture.store.close()
    // The folder's lock goes with the store itself.
    fixture.store = try PersistentStoreDescription.inMemory.open(fixture.model, 1)
    fixture.store = try fixture.reopened()
    #expect(!FileManager.default.fileExists(atPath: staged.path))
    #expect(try files(fixture) == names)
  }

  @Test("logs each statement without values, with role and executor, and counts it")
  func log() throws {
    let log = StatementRecorder()
    var options = SQLiteStoreOptions()
    options.statementLog = log.record
    let fixture = try StoreFixture(options: options)
    let store = try #require(fixture.store as? SQLiteStore)
    try fixture.insert("Person", ["name": "secret"])
    _ = log.drain()
    let before = store.statementCount
    let id = try fixture.newID("Person")
    let queue = DispatchQueue(label: "org.example.queue")
    let row = try queue.sync { try fixture.stored(id) }
    #expect(row == nil)
    let seen = log.drain()
    #expect(seen.count == store.statementCount - before)
    let select = try #require(seen.last)
    #expect(select.sql.hasPrefix("SELECT") && select.sql.contains("FROM \"Person\" WHERE _key = ?1"))
    #expect(select.role == .reader)
    #expect(select.executor == "org.example.queue")
    #expect(select.rowCount == 0)
    #expect(seen.first?.role == .writer)
    #expect(!seen.contains { $0.sql.contains("secret") })
  }

  @Test("inserts rows of an entity that follow each other a hundred with a statement, each with its own values")
  func groups() throws {
    let log = StatementRecorder()
    var options = SQLiteStoreOptions()
    options.statementLog = log.record
    let fixture = try StoreFixture(options: options)
    let changes = try (0..<459).map { number in
      let (name, values): (String, [String: Any]) =
        number < 230
        ? ("Dog", number % 3 == 0 ? ["tricks": number] : ["name": "n\(number)", "tricks": number])
        : ("Cat", ["name": "n\(number)", "lives": -number])
      return RowChange(.insert, try fixture.newID(name), row: try fixture.row(name, values), base: nil)
    }
    _ = log.drain()
    _ = try fixture.store.save(StoreSaveRequest([ChangeSet(changes)]))
    let counts = log.drain().filter { $0.sql.hasPrefix("INSERT INTO \"Animal\"") }.map(\.rowCount)
    #expect(counts.filter { $0 == 100 }.count == 4)
    #expect(counts.reduce(0, +) == 459)
    for change in changes {
      let stored = try #require(try fixture.stored(change.id))
      let written = try #require(change.row)
      #expect(stored.version == 1 && written.version == 1 && stored.entityIndex == change.id.entityIndex)
      let layout = RowLayout(fixture.model.entities[Int(change.id.entityIndex)])
      #expect(stored.changedSlots(from: written, layout: layout).isEmpty)
    }
  }
}
