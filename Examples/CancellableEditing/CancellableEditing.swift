// Editing that can be cancelled: a child context makes Save and Cancel free, and a results controller follows main.
//
//   swift run CancellableEditing
//
//   coordinator ◄── writer ◄── main ◄── editor, on main's executor
//               ◄── importer, merged into main by its did-save

import Foundation
import ObjectGraph

@main
struct CancellableEditing {
  static func main() async throws {
    let folder = FileManager.default.temporaryDirectory.appending(path: "CancellableEditing-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let coordinator = PersistentStoreCoordinator(model: People.model)
    try coordinator.open(.sqlite(at: folder.appending(path: "people.sqlite")))
    let writer = ManagedObjectContext(coordinator: coordinator, name: "writer")
    let main = ManagedObjectContext(parent: writer, name: "main", executor: .main)

    let people = try FetchedResultsController(FetchRequest<Person>(sortBy: [.ascending(\.firstName)]), context: main)
    try await main.perform { try people.performFetch(in: $0) }
    let following = people.observe { event in
      guard case .object(let change) = event else { return }
      let place = (change.newIndexPath ?? change.indexPath).map { "\($0.item)" } ?? "nowhere"
      print("  the list on main: \(change.kind) at \(place)")
    }

    // What others commit beside this stack reaches main by its did-save. Main's own saves need no merge, and get none.
    let importer = ManagedObjectContext(coordinator: coordinator, name: "importer")
    let merging = importer.observe { event in
      guard case .didSave(let save) = event else { return }
      main.perform { $0.mergeChanges(fromContextDidSave: save) }
    }
    print("the importer saves")
    let id = try await importer.perform { importer in
      let person = Person(context: importer)
      person.firstName = "Grace"
      try importer.save()
      return person.objectID
    }
    await main.perform { _ in }

    // Cancel is to let go of the editor: there is nothing to undo, and nobody has been told of anything.
    print("an editor changes everything and is let go")
    await main.perform { main in
      let editor = ManagedObjectContext(parent: main, name: "editor", executor: main.executor)
      // On main's executor already, so no hop and no await. Anywhere else this would trap.
      editor.performAndWait { editor in
        (editor.object(with: id) as? Person)?.firstName = "Nobody"
        Person(context: editor).firstName = "Nobody else"
      }
    }
    print("main has changes: \(await main.perform { $0.hasChanges })")

    // Save brings all edits in one event.
    print("an editor saves")
    try await main.perform { main in
      let editor = ManagedObjectContext(parent: main, name: "editor", executor: main.executor)
      try editor.performAndWait { editor in
        (editor.object(with: id) as? Person)?.lastName = "Hopper"
        let ada = Person(context: editor)
        ada.firstName = "Ada"
        try editor.save()
      }
    }

    // Two more saves to the disk, and main is in neither's way: the writer has an executor of its own.
    let levels = [("main", main), ("the writer", writer)]
    for (name, context) in levels {
      let hasChanges = await context.perform { $0.hasChanges }
      print("\(name) has changes: \(hasChanges), in the store: \(try await stored(coordinator))")
      try await context.perform { try $0.save() }
    }
    print("all saved, in the store: \(try await stored(coordinator))")
    merging.cancel()
    following.cancel()
    try coordinator.close()
  }

  /// The number of persons on disk: a context beside the writer sees nothing else.
  private static func stored(_ coordinator: PersistentStoreCoordinator) async throws -> Int {
    try await ManagedObjectContext(coordinator: coordinator, name: "witness").perform {
      try $0.count(for: FetchRequest<Person>())
    }
  }
}
