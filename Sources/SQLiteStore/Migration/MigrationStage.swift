public import ObjectGraph
public import ObjectModel

/// A step of a staged migration: versions that follow from each other by inference, or two with code between them.
public struct MigrationStage: Sendable {
  /// Code that changes objects; what it leaves unsaved is saved behind it.
  public typealias Handler = @Sendable (isolated ManagedObjectContext) throws -> Void

  /// A model to be reached by inference, and code before and after.
  struct Step: Sendable {
    let model: ManagedObjectModel
    var label = ""
    var before: Handler?
    var after: Handler?
    var policies: [EntityMigrationPolicy] = []
  }

  let steps: [Step]

  /// Versions of which each can be inferred from the one before.
  public static func lightweight(_ models: [ManagedObjectModel]) -> MigrationStage {
    MigrationStage(steps: models.map { Step(model: $0) })
  }

  /// Two versions with code between them, all in one transaction: a process that ends in the middle leaves the store as
  /// it was before the stage.
  ///
  /// What differs must be inferable, or be left to a policy.
  /// - Parameters:
  ///   - label: tells the stage from others.
  ///   - from: the earlier model.
  ///   - to: the later model.
  ///   - policies: code for entities whose objects can't be inferred, in the order in which it runs.
  ///   - willMigrate: runs with objects of the earlier model.
  ///   - didMigrate: runs with objects of the later model.
  public static func custom(
    _ label: String, from: ManagedObjectModel, to: ManagedObjectModel,
    policies: [EntityMigrationPolicy] = [], willMigrate: Handler? = nil, didMigrate: Handler? = nil
  ) -> MigrationStage {
    MigrationStage(steps: [
      Step(model: from), Step(model: to, label: label, before: willMigrate, after: didMigrate, policies: policies),
    ])
  }
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
