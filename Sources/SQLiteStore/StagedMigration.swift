internal import Foundation
import ObjectGraph
import ObjectModel
import SQLGeneration

/// Takes a store through the stages that it has not seen.
struct StagedMigration {
  let path: String
  let options: SQLiteStoreOptions
  let connect: () throws(StoreError) -> Connection
  private static let pendingKey = "stage"

  func run(_ manager: StagedMigrationManager) throws(StoreError) {
    let steps = manager.stages.flatMap(\.steps)
    let connection = try connect()
    let stored = try StoredModel(connection)
    guard let place = steps.lastIndex(where: { stored.fits($0.model) }) else { return }
    let pending = try connection.controlResult(
      "SELECT value FROM _metadata WHERE key = '\(Self.pendingKey)'"
    ) { $0.text(0) }
    if let pending, let step = steps.last(where: { $0.label == pending }) { try finish(step, connection) }
    for step in steps[(place + 1)...] {
      if let handler = step.before, let current = try stepModel(steps, before: step, connection) {
        try run(handler, model: current)
      }
      var options = options
      options.migratesAutomatically = true
      let updater = SchemaUpdater(
        connection: connection, schema: Schema(step.model), files: ExternalFiles(storePath: path), options: options)
      try updater.update { () throws(StoreError) in
        if step.after != nil { try updater.setMetadata(Self.pendingKey, step.label) }
      }
      try finish(step, connection)
    }
  }

  /// The model that the store has now, with the classes of the step's.
  private func stepModel(
    _ steps: [MigrationStage.Step], before step: MigrationStage.Step, _ connection: Connection
  ) throws(StoreError) -> ManagedObjectModel? {
    let stored = try StoredModel(connection)
    return steps.last { stored.fits($0.model) }?.model
  }

  private func finish(_ step: MigrationStage.Step, _ connection: Connection) throws(StoreError) {
    guard let handler = step.after else { return }
    try run(handler, model: step.model)
    try connection.control("DELETE FROM _metadata WHERE key = '\(Self.pendingKey)'")
  }

  private func run(_ handler: MigrationStage.Handler, model: ManagedObjectModel) throws(StoreError) {
    var options = options
    options.stagedMigration = nil
    options.migratesAutomatically = false
    do {
      let coordinator = PersistentStoreCoordinator(model: model)
      try coordinator.open(.sqlite(at: URL(fileURLWithPath: path), options: options))
      let result = Result {
        try ManagedObjectContext(coordinator: coordinator, name: "migration").performAndWait { context in
          try handler(context)
          if context.hasChanges { try context.save() }
        }
      }
      try coordinator.close()
      try result.get()
    } catch let error as StoreError {
      throw error
    } catch {
      throw StoreError(.incompatibleModel, "the code of a migration stage failed: \(error)", path: path)
    }
  }
}
