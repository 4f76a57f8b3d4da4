import ObjectModel
import SQLGeneration
import StoreInterface

/// Takes a store through the stages that it has not seen, each in a transaction of its own, code included.
struct StagedMigration {
  let path: String
  let options: SQLiteStoreOptions
  let connect: () throws(StoreError) -> Connection
  /// Where releases whose code ran outside of the transaction have noted that it was not finished.
  private static let pendingKey = "stage"

  func run(_ manager: StagedMigrationManager) throws(StoreError) {
    let steps = manager.stages.flatMap(\.steps)
    let connection = try connect()
    let stored = try StoredModel(connection)
    guard let place = steps.lastIndex(where: { stored.fits($0.model) }) else { return }
    let pending = try connection.controlResult(
      "SELECT value FROM _metadata WHERE key = '\(Self.pendingKey)'"
    ) { $0.text(0) }
    if let pending, let step = steps.last(where: { $0.label == pending }) {
      try inTransaction(connection) { () throws(StoreError) in
        try run(step.after, step.model, connection)
        try connection.control("DELETE FROM _metadata WHERE key = '\(Self.pendingKey)'")
      }
    }
    for (number, step) in steps.enumerated().dropFirst(place + 1) {
      try inTransaction(connection) { () throws(StoreError) in
        // Another process may have done it meanwhile.
        if try StoredModel(connection).fits(step.model) { return }
        try run(step.before, steps[number - 1].model, connection)
        var options = options
        options.migratesAutomatically = true
        var updater = SchemaUpdater(
          connection: connection, schema: Schema(step.model),
          files: ExternalFiles(storePath: path, isPrivate: options.isPrivate), options: options)
        updater.policies = step.policies
        try updater.update()
        try run(step.after, step.model, connection)
      }
    }
  }

  /// Runs a body in a transaction of which all others on the connection are parts.
  private func inTransaction(
    _ connection: Connection, _ body: () throws(StoreError) -> Void
  ) throws(StoreError) {
    try connection.transaction { () throws(StoreError) in
      connection.isEnclosed = true
      defer { connection.isEnclosed = false }
      try body()
    }
  }

  private func run(
    _ code: MigrationStage.Code?, _ model: ManagedObjectModel, _ connection: Connection
  ) throws(StoreError) {
    guard let code else { return }
    let store = MigratingStore(connection, options, model: model)
    try store.run { try code(store) }
  }
}
