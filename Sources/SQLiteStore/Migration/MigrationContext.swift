internal import Foundation
import ObjectGraph
import ObjectModel

/// Lends contexts on a store whose migration is not finished: what they save is part of the migration's transaction.
struct MigrationContext {
  let connection: Connection
  let options: SQLiteStoreOptions

  /// Runs code with a context on the store as it is now, and saves behind it.
  ///
  /// - Parameter model: the model that the store has at this moment.
  func run(
    _ model: ManagedObjectModel, _ code: @Sendable (isolated ManagedObjectContext) throws -> Void
  ) throws(StoreError) {
    var options = options
    options.noticesOtherWriters = false
    do {
      let coordinator = PersistentStoreCoordinator(model: model)
      try coordinator.open(
        PersistentStoreDescription { [connection, options] model, ordinal in
          try SQLiteStore(within: connection, model: model, coordinatorOrdinal: ordinal, options: options)
        })
      let result = Result {
        try ManagedObjectContext(coordinator: coordinator, name: "migration").performAndWait { context in
          try code(context)
          if context.hasChanges { try context.save() }
        }
      }
      try coordinator.close()
      try result.get()
    } catch let error as StoreError {
      throw error
    } catch {
      throw StoreError(
        .incompatibleModel, "the code of a migration stage failed: \(error)", path: connection.path)
    }
  }
}
