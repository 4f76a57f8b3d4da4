import SQLGeneration
import StoreInterface
import SystemSupport

/// The rows of a table of one store, one at a time, and their hash.
final class RowFeed {
  private let source: any CopySource
  private let reader: any CopyRowReader
  private let table: CopiedTable
  private let hash = SHA256()
  private var rows = CopiedRows()
  private var row = 0
  private(set) var count: Int64 = 0
  /// The key of the row at hand; nil at the end.
  private(set) var key: CopyKey?

  private static let byteLimit = 1 << 20

  init(_ source: any CopySource, _ table: CopiedTable) throws(StoreError) {
    self.source = source
    self.table = table
    reader = try source.rows(of: table, after: nil)
    try settle()
  }

  /// Passes on to the next row; the one at hand goes into the hash.
  func advance() throws(StoreError) {
    count += 1
    try add(to: hash)
    row += 1
    try settle()
  }

  /// The hash of all rows, in hexadecimal digits.
  func finish() -> String { SHA256.digits(hash.finish()) }

  private func settle() throws(StoreError) {
    if row >= rows.count {
      rows.removeAll()
      row = 0
      try reader.read(into: &rows, byteLimit: Self.byteLimit)
    }
    key = rows.isEmpty ? nil : rows.key(row, of: table)
  }

  /// True if the rows at hand are alike.
  func matches(_ other: RowFeed) throws(StoreError) -> Bool {
    if !rows.hasLargeValues, !other.rows.hasLargeValues {
      let (own, others) = (rows.range(ofRow: row), other.rows.range(ofRow: other.row))
      if own.count != others.count { return false }
      return rows.bytes.withUnsafeBytes { bytes in
        other.rows.bytes.withUnsafeBytes { otherBytes in
          bytes[own].elementsEqual(otherBytes[others])
        }
      }
    }
    return try digest() == other.digest()
  }

  private func digest() throws(StoreError) -> [UInt8] {
    let hash = SHA256()
    try add(to: hash)
    return hash.finish()
  }

  private func add(to hash: SHA256) throws(StoreError) {
    if !rows.hasLargeValues {
      let range = rows.range(ofRow: row)
      rows.bytes.withUnsafeBytes { hash.add(UnsafeRawBufferPointer(rebasing: $0[range])) }
      return
    }
    let (source, row) = (source, row)
    try rows.withValues(ofRow: row) { (values) throws(StoreError) in
      while let (value, bytes) = values.nextPart() {
        try Self.add(value, bytes, to: hash, from: source)
      }
    }
  }

  private static func add(
    _ value: CopiedValue, _ bytes: UnsafeRawBufferPointer, to hash: SHA256, from source: any CopySource
  ) throws(StoreError) {
    guard case .large(let name, let byteCount) = value else { return hash.add(bytes) }
    // As if it lay in its row.
    var head = [CopiedRows.Kind.bytes.rawValue]
    withUnsafeBytes(of: UInt64(byteCount).bigEndian) { head += $0 }
    head.withUnsafeBytes { hash.add($0) }
    try source.readLargeValue(name, hash.add)
  }

  /// The names of the columns in which the rows at hand differ.
  func differences(from other: RowFeed) throws(StoreError) -> [String] {
    let (own, others) = (try parts(), try other.parts())
    return table.columns.indices.filter { own[$0] != others[$0] }.map { table.columns[$0].name }
  }

  /// A digest of each value of the row at hand.
  private func parts() throws(StoreError) -> [[UInt8]] {
    var parts: [[UInt8]] = []
    let source = source
    try rows.withValues(ofRow: row) { (values) throws(StoreError) in
      while let (value, bytes) = values.nextPart() {
        let hash = SHA256()
        try Self.add(value, bytes, to: hash, from: source)
        parts.append(hash.finish())
      }
    }
    return parts
  }
}
