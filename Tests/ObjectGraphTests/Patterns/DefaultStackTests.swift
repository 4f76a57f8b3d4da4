import Dispatch
import Foundation
import ObjectGraph
import ObjectGraphTesting
import PostgresTesting
import TestSupport
import StoreTesting
import Testing

@Suite("P1 A ready-made stack with defaults", .onEachStore)
struct DefaultStackTests {
  @Test(
    "1: setting up twice gives the same coordinator, and the second call does no I/O",
    .onlyOnSQLite("the default store is a file"))
  func settingUpTwice() async {
    await #expect(processExitsWith: .success) {
      let directory = try TemporaryDirectory()
      let statements = StatementRecorder()
      var options = SQLiteStoreOptions()
      options.statementLog = statements.record
      let first = try PersistentContainer.setUp(model: People.model, in: directory.url, options: options)
      _ = statements.drain()
      // I/O on a folder that is gone would fail.
      try FileManager.default.moveItem(atPath: directory.path, toPath: directory.path + ".away")
      let second = try PersistentContainer.setUp(model: People.model, in: directory.url, options: options)
      #expect(second.coordinator === first.coordinator)
      #expect(second.defaultContext === first.defaultContext)
      #expect(try PersistentContainer.shared === first)
      #expect(statements.drain().isEmpty)
      #expect(!FileManager.default.fileExists(atPath: directory.path))
      let other = #expect(throws: ContainerError.self) {
        try PersistentContainer.setUp(model: People.model, storeNamed: "other", in: directory.url)
      }
      #expect(other?.code == .otherSetUp)
      try FileManager.default.moveItem(atPath: directory.path + ".away", toPath: directory.path)
      try PersistentContainer.tearDownShared()
    }
  }

  @Test(
    "2: the store is named after the process, or has a fallback name, and gets its suffix once",
    .onlyOnSQLite("the default store is a file"))
  func storeName() throws {
    let process = ProcessInfo.processInfo.processName
    #expect(PersistentContainer.storeFileName() == (process.hasSuffix("sqlite") ? process : process + ".sqlite"))
    #expect(PersistentContainer.storeFileName("") == PersistentContainer.fallbackStoreName)
    #expect(PersistentContainer.fallbackStoreName.hasSuffix(".sqlite"))
    #expect(PersistentContainer.storeFileName("Recipes") == "Recipes.sqlite")
    #expect(PersistentContainer.storeFileName("Recipes.sqlite") == "Recipes.sqlite")
    #expect(PersistentContainer.defaultStoreDirectory.path.hasPrefix("/"))
  }

  @Test("3: using the default context before set-up is an error with a name")
  func beforeSetUp() async {
    await #expect(processExitsWith: .success) {
      let error = #expect(throws: ContainerError.self) { try PersistentContainer.shared.defaultContext }
      #expect(error?.code == .notSetUp)
      #expect(error?.description.contains("setUp") == true)
    }
  }

  @Test("4: replacing the default context removes the old one's observers: one save gives exactly one merge")
  func replacing() async throws {
    let fixture = try ContainerFixture()
    let old = fixture.main
    let oldEvents = EventRecorder(old)
    _ = try await fixture.insertPerson(1)
    #expect(oldEvents.didChanges.count == 1)
    let new = ManagedObjectContext(parent: fixture.root, name: "new default")
    try fixture.container.replaceDefaultContext(with: new)
    #expect(fixture.main === new)
    let newEvents = EventRecorder(new)
    _ = try await fixture.insertPerson(2)
    await old.perform { _ in }
    #expect(newEvents.didChanges.count == 1)
    #expect(oldEvents.didChanges.count == 1)
    let foreign = try ContainerFixture().main
    let error = #expect(throws: ContainerError.self) { try fixture.container.replaceDefaultContext(with: foreign) }
    #expect(error?.code == .foreignContext)
  }

  @Test("5: a new context can be a child of the default context or of the root, and both work")
  func children() async throws {
    let fixture = try ContainerFixture()
    let ofDefault = fixture.container.newChildOfDefaultContext()
    let ofRoot = fixture.container.newChildOfRootContext()
    #expect(ofDefault.parent === fixture.main && ofRoot.parent === fixture.root)
    for child in [ofDefault, ofRoot] {
      await child.perform { Person(context: $0).age = 1 }
      try await child.saveToPersistentStore()
    }
    #expect(try fixture.shell("SELECT count(*) FROM Person") == "2")
    let editing = fixture.container.newChildOfDefaultContext(sharesExecutor: true)
    let isShared = fixture.main.performAndWait { _ in editing.executor.isCurrent }
    #expect(isShared)
  }

  @Test("6: on main's executor the context for here is the default one, elsewhere one per task, also after suspensions")
  func contextForHere() async throws {
    let fixture = try ContainerFixture()
    let container = fixture.container
    let onMain = try await fixture.main.perform { _ in try container.contextForHere() }
    #expect(onMain === fixture.main)
    let seen = Recorder<ManagedObjectContext>()
    try await withThrowingTaskGroup(of: Void.self) { group in
      for _ in 0..<8 {
        group.addTask {
          try await container.withTaskContext {
            let before = try container.contextForHere()
            for _ in 0..<20 { await Task.yield() }
            await fixture.root.perform { _ in }
            let after = try container.contextForHere()
            #expect(before === after && before.parent === fixture.main)
            seen.append(after)
          }
        }
      }
      try await group.waitForAll()
    }
    #expect(Set(seen.all.map { ObjectIdentifier($0) }).count == 8)
    let error = await Task.detached { #expect(throws: ContainerError.self) { try container.contextForHere() } }.value
    #expect(error?.code == .noTaskContext)
  }

  @Test("A child task has a context of its own, and a thread without a task too, which goes with the thread")
  func threads() async throws {
    let container = try ContainerFixture().container
    try await container.withTaskContext {
      let mine = try container.contextForHere()
      async let child = container.contextForHere()
      #expect(try await child !== mine)
    }
    let seen = Recorder<ObjectIdentifier>()
    for _ in 0..<2 {
      let done = DispatchSemaphore(value: 0)
      let thread = Thread {
        let first = try? container.contextForHere()
        let second = try? container.contextForHere()
        #expect(first != nil && first === second)
        if let first { seen.append(ObjectIdentifier(first)) }
        done.signal()
      }
      thread.start()
      #expect(done.wait(timeout: .now() + 10) == .success)
    }
    #expect(seen.all.count == 2)
  }

  @Test("7: clearing the cache makes the next call return a new context, and the old one works for its holder")
  func clearing() async throws {
    let fixture = try ContainerFixture()
    let container = fixture.container
    try await container.withTaskContext {
      let old = try container.contextForHere()
      container.clearContexts()
      let new = try container.contextForHere()
      #expect(new !== old)
      await old.perform { Person(context: $0).age = 7 }
      try await old.saveToPersistentStore()
    }
    #expect(try fixture.shell("SELECT age FROM Person") == "7")
  }

  @Test("9: saveOnlySelf goes one level up, saveToPersistentStore to the store: child, then each parent")
  func levels() async throws {
    let fixture = try ContainerFixture()
    let child = fixture.container.newChildOfDefaultContext()
    let order = Recorder<String>()
    let observations = [child, fixture.main, fixture.root].map { context in
      context.observe { if case .didSave(let save) = $0 { order.append(save.context.name) } }
    }
    await child.perform { Person(context: $0).age = 1 }
    try await child.saveOnlySelf()
    #expect(order.all == [child.name])
    #expect(await fixture.main.perform { $0.hasChanges })
    #expect(try fixture.shell("SELECT count(*) FROM Person") == "0")
    await child.perform { Person(context: $0).age = 2 }
    try await child.saveToPersistentStore()
    #expect(order.all.dropFirst() == [child.name, "default", "root"])
    #expect(try fixture.shell("SELECT count(*) FROM Person") == "2")
    withExtendedLifetime(observations) {}
  }

  @Test("10: if one level fails, those above are not saved, and the caller gets that error")
  func failing() async throws {
    let fixture = try ContainerFixture()
    let child = fixture.container.newChildOfDefaultContext()
    await child.perform { Person(context: $0).age = 1 }
    try fixture.place.refuseWrites(true, to: "Person", fixture.faults)
    let error = await #expect(throws: StoreError.self) { try await child.saveToPersistentStore() }
    #expect(error?.code == .inputOutput)
    #expect(await !child.perform { $0.hasChanges })
    #expect(await !fixture.main.perform { $0.hasChanges })
    #expect(await fixture.root.perform { $0.hasChanges })
    #expect(try fixture.shell("SELECT count(*) FROM Person") == "0")
  }

  @Test("A validation error of the child leaves its parents untouched")
  func invalidChild() async throws {
    let place = try StorePlace()
    let container = try PersistentContainer(
      model: Zoo.model, store: place.description(), executor: ContextExecutor(label: "default"))
    let child = container.newChildOfDefaultContext()
    await child.perform { Keeper(context: $0).setValue(nil, forKey: "name") }
    await #expect(throws: ValidationError.self) { try await child.saveToPersistentStore() }
    #expect(await child.perform { $0.hasChanges })
    #expect(await !container.defaultContext.perform { $0.hasChanges })
    #expect(await !container.rootContext.perform { $0.hasChanges })
  }

  @Test("11: IDs are permanent in all contexts once a save has reached the root")
  func permanentIDs() async throws {
    let fixture = try ContainerFixture()
    let child = fixture.container.newChildOfDefaultContext()
    let id = await child.perform { Person(context: $0).objectID }
    try await child.saveOnlySelf()
    #expect(id.isTemporaryID)
    try await child.saveToPersistentStore()
    for context in [child, fixture.main, fixture.root] {
      let isTemporary = try await context.perform { try $0.existingObject(with: id).objectID.isTemporaryID }
      #expect(!isTemporary)
    }
  }

  @Test("12: a root save updates a results controller on the default context, even for faults and unregistered objects")
  func resultsController() async throws {
    let fixture = try ContainerFixture()
    let ids = [
      try await fixture.insertPerson(1), try await fixture.insertPerson(2), try await fixture.insertPerson(50),
    ]
    let controller = try FetchedResultsController<Person>(.people(0...9), context: fixture.main)
    try await fixture.main.perform { main in
      try controller.performFetch(in: main)
      #expect(controller.fetchedObjects(in: main).allSatisfy { $0.isFault })
    }
    let kinds = Recorder<FetchedResultsEvent.ObjectChange.Kind>()
    let observation = controller.observe { if case .object(let change) = $0 { kinds.append(change.kind) } }
    try await fixture.container.save { ($0.object(with: ids[0]) as? Person)?.firstName = "Ada" }
    #expect(kinds.all == [.update])
    try await fixture.container.save { ($0.object(with: ids[2]) as? Person)?.age = 5 }
    #expect(kinds.all == [.update, .insert])
    try await fixture.container.save { $0.delete($0.object(with: ids[1])) }
    #expect(kinds.all == [.update, .insert, .delete])
    #expect(controller.snapshot.objectIDs == [ids[0], ids[2]])
    await fixture.main.perform { main in
      #expect(controller.fetchedObjects(in: main).first?.firstName == "Ada")
    }
    withExtendedLifetime(observation) {}
  }

  @Test("13: contexts carry a name, which logs and errors show")
  func names() async throws {
    let fixture = try ContainerFixture()
    _ = fixture.statements.drain()
    try await fixture.container.save(named: "import") { context in
      #expect(context.name == "import")
      _ = try context.count(for: FetchRequest<Person>())
    }
    #expect(Set(fixture.statements.drain().map(\.executor)) == ["import"])
    #expect([fixture.root.name, fixture.main.name] == ["root", "default"])
  }

  @Test("14: another process that commits to the store is noticed, and main's objects and results show it")
  func otherProcess() async throws {
    let fixture = try ContainerFixture()
    let (ada, bea) = (try await fixture.insertPerson(1), try await fixture.insertPerson(2))
    let controller = try FetchedResultsController<Person>(.people(0...99), context: fixture.main)
    try await fixture.main.perform { main in
      main.retainsRegisteredObjects = true
      try controller.performFetch(in: main)
      #expect((main.object(with: ada) as? Person)?.age == 1)
      #expect((main.object(with: bea) as? Person)?.age == 2)
    }
    let kinds = Recorder<FetchedResultsEvent.ObjectChange.Kind>()
    let observation = controller.observe { if case .object(let change) = $0 { kinds.append(change.kind) } }
    func wait(until isWanted: @escaping @Sendable ([ManagedObjectID]) -> Bool) async throws {
      try await withTimeout { _ = await controller.snapshots().first { isWanted($0.objectIDs) } }
    }
    let other = try SQLStore.current == .postgres ? Stack(People.model, place: fixture.place) : nil
    /// Changes the store past the container: by SQLite's shell, or as another host does, which tells the server.
    func change(_ sql: String, _ body: @Sendable (isolated ManagedObjectContext) throws -> Void) throws {
      guard let other else { return _ = try fixture.shell(sql) }
      try other.root().performAndWait { context in
        try body(context)
        try context.save()
      }
    }
    try change("INSERT INTO Person (_version, firstName, age) VALUES (1, 'Cy', 3)") { context in
      let cy = Person(context: context)
      cy.firstName = "Cy"
      cy.age = 3
    }
    try await wait { $0.count == 3 && $0.prefix(2) == [ada, bea] }
    try change("UPDATE Person SET age = 50 WHERE age = 1") { try $0.fetch(.people(1...1)).first?.age = 50 }
    try await wait { $0.last == ada }
    try change("DELETE FROM Person WHERE age = 2") { context in
      for person in try context.fetch(FetchRequest.people(2...2)) { context.delete(person) }
    }
    try await wait { $0.count == 2 }
    await fixture.main.perform { main in
      #expect((main.registeredObject(for: ada) as? Person)?.age == 50)
      #expect(main.registeredObject(for: bea) == nil)
      #expect(controller.fetchedObjects(in: main).map(\.firstName) == ["Cy", nil])
    }
    #expect(kinds.all == [.insert, .move, .delete])
    // Main's own work goes on beside it.
    _ = try await fixture.insertPerson(60)
    #expect(try fixture.place.list("SELECT age FROM Person ORDER BY age") == "3,50,60")
    withExtendedLifetime(observation) {}
  }

  @Test(
    "15: a store of another model is deleted with its journal and files only if that is asked for",
    .onlyOnSQLite("nobody deletes a store that other hosts may use"))
  func deletingIncompatibleStores() throws {
    let directory = try TemporaryDirectory()
    let url = URL(fileURLWithPath: directory.path("old.sqlite"))
    func model(_ type: AttributeType) throws -> ManagedObjectModel {
      var data = AttributeDescription("data", .binary)
      data.allowsExternalBinaryDataStorage = true
      return try ManagedObjectModel([EntityDescription("Thing", attributes: [AttributeDescription("x", type), data])])
    }
    let old = try model(.integer64)
    let first = PersistentStoreCoordinator(model: old)
    try first.open(.sqlite(at: url))
    let writer = ManagedObjectContext(coordinator: first)
    try writer.performAndWait { writer in
      writer.insertObject(ofEntity: "Thing").setValue(Data(repeating: 1, count: 200_000), forKey: "data")
      try writer.save()
    }
    let files = { try FileManager.default.contentsOfDirectory(atPath: directory.path("old_files")).count }
    let before = try files()
    try first.close()
    let new = try model(.binary)
    let error = #expect(throws: StoreError.self) { try PersistentStoreCoordinator(model: new).open(.sqlite(at: url)) }
    #expect(error?.code == .incompatibleModel)
    #expect(try files() == before)
    for suffix in ["-wal", "-shm"] { try Data("left over".utf8).write(to: URL(fileURLWithPath: url.path + suffix)) }
    var options = SQLiteStoreOptions()
    options.deletesIncompatibleStore = true
    let second = PersistentStoreCoordinator(model: new)
    try second.open(.sqlite(at: url, options: options))
    let context = ManagedObjectContext(coordinator: second)
    let count = try context.performAndWait { try $0.count(for: FetchRequest<ManagedObject>(entity: "Thing", nil)) }
    #expect(count == 0)
    #expect(try files() < before)
    try second.close()
  }

  @Test("A file of another program is not deleted", .onlyOnSQLite("it is a file"))
  func foreignFiles() throws {
    let directory = try TemporaryDirectory()
    let url = URL(fileURLWithPath: directory.path("letter.sqlite"))
    try Data("Dear Ada".utf8).write(to: url)
    var options = SQLiteStoreOptions()
    options.deletesIncompatibleStore = true
    #expect(throws: StoreError.self) {
      try PersistentStoreCoordinator(model: People.model).open(.sqlite(at: url, options: options))
    }
    #expect(try Data(contentsOf: url) == Data("Dear Ada".utf8))
  }
}
