import Foundation
import ObjectGraph
import ObjectGraphTesting
import TestSupport

/// The stack of the first design on a real store: coordinator, writer, main; workers are made where they are needed.
final class GalleryStack: Sendable {
  /// The place of a store of the stack's own.
  let place: StorePlace?
  let coordinator: PersistentStoreCoordinator
  let writer: ManagedObjectContext
  let main: ManagedObjectContext
  let occupation = OccupationRecorder()
  let statements = StatementRecorder()

  /// - Parameter address: the store of another process; a fresh one that goes with the stack if nil.
  init(address: String? = nil) throws {
    let place = address == nil ? try StorePlace() : nil
    self.place = place
    coordinator = PersistentStoreCoordinator(model: Gallery.model)
    writer = ManagedObjectContext(coordinator: coordinator, name: "writer")
    main = ManagedObjectContext(
      parent: writer, name: "main", executor: ContextExecutor(label: "main", occupation: occupation))
    try coordinator.open(place?.description(statements: statements) ?? StorePlace.description(address: address ?? ""))
  }

  func worker(_ name: String = "worker") -> ManagedObjectContext {
    ManagedObjectContext(parent: main, name: name)
  }

  /// What another process opens the store by.
  var address: String { place?.address ?? "" }

  /// The path of the store, if it is SQLite's.
  var storePath: String { place?.storePath ?? "" }

  /// The hashes of the store's files, to tell whether anything was written; empty for a database of a server.
  func storeFiles() throws -> StoreFileHashes { try StoreFileHashes(of: URL(fileURLWithPath: storePath)) }

  /// The number of large values: files beside SQLite's store, or names in PostgreSQL's table of them.
  func largeValueCount() throws -> Int {
    guard let place, place.address.hasPrefix("postgresql:") else { return externalFiles().count }
    return try Int(place.shell("SELECT count(DISTINCT name) FROM _file")) ?? 0
  }

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
