package import StoreInterface

/// The key of a row of a copied table; tables with one column of keys have zeros behind it.
package struct CopyKey: Sendable, Hashable, Comparable, CustomStringConvertible {
  package let first: Int64
  package let second: Int64

  package init(_ first: Int64, _ second: Int64 = 0) {
    self.first = first
    self.second = second
  }

  package static func < (left: CopyKey, right: CopyKey) -> Bool {
    (left.first, left.second) < (right.first, right.second)
  }

  package var description: String { second == 0 ? "\(first)" : "\(first) \(second)" }

  /// Reads what ``description`` has written.
  package init?(_ text: String) {
    let parts = text.split(separator: " ").map { Int64($0) }
    guard (1...2).contains(parts.count), let first = parts[0], let second = parts.count == 2 ? parts[1] : 0 else {
      return nil
    }
    self.init(first, second)
  }
}

/// A value on its way from one store to another, or into a hash.
package enum CopiedValue {
  case null
  case integer(Int64)
  case real(Double)
  case text(UnsafeRawBufferPointer)
  case bytes(UnsafeRawBufferPointer)
  /// Bytes that lie elsewhere under a name.
  case large(name: String, byteCount: Int)
}

/// Rows of a table, one after the other in memory, with their values in the order of the columns.
///
/// A value is a byte for its kind and what follows: nothing for null (0); the 8 bytes of an integer (1); the 8 bytes of an
/// IEEE 754 double (2), of which minus zero counts as zero and NaN as null; for a text in UTF-8 (3) and for bytes (4) their
/// count in 8 bytes, and themselves. Numbers are big-endian. These bytes are what is hashed (Documentation/StoreCopy.md),
/// but that a large value stands here with its name (5, and the count of its bytes before the name).
package struct CopiedRows: Sendable {
  package enum Kind: UInt8 { case null, integer, real, text, bytes, large }

  package private(set) var bytes: [UInt8] = []
  private var starts: [Int] = []
  /// True if some of the values lie elsewhere.
  package private(set) var hasLargeValues = false

  package init() {}

  package var count: Int { starts.count }
  package var isEmpty: Bool { starts.isEmpty }
  package var byteCount: Int { bytes.count }

  package mutating func removeAll() {
    bytes.removeAll(keepingCapacity: true)
    starts.removeAll(keepingCapacity: true)
    hasLargeValues = false
  }

  // MARK: Writing

  package mutating func beginRow() { starts.append(bytes.count) }

  package mutating func appendNull() { bytes.append(Kind.null.rawValue) }

  package mutating func append(_ number: Int64) { append(.integer, UInt64(bitPattern: number)) }

  package mutating func append(_ number: Double) {
    if number.isNaN { return appendNull() }
    append(.real, (number == 0 ? 0 : number).bitPattern)
  }

  /// - Parameter kind: text or bytes.
  package mutating func append(_ kind: Kind, _ value: UnsafeRawBufferPointer) {
    append(kind, UInt64(value.count))
    bytes.append(contentsOf: value)
  }

  package mutating func append(text: String) {
    var text = text
    text.withUTF8 { append(.text, UnsafeRawBufferPointer($0)) }
  }

  /// - Parameter name: the name of a large value, which ends with a point and the count of its bytes.
  package mutating func append(largeValue name: String) {
    hasLargeValues = true
    append(.large, UInt64(LargeValueName.byteCount(name)))
    let utf8 = name.utf8
    withUnsafeBytes(of: UInt64(utf8.count).bigEndian) { bytes.append(contentsOf: $0) }
    bytes.append(contentsOf: utf8)
  }

  private mutating func append(_ kind: Kind, _ number: UInt64) {
    bytes.append(kind.rawValue)
    withUnsafeBytes(of: number.bigEndian) { bytes.append(contentsOf: $0) }
  }

  // MARK: Reading

  /// The bytes of a row.
  package func range(ofRow row: Int) -> Range<Int> {
    starts[row]..<(row + 1 < starts.count ? starts[row + 1] : bytes.count)
  }

  /// The key of a row, which its first columns hold.
  package func key(_ row: Int, of table: CopiedTable) -> CopyKey {
    func integer(_ place: Int) -> Int64 {
      bytes.withUnsafeBytes {
        Int64(bigEndian: $0.loadUnaligned(fromByteOffset: starts[row] + place * 9 + 1, as: Int64.self))
      }
    }
    return CopyKey(integer(0), table.keyCount == 2 ? integer(1) : 0)
  }

  /// Lends a row's values to a body; the memory that they point to is valid in there.
  package func withValues<Result>(
    ofRow row: Int, _ body: (inout CopiedValues) throws(StoreError) -> Result
  ) throws(StoreError) -> Result {
    let range = range(ofRow: row)
    let result = bytes.withUnsafeBytes { all -> Swift.Result<Result, StoreError> in
      var values = CopiedValues(UnsafeRawBufferPointer(rebasing: all[range]))
      do throws(StoreError) { return .success(try body(&values)) } catch { return .failure(error) }
    }
    return try result.get()
  }
}

/// The values of one row, in the order of the columns.
package struct CopiedValues {
  private let bytes: UnsafeRawBufferPointer
  private var offset = 0

  init(_ bytes: UnsafeRawBufferPointer) { self.bytes = bytes }

  private func number(at place: Int) -> UInt64 {
    UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: place, as: UInt64.self))
  }

  /// The next value; nil after the last.
  package mutating func next() -> CopiedValue? { nextPart()?.value }

  /// The next value with the bytes that stand for it.
  package mutating func nextPart() -> (value: CopiedValue, bytes: UnsafeRawBufferPointer)? {
    guard offset < bytes.count else { return nil }
    let start = offset
    let kind = CopiedRows.Kind(rawValue: bytes[offset]) ?? .null
    let value: CopiedValue
    switch kind {
    case .null: (value, offset) = (.null, start + 1)
    case .integer: (value, offset) = (.integer(Int64(bitPattern: number(at: start + 1))), start + 9)
    case .real: (value, offset) = (.real(Double(bitPattern: number(at: start + 1))), start + 9)
    case .text, .bytes:
      offset = start + 9 + Int(number(at: start + 1))
      let content = UnsafeRawBufferPointer(rebasing: bytes[start + 9..<offset])
      value = kind == .text ? .text(content) : .bytes(content)
    case .large:
      offset = start + 17 + Int(number(at: start + 9))
      value = .large(
        name: String(decoding: bytes[start + 17..<offset], as: UTF8.self), byteCount: Int(number(at: start + 1)))
    }
    return (value, UnsafeRawBufferPointer(rebasing: bytes[start..<offset]))
  }
}

/// The names of large values: a UUID, a point and the number of bytes.
package enum LargeValueName {
  package static func byteCount(_ name: String) -> Int { name.split(separator: ".").last.flatMap { Int($0) } ?? 0 }
}
