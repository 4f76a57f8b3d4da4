import ObjectModel
import SQLGeneration
import StoreInterface

/// Looks for the stored objects that have the values of a batch's rows in some columns.
struct BatchFinder {
  private let batch: RowBatch
  private let key: [Property]
  private let table: SchemaTable
  private let tables: StoredTables
  /// Rows per statement.
  private static let chunk = 10_000

  init(_ batch: RowBatch, key: [Property], in tables: StoredTables) {
    self.batch = batch
    self.key = key
    self.tables = tables
    table = tables.schema.table(of: batch.entity)
  }

  func run(_ connection: Connection) throws(StoreError) -> [ManagedObjectID?] {
    var found = [ManagedObjectID?](repeating: nil, count: batch.count)
    let columns = key.compactMap { property in batch.columns.first { $0.slot == property.slot } }
    // A column that is not in the batch is null throughout, and null is found nowhere.
    guard !key.isEmpty, columns.count == key.count else { return found }
    var start = 0
    while start < batch.count {
      let rows = start..<min(start + Self.chunk, batch.count)
      start = rows.upperBound
      var parameters = Parameters()
      for (property, column) in zip(key, columns) {
        parameters.add(ArrayParameter(column, of: property, rows: rows))
      }
      // A plan is made for each batch: the table may have been empty at the last one.
      let result = try connection.queryOnce(sql, parameters)
      // The smallest key comes last and stays, if several objects have the values.
      for row in 0..<result.rowCount {
        found[rows.lowerBound + Int(result.integer(row, 0)) - 1] = id(result, row)
      }
    }
    return found
  }

  private func id(_ result: QueryResult, _ row: Int) -> ManagedObjectID {
    let entity = table.tellsEntity ? tables.schema.model.entitiesByName[result.text(row, 2)] : nil
    return ManagedObjectID(
      key: result.integer(row, 1), entity: entity ?? batch.entity, coordinatorOrdinal: batch.coordinatorOrdinal)
  }

  /// Selects the number of the row in the arrays, and the key and, in a hierarchy, the entity of what was found.
  private var sql: String {
    let arrays = key.enumerated().map { place, property in
      "$\(place + 1)::\(property.storage == .text ? "text" : tables.schema.dialect.columnType(of: property.storage))[]"
    }
    let names = key.indices.map { "v\($0)" }
    var conditions = zip(key, names).map { "t.\(SchemaName.quoted(table.columnName(of: $0))) = v.\($1)" }
    if table.tellsEntity, batch.entity !== table.root {
      let family = batch.entity.withDescendants.map { SchemaName.literal($0.name) }.joined(separator: ", ")
      conditions.append("t.\(SchemaName.entity) IN (\(family))")
    }
    return """
      SELECT v.place, t._key\(table.tellsEntity ? ", t.\(SchemaName.entity)" : "") \
      FROM unnest(\(arrays.joined(separator: ", "))) WITH ORDINALITY AS v(\(names.joined(separator: ", ")), place) \
      JOIN \(SchemaName.quoted(table.name)) AS t ON \(conditions.joined(separator: " AND ")) ORDER BY t._key DESC
      """
  }
}

extension ArrayParameter {
  /// The values of some rows of a batch's column.
  init(_ column: RowBatch.Column, of property: Property, rows: Range<Int>) {
    switch column.values {
    case .integers(let values):
      self.init(.integer)
      for row in rows { if column.isNull(row) { appendNull() } else { append(values[row]) } }
    case .reals(let values):
      self.init(.real)
      for row in rows { if column.isNull(row) { appendNull() } else { append(values[row]) } }
    case .bytes(let offsets, let arena):
      let storage = property.storage
      self.init(storage == .reference ? .integer : storage == .text ? .text : .binary)
      for row in rows {
        if column.isNull(row) {
          appendNull()
          continue
        }
        let bytes = arena.bytes(Int(offsets[row])..<Int(offsets[row + 1]))
        if storage == .reference {
          append(bytes.loadUnaligned(as: ManagedObjectID.self).key)
        } else {
          append(bytes: bytes)
        }
      }
    }
  }
}
