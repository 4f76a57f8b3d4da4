import ObjectModel
import SQLGeneration
import StoreInterface

/// A schema in the middle of a migration; values are converted here, and lie in temporary tables meanwhile.
struct PostgresMigrationDatabase: MigrationDatabase {
  let connection: Connection
  let settings: Connection.Settings
  let options: PostgresStoreOptions

  var dialect: Dialect { .postgres }
  var place: String { connection.place }

  /// Rows per statement.
  private static let chunk = 10_000

  /// Statements are not kept: the tables that they are of are others soon.
  func run(_ sql: String, _ bindings: [SQLBinding]) throws(StoreError) {
    _ = try connection.pipeline([Request(sql, Parameters(bindings), isKept: false)])
  }

  func rows(_ sql: String) throws(StoreError) -> [[SQLBinding]] {
    let result = try connection.pipeline([Request(sql, isKept: false)])[0]
    return (0..<result.rowCount).map { row in (0..<result.columnCount).map { result.value(row, $0) } }
  }

  func hasTable(_ name: String) throws(StoreError) -> Bool {
    try !rows(
      "SELECT 1 FROM pg_tables WHERE schemaname = current_schema() AND tablename = \(SchemaName.literal(name))"
    ).isEmpty
  }

  /// Drops the indexes; triggers have names of their own in each table.
  func dropIndexes(of table: SchemaTable) throws(StoreError) {
    for index in table.indexes { try run("DROP INDEX IF EXISTS \(SchemaName.quoted(index.name))", []) }
  }

  func prepare(_ conversions: [ColumnConversion]) throws(StoreError) {
    for conversion in conversions { try convert(conversion) }
  }

  private func convert(_ column: ColumnConversion) throws(StoreError) {
    let name = "pg_temp.\(SchemaName.quoted(column.resultName))"
    let type = dialect.columnType(of: column.conversion.target.storage)
    try run("DROP TABLE IF EXISTS \(name)", [])
    try run("CREATE TEMPORARY TABLE \(name) (k bigint PRIMARY KEY, v \(type)) ON COMMIT DROP", [])
    let source = SchemaName.quoted(column.column)
    let select = """
      SELECT _key, \(source) FROM \(SchemaName.quoted(column.table)) \
      WHERE _key > $1 AND \(source) IS NOT NULL ORDER BY _key LIMIT \(Self.chunk)
      """
    var last = Int64.min
    while true {
      let found = try connection.pipeline([Request(select, Parameters([.integer(last)]), isKept: false)])[0]
      if found.rowCount == 0 { return }
      _ = try connection.copy("COPY \(name) (k, v) FROM STDIN (FORMAT binary)") { (writer) throws(StoreError) in
        for row in 0..<found.rowCount {
          let value = SQLFunction.converted(
            found.argument(row, 1, of: column.conversion.source.storage), by: column.conversion, rounds: column.rounds)
          try writer.beginRow(2)
          writer.integer(found.integer(row, 0))
          writer.value(value)
        }
      }
      last = found.integer(found.rowCount - 1, 0)
    }
  }

  /// Drops the large values that no row names any more; those of values that are in their rows now are among them.
  func settleLargeValues(_ plan: MigrationPlan) throws(StoreError) {
    let properties = plan.source.model.entities.flatMap(\.properties)
    guard properties.contains(where: { dialect.fileColumnName(of: $0) != nil }) else { return }
    // By the columns that are there: tables that code still reads have theirs.
    let columns = try rows(
      "SELECT table_name, column_name FROM information_schema.columns "
        + "WHERE table_schema = current_schema() AND column_name LIKE '\\_file\\_%'")
    let uses = columns.compactMap { row -> String? in
      guard case .text(let table) = row[0], case .text(let column) = row[1] else { return nil }
      return "NOT EXISTS (SELECT 1 FROM \(SchemaName.quoted(table)) AS t "
        + "WHERE t.\(SchemaName.quoted(column)) = f.name)"
    }
    try run("DELETE FROM _file AS f" + (uses.isEmpty ? "" : " WHERE " + uses.joined(separator: " AND ")), [])
  }

  func formerRows(
    of entity: Entity, in schema: Schema, table: String, after key: Int64, limit: Int, ordinal: UInt32
  ) throws(StoreError) -> [(key: Int64, row: Row)] {
    let columns = schema.table(of: entity).columnNames
    let values = LargeValues(SpareConnection(settings, connection), place: place)
    let decoder = RowDecoder(entity, columns: columns, schema: schema) { values.blob(named: $0) }
    let condition =
      schema.table(of: entity).tellsEntity ? " AND _entity = \(SchemaName.literal(entity.name))" : ""
    let select = """
      SELECT \(columns.map(SchemaName.quoted).joined(separator: ", ")) FROM \(SchemaName.quoted(table)) \
      WHERE _key > $1\(condition) ORDER BY _key LIMIT \(limit)
      """
    let found = try connection.pipeline([Request(select, Parameters([.integer(key)]), isKept: false)])[0]
    return (0..<found.rowCount).map { row in
      (found.integer(row, 0), decoder.row(found, row, ordinal: ordinal).row)
    }
  }

  func store(_ model: ManagedObjectModel) -> MigratingStore {
    MigratingStore(model, place: place) { [connection, settings, options] (ordinal) throws(StoreError) in
      try PostgresStore(
        within: connection, settings, model: model, coordinatorOrdinal: ordinal, options: options)
    }
  }
}

extension CopyWriter {
  fileprivate mutating func value(_ value: SQLBinding) {
    switch value {
    case .null, .array: null()
    case .integer(let number): integer(number)
    case .double(let number): real(number)
    case .text(let text): self.text(text)
    case .blob(let blob): blob.withUnsafeBytes { bytes($0) }
    }
  }
}

extension QueryResult {
  /// A value of a column of a storage class, as an argument of a function; valid while this result is held.
  fileprivate func argument(_ row: Int, _ column: Int, of storage: StorageClass) -> SQLFunction.Argument {
    if isNull(row, column) { return .null }
    return switch storage {
    case .integer: .integer(integer(row, column))
    case .real: .double(real(row, column))
    case .text, .bytes, .blob, .reference, .toMany: .bytes(bytes(row, column))
    }
  }
}
