import CSQLite
import DaemonTesting
import Foundation
import Glibc
import ObjectGraph
import ObjectModel
import StoreCopy
import Synchronization
import SystemSupport
import TestSupport
import Testing

@Suite("A copy of a store that is being written to")
struct BackupTests {
  private let folder: TemporaryDirectory
  private let store: String
  private let model: ManagedObjectModel

  /// Things with a number, the number of their transaction and a large value.
  init() throws {
    folder = try TemporaryDirectory()
    store = folder.path("bobbin.sqlite")
    var data = AttributeDescription("data", .binary)
    data.allowsExternalBinaryDataStorage = true
    model = try ManagedObjectModel([
      EntityDescription(
        "Thing",
        attributes: [AttributeDescription("number", .integer64), AttributeDescription("age", .integer64), data])
    ])
  }

  private func open(_ path: String) throws -> PersistentStoreCoordinator {
    let coordinator = PersistentStoreCoordinator(model: model)
    var options = SQLiteStoreOptions()
    options.externalDataThreshold = 1_000
    options.isPrivate = true
    try coordinator.open(.sqlite(at: URL(fileURLWithPath: path), options: options))
    return coordinator
  }

  private static let count = 20

  /// In one transaction: all things get the same age, some a new large value, and some are replaced by others.
  private func change(_ coordinator: PersistentStoreCoordinator, _ age: Int64) throws {
    try ManagedObjectContext(coordinator: coordinator).performAndWait { context in
      let things = try context.fetch(FetchRequest<ManagedObject>(entity: "Thing", nil))
      for (place, thing) in things.enumerated() {
        if Int64(place) % 4 == age % 4 {
          context.delete(thing)
          continue
        }
        thing.setValue(age, forKey: "age")
        if place % 3 == 0 { thing.setValue(Self.data(age, place), forKey: "data") }
      }
      for number in things.filter({ !$0.isDeleted }).count..<Self.count {
        let thing = context.insertObject(ofEntity: "Thing")
        thing.setValue(Int64(number), forKey: "number")
        thing.setValue(age, forKey: "age")
        thing.setValue(Self.data(age, number), forKey: "data")
      }
      try context.save()
    }
  }

  private static func data(_ age: Int64, _ number: Int) -> Data {
    Data(repeating: UInt8(truncatingIfNeeded: age), count: 1_500 + number)
  }

  /// Sees that all things of a copy are of one transaction, and that each has its large value.
  private func check(_ path: String) throws -> Int64 {
    let coordinator = try open(path)
    defer { try? coordinator.close() }
    try coordinator.checkInvariants()
    #expect(try coordinator.openStore().findings() == [])
    return try ManagedObjectContext(coordinator: coordinator).performAndWait { context in
      let things = try context.fetch(FetchRequest<ManagedObject>(entity: "Thing", nil))
      #expect(things.count == Self.count)
      #expect(things.allSatisfy { ($0.value(forKey: "data") as? Data)?.count ?? 0 >= 1_500 })
      let ages = Set(things.compactMap { $0.value(forKey: "age") as? Int64 })
      #expect(ages.count == 1)
      return ages.first ?? -1
    }
  }

  @Test("has all rows and large values of one moment, and what it kept from being removed goes later")
  func consistent() async throws {
    let coordinator = try open(store)
    try change(coordinator, 0)
    let isOver = Counter()
    let changed = DispatchSemaphore(value: 0)
    let ages = try await withThrowingTaskGroup(of: Int64.self) { group in
      group.addTask {
        try await onThread {
          var age: Int64 = 0
          while isOver.count == 0 {
            age += 1
            try change(coordinator, age)
            changed.signal()
          }
          return age
        }
      }
      let copies = try await onThread {
        let files = folder.path("copy_files")
        return try (0..<15).map { number in
          // Two changes from now, as the next to be told of may be in the copy before.
          while changed.wait(timeout: .now()) == .success {}
          for _ in 0..<2 { #expect(changed.wait(timeout: .now() + .seconds(60)) == .success) }
          let backup = folder.path("backup-\(number)")
          _ = try StoreBackup(of: store, with: ["none"], manifest: "m", to: backup, replacing: false, by: "test").run {
            _, _ in
          }
          guard let copyable = try coordinator.openStore() as? any CopyableStore else { return backup }
          let size = try copyable.publishCopy(at: folder.path("copy.sqlite"), mode: 0o644) {}
          #expect(size.largeValueBytes >= Int64(Self.count) * 1_500)
          #expect(try FileManager.default.contentsOfDirectory(atPath: files).count <= 2 * Self.count)
          return backup
        }
      }
      isOver.add()
      let newest = try await group.next() ?? 0
      return try copies.map { try check($0 + "/bobbin.sqlite") } + [newest]
    }
    #expect(ages == ages.sorted() && Set(ages).count >= 15, "\(ages)")
    // Files that a copy had kept go with the next that are dropped, at the latest with the close.
    try coordinator.close()
    let files = try FileManager.default.contentsOfDirectory(atPath: folder.path("bobbin_files"))
    #expect(files.count == Self.count + 1, "\(files.count)")
    _ = try check(folder.path("copy.sqlite"))
  }

  @Test("leaves who reads the last one alone, and is read without writing anything beside it")
  func replaced() throws {
    let coordinator = try open(store)
    defer { try? coordinator.close() }
    let copyable = try #require(try coordinator.openStore() as? any CopyableStore)
    let commits = Counter()
    copyable.observeCommits { commits.add() }
    let path = folder.path("out/copy.sqlite")
    try FileManager.default.createDirectory(atPath: folder.path("out"), withIntermediateDirectories: true)
    try change(coordinator, 1)
    #expect(commits.count == 1)
    _ = try copyable.publishCopy(at: path, mode: 0o640) {}
    let reader = try Reader(path)
    #expect(try reader.text("SELECT max(age) FROM Thing") == "1")
    let name = try reader.text("SELECT max(data) FROM Thing")
    try change(coordinator, 2)
    _ = try copyable.publishCopy(at: path, mode: 0o640) {}
    #expect(try reader.text("SELECT max(age) FROM Thing") == "1")
    #expect(FileManager.default.fileExists(atPath: folder.path("out/copy_files/" + name)))
    let next = try Reader(path)
    #expect(try next.text("SELECT max(age) FROM Thing") == "2")
    #expect(try next.text("PRAGMA journal_mode") == "delete")
    #expect(try next.text("PRAGMA integrity_check") == "ok")
    let entries = try Directory(path: folder.path("out")).entries().sorted()
    #expect(entries == ["copy.sqlite", "copy_files"])
    // A store in use is no copy.
    let other = folder.path("other.sqlite")
    let live = try open(other)
    defer { try? live.close() }
    #expect(throws: StoreError.self) { _ = try copyable.publishCopy(at: other, mode: 0o640) {} }
  }

  @Test("keeps no writer waiting while its pages are copied, and has nothing of what is written then")
  func large() throws {
    let coordinator = try open(store)
    defer { try? coordinator.close() }
    func insert(_ count: Int) throws {
      try ManagedObjectContext(coordinator: coordinator).performAndWait { context in
        for _ in 0..<count {
          context.insertObject(ofEntity: "Thing").setValue(Data(repeating: 1, count: 900), forKey: "data")
        }
        try context.save()
      }
    }
    let count = 10_000
    try insert(count)
    var writes = 0
    let backup = StoreBackup(
      of: store, with: [], manifest: "m", to: folder.path("one"), replacing: false, by: "test")
    let manifest = try backup.run { _, _ in
      // One that waited for the copy would wait for ever, or give up.
      #expect(throws: Never.self) { try insert(1) }
      writes += 1
    }
    #expect(writes >= 4)
    #expect(manifest["rows"]?["Thing"]?.integer == Int64(count))
  }
}

/// A number that several threads count up.
private final class Counter: Sendable {
  private let value = Mutex(0)
  var count: Int { value.withLock { $0 } }
  func add() { value.withLock { $0 += 1 } }
}

/// A program that reads a database by SQLite's own interface, and may write nothing.
private final class Reader {
  private struct Failure: Error { let message: String }

  private let handle: OpaquePointer

  init(_ path: String) throws {
    var opened: OpaquePointer?
    let code = sqlite3_open_v2(path, &opened, SQLITE_OPEN_READONLY, nil)
    guard code == SQLITE_OK, let opened else { throw Failure(message: "open: \(code)") }
    handle = opened
  }

  deinit { sqlite3_close_v2(handle) }

  func text(_ sql: String) throws -> String {
    var statement: OpaquePointer?
    defer { sqlite3_finalize(statement) }
    guard sqlite3_prepare_v2(handle, sql, -1, &statement, nil) == SQLITE_OK, sqlite3_step(statement) == SQLITE_ROW,
      let text = sqlite3_column_text(statement, 0)
    else { throw Failure(message: String(cString: sqlite3_errmsg(handle))) }
    return String(cString: text)
  }
}
