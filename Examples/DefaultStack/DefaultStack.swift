// A ready-made stack: one call sets it up, and saves go up one level or all the way.
//
//   swift run DefaultStack [folder]

import Foundation
import ObjectGraph
import SQLiteStore

@main
struct DefaultStack {
  static func main() async throws {
    let folder = CommandLine.arguments.dropFirst().first.map { URL(filePath: $0, directoryHint: .isDirectory) }

    // The store is named after the process: DefaultStack.sqlite. Asking again gives the same stack, without I/O.
    let container = try PersistentContainer.setUp(model: People.model, in: folder)

    // The default context lives on main. A results controller shows what others save, as soon as it is on disk.
    let main = container.defaultContext
    let people = try FetchedResultsController(
      FetchRequest<Person>(sortBy: [.ascending(\.lastName)]), context: main, sectionNameKeyPath: "lastName")
    try await main.perform { try people.performFetch(in: $0) }
    let observation = people.observe { event in
      if case .object(let change) = event { print("main notices an \(change.kind)") }
    }

    // Work runs in a child of the root, never on main. When save returns, main sees the result.
    let id = try await container.save(named: "greeting") { context in
      let person = Person(context: context)
      person.firstName = "Ada"
      person.lastName = "Lovelace"
      return person.objectID
    }
    print("\(people.snapshot.count) persons, in sections \(people.snapshot.sections.map(\.name))")

    // Editing that can be cancelled: a child of the default context. Without a save, nothing of it stays.
    let editing = container.newChildOfDefaultContext(name: "editing")
    await editing.perform { ($0.object(with: id) as? Person)?.firstName = "Augusta Ada" }
    try await editing.saveOnlySelf()
    print("main has changes:", await main.perform { $0.hasChanges })
    try await main.saveToPersistentStore()

    // Anywhere in a task, the context for here: main's on main, the task's own elsewhere.
    let count = try await container.withTaskContext {
      try await container.contextForHere().perform { try $0.count(for: FetchRequest<Person>()) }
    }
    print("\(count) persons")
    observation.cancel()
    try PersistentContainer.tearDownShared()
  }
}
