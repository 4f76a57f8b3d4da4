import DelimitedText
import Foundation
import ObjectGraph
import ObjectModel

/// The values of one column of a batch while it is built.
struct ColumnBuilder {
  let column: ImportColumn
  private let capacity: Int
  private let type: AttributeType
  private let rules: AttributeRules?
  private var integers: [Int64] = []
  private var reals: [Double] = []
  private var offsets: [UInt32] = []
  private var arena: ByteArena
  private var nullBits: [UInt64] = []
  private var count = 0

  init(_ column: ImportColumn, capacity: Int) {
    self.column = column
    self.capacity = capacity
    type = column.attribute.type
    rules = AttributeRules(column.attribute)
    arena = ByteArena(capacity: 64)
    removeAll()
  }

  mutating func removeAll() {
    count = 0
    nullBits = []
    switch type.storage {
    case .integer:
      integers = []
      integers.reserveCapacity(capacity)
    case .real:
      reals = []
      reals.reserveCapacity(capacity)
    default:
      offsets = [0]
      offsets.reserveCapacity(capacity + 1)
      // A batch holds on to its arena, so the next one gets its own, of the size that this one came to.
      arena = ByteArena(capacity: max(arena.count + arena.count / 8, 4096))
    }
  }

  @inline(__always)
  mutating func append(_ bytes: UnsafeRawBufferPointer, isQuoted: Bool) throws(ImportFieldError) {
    if bytes.isEmpty && !(isQuoted && type == .string) {
      if !column.attribute.isOptional { throw failure("is required, but empty") }
      appendNull()
      return
    }
    switch type {
    case .string:
      if let violation = rules?.violation(text: bytes) { throw failure(violation.message) }
      arena.append(bytes)
      offsets.append(UInt32(truncatingIfNeeded: arena.count))
    case .integer16, .integer32, .integer64: integers.append(try integer(bytes))
    case .boolean:
      guard let value = FieldParser.bool(bytes) else { throw mismatch(bytes, "true or false") }
      integers.append(value ? 1 : 0)
    case .double, .float:
      guard let value = FieldParser.double(bytes) else { throw mismatch(bytes, "a number") }
      try check(value)
      reals.append(value)
    case .date:
      guard let value = FieldParser.date(bytes) else { throw mismatch(bytes, "a date as 2026-11-21T10:00:00Z") }
      try check(value)
      reals.append(value)
    case .uuid:
      guard let value = FieldParser.uuid(bytes) else { throw mismatch(bytes, "a UUID") }
      withUnsafeBytes(of: value) { arena.append($0) }
      offsets.append(UInt32(truncatingIfNeeded: arena.count))
    case .decimal, .uri: try appendSpelled(bytes)
    case .binary, .transformable: throw failure("can't be imported")
    }
    count += 1
  }

  private func integer(_ bytes: UnsafeRawBufferPointer) throws(ImportFieldError) -> Int64 {
    guard let value = FieldParser.int64(bytes) else {
      throw mismatch(bytes, FieldParser.double(bytes) == nil ? "a whole number" : "a whole number of 64 bits")
    }
    if type == .integer32 && Int32(exactly: value) == nil { throw failure("\(value) does not fit in 32 bits") }
    if type == .integer16 && Int16(exactly: value) == nil { throw failure("\(value) does not fit in 16 bits") }
    if rules != nil { try check(Double(value)) }
    return value
  }

  /// Decimals and URIs, which are kept as text in their usual spelling.
  private mutating func appendSpelled(_ bytes: UnsafeRawBufferPointer) throws(ImportFieldError) {
    let text = String(decoding: bytes, as: UTF8.self)
    guard let value = Value(text, as: type), var spelled = value.unwrapped.map({ "\($0)" }) else {
      throw mismatch(bytes, type == .uri ? "a URI" : "a decimal number")
    }
    if let number = value.unwrapped as? Decimal { try check(NSDecimalNumber(decimal: number).doubleValue) }
    spelled.withUTF8 { arena.append(UnsafeRawBufferPointer($0)) }
    offsets.append(UInt32(truncatingIfNeeded: arena.count))
  }

  private mutating func appendNull() {
    if nullBits.isEmpty { nullBits = [UInt64](repeating: 0, count: (capacity + 63) / 64) }
    nullBits[count >> 6] |= 1 << UInt64(count & 63)
    switch type.storage {
    case .integer: integers.append(0)
    case .real: reals.append(0)
    default: offsets.append(UInt32(truncatingIfNeeded: arena.count))
    }
    count += 1
  }

  func built(count: Int) -> RowBatch.Column {
    let values: RowBatch.Column.Values =
      switch type.storage {
      case .integer: .integers(integers)
      case .real: .reals(reals)
      default: .bytes(offsets: offsets, arena: arena)
      }
    return RowBatch.Column(slot: column.property.slot, values: values, nullBits: nullBits)
  }

  /// A column of an attribute's default, for what the input does not give; nil if it is binary.
  static func constant(_ attribute: AttributeDescription, _ property: Property, count: Int) -> RowBatch.Column? {
    let text: String
    switch attribute.defaultValue.converted(to: attribute.type) {
    case .integer(let value):
      return RowBatch.Column(slot: property.slot, values: .integers(Array(repeating: value, count: count)))
    case .boolean(let value):
      return RowBatch.Column(slot: property.slot, values: .integers(Array(repeating: value ? 1 : 0, count: count)))
    case .double(let value):
      return RowBatch.Column(slot: property.slot, values: .reals(Array(repeating: value, count: count)))
    case .date(let value):
      let seconds = value.timeIntervalSinceReferenceDate
      return RowBatch.Column(slot: property.slot, values: .reals(Array(repeating: seconds, count: count)))
    case .uuid(let value): return withUnsafeBytes(of: value.uuid) { repeated($0, property, count: count) }
    case .string(let value): text = value
    case .url(let value): text = value.absoluteString
    case .decimal(let value): text = value.description
    case .data, .null, nil: return nil
    }
    return Array(text.utf8).withUnsafeBytes { repeated($0, property, count: count) }
  }

  private static func repeated(_ bytes: UnsafeRawBufferPointer, _ property: Property, count: Int) -> RowBatch.Column {
    let arena = ByteArena(capacity: bytes.count * count)
    var offsets: [UInt32] = [0]
    for _ in 0..<count {
      arena.append(bytes)
      offsets.append(UInt32(truncatingIfNeeded: arena.count))
    }
    return RowBatch.Column(slot: property.slot, values: .bytes(offsets: offsets, arena: arena))
  }

  private func check(_ number: Double) throws(ImportFieldError) {
    if let violation = rules?.violation(number: number) { throw failure(violation.message) }
  }

  private func mismatch(_ bytes: UnsafeRawBufferPointer, _ expected: String) -> ImportFieldError {
    let shown = String(decoding: bytes.prefix(40), as: UTF8.self)
    return failure("\"\(shown)\(bytes.count > 40 ? "…" : "")\" is not \(expected)")
  }

  private func failure(_ message: String) -> ImportFieldError {
    ImportFieldError(column: column.position + 1, attribute: column.attribute.name, message: message)
  }
}
