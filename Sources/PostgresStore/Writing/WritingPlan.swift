import ObjectModel
import SQLGeneration
import StoreInterface

/// The statements that write the objects of a model, made once for an open store.
final class WritingPlan: Sendable {
  let schema: Schema
  let coordinatorOrdinal: UInt32
  /// Binary values of more bytes lie apart from their row, where the model allows that.
  let threshold: Int
  let deletes: DeleteStatements
  let links: [LinkStatements]
  let derived: DerivedColumns
  private let entities: [EntityWriter]

  init(_ schema: Schema, coordinatorOrdinal: UInt32, threshold: Int) {
    self.schema = schema
    self.coordinatorOrdinal = coordinatorOrdinal
    self.threshold = threshold
    entities = schema.model.entities.map { EntityWriter($0, in: schema) }
    deletes = DeleteStatements(schema)
    links = schema.linkTables.map { LinkStatements($0, schema.dialect) }
    derived = DerivedColumns(schema, coordinatorOrdinal: coordinatorOrdinal)
  }

  var model: ManagedObjectModel { schema.model }

  func writer(_ entityIndex: UInt16) -> EntityWriter { entities[Int(entityIndex)] }

  /// The table of a family, by the index of its root.
  func table(ofRoot index: Int) -> SchemaTable { schema.table(of: model.entities[index]) }

  func id(_ key: Int64, _ entity: Entity) -> ManagedObjectID {
    ManagedObjectID(key: key, entity: entity, coordinatorOrdinal: coordinatorOrdinal)
  }
}

/// The statements that write rows of one entity, many at a time.
final class EntityWriter: Sendable {
  let entity: Entity
  let fields: [StoredField]
  let insertSQL: String
  let copySQL: String
  let hasBlobs: Bool
  private let table: SchemaTable
  private let fieldOfSlot: [Int: Int]
  /// The columns of the uniqueness constraints that the entity has to do with.
  private let uniqueColumns: Set<String>

  init(_ entity: Entity, in schema: Schema) {
    self.entity = entity
    let table = schema.table(of: entity)
    self.table = table
    fields = entity.properties.filter(\.isPersistent).map { StoredField($0, in: table) }
    fieldOfSlot = Dictionary(uniqueKeysWithValues: fields.enumerated().map { ($1.slot, $0) })
    hasBlobs = fields.contains { $0.property.storage == .blob }
    insertSQL = Self.insertSQL(table, of: entity, fields: fields)
    copySQL = Self.copySQL(table, fields)
    let constraints = sequence(first: entity, next: \.parent).flatMap(\.entityDescription.uniquenessConstraints)
    uniqueColumns = Set(
      constraints.joined().compactMap { name in
        entity.property(named: name).map { SchemaName.quoted(table.columnName(of: $0)) }
      })
  }

  private var quotedTable: String { SchemaName.quoted(table.name) }
  var hasUniqueValues: Bool { !uniqueColumns.isEmpty }
  func hasUniqueValues(in slots: [Int]) -> Bool { fields(of: slots).contains { uniqueColumns.contains($0.column) } }
  var tellsEntity: Bool { table.tellsEntity }

  func fields(of slots: [Int]) -> [StoredField] { slots.compactMap { fieldOfSlot[$0].map { fields[$0] } } }

  /// The types of the arrays of ``insertSQL`` and of ``updateSQL(_:)``: keys, versions and values.
  static func types(_ fields: [StoredField]) -> [ParameterType] {
    [.integer, .integer] + fields.flatMap { $0.columns.map(\.type) }
  }

  /// Names for the arrays of values in a statement.
  private static func aliases(_ fields: [StoredField]) -> (columns: [String], aliases: [String], parameters: [String]) {
    let columns = fields.flatMap { $0.columns.map(\.name) }
    return (columns, columns.indices.map { "c\($0)" }, (0..<columns.count + 2).map { "$\($0 + 1)" })
  }

  /// Inserts rows; the parameters are arrays of keys, versions and values.
  private static func insertSQL(_ table: SchemaTable, of entity: Entity, fields: [StoredField]) -> String {
    let (columns, aliases, parameters) = aliases(fields)
    let told = table.tellsEntity ? [(SchemaName.entity, SchemaName.literal(entity.name))] : []
    let names = [SchemaName.key, SchemaName.version] + told.map(\.0) + columns
    let values = ["v.k", "v.n"] + told.map(\.1) + aliases.map { "v.\($0)" }
    return """
      INSERT INTO \(SchemaName.quoted(table.name)) (\(names.joined(separator: ", "))) \
      SELECT \(values.joined(separator: ", ")) \
      FROM unnest(\(parameters.joined(separator: ", "))) AS v (\((["k", "n"] + aliases).joined(separator: ", ")))
      """
  }

  /// Loads rows of keys, versions, entities where the table tells them, and values.
  static func copySQL(_ table: SchemaTable, _ fields: [StoredField]) -> String {
    let names =
      [SchemaName.key, SchemaName.version] + (table.tellsEntity ? [SchemaName.entity] : [])
      + fields.flatMap { $0.columns.map(\.name) }
    return "COPY \(SchemaName.quoted(table.name)) (\(names.joined(separator: ", "))) FROM STDIN (FORMAT binary)"
  }

  /// Loads some columns of rows.
  func copySQL(_ fields: [StoredField]) -> String { Self.copySQL(table, fields) }

  /// Updates rows of expected versions and returns the keys of those that had them; the parameters are arrays of keys,
  /// versions and values.
  func updateSQL(_ fields: [StoredField]) -> String {
    let (columns, aliases, parameters) = Self.aliases(fields)
    let assignments = ["_version = v.n + 1"] + zip(columns, aliases).map { "\($0) = v.\($1)" }
    return """
      UPDATE \(quotedTable) AS r SET \(assignments.joined(separator: ", ")) \
      FROM unnest(\(parameters.joined(separator: ", "))) AS v (\((["k", "n"] + aliases).joined(separator: ", "))) \
      WHERE r._key = ANY($1) AND r._key = v.k AND r._version = v.n RETURNING r._key
      """
  }

  /// Gives stored objects the values of packed rows, unless they have them, and returns the places of those rows; the
  /// parameters are arrays of keys, places and values.
  func overwriteSQL(_ fields: [StoredField]) -> String {
    let (columns, aliases, parameters) = Self.aliases(fields)
    let assignments = ["_version = r._version + 1"] + zip(columns, aliases).map { "\($0) = v.\($1)" }
    let differences = zip(columns, aliases).map { "r.\($0) IS DISTINCT FROM v.\($1)" }
    return """
      UPDATE \(quotedTable) AS r SET \(assignments.joined(separator: ", ")) \
      FROM unnest(\(parameters.joined(separator: ", "))) AS v (\((["k", "n"] + aliases).joined(separator: ", "))) \
      WHERE r._key = ANY($1) AND r._key = v.k AND (\(differences.joined(separator: " OR "))) RETURNING v.n
      """
  }

  /// Makes the unique values among some fields nil, so that others can have them; the parameter is an array of keys.
  ///
  /// Nil if none of them is unique.
  func freeUniqueSQL(_ fields: [StoredField]) -> String? {
    let names = fields.map(\.column).filter(uniqueColumns.contains)
    if names.isEmpty { return nil }
    return "UPDATE \(quotedTable) SET \(names.map { "\($0) = NULL" }.joined(separator: ", ")) WHERE _key = ANY($1)"
  }

  /// Removes the large values that rows have in some fields; the parameter is an array of keys. Nil if there are none.
  func dropLargeValuesSQL(_ fields: [StoredField]) -> String? {
    DeleteStatements.dropLargeValuesSQL(quotedTable, fields.compactMap(\.fileColumn))
  }
}
