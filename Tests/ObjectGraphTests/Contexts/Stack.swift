import Foundation
import ObjectGraph
import ObjectGraphTesting
import TestSupport

/// A coordinator with a fresh store, SQLite's or that of a suite's run, a writer and main; or the same on the store in memory.
final class Stack: Sendable {
  let place: StorePlace
  let coordinator: PersistentStoreCoordinator
  let writer: ManagedObjectContext
  let main: ManagedObjectContext
  /// Two contexts on the coordinator, beside the writer.
  let here: ManagedObjectContext
  let there: ManagedObjectContext
  let statements = StatementRecorder()
  let faults = StoreFaults()

  var directory: TemporaryDirectory { place.directory }
  var storePath: String { place.storePath }

  /// - Parameters:
  ///   - place: where the store is, if it is another stack's; a fresh one if nil.
  ///   - busyTimeout: how long to wait for other processes, in milliseconds.
  ///   - uptime: the clock of the row cache, if it is not the machine's.
  init(
    _ model: ManagedObjectModel, inMemory: Bool = false, place: StorePlace? = nil,
    tracksHistory: Bool = false, noticesOtherWriters: Bool = true, busyTimeout: Int32 = 10_000,
    uptime: (@Sendable () -> Duration)? = nil
  ) throws {
    let place = try place ?? StorePlace(isInMemory: inMemory)
    self.place = place
    coordinator =
      if let uptime {
        PersistentStoreCoordinator(model: model, uptime: uptime)
      } else {
        PersistentStoreCoordinator(model: model)
      }
    writer = ManagedObjectContext(coordinator: coordinator, name: "writer")
    main = ManagedObjectContext(parent: writer, name: "main")
    here = ManagedObjectContext(coordinator: coordinator, name: "here")
    there = ManagedObjectContext(coordinator: coordinator, name: "there")
    let store = place.description(
      statements: statements, faults: faults, tracksHistory: tracksHistory, noticesOtherWriters: noticesOtherWriters,
      busyTimeout: busyTimeout)
    try coordinator.open(inMemory ? .inMemory : store)
  }

  /// Another context on the coordinator, beside the writer.
  func root(_ name: String = "other") -> ManagedObjectContext {
    ManagedObjectContext(coordinator: coordinator, name: name)
  }

  /// A chain of children below main, the deepest last.
  func chain(_ depth: Int) -> [ManagedObjectContext] {
    var chain = [main]
    for level in 1...depth { chain.append(ManagedObjectContext(parent: chain[level - 1], name: "level \(level)")) }
    return Array(chain.dropFirst())
  }

  /// Saves main and the writer.
  func flush() throws {
    try main.performAndWait { try $0.save() }
    try writer.performAndWait { try $0.save() }
  }

  /// Saves a new person to the store.
  func savedPerson(_ name: String = "Ada", age: Int64 = 1) throws -> ManagedObjectID {
    let id = main.performAndWait { main in
      let person = Person(context: main)
      person.firstName = name
      person.age = age
      return person.objectID
    }
    try flush()
    return id
  }

  /// Runs the body and returns how many statements it made the store run.
  ///
  /// What PostgreSQL reads through a cursor is one, as in SQLite: the cursor's declaration counts.
  func statementCount(_ body: () throws -> Void) rethrows -> Int {
    _ = statements.drain()
    try body()
    return statements.drain().count { !$0.sql.hasPrefix("FETCH FORWARD ") }
  }

  /// Checks the coordinator, its store, and contexts of the stack.
  func checkInvariants(_ contexts: ManagedObjectContext...) throws {
    for context in [writer, main] + contexts { try context.performAndWait { try $0.checkInvariants() } }
    try coordinator.checkInvariants()
  }
}
