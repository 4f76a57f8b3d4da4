public import ObjectModel

/// A step of a staged migration: versions that follow from each other by inference, or two with code between them.
public struct MigrationStage: Sendable {
  /// Code on the store in the middle of a migration.
  package typealias Code = @Sendable (MigratingStore) throws -> Void

  /// A model to be reached by inference, and code before and after.
  package struct Step: Sendable {
    package let model: ManagedObjectModel
    package let label: String
    package let before: Code?
    package let after: Code?
    package let policies: [EntityMigrationPolicy]

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

  package let steps: [Step]

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
  /// The model that the store has at this moment.
  package let model: ManagedObjectModel
  private let place: String
  private let opening: @Sendable (UInt32) throws(StoreError) -> any PersistentStore

  /// - Parameter opening: makes a store inside the transaction, for a coordinator's ordinal.
  package init(
    _ model: ManagedObjectModel, place: String,
    opening: @escaping @Sendable (UInt32) throws(StoreError) -> any PersistentStore
  ) {
    self.model = model
    self.place = place
    self.opening = opening
  }

  /// Opens the store as it is now, for a coordinator.
  package func open(coordinatorOrdinal: UInt32) throws(StoreError) -> any PersistentStore {
    try opening(coordinatorOrdinal)
  }

  /// Runs code of a stage or a policy, whose errors make the migration fail.
  package func run(_ code: () throws -> Void) throws(StoreError) {
    do { try code() } catch let error as StoreError {
      throw error
    } catch {
      throw StoreError(.incompatibleModel, "the code of a migration stage failed: \(error)", path: place)
    }
  }
}
