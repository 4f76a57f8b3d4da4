import Foundation
import ObjectGraph
import ObjectGraphTesting
import TestSupport

/// The stack of the first design on a real store: coordinator, writer, main; workers are made where they are needed.
final class GalleryStack: Sendable {
  let directory: TemporaryDirectory?
  let storePath: String
  let coordinator: PersistentStoreCoordinator
  let writer: ManagedObjectContext
  let main: ManagedObjectContext
  let occupation = OccupationRecorder()
  let statements = StatementRecorder()

  /// - Parameter storePath: an existing store; a fresh one that goes with the stack if nil.
  init(storePath: String? = nil) throws {
    directory = storePath == nil ? try TemporaryDirectory() : nil
    self.storePath = storePath ?? directory?.path("gallery.sqlite") ?? ""
    coordinator = PersistentStoreCoordinator(model: Gallery.model)
    writer = ManagedObjectContext(coordinator: coordinator, name: "writer")
    main = ManagedObjectContext(
      parent: writer, name: "main", executor: ContextExecutor(label: "main", occupation: occupation))
    var options = SQLiteStoreOptions()
    options.statementLog = statements.record
    try coordinator.open(.sqlite(at: URL(fileURLWithPath: self.storePath), options: options))
  }

  func worker(_ name: String = "worker") -> ManagedObjectContext {
    ManagedObjectContext(parent: main, name: name)
  }

  /// The hashes of the store's files, to tell whether anything was written.
  func storeFiles() throws -> StoreFileHashes { try StoreFileHashes(of: URL(fileURLWithPath: storePath)) }

  /// The files of large values beside the store.
  func externalFiles() -> [URL] {
    let folder = URL(fileURLWithPath: storePath).deletingPathExtension().path + "_files"
    let entries = try? FileManager.default.contentsOfDirectory(
      at: URL(fileURLWithPath: folder), includingPropertiesForKeys: [.isRegularFileKey, .fileSizeKey])
    return (entries ?? []).filter { url in
      let values = try? url.resourceValues(forKeys: [.isRegularFileKey, .fileSizeKey])
      return values?.isRegularFile == true && (values?.fileSize ?? 0) > 0
    }
  }
}
