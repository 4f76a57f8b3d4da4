public import ObjectModel
import SQLGeneration
import StoreInterface

/// Takes a store through the stages that it has not seen, each in a transaction of its own, code included.
struct StagedMigration {
  let path: String
  let options: SQLiteStoreOptions
  let connect: () throws(StoreError) -> Connection
  /// The key under which releases whose code ran outside of the transaction noted that it was not finished.
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
        try run(step.after, step.model, connection: connection)
        try connection.control("DELETE FROM _metadata WHERE key = '\(Self.pendingKey)'")
      }
    }
    for (number, step) in steps.enumerated().dropFirst(place + 1) {
      try inTransaction(connection) { () throws(StoreError) in
        // Another process may have done it meanwhile.
        if try StoredModel(connection).fits(step.model) { return }
        try run(step.before, steps[number - 1].model, connection: connection)
        var options = options
        options.migratesAutomatically = true
        var updater = SchemaUpdater(
          connection: connection, schema: Schema(step.model),
          files: ExternalFiles(storePath: path, isPrivate: options.isPrivate), options: options)
        updater.policies = step.policies
        try updater.update()
        try run(step.after, step.model, connection: connection)
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
    _ code: MigrationStage.Code?, _ model: ManagedObjectModel, connection: Connection
  ) throws(StoreError) {
    guard let code else { return }
    let store = MigratingStore(connection, options, model: model)
    try store.run { try code(store) }
  }
}

/// A step of a staged migration: versions that follow from each other by inference, or two with code between them.
public struct MigrationStage: Sendable {
  /// Code on the store in the middle of a migration.
  package typealias Code = @Sendable (MigratingStore) throws -> Void

  /// A model to be reached by inference, and code before and after.
  package struct Step: Sendable {
    let model: ManagedObjectModel
    var label = ""
    var before: Code?
    var after: Code?
    var policies: [EntityMigrationPolicy] = []

    package init(
      model: ManagedObjectModel, label: String = "", before: Code? = nil, after: Code? = nil,
      policies: [EntityMigrationPolicy] = []
    ) {
      self.model = model
      self.label = label
      self.before = before
      self.after = after
      self.policies = policies
    }
  }

  let steps: [Step]

  /// Versions of which each can be inferred from the one before.
  public static func lightweight(_ models: [ManagedObjectModel]) -> MigrationStage {
    MigrationStage(steps: models.map { Step(model: $0) })
  }

  package init(steps: [Step]) { self.steps = steps }
}

/// The stages that lead from the oldest version of a model that is still in use to the newest.
///
/// A store enters at its own version. Each stage is a transaction of its own and is not undone if a later one fails.
public struct StagedMigrationManager: Sendable {
  /// The stages, from the oldest version to the newest.
  public let stages: [MigrationStage]

  /// The stages, from the oldest version to the newest.
  public init(_ stages: [MigrationStage]) { self.stages = stages }
}

/// A store whose migration is not finished, for code of its stages: what is written there is part of the migration's
/// transaction.
package struct MigratingStore: Sendable {
  let connection: Connection
  let options: SQLiteStoreOptions
  /// The model that the store has at this moment.
  package let model: ManagedObjectModel

  init(_ connection: Connection, _ options: SQLiteStoreOptions, model: ManagedObjectModel) {
    self.connection = connection
    self.options = options
    self.model = model
  }

  /// Runs code of a stage or a policy, whose errors make the migration fail.
  func run(_ code: () throws -> Void) throws(StoreError) {
    do { try code() } catch let error as StoreError {
      throw error
    } catch {
      throw StoreError(
        .incompatibleModel, "the code of a migration stage failed: \(error)", path: connection.path)
    }
  }
}
