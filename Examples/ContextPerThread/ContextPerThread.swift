// A context for each thread, directly on the coordinator; what a thread saves is merged into main.
//
//   swift run ContextPerThread
//
//   coordinator ◄── main
//               ◄── a context for each thread, and for each task

import Foundation
import ObjectGraph
import Synchronization

@main
struct ContextsOfThreads {
  static func main() async throws {
    let folder = FileManager.default.temporaryDirectory.appending(path: "ContextPerThread-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let coordinator = PersistentStoreCoordinator(model: People.model)
    try coordinator.open(.sqlite(at: folder.appending(path: "people.sqlite")))

    // Merging is asynchronous unless one asks for the other: a thread that waits for main can be what main waits for.
    let contexts = ContextPerThread(coordinator: coordinator)
    let main = contexts.mainContext
    print("main's executor has main's context: \(await main.perform { contexts.current === $0 })")

    let merges = Atomic(0)
    let observation = main.observe { event in
      if case .didChange = event { merges.add(1, ordering: .relaxed) }
    }
    let ada = try await onThread {
      try contexts.current.performAndWait { context in
        print("a thread has the context \"\(context.name)\"")
        let person = Person(context: context)
        person.firstName = "Ada"
        person.lastName = "Lovelace"
        try contexts.save(context)
        return person.objectID
      }
    }
    // A save that does not go through the stack merges nothing: who bypasses it knows why.
    try await onThread {
      try contexts.current.performAndWait { context in
        print("another thread has the context \"\(context.name)\"")
        Person(context: context).firstName = "Grace"
        try context.save()
      }
    }
    print("main shows \(await name(of: ada, in: main)); merges: \(merges.load(ordering: .relaxed))")

    // Both edit one property. Main's unsaved edit survives the merge; the save tells, instead of overwriting.
    await main.perform { ($0.object(with: ada) as? Person)?.lastName = "King" }
    try await onThread {
      try contexts.current.performAndWait { context in
        (context.object(with: ada) as? Person)?.lastName = "Byron"
        try contexts.save(context)
      }
    }
    print("the thread has saved another name, main still shows \(await name(of: ada, in: main))")
    try await main.perform { main in
      do { try main.save() } catch let error as SaveConflicts {
        let conflict = error.conflicts[0]
        print("main's save finds \(conflict.entityName) at version \(conflict.storedVersion ?? 0)")
        main.mergePolicy = .mergeByPropertyObjectTrump
        try main.save()
        print("the policy \"\(main.mergePolicy)\" saves it")
      }
    }

    // The deadlock of the original: main waits for a thread, whose save waits for main. Here it is an error.
    await main.perform { _ in
      let done = DispatchSemaphore(value: 0)
      Thread.detachNewThread {
        contexts.current.performAndWait { context in
          Person(context: context).firstName = "Edsger"
          do { try contexts.save(context, merging: .synchronous(timeout: .milliseconds(100))) } catch {
            print("\(type(of: error)): the save itself is done: \(!context.hasChanges)")
          }
        }
        done.signal()
      }
      done.wait()
    }
    let count = try await main.perform { try $0.count(for: FetchRequest<Person>()) }
    print("main counts \(count) persons")
    observation.cancel()
    try coordinator.close()
  }

  private static func name(of id: ManagedObjectID, in context: ManagedObjectContext) async -> String {
    await context.perform { context in
      let person = context.object(with: id) as? Person
      return "\(person?.firstName ?? "") \(person?.lastName ?? "")"
    }
  }

  /// Runs synchronous code on a thread of its own, which a task must not do: it would block one of the few it shares.
  private static func onThread<Result: Sendable>(
    _ body: @escaping @Sendable () throws -> Result
  ) async throws -> Result {
    try await withCheckedThrowingContinuation { continuation in
      Thread.detachNewThread { continuation.resume(with: Swift.Result { try body() }) }
    }
  }
}
