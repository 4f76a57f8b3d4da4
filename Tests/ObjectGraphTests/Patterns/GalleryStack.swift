import Foundation
import ObjectGraph
import ObjectModel
import SQLiteStore
import TestSupport

/// The stack of the first design on a real store: coordinator, writer, main; workers are made where they are needed.
final class GalleryStack: Sendable {
  let directory: TemporaryDirectory
  let coordinator: PersistentStoreCoordinator
  let writer: ManagedObjectContext
  let main: ManagedObjectContext
  let occupation = OccupationRecorder()
  let statements = StatementRecorder()

  var storePath: String { directory.path("gallery.sqlite") }

  init(directory: TemporaryDirectory? = nil) throws {
    let directory = try directory ?? TemporaryDirectory()
    self.directory = directory
    coordinator = PersistentStoreCoordinator(model: Gallery.model)
    writer = ManagedObjectContext(coordinator: coordinator, name: "writer")
    main = ManagedObjectContext(
      parent: writer, name: "main", executor: ContextExecutor(label: "main", occupation: occupation))
    var options = SQLiteStoreOptions()
    options.statementLog = { [statements] in statements.record($0) }
    try coordinator.open(.sqlite(at: URL(fileURLWithPath: directory.path("gallery.sqlite")), options: options))
  }

  func worker(_ name: String = "worker") -> ManagedObjectContext {
    ManagedObjectContext(parent: main, name: name)
  }

  /// The bytes of the store's files, to tell whether anything was written.
  func storeFiles() throws -> [String: Data] {
    var files: [String: Data] = [:]
    for suffix in ["", "-wal"] {
      files[suffix] = try? Data(contentsOf: URL(fileURLWithPath: storePath + suffix))
    }
    return files
  }
}
