public import ObjectModel

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
