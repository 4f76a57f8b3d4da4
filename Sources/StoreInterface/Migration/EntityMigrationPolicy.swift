public import ObjectModel

/// The treatment of an entity's objects in a stage, where names and types can't tell: the counterpart of an entity
/// mapping with a policy of Core Data's.
///
/// Code gets each object as it was, and what it has become by inference, as an object of the later model's class. What it
/// sets, inserts and deletes through the context is saved in batches in the migration's transaction, so memory does not
/// grow with the table. Policies run in their order; the context's objects are of the later model.
public struct EntityMigrationPolicy: Sendable {
  /// Code over the former rows of the entity.
  package typealias Code = @Sendable (FormerRows) throws -> Void

  /// The entity of the earlier model.
  package let source: String
  package let statements: [MigrationChoices.Statement]
  package let code: Code?

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

/// The rows of an entity of the earlier model, while the tables are those of the later one already.
package struct FormerRows: Sendable {
  /// The store with the later model.
  package let store: MigratingStore
  private let read: @Sendable (Int, Int64, UInt32) throws(StoreError) -> [MigrationSource]

  /// - Parameter read: returns so many rows behind a key, with an ordinal for the IDs in them.
  package init(
    store: MigratingStore, read: @escaping @Sendable (Int, Int64, UInt32) throws(StoreError) -> [MigrationSource]
  ) {
    self.store = store
    self.read = read
  }

  /// The first rows behind a key.
  package func batch(of count: Int, after key: Int64, ordinal: UInt32) throws(StoreError) -> [MigrationSource] {
    try read(count, key, ordinal)
  }
}

/// Successors of the objects of the earlier model.
package protocol ObjectSuccessors {
  /// The ID of the object that one has become; nil if its entity has become none.
  func successor(of entity: Entity, key: Int64) -> ManagedObjectID?

  /// The ID of what the destination of a reference has become, if it is there.
  ///
  /// - Parameter entity: the entity that the relationship led to.
  func destination(of reference: ManagedObjectID, _ entity: Entity) throws(StoreError) -> ManagedObjectID?
}

/// An object as it was before a migration, as an ``EntityMigrationPolicy`` sees it.
///
/// Valid during the call that it is passed to.
public struct MigrationSource {
  /// The entity of the earlier model.
  public let entity: Entity
  package let key: Int64
  private let row: Row
  private let successors: any ObjectSuccessors

  package init(entity: Entity, key: Int64, row: Row, successors: any ObjectSuccessors) {
    self.entity = entity
    self.key = key
    self.row = row
    self.successors = successors
  }

  /// The value of an attribute of the earlier model; null if there is none.
  ///
  /// - Throws: what reading a large value throws.
  /// - Precondition: the entity has a stored attribute of that name.
  public subscript(attribute name: String) -> Value {
    get throws {
      let property = property(name)
      guard let attribute = property.attribute else { preconditionFailure("\(entity.name).\(name) is no attribute") }
      return try row.value(of: attribute, property.slot)
    }
  }

  /// The value of an attribute of the earlier model as a Swift type, such as `String`, `Int`, `Double`, `Bool`, `Decimal`,
  /// `Date`, `Data`, `UUID` or `URL`; nil if there is none, or one of another type.
  public func value<Result>(_ name: String, as type: Result.Type = Result.self) throws -> Result? {
    let value = try self[attribute: name]
    if case .integer(let number) = value, let integer = Int(exactly: number) as? Result { return integer }
    return value.unwrapped as? Result
  }

  /// The ID of what the destination of a to-one relationship has become; nil if there is none.
  package func destinationID(_ name: String) throws(StoreError) -> ManagedObjectID? {
    let property = property(name)
    guard property.storage == .reference, let former = property.destination else {
      preconditionFailure("\(entity.name).\(name) is no to-one relationship")
    }
    guard let reference = row.referenceIfPresent(property.slot) else { return nil }
    return try successors.destination(of: reference, former)
  }

  /// The ID of the object that this one has become; nil for one that is replaced.
  package var successorID: ManagedObjectID? { successors.successor(of: entity, key: key) }

  private func property(_ name: String) -> Property {
    guard let property = entity.property(named: name), property.isPersistent else {
      preconditionFailure("the earlier \(entity.name) has no stored attribute or to-one relationship \(name)")
    }
    return property
  }
}
