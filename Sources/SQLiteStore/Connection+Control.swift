import StoreInterface

/// Statements that are the store's own housekeeping: neither counted nor logged.
extension Connection {
  func control(_ sql: String, _ bind: (Statement) -> Void = { _ in }) throws(StoreError) {
    try runControl(sql, bind) { _ in true }
  }

  func controlResult<Result>(_ sql: String, _ read: (Statement) -> Result) throws(StoreError) -> Result? {
    var result: Result?
    try runControl(sql) { statement in
      result = read(statement)
      return false
    }
    return result
  }

  func runControl(
    _ sql: String, _ bind: (Statement) -> Void = { _ in }, _ read: (Statement) -> Bool
  ) throws(StoreError) {
    let statement = try prepare(sql)
    defer { recycle(statement) }
    bind(statement)
    while try statement.stepToRow(of: self) { if !read(statement) { return } }
  }

  /// Runs a body in a transaction that writes; undoes it if the body or the commit fails.
  func transaction(_ body: () throws(StoreError) -> Void) throws(StoreError) {
    do throws(StoreError) {
      try control(beginSQL)
      try body()
      try control(commitSQL)
    } catch {
      rollBack(after: error)
      throw error
    }
  }
}
