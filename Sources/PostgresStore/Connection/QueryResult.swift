import CPostgres
import SQLGeneration
import StoreInterface

/// The result of a statement in libpq's memory, in binary form; columns and rows count from 0.
package final class QueryResult {
  private let handle: OpaquePointer

  /// - Parameter handle: the result, which this object releases.
  init(_ handle: OpaquePointer) { self.handle = handle }

  deinit { PQclear(handle) }

  package var rowCount: Int { Int(PQntuples(handle)) }

  var columnCount: Int { Int(PQnfields(handle)) }

  /// The number of rows that the statement wrote, or read.
  package var changedRowCount: Int { Int(String(cString: PQcmdTuples(handle))) ?? 0 }

  /// The kind of the statement that has run, such as "COMMIT"; a failed transaction answers "ROLLBACK" to that.
  var command: String { String(cString: PQcmdStatus(handle)) }

  package func isNull(_ row: Int, _ column: Int) -> Bool { PQgetisnull(handle, Int32(row), Int32(column)) == 1 }

  /// The integer or Boolean of any width; 0 for null.
  @inline(__always)
  package func integer(_ row: Int, _ column: Int) -> Int64 {
    let bytes = bytes(row, column)
    switch bytes.count {
    case 8: return Int64(bigEndian: bytes.loadUnaligned(as: Int64.self))
    case 4: return Int64(Int32(bigEndian: bytes.loadUnaligned(as: Int32.self)))
    case 2: return Int64(Int16(bigEndian: bytes.loadUnaligned(as: Int16.self)))
    case 1: return Int64(bytes[0])
    default: return 0
    }
  }

  /// The number; 0 for null.
  @inline(__always)
  package func real(_ row: Int, _ column: Int) -> Double {
    let bytes = bytes(row, column)
    if bytes.count == 8 { return Double(bitPattern: UInt64(bigEndian: bytes.loadUnaligned(as: UInt64.self))) }
    if bytes.count == 4 { return Double(Float(bitPattern: UInt32(bigEndian: bytes.loadUnaligned(as: UInt32.self)))) }
    return 0
  }

  /// The bytes of a text or of binary data; valid while this result is held. Null has none.
  @inline(__always)
  func bytes(_ row: Int, _ column: Int) -> UnsafeRawBufferPointer {
    let count = Int(PQgetlength(handle, Int32(row), Int32(column)))
    return UnsafeRawBufferPointer(start: PQgetvalue(handle, Int32(row), Int32(column)), count: count)
  }

  /// The value of a column of any type that the store's tables have.
  func value(_ row: Int, _ column: Int) -> SQLBinding {
    if isNull(row, column) { return .null }
    return switch ParameterType(rawValue: PQftype(handle, Int32(column))) {
    case .real: .double(real(row, column))
    case .binary: .blob(Array(bytes(row, column)))
    case .integer: .integer(integer(row, column))
    // Numbers of other widths are those of literals.
    case nil where bytes(row, column).count == 4 && PQftype(handle, Int32(column)) == Self.int4:
      .integer(integer(row, column))
    case .text, .inferred, nil: .text(text(row, column))
    }
  }

  /// The type of a literal such as 1, by its number (`pg_type.dat`).
  private static let int4: UInt32 = 23

  package func blob(_ row: Int, _ column: Int) -> [UInt8] { Array(bytes(row, column)) }

  package func text(_ row: Int, _ column: Int) -> String { String(decoding: bytes(row, column), as: UTF8.self) }

  package func textIfPresent(_ row: Int, _ column: Int) -> String? { isNull(row, column) ? nil : text(row, column) }
}
