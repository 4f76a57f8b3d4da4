internal import CSQLite
package import StoreInterface

/// A store's file as it is, for reading only: whatever model it has, and also while the daemon writes to it.
///
/// Not for one thread after the other at the same time.
package final class StoreInspection {
  private let handle: OpaquePointer
  private let path: String

  /// Opens the file; nothing is created, changed or repaired.
  ///
  /// - Parameter isInUse: whether a daemon may have it open.
  package init(path: String, isInUse: Bool) throws(StoreError) {
    self.path = path
    // Without a journal and a daemon the file is all there is; then SQLite need not make files beside it.
    let isAlone = !isInUse && FileSystem.size(of: path + "-wal") == 0
    var opened: OpaquePointer?
    let code = sqlite3_open_v2(
      Self.address(path, isAlone: isAlone), &opened, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, nil)
    guard code == SQLITE_OK, let opened else {
      sqlite3_close_v2(opened)
      throw StoreFailure.error(code, message: String(cString: sqlite3_errstr(code)), path: path, sql: nil)
    }
    handle = opened
    sqlite3_busy_timeout(handle, 10_000)
  }

  deinit { sqlite3_close_v2(handle) }

  /// What SQLite opens a file by for reading; one that nobody else has open is read without journal and locks.
  static func address(_ path: String, isAlone: Bool) -> String {
    let escaped = path.utf8.reduce(into: "") { text, byte in
      let isPlain = byte == 0x2f || (0x30...0x39 ~= byte) || (0x41...0x5a ~= byte) || (0x61...0x7a ~= byte)
      text += isPlain ? String(UnicodeScalar(byte)) : "%" + String(byte / 16, radix: 16) + String(byte % 16, radix: 16)
    }
    return "file:" + escaped + (isAlone ? "?immutable=1" : "")
  }

  /// The rows of a query; each column is text, or nil for NULL.
  package func rows(_ sql: String) throws(StoreError) -> [[String?]] {
    var statement: OpaquePointer?
    let code = sqlite3_prepare_v2(handle, sql, -1, &statement, nil)
    defer { sqlite3_finalize(statement) }
    guard code == SQLITE_OK else { throw error(code, sql) }
    var rows: [[String?]] = []
    while true {
      let code = sqlite3_step(statement)
      if code == SQLITE_DONE { return rows }
      guard code == SQLITE_ROW else { throw error(code, sql) }
      rows.append(
        (0..<sqlite3_column_count(statement)).map { column in
          sqlite3_column_text(statement, column).map { String(cString: $0) }
        })
    }
  }

  /// Reads everything in `body` as it was at one moment.
  package func atOnce<Result>(_ body: () throws(StoreError) -> Result) throws(StoreError) -> Result {
    _ = try rows("BEGIN")
    // There is nothing to undo.
    defer { sqlite3_exec(handle, "ROLLBACK", nil, nil, nil) }
    return try body()
  }

  /// The names of the files of large values that rows refer to, whatever entities the model has.
  package func largeValueNames() throws(StoreError) -> Set<String> {
    let columns = try rows(
      "SELECT tbl_name, substr(name, length(tbl_name) + 9) FROM sqlite_master WHERE type = 'index' "
        + "AND substr(name, 1, 7) = '_files_'")
    var names: Set<String> = []
    for case let row in columns {
      guard row.count == 2, let table = row[0].map(Self.quoted), let column = row[1].map(Self.quoted) else { continue }
      for found in try rows("SELECT \(column) FROM \(table) WHERE typeof(\(column)) = 'text'") {
        if let name = found.first ?? nil { names.insert(name) }
      }
    }
    return names
  }

  /// A text as SQL writes it.
  package static func literal(_ text: String) -> String {
    "'" + text.replacing("'", with: "''").replacing("\0", with: "") + "'"
  }

  private static func quoted(_ name: String) -> String { "\"" + name.replacing("\"", with: "\"\"") + "\"" }

  /// The folder of the large values of a store.
  package static func largeValueFolder(ofStoreAt path: String) -> String {
    ExternalFiles(storePath: path, isPrivate: false).folder
  }

  private func error(_ code: Int32, _ sql: String) -> StoreError {
    StoreFailure.error(code, message: String(cString: sqlite3_errmsg(handle)), path: path, sql: sql)
  }
}
