import CSQLite
import SQLGeneration
import StoreInterface
import Synchronization

/// A prepared statement; who holds it owns it, and its last holder finalises it.
///
/// Bound texts and blobs are not copied: the caller keeps their memory until the statement is stepped and reset.
final class Statement {
  let handle: OpaquePointer
  let sql: String

  init(handle: OpaquePointer, sql: String) {
    self.handle = handle
    self.sql = sql
  }

  deinit { sqlite3_finalize(handle) }

  @inline(__always)
  func bind(_ value: Int64, _ index: Int32) { sqlite3_bind_int64(handle, index, value) }

  @inline(__always)
  func bind(_ value: Double, _ index: Int32) { sqlite3_bind_double(handle, index, value) }

  @inline(__always)
  func bindNull(_ index: Int32) { sqlite3_bind_null(handle, index) }

  /// Binds text in UTF-8 that outlives the next step.
  @inline(__always)
  func bindText(_ bytes: UnsafeRawBufferPointer, _ index: Int32) {
    // A null pointer would be taken for NULL, and the empty text is none.
    guard let base = bytes.baseAddress else { return _ = sqlite3_bind_text(handle, index, "", 0, nil) }
    let text = base.assumingMemoryBound(to: CChar.self)
    sqlite3_bind_text64(handle, index, text, UInt64(bytes.count), nil, UInt8(SQLITE_UTF8))
  }

  /// Binds bytes that outlive the next step.
  @inline(__always)
  func bindBlob(_ bytes: UnsafeRawBufferPointer, _ index: Int32) {
    guard let base = bytes.baseAddress, bytes.count > 0 else { return _ = sqlite3_bind_zeroblob(handle, index, 0) }
    sqlite3_bind_blob64(handle, index, base, UInt64(bytes.count), nil)
  }

  // SQLITE_TRANSIENT is a macro that casts -1 to a function, which Swift can't import.
  private static var copies: sqlite3_destructor_type { unsafeBitCast(-1, to: sqlite3_destructor_type.self) }

  /// Binds bytes, which SQLite copies.
  func bindCopy(_ bytes: [UInt8], _ index: Int32) {
    if bytes.isEmpty { return _ = sqlite3_bind_zeroblob(handle, index, 0) }
    sqlite3_bind_blob64(handle, index, bytes, UInt64(bytes.count), Self.copies)
  }

  /// Binds a text, which SQLite copies.
  func bindCopy(_ text: String, _ index: Int32) {
    var text = text
    text.withUTF8 { bytes in
      if let base = UnsafeRawPointer(bytes.baseAddress)?.assumingMemoryBound(to: CChar.self) {
        _ = sqlite3_bind_text64(handle, index, base, UInt64(bytes.count), Self.copies, UInt8(SQLITE_UTF8))
      } else {
        _ = sqlite3_bind_text(handle, index, "", 0, nil)
      }
    }
  }

  /// Binds a text, which SQLite copies, or null.
  func bindCopy(_ text: String?, _ index: Int32) {
    if let text { bindCopy(text, index) } else { bindNull(index) }
  }

  /// Binds values of generated SQL, which SQLite copies where they have bytes.
  func bind(_ bindings: [SQLBinding]) {
    for (place, binding) in bindings.enumerated() {
      let index = Int32(place + 1)
      switch binding {
      case .null: bindNull(index)
      case .integer(let number): bind(number, index)
      case .double(let number): bind(number, index)
      case .text(let text): bindCopy(text, index)
      case .blob(let bytes): bindCopy(bytes, index)
      case .array: preconditionFailure("SQLite has no arrays")
      }
    }
  }

  @inline(__always)
  func step() -> Int32 { sqlite3_step(handle) }

  /// Steps to the next row; false if there is none.
  @inline(__always)
  func stepToRow(of connection: Connection) throws(StoreError) -> Bool {
    let code = step()
    if code == SQLITE_ROW { return true }
    guard code == SQLITE_DONE else { throw connection.error(code, sql: sql) }
    return false
  }

  @inline(__always)
  @discardableResult
  func reset() -> Int32 { sqlite3_reset(handle) }

  @inline(__always)
  func type(_ column: Int32) -> Int32 { sqlite3_column_type(handle, column) }

  @inline(__always)
  func isNull(_ column: Int32) -> Bool { sqlite3_column_type(handle, column) == SQLITE_NULL }

  @inline(__always)
  func isText(_ column: Int32) -> Bool { sqlite3_column_type(handle, column) == SQLITE_TEXT }

  /// Makes all parameters null.
  func clearBindings() { sqlite3_clear_bindings(handle) }

  @inline(__always)
  func integer(_ column: Int32) -> Int64 { sqlite3_column_int64(handle, column) }

  @inline(__always)
  func real(_ column: Int32) -> Double { sqlite3_column_double(handle, column) }

  /// The bytes of a text, valid until the next step; numbers that a foreign client left there become texts.
  @inline(__always)
  func textBytes(_ column: Int32) -> UnsafeRawBufferPointer {
    // Connections have no mutexes, so a value may be looked at: one look-up for address and length.
    let value = sqlite3_column_value(handle, column)
    let start = sqlite3_value_text(value)
    return UnsafeRawBufferPointer(start: start, count: Int(sqlite3_value_bytes(value)))
  }

  /// The bytes of a blob or text, valid until the next step.
  @inline(__always)
  func blobBytes(_ column: Int32) -> UnsafeRawBufferPointer {
    let start = sqlite3_column_blob(handle, column)
    return UnsafeRawBufferPointer(start: start, count: Int(sqlite3_column_bytes(handle, column)))
  }

  /// The values of the row.
  var values: [SQLBinding] {
    (0..<sqlite3_column_count(handle)).map { column in
      switch sqlite3_column_type(handle, column) {
      case SQLITE_INTEGER: .integer(integer(column))
      case SQLITE_FLOAT: .double(sqlite3_column_double(handle, column))
      case SQLITE_TEXT: .text(text(column))
      case SQLITE_BLOB: .blob(Array(blobBytes(column)))
      default: .null
      }
    }
  }

  func text(_ column: Int32) -> String { String(decoding: textBytes(column), as: UTF8.self) }

  func textIfPresent(_ column: Int32) -> String? { isNull(column) ? nil : text(column) }
}

/// Counts the statements of all connections of a store.
final class StatementCounter: Sendable {
  let value = Atomic<Int>(0)
}
