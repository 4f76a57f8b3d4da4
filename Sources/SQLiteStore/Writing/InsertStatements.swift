import CSQLite
import ObjectModel
import SQLGeneration
import StoreInterface

/// The texts of the statements that insert rows of an entity: one for a row, and one for a hundred of them.
///
/// What a statement costs whatever it does (its cursor, its way down to the end of the table, its part in the
/// transaction) is a quarter of the time that a row of four values takes.
struct InsertSQL: Sendable {
  let one: String
  let many: String
  /// The number of rows that the second one inserts.
  let groupSize: Int
  /// The number of parameters of each row.
  let parameterCount: Int32

  /// More rows make it no faster.
  private static let largestGroup = 100
  /// Tables of many columns have costs per value, not per statement.
  private static let parameterLimit = 2000

  init(_ table: SchemaTable, _ entity: Entity, properties: [Property]) {
    let count = SchemaTable.parameterCount(properties)
    parameterCount = Int32(count)
    groupSize = max(1, min(Self.largestGroup, Self.parameterLimit / count))
    one = table.insertSQL(entity, properties)
    many = table.insertSQL(entity, properties, rows: groupSize)
  }
}

/// The statements that insert some rows of an entity, prepared.
struct InsertStatements {
  /// Inserts one row.
  let one: Statement
  /// Inserts ``groupSize`` rows; nil if there are fewer.
  let many: Statement?
  /// The number of rows in a group; more than there are if groups are no use.
  let groupSize: Int
  /// The number of parameters of each row.
  let parameterCount: Int32

  /// - Parameter rows: how many rows will be inserted.
  init(_ sql: InsertSQL, rows: Int, _ connection: Connection) throws(StoreError) {
    let hasGroups = sql.groupSize > 1 && rows >= sql.groupSize
    groupSize = hasGroups ? sql.groupSize : .max
    parameterCount = sql.parameterCount
    one = try connection.prepare(sql.one)
    many = hasGroups ? try connection.prepare(sql.many) : nil
  }

  func recycle(_ connection: Connection) {
    if let many { connection.recycle(many) }
    connection.recycle(one)
  }
}

/// The statements that write rows of one entity.
final class EntityStatements: Sendable {
  let table: SchemaTable
  let entity: Entity
  let insertSQL: InsertSQL
  let updateSQL: String
  /// Makes a row's unique values nil, so that others can have them; parameter: the key. Nil if it has none.
  let freeUniqueSQL: String?
  let insert: RowBinder
  let update: RowBinder
  /// Selects what the columns with external values of a row hold: the name of a file, or null; nil if there are none.
  let filesSQL: String?

  init(_ entity: Entity, table: SchemaTable, names: EntityNames) {
    let properties = entity.properties.filter(\.isPersistent)
    self.table = table
    self.entity = entity
    insertSQL = InsertSQL(table, entity, properties: properties)
    updateSQL = table.updateSQL(properties)
    freeUniqueSQL = table.freeUniqueSQL(entity)
    insert = RowBinder(properties, firstParameter: 2, names: names)
    update = RowBinder(properties, firstParameter: 3, names: names)
    let external = properties.filter { $0.storage == .blob }
    if external.contains(where: { $0.attribute?.allowsExternalBinaryDataStorage == true }) {
      let columns = external.map { property in
        let column = SchemaName.quoted(property.columnName)
        return "CASE WHEN typeof(\(column)) = 'text' THEN \(column) END"
      }
      filesSQL = "SELECT \(columns.joined(separator: ", ")) FROM \(SchemaName.quoted(table.name)) WHERE _key = ?1"
    } else {
      filesSQL = nil
    }
  }
}

/// Inserts the rows of a batch, a hundred of them with one statement.
struct BatchInserter {
  private let names: EntityNames
  private let statements: InsertStatements

  init(
    _ batch: RowBatch, _ properties: [Property], table: SchemaTable, names: EntityNames, connection: Connection
  ) throws(StoreError) {
    self.names = names
    statements = try InsertStatements(
      InsertSQL(table, batch.entity, properties: properties), rows: batch.count, connection)
  }

  /// Inserts one row.
  var statement: Statement { statements.one }

  /// The rows that ``insertGroup(at:key:_:)`` inserts; more than the batch has if groups are no use.
  var groupSize: Int { statements.groupSize }

  func recycle(_ connection: Connection) { statements.recycle(connection) }

  /// Inserts a row under a key; answers SQLITE_DONE, or why it can't.
  ///
  /// The statement is to be reset, once its error was asked for.
  @inline(__always)
  func insert(_ row: Int, key: Int64, _ sources: UnsafeBufferPointer<BatchBinder.Source>) -> Int32 {
    statement.bind(key, 1)
    for source in sources { BatchBinder.bind(source, row, statement: statement, names: names) }
    return statement.step()
  }

  /// Inserts ``groupSize`` rows under keys that follow each other; all or, if it does not answer SQLITE_DONE, none.
  func insertGroup(at first: Int, key: Int64, _ sources: UnsafeBufferPointer<BatchBinder.Source>) -> Int32 {
    guard let many = statements.many else { preconditionFailure("the batch has no groups") }
    var offset: Int32 = 0
    for row in first..<first + groupSize {
      many.bind(key + Int64(row - first), 1 + offset)
      for source in sources { BatchBinder.bind(source, row, statement: many, offset: offset, names: names) }
      offset += statements.parameterCount
    }
    let code = many.step()
    many.reset()
    return code
  }

  /// Inserts all rows of a batch.
  ///
  /// - Parameter failure: a result code for a row that a test wants to fail.
  /// - Returns: SQLITE_OK, or the code of the first failure.
  func insertAll(of batch: RowBatch, _ binder: BatchBinder, failure: (Int) -> Int32?) -> Int32 {
    binder.withSources { sources in
      var row = 0
      while row < batch.count {
        let count = batch.count - row >= groupSize ? groupSize : 1
        for row in row..<row + count { if let code = failure(row) { return code } }
        let key = batch.firstKey + Int64(row)
        let code = count > 1 ? insertGroup(at: row, key: key, sources) : insert(row, key: key, sources)
        guard code == SQLITE_DONE else { return code }
        if count == 1 { statement.reset() }
        row += count
      }
      return SQLITE_OK
    }
  }
}
