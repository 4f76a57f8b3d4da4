public import ObjectModel
import SQLGeneration
package import StoreInterface

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

/// Runs the code of policies over the rows of the earlier model, when the tables are those of the later one.
struct PolicyRun {
  let connection: Connection
  let plan: MigrationPlan
  let policies: [EntityMigrationPolicy]
  let files: ExternalFiles
  let options: SQLiteStoreOptions

  func run() throws(StoreError) {
    let store = MigratingStore(connection, options, model: plan.destination.model)
    for policy in policies {
      guard let code = policy.code, let entity = plan.mapping.source.entitiesByName[policy.source] else { continue }
      let rows = FormerRows(store: store, entity: entity, connection: connection, plan: plan, files: files)
      try store.run { try code(rows) }
    }
    try checkValues()
    for table in plan.keptTables {
      try connection.control("DROP TABLE \(SchemaName.quoted(MigrationPlan.keptName(table)))")
    }
  }

  /// Sees that no object was left without a required value, whether code has touched it or not.
  private func checkValues() throws(StoreError) {
    for table in plan.tables {
      for contribution in table.contributions where plan.mapping.choices.isHandled(contribution.origin.name) {
        for property in contribution.entity.properties where property.isPersistent && !property.isOptional {
          guard let attribute = property.attribute, attribute.derivation == nil else { continue }
          let condition =
            table.table.tellsEntity ? " AND _entity = \(SchemaName.literal(contribution.entity.name))" : ""
          let count =
            try connection.controlResult(
              "SELECT count(*) FROM \(SchemaName.quoted(table.table.name)) "
                + "WHERE \(SchemaName.quoted(property.columnName)) IS NULL\(condition)"
            ) { $0.integer(0) } ?? 0
          guard count > 0 else { continue }
          throw StoreError(
            .incompatibleModel,
            "the store can't be migrated to the model: the policy for \(contribution.origin.name) leaves \(count) "
              + "\(count == 1 ? "object" : "objects") without \(contribution.entity.name).\(property.name), which is required",
            path: connection.path)
        }
      }
    }
  }
}

/// The rows of an entity of the earlier model, while the tables are those of the later one already.
package struct FormerRows {
  /// The store with the later model.
  package let store: MigratingStore
  private let entity: Entity
  private let connection: Connection
  private let plan: MigrationPlan
  private let files: ExternalFiles

  fileprivate init(
    store: MigratingStore, entity: Entity, connection: Connection, plan: MigrationPlan, files: ExternalFiles
  ) {
    self.store = store
    self.entity = entity
    self.connection = connection
    self.plan = plan
    self.files = files
  }

  /// The first rows behind a key.
  package func batch(
    of count: Int, after key: Int64, ordinal: UInt32
  ) throws(StoreError) -> [MigrationSource] {
    let table = plan.source.table(of: entity)
    let decoder = RowDecoder(entity, columns: table.columnNames, model: plan.source.model, files: files)
    let condition = table.tellsEntity ? " AND _entity = \(SchemaName.literal(entity.name))" : ""
    var found: [MigrationSource] = []
    try connection.run(
      """
      SELECT \(table.columnNames.map(SchemaName.quoted).joined(separator: ", ")) \
      FROM \(SchemaName.quoted(MigrationPlan.keptName(table.name))) WHERE _key > ?1\(condition) \
      ORDER BY _key LIMIT \(count)
      """, { $0.bind(key, 1) }
    ) { statement throws(StoreError) in
      found.append(
        MigrationSource(
          entity: entity, key: statement.integer(0), row: decoder.row(statement, ordinal: ordinal).row, plan: plan,
          ordinal: ordinal, connection: connection))
      return true
    }
    return found
  }
}

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
