package import ObjectModel
package import StoreInterface

/// A store whose migration is not finished, for code of its stages: what is written there is part of the migration's
/// transaction.
package struct MigratingStore: Sendable {
  private let connection: Connection
  private let options: SQLiteStoreOptions
  /// The model that the store has at this moment.
  package let model: ManagedObjectModel

  init(_ connection: Connection, _ options: SQLiteStoreOptions, model: ManagedObjectModel) {
    self.connection = connection
    self.options = options
    self.model = model
  }

  /// Opens the store as it is now, for a coordinator.
  package func open(coordinatorOrdinal: UInt32) throws(StoreError) -> any PersistentStore {
    var options = options
    options.noticesOtherWriters = false
    return try SQLiteStore(within: connection, model: model, coordinatorOrdinal: coordinatorOrdinal, options: options)
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
