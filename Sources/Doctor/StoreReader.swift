internal import CSQLite
import Foundation
import SystemSupport

/// A store's database, for reading only: whatever model it has, and also while the daemon writes to it.
///
/// Reads SQLite itself, so that the doctor needs neither a model nor the object graph. Not thread-safe.
final class StoreReader {
  /// A failure of SQLite: the file, what happened and what to do.
  struct Failure: Error, CustomStringConvertible {
    let description: String

    fileprivate init(_ code: Int32, path: String) {
      let reason =
        switch code & 0xff {
        case SQLITE_BUSY, SQLITE_LOCKED, SQLITE_PROTOCOL: "another process keeps the store locked; try again"
        case SQLITE_CORRUPT: "the store is damaged; restore a backup, or what .recover of sqlite3 finds"
        case SQLITE_NOTADB: "the file is no SQLite database"
        case SQLITE_CANTOPEN: "the store can't be opened; check the permissions of the file and its folder"
        default: "the store can't be read: \(String(cString: sqlite3_errstr(code)))"
        }
      description = "\(displayName(path)): \(reason)"
    }
  }

  private let handle: OpaquePointer
  private let path: String

  /// Opens the file; nothing is created, changed or repaired.
  ///
  /// - Parameters:
  ///   - path: The file.
  ///   - isInUse: True if a daemon may have it open.
  init(path: String, isInUse: Bool) throws {
    self.path = path
    // Without a journal and a daemon the file is all there is; then SQLite need not make files beside it.
    let log = try? FileManager.default.attributesOfItem(atPath: path + "-wal")[.size] as? Int
    let isAlone = !isInUse && (log ?? 0) == 0
    var opened: OpaquePointer?
    let code = sqlite3_open_v2(Self.uri(path, isAlone: isAlone), &opened, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, nil)
    guard code == SQLITE_OK, let opened else {
      sqlite3_close_v2(opened)
      throw Failure(code, path: path)
    }
    handle = opened
    sqlite3_busy_timeout(handle, 10_000)
  }

  deinit { sqlite3_close_v2(handle) }

  /// The URI of a file; one that nobody else has open is read without journal and locks.
  private static func uri(_ path: String, isAlone: Bool) -> String {
    let escaped = path.utf8.reduce(into: "") { text, byte in
      let isPlain = byte == 0x2f || (0x30...0x39 ~= byte) || (0x41...0x5a ~= byte) || (0x61...0x7a ~= byte)
      text += isPlain ? String(UnicodeScalar(byte)) : "%" + String(byte / 16, radix: 16) + String(byte % 16, radix: 16)
    }
    return "file:" + escaped + (isAlone ? "?immutable=1" : "")
  }

  /// The rows of a query; each column is text, or nil for NULL.
  func rows(_ sql: String) throws -> [[String?]] {
    var statement: OpaquePointer?
    let code = sqlite3_prepare_v2(handle, sql, -1, &statement, nil)
    defer { sqlite3_finalize(statement) }
    guard code == SQLITE_OK else { throw Failure(code, path: path) }
    var rows: [[String?]] = []
    while true {
      let code = sqlite3_step(statement)
      if code == SQLITE_DONE { return rows }
      guard code == SQLITE_ROW else { throw Failure(code, path: path) }
      rows.append(
        (0..<sqlite3_column_count(statement)).map { column in
          sqlite3_column_text(statement, column).map { String(cString: $0) }
        })
    }
  }

  /// The number that a query counts; 0 if it has no row.
  func count(_ sql: String) throws -> Int { try rows(sql).first?.first?.flatMap { Int($0) } ?? 0 }

  /// The names of the files of large values that rows refer to, whatever entities the model has.
  func largeValueNames() throws -> Set<String> {
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

  /// A text as an SQL literal.
  static func literal(_ text: String) -> String {
    "'" + text.replacing("'", with: "''").replacing("\0", with: "") + "'"
  }

  private static func quoted(_ name: String) -> String { "\"" + name.replacing("\"", with: "\"\"") + "\"" }

  /// The folder of the large values of a store; Documentation/StoreFormat.md describes it.
  static func largeValueFolder(ofStoreAt path: String) -> String {
    URL(fileURLWithPath: path).deletingPathExtension().path + "_files"
  }
}
