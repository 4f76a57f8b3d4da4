internal import CSQLite
import ObjectGraph
import ObjectModel
import SQLGeneration

/// Inserts the rows of a batch, a hundred of them with one statement.
///
/// What a statement costs whatever it does (its cursor, its way down to the end of the table, its part in the
/// transaction) is a quarter of the time that a row of four values takes.
struct BatchInserter {
  private let names: EntityNames
  /// Inserts one row.
  let statement: Statement
  private let many: Statement?
  /// The rows that ``insertGroup(at:key:_:)`` inserts; more than the batch has if groups are no use.
  let groupSize: Int
  private let parameterCount: Int32

  /// More rows make it no faster.
  private static let largestGroup = 100
  /// Tables of many columns have costs per value, not per statement.
  private static let parameterLimit = 2000

  init(
    _ batch: RowBatch, _ properties: [Property], _ table: SchemaTable, _ names: EntityNames, _ connection: Connection
  ) throws(StoreError) {
    self.names = names
    let parameterCount = SchemaTable.parameterCount(properties)
    self.parameterCount = Int32(parameterCount)
    statement = try connection.prepare(table.insertSQL(batch.entity, properties))
    let size = min(Self.largestGroup, Self.parameterLimit / parameterCount)
    let hasGroups = size > 1 && batch.count >= size
    groupSize = hasGroups ? size : .max
    many = hasGroups ? try connection.prepare(table.insertSQL(batch.entity, properties, rows: size)) : nil
  }

  func recycle(_ connection: Connection) {
    if let many { connection.recycle(many) }
    connection.recycle(statement)
  }

  /// Inserts a row under a key; answers SQLITE_DONE, or why it can't.
  ///
  /// The statement is to be reset, once its error was asked for.
  @inline(__always)
  func insert(_ row: Int, key: Int64, _ sources: UnsafeBufferPointer<BatchBinder.Source>) -> Int32 {
    statement.bind(key, 1)
    for source in sources { BatchBinder.bind(source, row, statement, names) }
    return statement.step()
  }

  /// Inserts ``groupSize`` rows under keys that follow each other; all or, if it does not answer SQLITE_DONE, none.
  func insertGroup(at first: Int, key: Int64, _ sources: UnsafeBufferPointer<BatchBinder.Source>) -> Int32 {
    guard let many else { preconditionFailure("the batch has no groups") }
    var offset: Int32 = 0
    for row in first..<first + groupSize {
      many.bind(key + Int64(row - first), 1 + offset)
      for source in sources { BatchBinder.bind(source, row, many, offset: offset, names) }
      offset += parameterCount
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
