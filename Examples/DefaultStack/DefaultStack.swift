// A ready-made stack: one call sets it up, and saves go up one level or all the way.
//
//   swift run DefaultStack
//
//   coordinator ◄── root (writes) ◄── default (on main) ◄── children for editing
//                                ◄── children for work

import Foundation
import ObjectGraph

@main
struct DefaultStack {
  static func main() async throws {
    // Left to itself, the store goes to the user's folder for data. An example should leave nothing there.
    let folder = FileManager.default.temporaryDirectory.appending(path: "DefaultStack-\(UUID().uuidString)")
    defer { try? FileManager.default.removeItem(at: folder) }

    // The mistake that everybody makes once has a message, where the original has a nil context.
    do { _ = try PersistentContainer.shared } catch { print("too early:", error) }

    // The store is named after the process. Asking again gives the same stack, without I/O.
    let container = try PersistentContainer.setUp(model: People.model, in: folder)
    let again = try PersistentContainer.setUp(model: People.model, in: folder)
    print("the store is \(PersistentContainer.storeFileName()); set up twice, one stack: \(container === again)")

    // The default context lives on main. A results controller shows there what others save, once it is on disk.
    let main = container.defaultContext
    let people = try FetchedResultsController(
      FetchRequest<Person>(sortBy: [.ascending(\.lastName)]), context: main, sectionNameKeyPath: "lastName")
    try await main.perform { try people.performFetch(in: $0) }
    let observation = people.observe { event in
      if case .object(let change) = event { print("main notices an \(change.kind)") }
    }

    // Work runs in a child of the root, never on main. When save returns, it is on disk and main shows it.
    let id = try await container.save(named: "greeting") { context in
      let person = Person(context: context)
      person.firstName = "Ada"
      person.lastName = "Lovelace"
      return person.objectID
    }
    print("saved to the store: \(!id.isTemporaryID); sections \(people.snapshot.sections.map(\.name))")

    // A child of the default context saves into it. From there, one call goes all the way down to the disk.
    let editing = container.newChildOfDefaultContext(name: "editing")
    await editing.perform { ($0.object(with: id) as? Person)?.firstName = "Augusta Ada" }
    try await editing.saveOnlySelf()
    print("one level up: main has changes: \(await main.perform { $0.hasChanges })")
    try await main.saveToPersistentStore()
    print("all the way: main has changes: \(await main.perform { $0.hasChanges })")

    // The context for here: on main it is main's, elsewhere the task's own, on whatever thread the task goes on.
    let isTheSame = try await container.withTaskContext {
      let before = try container.contextForHere()
      await Task.yield()
      return try container.contextForHere() === before
    }
    print("one context for the task: \(isTheSame)")

    // A level that can't be saved ends it: nothing of this block is anywhere.
    struct ChangedMyMind: Error {}
    do {
      try await container.save(named: "regret") { context in
        Person(context: context).lastName = "Nobody"
        throw ChangedMyMind()
      }
    } catch is ChangedMyMind {
      print("the error came through, and the number of persons is still \(people.snapshot.count)")
    }
    observation.cancel()
    try PersistentContainer.tearDownShared()
  }
}
