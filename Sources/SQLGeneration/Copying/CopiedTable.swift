package import ObjectModel
package import StoreInterface

/// A table as stores are copied and compared: its columns hold the same in every database, whatever they are called there.
package struct CopiedTable: Sendable {
  /// The kind of a table.
  package enum Kind: Sendable { case family, links, transactions, changes }

  /// The form of a column's values.
  package enum Form: Sendable { case integer, real, text, uuid, bytes }

  /// A column, or the part of one that SQLite uses for siblings whose properties of one name have several types.
  package struct Column: Sendable {
    /// The name in messages, and the place among the others.
    package let name: String
    package let form: Form
    fileprivate let sqliteName: String
    fileprivate let postgresName: String
    /// The column in PostgreSQL with the names of large values, if they may lie elsewhere.
    package fileprivate(set) var fileColumn: String?
    /// The entities whose objects have the value; nil for all that are in the table.
    package fileprivate(set) var entities: Set<String>?

    /// The name in a database.
    package func storedName(in dialect: Dialect) -> String { dialect == .sqlite ? sqliteName : postgresName }
  }

  /// The name for people: that of the root entity or of the join table.
  package let name: String
  package let kind: Kind
  /// The first columns, by which the rows are ordered.
  package let keyCount: Int
  package let columns: [Column]
  /// The entities whose objects the table has; none for other tables.
  package let members: Set<String>
  private let sqliteTable: String
  private let postgresTable: String

  /// The name in a database.
  package func storedName(in dialect: Dialect) -> String { dialect == .sqlite ? sqliteTable : postgresTable }

  /// The place of the column that tells a row's entity, if the table has several.
  package var entityColumn: Int? { columns.firstIndex { kind == .family && $0.name == SchemaName.entity } }

  /// All tables of a model, in the order of their names.
  package static func all(of model: ManagedObjectModel) -> [CopiedTable] {
    let (sqlite, postgres) = (Schema(model), Schema(model, dialect: .postgres))
    let families = zip(sqlite.tables, postgres.tables).map { family($0, $1) }
    let links = zip(sqlite.linkTables, postgres.linkTables).map { self.links($0, $1) }
    return (families + links).sorted { $0.name.utf8.lexicographicallyPrecedes($1.name.utf8) }
  }

  /// The tables of a history.
  package static let history = [
    CopiedTable(
      own: "_transaction", .transactions, keyCount: 1,
      [
        ("number", .integer), ("time", .real), ("author", .text), ("context", .text), ("process", .text),
        ("writer", .text),
      ]),
    CopiedTable(
      own: "_change", .changes, keyCount: 2,
      [
        ("number", .integer), ("place", .integer), ("entity", .text), ("kind", .text), ("first", .integer),
        ("last", .integer), ("properties", .text), ("tombstone", .text),
      ]),
  ]

  private init(own name: String, _ kind: Kind, keyCount: Int, _ columns: [(name: String, form: Form)]) {
    self.init(
      name: name, kind: kind, keyCount: keyCount,
      columns: columns.map { Column(name: $0.name, form: $0.form, sqliteName: $0.name, postgresName: $0.name) },
      sqliteTable: name, postgresTable: name)
  }

  private init(
    name: String, kind: Kind, keyCount: Int, columns: [Column], members: Set<String> = [], sqliteTable: String,
    postgresTable: String
  ) {
    self.members = members
    self.name = name
    self.kind = kind
    self.keyCount = keyCount
    self.columns = columns
    self.sqliteTable = sqliteTable
    self.postgresTable = postgresTable
  }

  private static func family(_ sqlite: SchemaTable, _ postgres: SchemaTable) -> CopiedTable {
    var columns: [String: Column] = [:]
    func add(_ column: Column, of entity: Entity) {
      var column = columns[column.name] ?? column
      column.entities = (column.entities ?? []).union([entity.name])
      columns[column.name] = column
    }
    for entity in sqlite.members {
      for property in entity.properties where property.isPersistent {
        var column = Column(
          name: property.typedColumnName, form: Form(property.storage), sqliteName: sqlite.columnName(of: property),
          postgresName: postgres.columnName(of: property))
        column.fileColumn = columns[column.name]?.fileColumn ?? postgres.fileColumnName(of: property)
        if columns[column.name] != nil { columns[column.name]?.fileColumn = column.fileColumn }
        add(column, of: entity)
        guard let beside = property.entityColumnName, let stored = postgres.entityColumnName(of: property) else {
          continue
        }
        add(Column(name: beside, form: .text, sqliteName: beside, postgresName: stored), of: entity)
      }
    }
    let own =
      [(SchemaName.key, Form.integer), (SchemaName.version, .integer)]
      + (sqlite.tellsEntity ? [(SchemaName.entity, .text)] : [])
    let rest = columns.values.sorted { $0.name.utf8.lexicographicallyPrecedes($1.name.utf8) }
    return CopiedTable(
      name: sqlite.root.name, kind: .family, keyCount: 1,
      columns: own.map { Column(name: $0.0, form: $0.1, sqliteName: $0.0, postgresName: $0.0) } + rest,
      members: Set(sqlite.members.map(\.name)), sqliteTable: sqlite.name, postgresTable: postgres.name)
  }

  private static func links(_ sqlite: LinkTable, _ postgres: LinkTable) -> CopiedTable {
    let dialect = Dialect.postgres
    var names = [sqlite.table.leftColumn, sqlite.table.rightColumn]
    names += [sqlite.orderColumn, sqlite.inverseOrderColumn].compactMap(\.self)
    return CopiedTable(
      name: sqlite.table.name, kind: .links, keyCount: 2,
      columns: names.map { Column(name: $0, form: .integer, sqliteName: $0, postgresName: dialect.name($0)) },
      sqliteTable: sqlite.name, postgresTable: postgres.name)
  }
}

extension CopiedTable.Form {
  fileprivate init(_ storage: StorageClass) {
    self =
      switch storage {
      case .integer, .reference: .integer
      case .real: .real
      case .text: .text
      case .bytes: .uuid
      case .blob, .toMany: .bytes
      }
  }
}

/// The columns of a table in which the objects of each of its entities have values.
package struct EntityMasks {
  private let table: CopiedTable
  /// The database, for messages.
  private let place: String
  private var known: [String: [Bool]] = [:]

  package init(_ table: CopiedTable, place: String) {
    self.table = table
    self.place = place
  }

  /// Tells for each column whether the objects of an entity have a value in it.
  ///
  /// - Parameter key: the key of the row that tells the entity, for messages.
  /// - Throws: ``StoreError/Code/corrupt`` if the table has no such objects.
  package mutating func mask(of entity: String, key: Int64) throws(StoreError) -> [Bool] {
    if let mask = known[entity] { return mask }
    guard table.members.contains(entity) else {
      throw StoreError(
        .corrupt,
        "the row of \(table.name) with the key \(key) is of the entity \"\(entity)\", which the model does not have",
        path: place)
    }
    let mask = table.columns.map { $0.entities?.contains(entity) ?? true }
    known[entity] = mask
    return mask
  }
}
