internal import CSQLite
import ObjectModel
import SQLGeneration
import StoreInterface

/// Inserts the rows of a batch, a hundred of them with one statement.
struct BatchInserter {
  private let names: EntityNames
  private let statements: InsertStatements

  init(
    _ batch: RowBatch, _ properties: [Property], _ table: SchemaTable, _ names: EntityNames, _ connection: Connection
  ) throws(StoreError) {
    self.names = names
    statements = try InsertStatements(
      InsertSQL(table, batch.entity, properties), rows: batch.count, connection)
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
    for source in sources { BatchBinder.bind(source, row, statement, names) }
    return statement.step()
  }

  /// Inserts ``groupSize`` rows under keys that follow each other; all or, if it does not answer SQLITE_DONE, none.
  func insertGroup(at first: Int, key: Int64, _ sources: UnsafeBufferPointer<BatchBinder.Source>) -> Int32 {
    guard let many = statements.many else { preconditionFailure("the batch has no groups") }
    var offset: Int32 = 0
    for row in first..<first + groupSize {
      many.bind(key + Int64(row - first), 1 + offset)
      for source in sources { BatchBinder.bind(source, row, many, offset: offset, names) }
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
