import Foundation
import Glibc
import ObjectGraph
import Testing

@Suite("The files of an SQLite store")
struct StoreFileTests {
  private func mode(_ path: String) throws -> mode_t {
    var status = stat()
    try #require(stat(path, &status) == 0, "\(path)")
    return status.st_mode & 0o777
  }

  private func size(_ path: String) throws -> Int {
    var status = stat()
    try #require(stat(path, &status) == 0, "\(path)")
    return Int(status.st_size)
  }

  @Test("belong to their owner alone in a private store, also those that were open to others")
  func privateFiles() throws {
    var options = SQLiteStoreOptions()
    options.isPrivate = true
    let fixture = try StoreFixture(options: options)
    try fixture.insert("Person", ["photo": Data(count: 100_000)])
    let files = ["", "-wal", "-shm"].map { fixture.url.path + $0 }
    #expect(try files.map(mode) == [0o600, 0o600, 0o600])
    #expect(try mode(fixture.filesFolder.path) == 0o700)
    let value = try #require(
      FileManager.default.contentsOfDirectory(atPath: fixture.filesFolder.path).first { $0 != "staging" })
    #expect(try mode(fixture.filesFolder.path + "/" + value) == 0o600)
    try fixture.store.close()
    try #require(chmod(fixture.url.path, 0o644) == 0 && chmod(fixture.filesFolder.path, 0o755) == 0)
    fixture.store = try fixture.reopened()
    try fixture.insert("Person", ["name": "Ada"])
    #expect(try files.map(mode) == [0o600, 0o600, 0o600])
    #expect(try mode(fixture.filesFolder.path) == 0o700)
  }

  enum Accident: CaseIterable { case databaseRemoved, logRemoved, indexRemoved, databaseReplaced }

  @Test(
    "are missed when they are removed or replaced: the next save fails, and so do further readers",
    arguments: Accident.allCases)
  func accidents(accident: Accident) throws {
    let fixture = try StoreFixture()
    let (id, row) = try fixture.insert("Person", ["name": "before"])
    let path = fixture.url.path
    // Whoever reads already has the files open.
    let snapshot = try fixture.store.snapshot()
    switch accident {
    case .databaseRemoved: try FileManager.default.removeItem(atPath: path)
    case .logRemoved: try FileManager.default.removeItem(atPath: path + "-wal")
    case .indexRemoved: try FileManager.default.removeItem(atPath: path + "-shm")
    case .databaseReplaced:
      try FileManager.default.copyItem(atPath: path, toPath: path + ".old")
      try #require(rename(path + ".old", path) == 0)
    }
    let change = try fixture.update(id, row, "Person", ["name": "after"])
    let errors = [
      #expect(throws: StoreError.self) { try fixture.stored(id) },
      #expect(throws: StoreError.self) { try fixture.save(change) },
    ]
    for error in errors {
      #expect(error?.code == .inputOutput)
      #expect(error?.message.contains("removed or replaced") == true)
    }
    withExtendedLifetime(snapshot) {}
  }

  @Test("give back the room that a transaction took which was taken back", arguments: [false, true])
  func roomOfTheLog(isFull: Bool) throws {
    struct Enough: Error {}
    let fixture = try StoreFixture()
    let (kept, _) = try fixture.insert("Person", ["name": "kept"])
    var sizes: [Int] = []
    // Large enough that SQLite writes pages before the commit.
    let batch = try fixture.batch(300_000)
    #expect(throws: (any Error).self) {
      try fixture.store.transaction(from: TransactionOrigin()) { transaction in
        _ = try transaction.write(ChangeSet([], batches: [batch]))
        sizes.append(try size(fixture.url.path + "-wal"))
        if isFull { throw StoreError(.full, "there is no room") }
        throw Enough()
      }
    }
    sizes.append(try size(fixture.url.path + "-wal"))
    try #require(sizes[0] > 17 << 20, "\(sizes)")
    #expect(sizes[1] < (isFull ? 1 : 1 << 20), "\(sizes)")
    let (more, _) = try fixture.insert("Person", ["name": "more"])
    try fixture.store.close()
    fixture.store = try fixture.reopened()
    #expect(try fixture.stored(kept) != nil)
    #expect(try fixture.stored(more) != nil)
    #expect(try fixture.stored(batch.id(at: 0)) == nil)
    try fixture.store.close()
    #expect(try SQLiteStoreOpeningTests.sqlite(fixture.url, "PRAGMA integrity_check") == "ok")
  }

  @Test("are cut back when a log is found that a killed process has left long")
  func logOfAKilledProcess() throws {
    let fixture = try StoreFixture()
    try fixture.insert("Person", ["name": "kept"])
    let copy = fixture.folder.appendingPathComponent("copy.sqlite").path
    struct Enough: Error {}
    let batch = try fixture.batch(100_000)
    #expect(throws: Enough.self) {
      try fixture.store.transaction(from: TransactionOrigin()) { transaction in
        _ = try transaction.write(ChangeSet([], batches: [batch]))
        // As a kill would leave them at this moment.
        for suffix in ["", "-wal"] {
          try FileManager.default.copyItem(atPath: fixture.url.path + suffix, toPath: copy + suffix)
        }
        throw Enough()
      }
    }
    #expect(try size(copy + "-wal") > 1 << 20)
    let store = try PersistentStoreDescription.sqlite(at: URL(fileURLWithPath: copy)).open(
      fixture.model, StoreFixture.ordinal)
    #expect(try size(copy + "-wal") < 1 << 17)
    try store.close()
    #expect(try SQLiteStoreOpeningTests.sqlite(URL(fileURLWithPath: copy), "SELECT name FROM Person") == "kept")
  }
}
