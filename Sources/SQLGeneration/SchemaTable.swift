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

  package init(root: Entity) {
    self.root = root
    members = root.withDescendants
    columns = Self.columns(of: members)
    indexes = Self.indexes(root: root, members: members)
  }

  package var name: String { root.name }
  /// Whether rows tell their entity in a column.
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

  private static func columns(of members: [Entity]) -> [Column] {
    var columns: [Column] = []
    var places: [String: Int] = [:]
    func add(_ column: Column) {
      if let place = places[column.name] {
        // Two siblings put different types into one column: a column of type BLOB converts none of them.
        if columns[place].type != column.type { columns[place] = Column(name: column.name, type: "BLOB") }
      } else {
        places[column.name] = columns.count
        columns.append(column)
      }
    }
    for property in members.flatMap(\.properties) where property.isPersistent {
      add(Column(name: property.columnName, type: property.storage.columnType))
      if let name = property.entityColumnName { add(Column(name: name, type: "TEXT")) }
    }
    return columns
  }

  private static func indexes(root: Entity, members: [Entity]) -> [Index] {
    let table = SchemaName.quoted(root.name)
    var indexes: [Index] = []
    var plain: Set<String> = []
    func add(_ name: String, _ columns: String, unique: Bool = false, condition: String? = nil) {
      guard !indexes.contains(where: { $0.name == name }) else { return }
      // A relationship that is marked as indexed has the index that its inverse needs.
      if !unique, condition == nil, !plain.insert(columns).inserted { return }
      let kind = unique ? "CREATE UNIQUE INDEX" : "CREATE INDEX"
      let filter = condition.map { " WHERE \($0)" } ?? ""
      indexes.append(Index(name: name, sql: "\(kind) \(SchemaName.quoted(name)) ON \(table) (\(columns))\(filter)"))
    }
    for member in members {
      for property in member.properties where property.isPersistent && property.declaringEntity == member.name {
        let column = SchemaName.quoted(property.columnName)
        if property.storage == .reference, property.inverse?.relationship?.isToMany == true {
          add("_index_\(root.name).\(property.columnName)", column)
        }
        if property.attribute?.allowsExternalBinaryDataStorage == true {
          // Finds the names of files at once, however large the table is.
          add("_files_\(root.name).\(property.columnName)", column, condition: "typeof(\(column)) = 'text'")
        }
      }
      for constraint in member.entityDescription.uniquenessConstraints where !constraint.isEmpty {
        let columns = member.columnNames(of: constraint).map(SchemaName.quoted).joined(separator: ", ")
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
          SchemaName.quoted(member.property(named: element.property)?.columnName ?? SchemaName.key)
            + (element.isAscending ? "" : " DESC")
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
