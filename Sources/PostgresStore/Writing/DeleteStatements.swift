import ObjectModel
import SQLGeneration
import StoreInterface

/// The statements for deletes, by the index of the root of a family; their parameter is an array of keys.
struct DeleteStatements: Sendable {
  /// A column that leads to a family, whose rows' delete rules have to do with it.
  struct ReferenceColumn: Sendable {
    let root: Entity
    /// The slot by which a deleted row leads back, if both ends are columns; such columns have no index.
    let inverseSlot: Int?
    /// The indexes of the entities whose rows have that slot.
    let destinations: Set<Int>
    /// Selects key and destination of the rows that lead to some keys, or that have some keys if there is no index.
    let sql: String
  }

  /// Removes the links and the large values of deleted objects.
  private var leftovers: [Int: [String]] = [:]
  private var references: [Int: [ReferenceColumn]] = [:]
  private var tables: [Int: String] = [:]

  init(_ schema: Schema) {
    for table in schema.tables {
      let name = SchemaName.quoted(table.name)
      tables[table.root.index] = name
      let stored = table.members.flatMap(\.properties).filter(\.isPersistent)
      let files = Set(stored.compactMap { table.fileColumnName(of: $0) }).sorted().map(SchemaName.quoted)
      let links = schema.linkTables.compactMap { LinkStatements($0, schema.dialect).deleteAllSQL(of: table.root) }
      leftovers[table.root.index] = [Self.dropLargeValuesSQL(name, files)].compactMap(\.self) + links
      addReferences(of: table, stored)
    }
  }

  private mutating func addReferences(of table: SchemaTable, _ stored: [Property]) {
    var names: Set<String> = []
    for property in stored where property.storage == .reference {
      guard let inverse = property.inverse, inverse.relationship?.deleteRule != .noAction,
        let destination = property.destination?.root, names.insert(property.columnName).inserted
      else { continue }
      let column = SchemaName.quoted(table.columnName(of: property))
      let isIndexed = inverse.storage != .reference
      references[destination.index, default: []].append(
        ReferenceColumn(
          root: table.root, inverseSlot: isIndexed ? nil : inverse.slot,
          destinations: Set(property.destination?.withDescendants.map(\.index) ?? []),
          sql: "SELECT _key, \(column) FROM \(SchemaName.quoted(table.name)) "
            + "WHERE \(isIndexed ? column : "_key") = ANY($1)"))
    }
  }

  /// Removes the large values that rows have in some columns. Nil if there are no columns.
  static func dropLargeValuesSQL(_ table: String, _ columns: [String]) -> String? {
    if columns.isEmpty { return nil }
    let names = columns.map { "SELECT \($0) FROM \(table) WHERE _key = ANY($1) AND \($0) IS NOT NULL" }
    return "DELETE FROM _file WHERE name = ANY(ARRAY(\(names.joined(separator: " UNION ALL "))))"
  }

  /// Deletes rows of expected versions; the last result has the keys of those that had them.
  func requests(_ root: Int, _ changes: [RowChange]) -> [Request] {
    var keys = Parameters()
    keys.add(integers: changes.lazy.map(\.id.key))
    var versions = keys
    versions.add(integers: changes.lazy.map { $0.base?.version ?? 0 })
    let delete = """
      DELETE FROM \(tables[root] ?? "") AS r USING unnest($1, $2) AS v (k, n) \
      WHERE r._key = ANY($1) AND r._key = v.k AND r._version = v.n RETURNING r._key
      """
    return (leftovers[root] ?? []).map { Request($0, keys) } + [Request(delete, versions)]
  }

  /// The objects that still lead to deleted ones, now that all is written, each with its table's root.
  ///
  /// Cost: one wait, and a look into an index for each delete.
  func owners(
    ofReferencesTo deleted: [Int: [RowChange]], _ connection: Connection
  ) throws(StoreError) -> [(root: Entity, key: Int64)] {
    var asked: [(column: ReferenceColumn, deleted: Set<Int64>)] = []
    var requests: [Request] = []
    for (root, changes) in deleted.sorted(by: { $0.key < $1.key }) {
      for column in references[root] ?? [] {
        var keys = changes.map(\.id.key)
        if let slot = column.inverseSlot {
          let rows = changes.compactMap(\.base).filter { column.destinations.contains(Int($0.entityIndex)) }
          keys = rows.compactMap { $0.referenceIfPresent(slot)?.key }
        }
        if keys.isEmpty { continue }
        var parameters = Parameters()
        parameters.add(integers: keys)
        requests.append(Request(column.sql, parameters))
        asked.append((column, Set(changes.map(\.id.key))))
      }
    }
    if requests.isEmpty { return [] }
    var owners: [(root: Entity, key: Int64)] = []
    for (question, result) in zip(asked, try connection.pipeline(requests)) {
      for row in 0..<result.rowCount where !result.isNull(row, 1) && question.deleted.contains(result.integer(row, 1)) {
        owners.append((question.column.root, result.integer(row, 0)))
      }
    }
    return owners
  }
}

/// The statements that write the links of a join table; their parameters are arrays.
struct LinkStatements: Sendable {
  private let links: LinkTable
  private let left: String
  private let right: String
  private let leftTable: String
  private let rightTable: String

  init(_ links: LinkTable, _ dialect: Dialect) {
    self.links = links
    left = dialect.quoted(links.table.leftColumn)
    right = dialect.quoted(links.table.rightColumn)
    leftTable = dialect.quoted(links.table.left.root.name)
    rightTable = dialect.quoted(links.table.right.root.name)
  }

  private var name: String { SchemaName.quoted(links.name) }

  /// Removes the links of deleted objects of a family.
  func deleteAllSQL(of root: Entity) -> String? {
    var conditions: [String] = []
    if links.table.left.root === root { conditions.append("\(left) = ANY($1)") }
    if links.table.right.root === root { conditions.append("\(right) = ANY($1)") }
    return conditions.isEmpty ? nil : "DELETE FROM \(name) WHERE \(conditions.joined(separator: " OR "))"
  }

  /// Makes links between objects that exist, or changes their places; removes others.
  func requests(_ changes: [LinkChange]) -> [Request] {
    let absent = changes.filter { !$0.isPresent }
    let present = changes.filter(\.isPresent)
    var requests: [Request] = []
    if !absent.isEmpty {
      requests.append(
        Request(
          "DELETE FROM \(name) AS l USING unnest($1, $2) AS v (a, b) WHERE l.\(left) = v.a AND l.\(right) = v.b",
          parameters(absent, hasPlaces: false)
        ).once)
    }
    if !present.isEmpty { requests.append(Request(insertSQL, parameters(present, hasPlaces: true))) }
    return requests
  }

  private var insertSQL: String {
    var columns = [left, right]
    var values = ["v.a", "v.b"]
    var updates: [String] = []
    for (column, value) in [(links.orderColumn, "v.o"), (links.inverseOrderColumn, "v.i")] {
      guard let column = column.map(SchemaName.quoted) else { continue }
      columns.append(column)
      values.append(value)
      updates.append("\(column) = coalesce(excluded.\(column), x.\(column))")
    }
    let conflict = updates.isEmpty ? "NOTHING" : "UPDATE SET " + updates.joined(separator: ", ")
    return """
      INSERT INTO \(name) AS x (\(columns.joined(separator: ", "))) SELECT \(values.joined(separator: ", ")) \
      FROM unnest($1, $2, $3, $4) AS v (a, b, o, i) \
      WHERE EXISTS (SELECT 1 FROM \(leftTable) WHERE _key = ANY($1) AND _key = v.a) \
      AND EXISTS (SELECT 1 FROM \(rightTable) WHERE _key = ANY($2) AND _key = v.b) \
      ON CONFLICT (\(left), \(right)) DO \(conflict)
      """
  }

  private func parameters(_ changes: [LinkChange], hasPlaces: Bool) -> Parameters {
    var arrays = ColumnArrays([ParameterType](repeating: .integer, count: hasPlaces ? 4 : 2))
    for change in changes {
      arrays.integer(change.key.left.key)
      arrays.integer(change.key.right.key)
      guard hasPlaces else { continue }
      for place in [change.order, change.inverseOrder] { if let place { arrays.integer(place) } else { arrays.null() } }
    }
    return arrays.parameters
  }
}
