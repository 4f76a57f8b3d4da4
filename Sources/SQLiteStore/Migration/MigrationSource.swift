public import ObjectModel
import SQLGeneration
package import StoreInterface

/// An object as it was before a migration, as an ``EntityMigrationPolicy`` sees it.
///
/// Valid during the call that it is passed to.
public struct MigrationSource {
  /// The entity of the earlier model.
  public let entity: Entity
  package let key: Int64
  private let row: Row
  private let plan: MigrationPlan
  private let ordinal: UInt32
  private let connection: Connection

  init(
    entity: Entity, key: Int64, row: Row, plan: MigrationPlan, ordinal: UInt32, connection: Connection
  ) {
    self.entity = entity
    self.key = key
    self.row = row
    self.plan = plan
    self.ordinal = ordinal
    self.connection = connection
  }

  /// The value of an attribute of the earlier model; null if there is none.
  ///
  /// - Throws: what reading a file throws, if the value is binary data in a file.
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
    let origin = plan.mapping.source.entities[Int(reference.entityIndex)]
    guard let successor = plan.mapping.successor(of: origin) ?? plan.mapping.successor(of: former) else { return nil }
    let key = reference.key + plan.offset(from: origin, to: successor)
    let table = SchemaName.quoted(plan.destination.table(of: successor).name)
    let found = try connection.first("SELECT 1 FROM \(table) WHERE _key = ?1", { $0.bind(key, 1) }) { _ in true }
    guard found == true else { return nil }
    return ManagedObjectID(key: key, entity: successor, coordinatorOrdinal: ordinal)
  }

  /// The ID of the object that this one has become; nil for one that is replaced.
  package var successorID: ManagedObjectID? {
    guard let successor = plan.mapping.successor(of: entity) else { return nil }
    let key = key + plan.offset(from: entity, to: successor)
    return ManagedObjectID(key: key, entity: successor, coordinatorOrdinal: ordinal)
  }

  private func property(_ name: String) -> Property {
    guard let property = entity.property(named: name), property.isPersistent else {
      preconditionFailure("the earlier \(entity.name) has no stored attribute or to-one relationship \(name)")
    }
    return property
  }
}
