package import ObjectModel

/// The table of an entity and all that inherit from it.
package struct SchemaTable: Sendable {
  package struct Column: Sendable, Hashable {
    package let name: String
    package let type: String
  }

  package struct Index: Sendable, Hashable {
    package let name: String
    package let sql: String
  }

  package let root: Entity
  /// The entities whose rows lie in the table.
  package let members: [Entity]
  /// The columns after key, version and entity; siblings with a property of the same name share its column.
  package let columns: [Column]
  package let indexes: [Index]
  private let dialect: Dialect

  init(root: Entity, dialect: Dialect) {
    self.root = root
    self.dialect = dialect
    members = root.withDescendants
    columns = Self.columns(of: members, dialect)
    indexes = Self.indexes(root: root, members: members, dialect: dialect)
  }

  package var name: String { dialect.name(root.name) }
  /// True if rows tell their entity in a column.
  package var tellsEntity: Bool { members.count > 1 }

  /// The names of all columns in the table's order.
  package var columnNames: [String] {
    [SchemaName.key, SchemaName.version] + (tellsEntity ? [SchemaName.entity] : []) + columns.map(\.name)
  }

  /// The first name that is not unique or not available to us; names of columns are the same in either case.
  package var nameClash: String? {
    var seen: Set<String> = []
    return columnNames.first { !seen.insert($0.asciiLowercased).inserted }
  }

  /// The column of a stored property.
  package func columnName(of property: Property) -> String { dialect.columnName(of: property) }

  /// The column with the entity of a to-one relationship's destination; nil if only one is possible.
  package func entityColumnName(of property: Property) -> String? { dialect.entityColumnName(of: property) }

  /// The column with the name of a large value that lies elsewhere; nil if there is none beside the value's own.
  package func fileColumnName(of property: Property) -> String? { dialect.fileColumnName(of: property) }

  private static func columns(of members: [Entity], _ dialect: Dialect) -> [Column] {
    var columns: [Column] = []
    var places: [String: Int] = [:]
    func add(_ column: Column) {
      if let place = places[column.name] {
        // Two siblings put different types into one column of SQLite: one of type BLOB converts none of them.
        if columns[place].type != column.type { columns[place] = Column(name: column.name, type: "BLOB") }
      } else {
        places[column.name] = columns.count
        columns.append(column)
      }
    }
    for property in members.flatMap(\.properties) where property.isPersistent {
      add(Column(name: dialect.columnName(of: property), type: dialect.columnType(of: property.storage)))
      if let name = dialect.entityColumnName(of: property) { add(Column(name: name, type: dialect.textType)) }
      if let name = dialect.fileColumnName(of: property) { add(Column(name: name, type: dialect.textType)) }
    }
    return columns
  }

  private static func indexes(root: Entity, members: [Entity], dialect: Dialect) -> [Index] {
    let table = dialect.quoted(root.name)
    var indexes: [Index] = []
    var plain: Set<String> = []
    func add(_ name: String, _ columns: String, unique: Bool = false, condition: String? = nil) {
      let name = dialect.name(name)
      guard !indexes.contains(where: { $0.name == name }) else { return }
      // A relationship that is marked as indexed has the index that its inverse needs.
      if !unique, condition == nil, !plain.insert(columns).inserted { return }
      let kind = unique ? "CREATE UNIQUE INDEX" : "CREATE INDEX"
      let filter = condition.map { " WHERE \($0)" } ?? ""
      indexes.append(Index(name: name, sql: "\(kind) \(SchemaName.quoted(name)) ON \(table) (\(columns))\(filter)"))
    }
    for member in members {
      for property in member.properties where property.isPersistent && property.declaringEntity == member.name {
        let name = dialect.columnName(of: property)
        let column = SchemaName.quoted(name)
        if property.storage == .reference, property.inverse?.relationship?.isToMany == true {
          add("_index_\(root.name).\(name)", column)
        }
        if property.attribute?.allowsExternalBinaryDataStorage == true {
          // Finds the names of files at once, however large the table is.
          let file = dialect.fileColumnName(of: property).map(SchemaName.quoted)
          let condition = file.map { "\($0) IS NOT NULL" } ?? "typeof(\(column)) = 'text'"
          add("_files_\(root.name).\(name)", file ?? column, condition: condition)
        }
      }
      for constraint in member.entityDescription.uniquenessConstraints where !constraint.isEmpty {
        let columns = constraint.map { name in
          SchemaName.quoted(member.property(named: name).map(dialect.columnName) ?? name)
        }.joined(separator: ", ")
        let family = member.withDescendants.map { SchemaName.literal($0.name) }.joined(separator: ", ")
        add(
          "_unique_\(member.name).\(constraint.joined(separator: "."))", columns, unique: true,
          condition: member === root ? nil : "\(SchemaName.quoted(SchemaName.entity)) IN (\(family))")
      }
      for index in member.entityDescription.fetchIndexes {
        let elements = index.elements.filter { element in
          element.property == "self" || member.property(named: element.property)?.isPersistent == true
        }
        guard !elements.isEmpty else { continue }
        let columns = elements.map { element in
          let column = member.property(named: element.property).map(dialect.columnName) ?? SchemaName.key
          return dialect.indexKey(SchemaName.quoted(column), isAscending: element.isAscending)
        }
        add("_fetch_\(member.name).\(index.name)", columns.joined(separator: ", "))
      }
    }
    return indexes
  }
}

extension StorageClass {
  /// The declared type of a column of this class.
  package var columnType: String {
    switch self {
    case .integer, .reference: "INTEGER"
    case .real: "REAL"
    case .text: "TEXT"
    case .bytes, .blob, .toMany: "BLOB"
    }
  }
}

extension SchemaTable {
  /// Creates the table; its indexes follow.
  package var createSQL: String { createSQL(as: name) }

  /// Creates the table under another name.
  package func createSQL(as name: String) -> String {
    let columns =
      ["\(SchemaName.key) \(dialect.keyType) PRIMARY KEY", "\(SchemaName.version) \(dialect.keyType) NOT NULL"]
      + (tellsEntity ? ["\(SchemaName.entity) \(dialect.textType) NOT NULL"] : [])
      + columns.map { "\(SchemaName.quoted($0.name)) \($0.type)" }
    return "CREATE TABLE \(SchemaName.quoted(name)) (\n  \(columns.joined(separator: ",\n  "))\n)"
  }

  /// Adds a column that the table of an older model lacks.
  package func addColumnSQL(_ column: String) -> String {
    let type =
      column == SchemaName.entity
      ? "\(dialect.textType) NOT NULL DEFAULT \(SchemaName.literal(root.name))"
      : columns.first { $0.name == column }?.type ?? dialect.columnType(of: .blob)
    return "ALTER TABLE \(SchemaName.quoted(name)) ADD COLUMN \(SchemaName.quoted(column)) \(type)"
  }

  /// Inserts rows of version 1; parameters of each: the key, then the values of the properties in order.
  ///
  /// A reference into a hierarchy takes two parameters: key and entity.
  package func insertSQL(_ entity: Entity, _ properties: [Property], rows: Int = 1) -> String {
    let columns = Self.valueColumns(properties)
    let names = [SchemaName.key, SchemaName.version] + (tellsEntity ? [SchemaName.entity] : []) + columns
    let constants = "1" + (tellsEntity ? ", \(SchemaName.literal(entity.name))" : "")
    let row = "(?, \(constants)\(String(repeating: ", ?", count: columns.count)))"
    return """
      INSERT INTO \(SchemaName.quoted(name)) (\(names.map(SchemaName.quoted).joined(separator: ", "))) \
      VALUES \(Array(repeating: row, count: rows).joined(separator: ", "))
      """
  }

  /// Returns the number of parameters of a row of ``insertSQL(_:_:rows:)``.
  package static func parameterCount(_ properties: [Property]) -> Int { 1 + valueColumns(properties).count }

  /// Updates a row of an expected version; parameters: key, expected version, then the values of the properties.
  package func updateSQL(_ properties: [Property]) -> String {
    let assignments = Self.valueColumns(properties).enumerated().map { "\(SchemaName.quoted($1)) = ?\($0 + 3)" }
    return """
      UPDATE \(SchemaName.quoted(name)) SET \((["_version = ?2 + 1"] + assignments).joined(separator: ", ")) \
      WHERE _key = ?1 AND _version = ?2
      """
  }

  /// Finds the rows that have some values: key and, in a hierarchy, entity.
  ///
  /// The parameters are those of ``insertSQL(_:_:rows:)`` for the same properties, as far as they are of the key.
  package func findSQL(_ entity: Entity, _ properties: [Property], key: [Property]) -> String {
    let numbers = Self.parameters(properties)
    let conditions = key.compactMap { property in
      numbers[property.slot].map { "\(SchemaName.quoted(property.columnName)) = ?\($0)" }
    }
    let columns = [SchemaName.key] + (tellsEntity ? [SchemaName.entity] : [])
    return """
      SELECT \(columns.joined(separator: ", ")) FROM \(SchemaName.quoted(name)) \
      WHERE \((conditions + familyCondition(entity)).joined(separator: " AND "))
      """
  }

  /// Updates some values of a row and its version, unless it has these values; nil if there are none.
  ///
  /// The parameters are those of ``insertSQL(_:_:rows:)`` for the same properties.
  package func overwriteSQL(_ properties: [Property], given: [Property]) -> String? {
    let numbers = Self.parameters(properties)
    var pairs: [(column: String, parameter: Int32)] = []
    for property in given {
      guard let number = numbers[property.slot] else { continue }
      pairs.append((SchemaName.quoted(property.columnName), number))
      if let entity = property.entityColumnName { pairs.append((SchemaName.quoted(entity), number + 1)) }
    }
    if pairs.isEmpty { return nil }
    let assignments = pairs.map { "\($0.column) = ?\($0.parameter)" }.joined(separator: ", ")
    let differences = pairs.map { "\($0.column) IS NOT ?\($0.parameter)" }.joined(separator: " OR ")
    return """
      UPDATE \(SchemaName.quoted(name)) SET _version = _version + 1, \(assignments) \
      WHERE _key = ?1 AND (\(differences))
      """
  }

  /// The first parameter of each property's value in ``insertSQL(_:_:rows:)``, by slot.
  private static func parameters(_ properties: [Property]) -> [Int: Int32] {
    var numbers: [Int: Int32] = [:]
    var next: Int32 = 2
    for property in properties {
      numbers[property.slot] = next
      next += property.entityColumnName == nil ? 1 : 2
    }
    return numbers
  }

  private func familyCondition(_ entity: Entity) -> [String] {
    if !tellsEntity || entity === root { return [] }
    let names = entity.withDescendants.map { SchemaName.literal($0.name) }.joined(separator: ", ")
    return ["\(SchemaName.quoted(SchemaName.entity)) IN (\(names))"]
  }

  /// Makes the unique values of a row of an entity nil; the parameter is its key. Nil if it has none.
  package func freeUniqueSQL(_ entity: Entity) -> String? {
    let constraints = sequence(first: entity, next: \.parent).flatMap(\.entityDescription.uniquenessConstraints)
    let names = Set(entity.columnNames(of: constraints.joined())).sorted()
    if names.isEmpty { return nil }
    let assignments = names.map { "\(SchemaName.quoted($0)) = NULL" }.joined(separator: ", ")
    return "UPDATE \(SchemaName.quoted(name)) SET \(assignments) WHERE _key = ?1"
  }

  /// Deletes a row of an expected version; parameters: key and version.
  package var deleteSQL: String { "DELETE FROM \(SchemaName.quoted(name)) WHERE _key = ?1 AND _version = ?2" }

  /// Sets a row's version; parameters: key and version.
  package var setVersionSQL: String { "UPDATE \(SchemaName.quoted(name)) SET _version = ?2 WHERE _key = ?1" }

  /// Selects rows by their keys, which are the parameters.
  package func selectSQL(keyCount: Int) -> String {
    let keys = keyCount == 1 ? "= ?1" : "IN (\((1...keyCount).map { "?\($0)" }.joined(separator: ", ")))"
    return "SELECT \(columnNames.map(SchemaName.quoted).joined(separator: ", ")) "
      + "FROM \(SchemaName.quoted(name)) WHERE _key \(keys)"
  }

  /// Selects rows by their keys, an array of which is the parameter; for dialects that have arrays.
  package var selectSQL: String {
    "SELECT \(columnNames.map(SchemaName.quoted).joined(separator: ", ")) "
      + "FROM \(SchemaName.quoted(name)) WHERE _key \(dialect.isAmong(parameter: 1))"
  }

  private static func valueColumns(_ properties: [Property]) -> [String] {
    properties.flatMap { property in [property.columnName] + (property.entityColumnName.map { [$0] } ?? []) }
  }
}

extension SchemaTable {
  /// A trigger: what the database does by itself when a row is changed.
  package struct Trigger: Sendable, Hashable {
    package let name: String
    package let sql: String
  }

  /// Raises the version of a row that a client changes which knows nothing of versions, so that others meet a conflict
  /// instead of overwriting its change.
  package var versionTrigger: Trigger {
    let trigger = dialect.name("_version_\(root.name)")
    let table = SchemaName.quoted(name)
    if dialect == .postgres {
      // The library's own connections set this: what they write tells its version itself. Afterwards, since a trigger
      // before an update has each row locked first, whether it is called or not.
      let isForeign = "current_setting('bobbin.library', true) IS DISTINCT FROM 'yes'"
      return Trigger(
        name: trigger,
        sql: """
          CREATE OR REPLACE FUNCTION _raise_row_version() RETURNS trigger LANGUAGE plpgsql AS \
          $$ BEGIN EXECUTE format('UPDATE %I.%I SET _version = $1 WHERE _key = $2', TG_TABLE_SCHEMA, TG_TABLE_NAME) \
          USING OLD._version + 1, NEW._key; RETURN NULL; END $$;
          CREATE TRIGGER \(SchemaName.quoted(trigger)) AFTER UPDATE ON \(table) FOR EACH ROW \
          WHEN (NEW._version = OLD._version AND \(isForeign)) EXECUTE FUNCTION _raise_row_version()
          """)
    }
    return Trigger(
      name: trigger,
      sql: """
        CREATE TRIGGER \(SchemaName.quoted(trigger)) AFTER UPDATE ON \(table) WHEN new._version = old._version \
        BEGIN UPDATE \(table) SET _version = old._version + 1 WHERE _key = new._key; END
        """)
  }
}
