import Foundation
import ObjectGraph

/// A folder with a store that is opened with one model after another.
final class MigrationFixture {
  let folder: URL
  var url: URL { folder.appendingPathComponent("test.sqlite") }

  init() throws {
    folder = FileManager.default.temporaryDirectory.appendingPathComponent("migration-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
  }

  deinit { try? FileManager.default.removeItem(at: folder) }

  /// Opens the store with a model, runs the body in a context, saves and closes.
  @discardableResult
  func with<Result: Sendable>(
    _ descriptions: [EntityDescription], options: SQLiteStoreOptions = SQLiteStoreOptions(),
    _ body: @Sendable (isolated ManagedObjectContext) throws -> Result
  ) throws -> Result {
    try with(model: try ManagedObjectModel(descriptions), options: options, body)
  }

  @discardableResult
  func with<Result: Sendable>(
    model: ManagedObjectModel, options: SQLiteStoreOptions = SQLiteStoreOptions(),
    _ body: @Sendable (isolated ManagedObjectContext) throws -> Result
  ) throws -> Result {
    let coordinator = PersistentStoreCoordinator(model: model)
    try coordinator.open(.sqlite(at: url, options: options))
    defer { try? coordinator.close() }
    return try ManagedObjectContext(coordinator: coordinator).performAndWait { context in
      let result = try body(context)
      try context.save()
      return result
    }
  }
}

extension ManagedObjectContext {
  /// All objects of an entity in the order of their keys.
  func all(_ entity: String) throws -> [ManagedObject] {
    try fetch(FetchRequest<ManagedObject>(entity: entity, nil)).sorted { $0.objectID.key < $1.objectID.key }
  }

  func insert(_ entity: String, _ values: [String: Any]) -> ManagedObject {
    let object = insertObject(ofEntity: entity)
    for (key, value) in values { object.setValue(value, forKey: key) }
    return object
  }
}
