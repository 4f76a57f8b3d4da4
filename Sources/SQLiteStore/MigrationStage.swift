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
  }

  let steps: [Step]

  /// Versions of which each can be inferred from the one before.
  public static func lightweight(_ models: [ManagedObjectModel]) -> MigrationStage {
    MigrationStage(steps: models.map { Step(model: $0) })
  }

  /// Two versions with code between them; what differs must still be inferable, so what is to become something else
  /// is there beside it in one of the two.
  ///
  /// Each handler gets a context on the store. A process that ends in the middle runs the handler again, so it should
  /// bear that.
  /// - Parameters:
  ///   - label: tells the stage from others in the store; do not change it once it was published.
  ///   - from: the earlier model.
  ///   - to: the later model.
  ///   - willMigrate: runs with objects of the earlier model.
  ///   - didMigrate: runs with objects of the later model.
  public static func custom(
    _ label: String, from: ManagedObjectModel, to: ManagedObjectModel, willMigrate: Handler? = nil,
    didMigrate: Handler? = nil
  ) -> MigrationStage {
    MigrationStage(steps: [
      Step(model: from), Step(model: to, label: label, before: willMigrate, after: didMigrate),
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
