import Dispatch
import Foundation
import Glibc
import ObjectGraph
import ObjectGraphTesting
import PostgresTesting
import SystemSupport
import TestSupport
import StoreTesting
import Testing

@Suite("P0 Writer, main and workers", .onEachStore)
struct WriterMainWorkersTests {
  let stack: GalleryStack

  init() throws { stack = try GalleryStack() }

  private func insertImage(_ title: String = "Elephants") throws -> ManagedObjectID {
    try stack.main.performAndWait { main in
      let image = Image(context: main)
      image.title = title
      try main.save()
      return image.objectID
    }
  }

  /// What the original's worker does: relates a blob to the image and saves one level up.
  private func attachBlob(_ data: Data, to id: ManagedObjectID, in worker: ManagedObjectContext) throws {
    try worker.performAndWait { worker in
      let image = try #require(worker.object(with: id) as? Image)
      let blob = ImageBlob(context: worker)
      blob.data = data
      image.blob = blob
      try worker.save()
    }
  }

  private func saveMainAndWriter() throws {
    try stack.main.performAndWait { try $0.save() }
    try stack.writer.performAndWait { try $0.save() }
  }

  @Test("1: workers hang from main, main from the writer, and the writer alone from the coordinator")
  func chain() {
    let worker = stack.worker()
    #expect(worker.parent === stack.main)
    #expect(stack.main.parent === stack.writer)
    #expect(stack.writer.parent == nil)
    for context in [worker, stack.main, stack.writer] { #expect(context.coordinator === stack.coordinator) }
  }

  @Test("2: saving main leaves the change in the writer and every byte of the store as it was")
  func savingMainWritesNothing() throws {
    _ = stack.statements.drain()
    let before = try stack.storeFiles()
    _ = try insertImage()
    let writerHasChanges = stack.writer.performAndWait { $0.hasChanges }
    #expect(writerHasChanges)
    #expect(try stack.storeFiles() == before)
    #expect(stack.statements.drain().isEmpty)
    #expect(try rowCount("Image") == 0)
  }

  @Test(
    "3: an ID taken after main's save resolves to one instance in each context, before and after the writer's save")
  func identityIsStable() throws {
    let id = try insertImage()
    #expect(id.isTemporaryID)
    let before = Set([id])
    let worker = stack.worker()
    for context in [worker, stack.main, stack.writer] {
      let title = try context.performAndWait { try ($0.existingObject(with: id) as? Image)?.title }
      #expect(title == "Elephants")
    }
    try stack.writer.performAndWait { try $0.save() }
    #expect(!id.isTemporaryID)
    for context in [worker, stack.main, stack.writer] {
      try context.performAndWait { context in
        let fetched = try #require(try context.fetch(FetchRequest<Image>()).first)
        #expect(before.contains(fetched.objectID) && !fetched.objectID.isTemporaryID)
        #expect(context.object(with: id) === fetched)
        #expect(context.object(with: fetched.objectID) === fetched)
      }
    }
  }

  @Test("4: a worker's object is another instance with an equal ID, and sees the title that only main holds")
  func workerSeesMain() throws {
    let id = try insertImage()
    try stack.main.performAndWait { main in
      let imageInMain = main.object(with: id)
      let inMain = ObjectIdentifier(imageInMain)
      try stack.worker().performAndWait { worker in
        let image = try #require(worker.object(with: id) as? Image)
        #expect(ObjectIdentifier(image) != inMain)
        #expect(image.objectID == id)
        #expect(image.title == "Elephants")
      }
      #expect(main.registeredObject(for: id) === imageInMain)
    }
  }

  @Test("5: relating the blob sets its inverse at once, and main sees neither before the worker saves")
  func inverseIsImmediate() throws {
    let id = try insertImage()
    let worker = stack.worker()
    try worker.performAndWait { worker in
      let image = try #require(worker.object(with: id) as? Image)
      let blob = ImageBlob(context: worker)
      image.blob = blob
      #expect(blob.image === image)
      stack.main.performAndWait { main in
        #expect((main.object(with: id) as? Image)?.blob == nil)
        #expect(main.hasChanges == false)
      }
      try worker.save()
    }
    try stack.main.performAndWait { main in
      let image = try #require(main.object(with: id) as? Image)
      #expect(image.blob?.image === image)
    }
  }

  @Test("6: after the worker's save main has the blob inserted and the image updated, and reports a change, not a save")
  func workerSaveInMain() throws {
    let id = try insertImage()
    let events = EventRecorder(stack.main)
    try attachBlob(Data([1, 2, 3]), to: id, in: stack.worker())
    try stack.main.performAndWait { main in
      let blob = try #require((main.object(with: id) as? Image)?.blob)
      #expect(main.insertedObjects == [blob])
      #expect(main.updatedObjects == [main.object(with: id)])
      #expect(main.deletedObjects.isEmpty)
    }
    #expect(events.didSaves.isEmpty)
    let change = try #require(events.didChanges.first)
    #expect(events.didChanges.count == 1)
    #expect(change.updatedObjectIDs == [id])
    #expect(change.insertedObjectIDs.count == 1)
  }

  private static let largeData = Data((0..<300_000).map { UInt8(truncatingIfNeeded: $0 &* 31) })
  private static let smallData = Data([0, 1, 255, 0, 7])

  @Test("7: after main's and the writer's saves another process reads two rows, both ends and identical bytes")
  func anotherProcessReads() async throws {
    for data in [Self.largeData, Self.smallData] { try attachBlob(data, to: try insertImage(), in: stack.worker()) }
    try saveMainAndWriter()
    #expect(try rowCount("Image") == 2)
    #expect(try rowCount("ImageBlob") == 2)
    let related = "SELECT count(*) FROM Image i JOIN ImageBlob b ON i.blob = b._key AND b.image = i._key"
    #expect(try shell(related) == "2")
    try stack.coordinator.close()
    await #expect(processExitsWith: .success) { [address = stack.address as String] in
      let stack = try GalleryStack(address: address)
      try stack.writer.performAndWait { writer in
        let blobs = try writer.fetch(FetchRequest<ImageBlob>()).compactMap(\.data)
        #expect(Set(blobs) == [Self.largeData, Self.smallData])
      }
    }
  }

  @Test("8: the SQL of a 5 MB blob runs on the writer's executor only, and main's save runs none")
  func onlyTheWriterTouchesTheDisk() throws {
    let id = try insertImage()
    try stack.writer.performAndWait { try $0.save() }
    let worker = stack.worker()
    try attachBlob(Data(repeating: 7, count: 5 << 20), to: id, in: worker)
    _ = stack.statements.drain()
    try stack.main.performAndWait { try $0.save() }
    #expect(stack.statements.drain().isEmpty)
    // The original blocks main for 15 ms here; the bench measures the 1 ms that we promise, by the same recorder.
    #expect(stack.occupation.count >= 2)
    try stack.writer.performAndWait { try $0.save() }
    let events = stack.statements.drain()
    #expect(events.contains { $0.sql.contains("ImageBlob") })
    #expect(Set(events.map(\.executor)) == ["writer"])
  }

  @Test("9: perform returns before its block runs; blocks of one context follow each other, those of two overlap")
  func performing() throws {
    let order = Recorder<Int>()
    let gate = DispatchSemaphore(value: 0)
    let done = DispatchSemaphore(value: 0)
    stack.main.perform { _ in
      #expect(gate.wait(timeout: .now() + 10) == .success)
      order.append(1)
    }
    stack.main.perform { _ in order.append(2) }
    stack.main.perform { _ in
      order.append(3)
      done.signal()
    }
    #expect(order.all.isEmpty)
    // Main is busy; another context's block runs meanwhile, and lets main go on.
    stack.worker().perform { _ in gate.signal() }
    #expect(done.wait(timeout: .now() + 10) == .success)
    #expect(order.all == [1, 2, 3])
  }

  @Test("10: a validation error is thrown to the worker's caller, and the same save succeeds after correction")
  func validationStaysInTheWorker() throws {
    let stack = try Stack(Zoo.model)
    let worker = ManagedObjectContext(parent: stack.main, name: "worker")
    try worker.performAndWait { worker in
      let keeper = Keeper(context: worker)
      keeper.setValue(nil, forKey: "name")
      let error = #expect(throws: ValidationError.self) { try worker.save() }
      #expect(error?.entityName == "Keeper" && error?.property == "name" && error?.rule == .missingValue)
      #expect(error?.objectID == keeper.objectID)
      #expect(worker.insertedObjects == [keeper])
      let mainHasChanges = stack.main.performAndWait { $0.hasChanges }
      #expect(!mainHasChanges)
      keeper.setValue("Ada", forKey: "name")
      try worker.save()
      #expect(worker.hasChanges == false)
    }
    let names = try stack.main.performAndWait { try $0.fetch(FetchRequest<Keeper>()).map { $0[attribute: "name"] } }
    #expect(names == [.string("Ada")])
  }

  @Test(
    "11: a blob in external storage lies beside the store, and reading the title does not need its file",
    .onlyOnSQLite("PostgreSQL keeps large values in a table"))
  func externalStorage() throws {
    let id = try insertImage()
    try attachBlob(Data(repeating: 9, count: 1 << 20), to: id, in: stack.worker())
    try saveMainAndWriter()
    let files = stack.externalFiles()
    #expect(files.count == 1)
    #expect(files.first.flatMap { try? Data(contentsOf: $0) } == Data(repeating: 9, count: 1 << 20))
    for file in files { try FileManager.default.removeItem(at: file) }
    let reader = ManagedObjectContext(coordinator: stack.coordinator, name: "reader")
    try reader.performAndWait { reader in
      let image = try #require(reader.object(with: id) as? Image)
      #expect(image.title == "Elephants")
      let blob = try #require(image.blob)
      #expect(blob[blob: 0]?.byteCount == 1 << 20)
      #expect(throws: (any Error).self) { try blob[blob: 0]?.load() }
      #expect(blob.data == nil)
      image.title = "Elephants, without their picture"
      #expect(throws: (any Error).self) { try reader.save() }
    }
  }

  @Test("12: dropping a worker that did not save leaves main without changes")
  func droppingAWorker() throws {
    let id = try insertImage()
    weak var dropped: ManagedObjectContext?
    do {
      let worker = stack.worker()
      dropped = worker
      try worker.performAndWait { worker in
        let image = try #require(worker.object(with: id) as? Image)
        image.title = "Lions"
        image.blob = ImageBlob(context: worker)
      }
    }
    #expect(dropped == nil)
    try stack.main.performAndWait { main in
      #expect(main.hasChanges == false)
      #expect((main.object(with: id) as? Image)?.title == "Elephants")
      let blobCount = try main.count(for: FetchRequest<ImageBlob>())
      #expect(blobCount == 0)
    }
  }

  @Test("13: killing the process between main's and the writer's save loses that change only, and the store is valid")
  func killedBetweenSaves() async throws {
    let address = stack.address
    _ = try insertImage("kept")
    try stack.writer.performAndWait { try $0.save() }
    try stack.coordinator.close()
    await #expect(processExitsWith: .signal(SIGKILL)) { [address = address as String] in
      let stack = try GalleryStack(address: address)
      try stack.main.performAndWait { main in
        let image = Image(context: main)
        image.title = "lost"
        try main.save()
      }
      kill(getpid(), SIGKILL)
    }
    if SQLStore.current == .sqlite { #expect(try shell("PRAGMA integrity_check") == "ok") }
    #expect(try shell("SELECT title FROM Image") == "kept")
  }

  // MARK: What another process sees

  private func shell(_ sql: String) throws -> String { try #require(stack.place).shell(sql) }

  private func rowCount(_ table: String) throws -> Int? { Int(try shell("SELECT count(*) FROM \(table)")) }
}
