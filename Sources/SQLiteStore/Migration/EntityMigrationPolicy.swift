package import ObjectModel

/// What becomes of the objects of an entity in a stage, where names and types can't tell: the counterpart of an entity
/// mapping with a policy of Core Data's.
///
/// Code gets each object as it was, and what it has become by inference, as an object of the later model's class. What it
/// sets, inserts and deletes through the context is saved in batches in the migration's transaction, so memory does not
/// grow with the table. Policies run in their order; the context's objects are of the later model.
public struct EntityMigrationPolicy: Sendable {
  /// Code over the former rows of the entity.
  package typealias Code = @Sendable (FormerRows) throws -> Void

  /// The entity of the earlier model.
  let source: String
  let statements: [MigrationChoices.Statement]
  let code: Code?

  /// Lets the objects go.
  public static func drop(_ source: String) -> EntityMigrationPolicy {
    EntityMigrationPolicy(source, [.dropEntity(source)], code: nil)
  }

  package init(_ source: String, _ kinds: [MigrationChoices.Statement.Kind], code: Code?) {
    self.source = source
    self.code = code
    statements = kinds.map { MigrationChoices.Statement($0, place: "the policy for \(source)") }
  }
}
