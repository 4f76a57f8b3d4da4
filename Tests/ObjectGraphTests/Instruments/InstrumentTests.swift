import Foundation
import ObjectGraph
import ObjectGraphTesting
import TestSupport
import Testing

@Suite("Instruments for tests")
struct InstrumentTests {
  let stack: Stack

  init() throws { stack = try Stack(People.model) }

  @Test("The statement recorder has each statement with its SQL, its rows and the label of its executor")
  func statements() throws {
    let id = try stack.savedPerson()
    _ = stack.statements.drain()
    let reader = stack.root("reader")
    let count = try stack.statements.count { _ = try reader.performAndWait { try $0.fetchIDs(FetchRequest<Person>()) } }
    #expect(count == 1 && stack.statements.events.isEmpty)
    try stack.writer.performAndWait { writer in
      (writer.object(with: id) as? Person)?.age = 2
      try writer.save()
    }
    let update = try #require(stack.statements.drain().last)
    #expect(update.sql.hasPrefix("UPDATE \"Person\"") && update.role == .writer)
    #expect(update.rowCount == 1 && update.executor == "writer")
  }

  @Test(
    "Each fault is the error that the real one would be",
    arguments: [
      (StoreFault.busy, StoreError.Code.busy), (.readOnly, .readOnly), (.inputOutput, .inputOutput),
      (.corrupt, .corrupt), (.full, .full), (StoreFault(code: 14), .cannotOpen),
    ])
  func faults(fault: StoreFault, code: StoreError.Code) throws {
    stack.faults.fail(with: fault, at: .commit)
    stack.writer.performAndWait { writer in
      Person(context: writer).age = 1
      let error = #expect(throws: StoreError.self) { try writer.save() }
      #expect(error?.code == code && error?.path == stack.storePath)
      #expect(throws: Never.self) { try writer.save() }
    }
  }

  @Test("Faults strike at a step, so often or for good, or at the n-th statement, until they are cleared")
  func places() throws {
    func save() -> StoreError.Code? {
      stack.writer.performAndWait { writer in
        Person(context: writer).age = 1
        do { try writer.save() } catch let error as StoreError { return error.code } catch { return nil }
        return nil
      }
    }
    stack.faults.fail(with: .full, at: .insert, times: 2)
    #expect([save(), save(), save()] == [.full, .full, nil])
    stack.faults.fail(with: .busy, at: .begin, times: nil)
    #expect([save(), save()] == [.busy, .busy])
    stack.faults.clear()
    #expect(save() == nil)
    _ = stack.faults.drainSteps()
    stack.faults.fail(with: .inputOutput, atStatement: 1)
    #expect(save() == .inputOutput)
    #expect(stack.faults.drainSteps() == [.begin, .insert])
    #expect(save() == nil)
    #expect(stack.faults.drainSteps() == [.begin, .insert, .insert, .commit, .committed])
  }

  @Test("A fetch fails too, and a fault that can't be read is told by the next save")
  func failingReads() throws {
    let id = try stack.savedPerson()
    stack.faults.fail(with: .inputOutput, at: .read, times: nil)
    let reader = stack.root("reader")
    reader.performAndWait { reader in
      let error = #expect(throws: StoreError.self) { try reader.fetch(FetchRequest<Person>()) }
      #expect(error?.code == .inputOutput)
    }
    let cold = try stack.freshCoordinator()
    cold.faults.fail(with: .inputOutput, at: .read)
    try cold.main.performAndWait { main in
      let person = try #require(id.uriRepresentation.flatMap(cold.coordinator.objectID).map(main.object) as? Person)
      #expect(person.age == 0)
      person.lastName = "King"
      #expect(throws: (any Error).self) { try main.save() }
    }
  }

  @Test("File hashes tell which files a save changed, and that another wrote none")
  func fileHashes() throws {
    let gallery = try GalleryStack()
    let before = try gallery.storeFiles()
    try gallery.main.performAndWait { main in
      ImageBlob(context: main).data = Data(repeating: 1, count: 100_000)
      try main.save()
    }
    #expect(try gallery.storeFiles() == before)
    try gallery.writer.performAndWait { try $0.save() }
    let changed = try gallery.storeFiles().changedFiles(since: before)
    #expect(changed.contains("store.sqlite-wal"))
    #expect(changed.contains { $0.hasPrefix("store_files/") && $0.hasSuffix(".100000") })
  }

  @Test("An executor has its context's name as its label, and tells whether the caller runs there")
  func executors() throws {
    #expect(stack.main.executor.label == "main" && !stack.main.executor.isCurrent)
    let isCurrent = stack.main.performAndWait { $0.executor.isCurrent }
    #expect(isCurrent)
  }
}
