import Dispatch
import Foundation
import ObjectGraph
import ObjectGraphTesting
import PostgresTesting
import Synchronization
import TestSupport
import StoreTesting
import Testing

@Suite("P2 A context per thread, merged on save", .onEachStore)
struct ContextPerThreadTests {
  let stack: Stack
  let contexts: ContextPerThread
  var main: ManagedObjectContext { contexts.mainContext }

  init() throws {
    stack = try Stack(People.model)
    contexts = ContextPerThread(
      coordinator: stack.coordinator, mainExecutor: ContextExecutor(label: "main"),
      merging: .synchronous(timeout: .seconds(10)))
  }

  /// Runs the body on a thread of its own and waits for its end.
  private func onThread<Result: Sendable>(_ body: @escaping @Sendable () throws -> Result) throws -> Result {
    let done = DispatchSemaphore(value: 0)
    let result = Mutex<Swift.Result<Result, any Error>?>(nil)
    let thread = Thread {
      let outcome = Swift.Result { try body() }
      result.withLock { $0 = outcome }
      done.signal()
    }
    thread.start()
    try #require(done.wait(timeout: .now() + 30) == .success)
    return try #require(result.withLock { $0 }).get()
  }

  /// Saves an edit in a background thread's context.
  private func inBackground<Result: Sendable>(
    merging: ContextPerThread.Merging? = nil,
    _ edit: @escaping @Sendable (isolated ManagedObjectContext) throws -> Result
  ) throws -> Result {
    try onThread { [contexts] in
      try contexts.current.performAndWait { context in
        let result = try edit(context)
        try contexts.save(context, merging: merging)
        return result
      }
    }
  }

  private func savedPerson(_ name: String = "Ada", age: Int64 = 1) throws -> ManagedObjectID {
    try inBackground { context in
      let person = Person(context: context)
      person.firstName = name
      person.lastName = "Lovelace"
      person.age = age
      return person.objectID
    }
  }

  @Test("1: two threads have two contexts on one coordinator, and main's executor has main's context")
  func contextPerThread() throws {
    let first = try onThread { [contexts] in (contexts.current, contexts.current) }
    let second = try onThread { [contexts] in contexts.current }
    #expect(first.0 === first.1)
    #expect(first.0 !== second)
    #expect(first.0 !== main && second !== main)
    #expect([first.0, second, main].allSatisfy { $0.coordinator === stack.coordinator && $0.parent == nil })
    let inMain = main.performAndWait { _ in contexts.current }
    #expect(inMain === main)
  }

  private final class Witness: Sendable {
    private let context = Mutex<Weak>(Weak())
    private struct Weak: Sendable { weak var context: ManagedObjectContext? }
    var isAlive: Bool { context.withLock { $0.context != nil } }
    func watch(_ watched: ManagedObjectContext) { context.withLock { $0.context = watched } }
  }

  /// A value that a thread's dictionary lets go of after the thread's block.
  private final class Signal: NSObject {
    let semaphore: DispatchSemaphore
    init(_ semaphore: DispatchSemaphore) { self.semaphore = semaphore }
    deinit { semaphore.signal() }
  }

  @Test("2: a context is released when its thread or its task ends, without a call")
  func release() async throws {
    let ofThread = Witness()
    let ended = DispatchSemaphore(value: 0)
    Thread.detachNewThread { [contexts] in
      Thread.current.threadDictionary["signal"] = Signal(ended)
      ofThread.watch(contexts.current)
      #expect(ofThread.isAlive)
    }
    try await waitOffPool(ended)
    #expect(try await eventually { !ofThread.isAlive })
    let ofTask = Witness()
    await Task { [contexts] in
      await contexts.withTaskContext { context in
        ofTask.watch(context)
        #expect(contexts.current === context)
        await Task.yield()
        #expect(contexts.current === context)
      }
    }.value
    #expect(!ofTask.isAlive)
    await Task { [contexts] in
      let context = contexts.current
      ofTask.watch(context)
      #expect(contexts.current === context)
    }.value
    #expect(!ofTask.isAlive)
  }

  /// An object that uses Dispatch when it goes with its context.
  private final class Leaver: ManagedObject {
    override class var entityName: String { "Leaver" }
    deinit { DispatchQueue.global().async {} }
  }

  @Test("Threads of Dispatch's pool end well with their contexts")
  func pool() async {
    await #expect(processExitsWith: .success) {
      let model = try ManagedObjectModel(
        [EntityDescription("Leaver", className: "Leaver")], classes: ["Leaver": Leaver.self])
      let contexts = ContextPerThread(
        coordinator: PersistentStoreCoordinator(model: model), mainExecutor: ContextExecutor(label: "main"))
      let ended = DispatchSemaphore(value: 0)
      let together = DispatchGroup()
      // More blocks that wait than there are processors: the pool grows, and its threads leave when nothing is left.
      let goOn = DispatchSemaphore(value: 0)
      for number in 0..<16 {
        DispatchQueue.global().async(group: together) {
          let thread = Thread.current.threadDictionary
          if thread["signal"] == nil { thread["signal"] = Signal(ended) }
          contexts.current.performAndWait { _ = Leaver(context: $0) }
          for _ in 0..<20 { DispatchQueue.global().async {} }
          if number == 15 { for _ in 0..<15 { goOn.signal() } } else { _ = goOn.wait(timeout: .now() + 2) }
        }
      }
      #expect(together.wait(timeout: .now() + 60) == .success)
      // The pool keeps some of them.
      for _ in 0..<4 { #expect(ended.wait(timeout: .now() + 60) == .success) }
      // What the thread's end broke shows in what its memory is used for next.
      for _ in 0..<1000 { DispatchQueue.global().sync {} }
    }
  }

  private func waitOffPool(_ semaphore: DispatchSemaphore) async throws {
    let result = await withCheckedContinuation { continuation in
      DispatchQueue.global().async { continuation.resume(returning: semaphore.wait(timeout: .now() + 20)) }
    }
    try #require(result == .success)
  }

  /// Whether a condition comes true while other threads run, without a timer: each look hands the processor on.
  private func eventually(_ condition: @Sendable () -> Bool) async throws -> Bool {
    let deadline = ContinuousClock.now + .seconds(10)
    while !condition() {
      if ContinuousClock.now > deadline { return false }
      await Task.yield()
    }
    return true
  }

  @Test("3: a background save is merged once, on main's executor; in synchronous mode before the save returns")
  func oneMerge() throws {
    let events = EventRecorder(main)
    let id = try inBackground { [events] context in
      let person = Person(context: context)
      #expect(events.all.isEmpty)
      return person.objectID
    }
    #expect(events.kinds == ["didChange"])
    #expect(events.allCameOnExecutor)
    #expect(events.didChanges.first?.insertedObjectIDs == [id])
    let merged = DispatchSemaphore(value: 0)
    let observation = main.observe { _ in merged.signal() }
    _ = try inBackground(merging: .asynchronous) { Person(context: $0).objectID }
    #expect(merged.wait(timeout: .now() + 10) == .success)
    main.performAndWait { _ in }
    #expect(events.kinds == ["didChange", "didChange"])
    observation.cancel()
  }

  @Test("4: a save from main is merged by nobody and starts no loop")
  func mainSave() throws {
    let id = try savedPerson()
    let other = try onThread { [contexts] in contexts.current }
    let otherEvents = EventRecorder(other)
    let events = EventRecorder(main)
    try main.performAndWait { main in
      (main.object(with: id) as? Person)?.age = 2
      try contexts.save(main)
    }
    main.performAndWait { _ in }
    other.performAndWait { _ in }
    #expect(events.kinds == ["didChange", "willSave", "didSave", "didSaveObjectIDs"])
    #expect(otherEvents.all.isEmpty)
  }

  @Test("5: a plain save outside the helper is not merged")
  func plainSave() throws {
    let events = EventRecorder(main)
    try onThread { [contexts] in
      try contexts.current.performAndWait { context in
        Person(context: context).firstName = "Bea"
        try context.save()
      }
    }
    main.performAndWait { _ in }
    #expect(events.all.isEmpty)
  }

  @Test("6: inserted, updated and deleted objects show in main after the merge, in fetches and in objects held there")
  func mergedKinds() throws {
    let updated = try savedPerson("Ada", age: 1)
    let faulted = try savedPerson("Fay", age: 1)
    let deleted = try savedPerson("Bea", age: 2)
    let held = HeldObjects()
    try main.performAndWait { main in
      held.objects = [updated, faulted, deleted].map { main.object(with: $0) }
      #expect((held.objects[0] as? Person)?.age == 1)
      #expect((held.objects[2] as? Person)?.age == 2)
      _ = try main.fetch(FetchRequest<Person>())
    }
    let inserted = try inBackground { context in
      (context.object(with: updated) as? Person)?.age = 10
      (context.object(with: faulted) as? Person)?.age = 20
      context.delete(context.object(with: deleted))
      let person = Person(context: context)
      person.firstName = "Cy"
      return person.objectID
    }
    try main.performAndWait { main in
      let statements = stack.statementCount {
        #expect((held.objects[0] as? Person)?.age == 10)
        #expect((held.objects[1] as? Person)?.age == 20)
      }
      #expect(statements == 0)
      #expect(held.objects[2].managedObjectContext == nil)
      #expect(main.hasChanges == false)
      #expect(held.objects[0].hasChanges == false)
      let ages = try main.fetch(FetchRequest<Person>(sortBy: [.ascending(\.age)])).map(\.age)
      #expect(ages == [0, 10, 20])
      #expect((main.object(with: inserted) as? Person)?.firstName == "Cy")
      #expect(throws: ObjectNotFound.self) { try main.existingObject(with: deleted) }
    }
  }

  /// Objects that stay alive between two blocks of their context; touched in those only.
  private final class HeldObjects: @unchecked Sendable {
    // @unchecked: used inside main's blocks only.
    var objects: [ManagedObject] = []
  }

  @Test(
    "7: unsaved edits of main survive the merge; on a conflict main's value stays until its save, then the policy decides",
    arguments: [false, true])
  func unsavedEdits(storeTrumps: Bool) throws {
    let id = try savedPerson("Ada", age: 1)
    main.mergePolicy = storeTrumps ? .mergeByPropertyStoreTrump : .mergeByPropertyObjectTrump
    main.performAndWait { main in
      (main.object(with: id) as? Person)?.age = 50
      (main.object(with: id) as? Person)?.department = Department(context: main)
    }
    try inBackground { context in
      (context.object(with: id) as? Person)?.age = 60
      (context.object(with: id) as? Person)?.firstName = "Augusta"
    }
    try main.performAndWait { main in
      let person = try #require(main.object(with: id) as? Person)
      #expect(person.age == 50 && person.firstName == "Augusta" && person.department != nil)
      #expect(person.isUpdated)
      #expect(Set(person.changedValues().keys) == ["age", "department"])
      try contexts.save(main)
      #expect(person.age == (storeTrumps ? 60 : 50))
      #expect(person.firstName == "Augusta" && person.department != nil)
    }
    #expect(
      try stack.place.shell("SELECT age, firstName FROM Person")
        == (storeTrumps ? "60|Augusta" : "50|Augusta"))
  }

  @Test("Edits of different properties are no conflict after the merge, also under the error policy")
  func disjointEdits() throws {
    let id = try savedPerson("Ada", age: 1)
    main.performAndWait { ($0.object(with: id) as? Person)?.age = 50 }
    try inBackground { ($0.object(with: id) as? Person)?.firstName = "Augusta" }
    try main.performAndWait { try contexts.save($0) }
    #expect(try stack.place.shell("SELECT age, firstName FROM Person") == "50|Augusta")
  }

  @Test("8: while main waits for the thread an asynchronous merge completes later, and a synchronous one says why not")
  func wouldDeadlock() throws {
    let merged = DispatchSemaphore(value: 0)
    let observation = main.observe { _ in merged.signal() }
    // Waiting by a semaphore, which nobody can look into.
    main.performAndWait { _ in
      #expect(throws: Never.self) { try inBackground(merging: .asynchronous) { Person(context: $0).age = 1 } }
      #expect(throws: MergeWouldDeadlock.self) {
        try inBackground(merging: .synchronous(timeout: .milliseconds(50))) { Person(context: $0).age = 2 }
      }
    }
    for _ in 0..<2 { #expect(merged.wait(timeout: .now() + 10) == .success) }
    // Waiting through contexts, which is known at once.
    let other = try onThread { [contexts] in contexts.current }
    main.performAndWait { _ in
      other.performAndWait { other in
        Person(context: other).age = 3
        #expect(throws: MergeWouldDeadlock.self) {
          try contexts.save(other, merging: .synchronous(timeout: .seconds(1_000)))
        }
      }
    }
    #expect(merged.wait(timeout: .now() + 10) == .success)
    let count = try main.performAndWait { try $0.count(for: FetchRequest<Person>()) }
    #expect(count == 3)
    observation.cancel()
  }

  @Test("9: a background thread that asks for main's context before main ever did gets main's context")
  func mainContextFromElsewhere() throws {
    let fresh = ContextPerThread(coordinator: stack.coordinator, mainExecutor: ContextExecutor(label: "main 2"))
    let fromThread = try onThread { fresh.mainContext }
    let fromMain = fresh.mainContext.performAndWait { _ in fresh.current }
    #expect(fromThread === fromMain)
    #expect(fromThread.executor.label == "main 2")
  }

  @Test("10: if the background saved the object first, main's save fails with a list, or has the policy's values")
  func conflictingEdits() throws {
    let policies: [(MergePolicy, age: Int64, first: String, last: String)] = [
      (.mergeByPropertyStoreTrump, 60, "Augusta", "King"), (.mergeByPropertyObjectTrump, 50, "Augusta", "King"),
      (.overwrite, 50, "Ada", "King"), (.rollback, 60, "Augusta", "Lovelace"),
      (
        .custom("older") { conflict in
          guard case .integer(let mine)? = conflict.objectSnapshot?["age"],
            case .integer(let theirs)? = conflict.storedSnapshot?["age"]
          else { return .rollback }
          return .values(["age": .integer(mine + theirs), "lastName": "Byron"])
        }, 110, "Augusta", "Byron"
      ),
    ]
    for expected in policies {
      let id = try savedPerson("Ada", age: 1)
      try main.performAndWait { main in
        let person = try #require(main.object(with: id) as? Person)
        person.age = 50
        person.lastName = "King"
      }
      try onThread { [contexts] in
        try contexts.current.performAndWait { context in
          let person = context.object(with: id) as? Person
          person?.age = 60
          person?.firstName = "Augusta"
          try context.save()
        }
      }
      try main.performAndWait { main in
        let person = try #require(main.object(with: id) as? Person)
        main.mergePolicy = .error
        let error = #expect(throws: SaveConflicts.self) { try contexts.save(main) }
        let conflict = try #require(error?.conflicts.first)
        #expect(error?.conflicts.count == 1 && conflict.objectID == id)
        #expect(conflict.kind == .contextAgainstRowCache)
        #expect(conflict.objectSnapshot?["age"] == 50)
        #expect(conflict.cachedSnapshot?["age"] == 1)
        #expect(conflict.storedSnapshot?["age"] == 60)
        #expect(main.hasChanges == true)
        #expect(person.age == 50)
        main.mergePolicy = expected.0
        try contexts.save(main)
        #expect(main.hasChanges == false, "\(expected.0)")
        let message = Comment(rawValue: "\(expected.0)")
        #expect(person.age == expected.age && person.firstName == expected.first, message)
        #expect(person.lastName == expected.last, message)
        main.delete(person)
        let stored = try stack.place.shell("SELECT age, firstName, lastName FROM Person")
        #expect(stored == "\(expected.age)|\(expected.first)|\(expected.last)", message)
        try contexts.save(main)
      }
    }
  }

  @Test(
    "11: eight threads save hundreds of times each with overlaps: no row is lost, and main equals the store",
    .timeLimit(.minutes(10)))
  func stress() throws {
    let threadCount = 8
    // A save that waits for a server takes longer.
    let saveCount = SQLStore.current == .sqlite ? 1_000 : 200
    let shared = try (0..<threadCount).map { try savedPerson("shared \($0)", age: 0) }
    let held = HeldObjects()
    main.performAndWait { main in held.objects = shared.map { main.object(with: $0) } }
    DispatchQueue.concurrentPerform(iterations: threadCount) { thread in
      #expect(throws: Never.self) {
        let context = contexts.current
        context.mergePolicy = .mergeByPropertyObjectTrump
        for round in 0..<saveCount {
          try context.performAndWait { context in
            Person(context: context).age = Int64(round)
            let neighbour = shared[(thread + round) % threadCount]
            (context.object(with: shared[thread]) as? Person)?.age = Int64(round)
            // Each thread has a property of its own, or shares the name with all others.
            (context.object(with: neighbour) as? Person)?.lastName = "\(thread) \(round)"
            try saveInTime(context)
          }
        }
      }
    }
    let (count, ages, heldAges) = try main.performAndWait { main in
      let people = try main.fetch(FetchRequest<Person>(sortBy: [.ascending(\.age)]))
      let byID = Dictionary(uniqueKeysWithValues: people.map { ($0.objectID, $0) })
      return (people.count, shared.map { byID[$0]?.age }, held.objects.map { ($0 as? Person)?.age })
    }
    #expect(count == threadCount * saveCount + threadCount)
    #expect(ages == Array(repeating: Int64(saveCount - 1), count: threadCount))
    #expect(heldAges == ages)
    #expect(try stack.place.shell("SELECT count(*) FROM Person") == "\(count)")
    let names = main.performAndWait { _ in held.objects.map { ($0 as? Person)?.lastName } }
    let stored = stack.root().performAndWait { other in
      shared.map { (other.object(with: $0) as? Person)?.lastName }
    }
    #expect(names == stored)
  }

  /// Saves, and again where so many others came in between that the store asks for it.
  private func saveInTime(_ context: isolated ManagedObjectContext) throws {
    while true {
      do { return try contexts.save(context, merging: .asynchronous) } catch let error as StoreError
        where error.code == .busy
      {}
    }
  }

  @Test("12: a failing save merges nothing, and its error reaches the caller")
  func failingSave() throws {
    let events = EventRecorder(main)
    let context = ManagedObjectContext(coordinator: stack.coordinator, name: "background")
    try stack.place.refuseWrites(true, to: "Person", stack.faults)
    context.performAndWait { context in
      Person(context: context).age = 1
      #expect(throws: StoreError.self) { try contexts.save(context) }
    }
    main.performAndWait { _ in }
    #expect(events.all.isEmpty)
    try stack.place.refuseWrites(false, to: "Person", stack.faults)
    try context.performAndWait { try contexts.save($0) }
    #expect(events.kinds == ["didChange"])
  }

  @Test(
    "13: a confinement context works on the thread that made it, without a hop, and traps when used from anywhere else")
  func confinement() async throws {
    let coordinator = stack.coordinator
    let count = try onThread {
      let context = ManagedObjectContext(coordinator: coordinator, executor: .confined(label: "confined"))
      let thread = pthread_self()
      return try context.performAndWait { context in
        #expect(pthread_equal(pthread_self(), thread) != 0)
        for age in 0..<3 { Person(context: context).age = Int64(age) }
        try context.save()
        return try context.count(for: FetchRequest<Person>())
      }
    }
    #expect(count == 3)
    await #expect(processExitsWith: .failure) {
      let stack = try Stack(People.model, inMemory: true)
      let context = ManagedObjectContext(coordinator: stack.coordinator, executor: .confined(label: "confined"))
      context.performAndWait { Person(context: $0).age = 1 }
      let done = DispatchSemaphore(value: 0)
      Thread.detachNewThread {
        context.performAndWait { Person(context: $0).age = 2 }
        done.signal()
      }
      done.wait()
      exit(0)
    }
    await #expect(processExitsWith: .failure) {
      let stack = try Stack(People.model, inMemory: true)
      let context = ManagedObjectContext(coordinator: stack.coordinator, executor: .confined(label: "confined"))
      let done = DispatchSemaphore(value: 0)
      Thread.detachNewThread {
        context.perform { Person(context: $0).age = 2 }
        done.signal()
      }
      done.wait()
      exit(0)
    }
  }
}
