import DelimitedText
import Glibc

/// A parser of one record's JSON text into fields, which stay in place unless they have escapes.
struct JSONFieldParser: ~Copyable {
  /// A problem with a record, and its place.
  struct Problem: Error {
    enum Kind { case syntax, notAnObject, tooManyFields, nulCharacter }
    let kind: Kind
    let index: Int
  }

  /// The depth up to which keys of objects are columns, if all keys are.
  static let flatteningLimit = 16

  private var keys = KeyTable()
  private let isKeyed: Bool
  /// True if every key is a column.
  private let grows: Bool
  private let flattens: Bool
  private let maxFieldCount: Int
  private(set) var columnNames: [String] = []

  private(set) var ranges: UnsafeMutablePointer<FieldRange>
  private var capacity = 64
  /// The number of fields of the present record.
  private(set) var fieldCount = 0
  private(set) var unescaped: UnsafeMutablePointer<UInt8>
  private var unescapedCapacity = 256
  private var unescapedCount = 0

  /// - Parameter columnNames: those known already.
  init(_ options: InputOptions, isKeyed: Bool, columnNames: [String]?) {
    self.isKeyed = isKeyed
    grows = options.columns == nil
    flattens = options.flattensObjects
    maxFieldCount = options.maxFieldCount
    ranges = .allocate(capacity: capacity)
    unescaped = .allocate(capacity: unescapedCapacity)
    for name in options.columns ?? columnNames ?? [] { add(name) }
  }

  deinit {
    ranges.deallocate()
    unescaped.deallocate()
  }

  /// Adds a column for a key, and for the path that it names with points between keys.
  private mutating func add(_ name: String) {
    let column = columnNames.count
    columnNames.append(name)
    reserve(column + 1)
    Array(name.utf8).withUnsafeBytes { bytes in
      let node = keys.insert(bytes, in: KeyTable.root)
      keys.nodes[node].column = column
    }
    let parts = name.split(separator: ".", omittingEmptySubsequences: false)
    guard parts.count > 1 else { return }
    var node = KeyTable.root
    for part in parts {
      keys.nodes[node].hasChildren = true
      node = Array(part.utf8).withUnsafeBytes { keys.insert($0, in: node) }
    }
    keys.nodes[node].column = column
  }

  /// Reads a record; `fieldCount`, `ranges` and `unescaped` are its fields then.
  mutating func parse(_ record: UnsafePointer<UInt8>, count: Int) throws(Problem) {
    var scan = JSONScan(record, count: count)
    unescapedCount = 0
    fieldCount = 0
    var index = scan.space(0)
    if isKeyed {
      guard scan.byte(index) == 0x7B else {
        let end = scan.value(index)
        throw Problem(kind: end < 0 ? .syntax : .notAnObject, index: end < 0 ? scan.problem : index)
      }
      fieldCount = columnNames.count
      for column in 0..<fieldCount { ranges[column] = FieldRange(.absent, at: 0, length: 0) }
      index = try object(&scan, index, in: KeyTable.root, depth: 0)
    } else if scan.byte(index) == 0x5B {
      index = try array(&scan, index)
    } else {
      index = try value(&scan, index, into: try nextField(index))
    }
    index = scan.space(index)
    if index < count { throw Problem(kind: .syntax, index: index) }
  }

  /// Sets the number of fields: missing ones are absent, superfluous ones are dropped.
  mutating func fit(fieldCount count: Int) {
    reserve(count)
    while fieldCount < count {
      ranges[fieldCount] = FieldRange(.absent, at: 0, length: 0)
      fieldCount += 1
    }
    fieldCount = count
  }

  /// Reads an array, whose elements are the fields.
  private mutating func array(_ scan: inout JSONScan, _ start: Int) throws(Problem) -> Int {
    var index = scan.space(start + 1)
    if scan.byte(index) == 0x5D { return index + 1 }
    while true {
      index = scan.space(try value(&scan, index, into: try nextField(index)))
      switch scan.byte(index) {
      case 0x2C: index = scan.space(index + 1)
      case 0x5D: return index + 1
      default: throw Problem(kind: .syntax, index: index)
      }
    }
  }

  mutating func nextField(_ index: Int) throws(Problem) -> Int {
    guard fieldCount < maxFieldCount else { throw Problem(kind: .tooManyFields, index: index) }
    fieldCount += 1
    reserve(fieldCount)
    return fieldCount - 1
  }

  @inline(__always)
  mutating func value(_ scan: inout JSONScan, _ start: Int, into column: Int) throws(Problem) -> Int {
    let end: Int
    switch scan.byte(start) {
    case 0x22:
      end = scan.string(start)
      if end >= 0 {
        ranges[column] =
          scan.hasEscapes
          ? try text(scan, start..<end) : FieldRange(.quotedText, at: start + 1, length: end - start - 2)
      }
    case 0x2D, 0x30...0x39:
      end = scan.number(start)
      if end >= 0 { ranges[column] = FieldRange(.number, at: start, length: end - start) }
    case 0x74, 0x66:
      end = scan.word(start)
      if end >= 0 { ranges[column] = FieldRange(.boolean, at: start, length: end - start) }
    case 0x6E:
      end = scan.word(start)
      if end >= 0 { ranges[column] = FieldRange(.null, at: 0, length: 0) }
    default:
      end = scan.value(start)
      if end >= 0 { ranges[column] = FieldRange(.json, at: start, length: end - start) }
    }
    if end < 0 { throw Problem(kind: .syntax, index: scan.problem) }
    return end
  }

  private mutating func reserve(_ count: Int) {
    guard count > capacity else { return }
    let larger = UnsafeMutablePointer<FieldRange>.allocate(capacity: 2 * count)
    larger.update(from: ranges, count: capacity)
    ranges.deallocate()
    ranges = larger
    capacity = 2 * count
  }
}

/// Objects: their keys lead to columns.
extension JSONFieldParser {
  mutating func object(
    _ scan: inout JSONScan, _ start: Int, in parent: Int, depth: Int
  ) throws(Problem) -> Int {
    var index = scan.space(start + 1)
    if scan.byte(index) == 0x7D { return index + 1 }
    var previous = -1
    while true {
      let keyStart = index + 1
      index = scan.string(index)
      if index < 0 { throw Problem(kind: .syntax, index: scan.problem) }
      let node =
        scan.hasEscapes
        ? escapedKey(scan, keyStart..<index - 1, in: parent)
        : self.node(
          UnsafeRawBufferPointer(start: scan.bytes + keyStart, count: index - 1 - keyStart), parent, after: previous)
      index = scan.space(index)
      guard scan.byte(index) == 0x3A else { throw Problem(kind: .syntax, index: index) }
      index = scan.space(index + 1)
      index = node < 0 ? scan.value(index) : try member(&scan, index, of: node, depth: depth)
      if index < 0 { throw Problem(kind: .syntax, index: scan.problem) }
      if node >= 0 { previous = node }
      index = scan.space(index)
      switch scan.byte(index) {
      case 0x2C: index = scan.space(index + 1)
      case 0x7D: return index + 1
      default: throw Problem(kind: .syntax, index: index)
      }
    }
  }

  /// The value of a known key.
  @inline(__always)
  private mutating func member(
    _ scan: inout JSONScan, _ index: Int, of node: Int, depth: Int
  ) throws(Problem) -> Int {
    var column = keys.nodes[node].column
    if scan.byte(index) == 0x7B {
      let opens = keys.nodes[node].hasChildren || (grows && flattens && depth < Self.flatteningLimit)
      if opens {
        keys.nodes[node].hasChildren = true
        let end = try object(&scan, index, in: node, depth: depth + 1)
        if column >= 0, !grows { ranges[column] = FieldRange(.json, at: index, length: end - index) }
        return end
      }
    }
    if column < 0 {
      guard grows else { return scan.value(index) }
      column = try newColumn(node, index)
    }
    return try value(&scan, index, into: column)
  }

  private mutating func newColumn(_ node: Int, _ index: Int) throws(Problem) -> Int {
    let name = keys.path(to: node)
    // A key with a point in it may read like the way to another.
    let known = columnNames.firstIndex(of: name)
    let column = if let known { known } else { try nextField(index) }
    if known == nil { columnNames.append(name) }
    keys.nodes[node].column = column
    return column
  }

  @inline(__always)
  private mutating func node(_ key: UnsafeRawBufferPointer, _ parent: Int, after previous: Int) -> Int {
    let expected = previous < 0 ? keys.nodes[parent].firstChild : keys.nodes[previous].follower
    if expected >= 0, keys.isKey(key, at: expected) { return expected }
    let found = grows ? keys.insert(key, in: parent) : keys.find(key, in: parent)
    if found >= 0 {
      if previous < 0 { keys.nodes[parent].firstChild = found } else { keys.nodes[previous].follower = found }
    }
    return found
  }

  private mutating func escapedKey(_ scan: JSONScan, _ range: Range<Int>, in parent: Int) -> Int {
    let range = unescape(scan, range)
    let key = UnsafeRawBufferPointer(start: unescaped + range.offset, count: range.length)
    let found = grows ? keys.insert(key, in: parent) : keys.find(key, in: parent)
    unescapedCount = range.offset
    return found
  }
}

extension JSONFieldParser {
  /// Writes the text of a value with escapes; U+0000 is refused in every notation of records, as not every store holds it.
  mutating func text(_ scan: JSONScan, _ value: Range<Int>) throws(Problem) -> FieldRange {
    let range = unescape(scan, value.lowerBound + 1..<value.upperBound - 1)
    if UnsafeBufferPointer(start: unescaped + range.offset, count: range.length).contains(0) {
      throw Problem(kind: .nulCharacter, index: value.lowerBound)
    }
    return range
  }

  /// Writes the text of a string with escapes, which are known to be right.
  mutating func unescape(_ scan: JSONScan, _ range: Range<Int>) -> FieldRange {
    // No escape is longer as UTF-8 than as it is written.
    let needed = unescapedCount + range.count
    if needed > unescapedCapacity {
      unescapedCapacity = 2 * needed
      let larger = UnsafeMutablePointer<UInt8>.allocate(capacity: unescapedCapacity)
      larger.update(from: unescaped, count: unescapedCount)
      unescaped.deallocate()
      unescaped = larger
    }
    let first = unescapedCount
    var count = first
    var index = range.lowerBound
    while index < range.upperBound {
      let byte = scan.bytes[index]
      guard byte == 0x5C else {
        unescaped[count] = byte
        count += 1
        index += 1
        continue
      }
      var scalar: UInt32
      switch scan.bytes[index + 1] {
      case 0x62: scalar = 0x08
      case 0x66: scalar = 0x0C
      case 0x6E: scalar = 0x0A
      case 0x72: scalar = 0x0D
      case 0x74: scalar = 0x09
      case 0x75:
        scalar = scan.hexadecimal(index + 2) ?? 0
        index += 4
        if scalar & 0xF800 == 0xD800 {
          scalar = 0x10000 + (scalar & 0x3FF) << 10 + ((scan.hexadecimal(index + 4) ?? 0) & 0x3FF)
          index += 6
        }
      default: scalar = UInt32(scan.bytes[index + 1])
      }
      index += 2
      guard let scalar = Unicode.Scalar(scalar), let encoded = UTF8.encode(scalar) else { continue }
      for byte in encoded {
        unescaped[count] = byte
        count += 1
      }
    }
    unescapedCount = count
    return FieldRange(.quotedText, at: first, length: count - first, isUnescaped: true)
  }
}
