import CSQLite
import StoreInterface

/// Turns SQLite's result codes into store errors.
enum StoreFailure {
  /// `SQLITE_IOERR_SHMSIZE`, which is a macro that Swift can't import.
  private static let sharedIndexSize = SQLITE_IOERR | (19 << 8)

  static func error(_ code: Int32, message: String, path: String, sql: String?) -> StoreError {
    let detail = "SQLite \(code): \(message)" + (sql.map { "; \($0)" } ?? "")
    let noRoom = "the disk or the quota is full: nothing was written; make room and try again"
    func make(_ code: StoreError.Code, _ text: String) -> StoreError {
      StoreError(code, text, path: path, detail: detail)
    }
    switch code & 0xff {
    case SQLITE_FULL: return make(.full, noRoom)
    case SQLITE_BUSY, SQLITE_LOCKED, SQLITE_PROTOCOL:
      return make(.busy, "another process holds the store: nothing was written; try again")
    // The shared index of the log is made as large as it has to be, which fails for want of room only.
    case SQLITE_IOERR where code == Self.sharedIndexSize:
      return make(.full, noRoom)
    case SQLITE_IOERR:
      return make(.inputOutput, "reading or writing the store failed (\(reason(of: code))); check the disk")
    case SQLITE_CORRUPT:
      return make(.corrupt, "the store is damaged; restore it from a backup, or save what .recover of sqlite3 finds")
    case SQLITE_NOTADB:
      return make(.notAStore, "the file is no SQLite database")
    case SQLITE_CONSTRAINT:
      if let (table, columns) = uniqueColumns(message) {
        return StoreError(violated: columns, of: table, path: path, detail: detail)
      }
      return make(.constraint, constraint(message))
    case SQLITE_READONLY, SQLITE_PERM, SQLITE_AUTH:
      return make(.readOnly, "the store can't be written; check the permissions of the file and its folder")
    case SQLITE_CANTOPEN:
      return make(.cannotOpen, "the store, its journal or its folder can't be opened; check that it is there")
    case SQLITE_TOOBIG:
      return make(.unsupported, "a value is larger than SQLite stores; let its attribute use external storage")
    default:
      return make(.inputOutput, "the store failed in a way that was not expected (SQLite \(code))")
    }
  }

  private static func reason(of code: Int32) -> String { String(cString: sqlite3_errstr(code)) }

  /// The table and the columns of messages such as "UNIQUE constraint failed: Person.name, Person.email".
  private static func uniqueColumns(_ message: String) -> (table: String, columns: [String])? {
    guard message.hasPrefix("UNIQUE"), let names = message.split(separator: "failed: ").last else { return nil }
    let columns = names.split(separator: ", ").compactMap {
      $0.split(separator: ".", maxSplits: 1).last.map(String.init)
    }
    guard let table = names.split(separator: ".").first, !columns.isEmpty, columns != ["_key"] else { return nil }
    return (String(table), columns)
  }

  private static func constraint(_ message: String) -> String {
    guard message.hasPrefix("UNIQUE"), let column = message.split(separator: "failed: ").last else {
      return "the database refuses a value: \(message)"
    }
    return "another row has the primary key of a new one in \(column.dropLast("._key".count)); was it written by "
      + "another program?"
  }
}
