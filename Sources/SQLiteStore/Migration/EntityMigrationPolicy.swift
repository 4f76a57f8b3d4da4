public import ObjectGraph
import ObjectModel

/// What becomes of the objects of an entity in a stage, where names and types can't tell: the counterpart of an entity
/// mapping with a policy of Core Data's.
///
/// Code gets each object as it was, and what it has become by inference, as an object of the later model's class. What it
/// sets, inserts and deletes through the context is saved in batches in the migration's transaction, so memory does not
/// grow with the table. Policies run in their order; the context's objects are of the later model.
public struct EntityMigrationPolicy: Sendable {
  /// The entity of the earlier model.
  let source: String
  let statements: [MigrationChoices.Statement]
  let code: (@Sendable (MigrationSource, isolated ManagedObjectContext) throws -> Void)?

  /// Lets code change each object after inference has taken over what it can.
  ///
  /// What can't be inferred is no error here: the attribute or relationship is nil and the code sets it. An object that it
  /// leaves without a required value makes the migration fail. Objects of entities that inherit from the entity need
  /// policies of their own.
  /// - Parameters:
  ///   - source: the entity in the earlier model.
  ///   - type: the class of its objects in the later one, whose entity may have another name.
  ///   - code: is called with the object as it was, and as it is.
  public static func transform<Object: ManagedObject>(
    _ source: String, into type: Object.Type,
    _ code: @escaping @Sendable (MigrationSource, Object, isolated ManagedObjectContext) throws -> Void
  ) -> EntityMigrationPolicy {
    transform(source, into: type.entityName) { former, object, context in
      guard let object = object as? Object else {
        preconditionFailure("the later model has another class for what \(source) becomes")
      }
      try code(former, object, context)
    }
  }

  /// Lets code change each object after inference has taken over what it can; for entities without a class.
  ///
  /// - Parameters:
  ///   - source: the name of the entity in the earlier model.
  ///   - entity: the name of the entity in the later model; nil if it is the same.
  ///   - code: called for each object, with what it was, what it is, and the context on the later model.
  public static func transform(
    _ source: String, into entity: String? = nil,
    _ code: @escaping @Sendable (MigrationSource, ManagedObject, isolated ManagedObjectContext) throws -> Void
  ) -> EntityMigrationPolicy {
    let renaming = entity.flatMap {
      $0 == source ? nil : [MigrationChoices.Statement.Kind.renameEntity(source, to: $0)]
    }
    return EntityMigrationPolicy(source, (renaming ?? []) + [.handle(source)]) { former, context in
      if let object = former.object(in: context) { try code(former, object, context) }
    }
  }

  /// Lets code make what each object becomes: nothing, one object of any entity, several, or one for many of them.
  ///
  /// References to the objects are nil afterwards, unless code sets them anew.
  public static func replace(
    _ source: String, _ code: @escaping @Sendable (MigrationSource, isolated ManagedObjectContext) throws -> Void
  ) -> EntityMigrationPolicy {
    EntityMigrationPolicy(source, [.dropEntity(source)], code)
  }

  /// Lets the objects go.
  public static func drop(_ source: String) -> EntityMigrationPolicy {
    EntityMigrationPolicy(source, [.dropEntity(source)], nil)
  }

  private init(
    _ source: String, _ kinds: [MigrationChoices.Statement.Kind],
    _ code: (@Sendable (MigrationSource, isolated ManagedObjectContext) throws -> Void)?
  ) {
    self.source = source
    self.code = code
    statements = kinds.map { MigrationChoices.Statement($0, place: "the policy for \(source)") }
  }
}
