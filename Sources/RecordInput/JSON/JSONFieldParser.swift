import DelimitedText
import Glibc

/// Takes a JSON text of one record apart into fields, which stay where they are unless they have escapes.
struct JSONFieldParser: ~Copyable {
  /// What is wrong with a record, and where.
  struct Problem: Error {
    enum Kind { case syntax, notAnObject, tooManyFields }
    let kind: Kind
    let index: Int
  }

  /// How deep keys of objects are columns, when all are.
  static let flatteningLimit = 16

  var keys = KeyTable()
  private let isKeyed: Bool
  /// Whether every key is a column.
  let grows: Bool
  let flattens: Bool
  let maxFieldCount: Int
  var columnNames: [String] = []

  var ranges: UnsafeMutablePointer<FieldRange>
  private var capacity = 64
  /// Of the present record.
  private(set) var fieldCount = 0
  var unescaped: UnsafeMutablePointer<UInt8>
  var unescapedCapacity = 256
  var unescapedCount = 0

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

  /// Makes a column of a key, and of the keys that it names with points between them.
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
      index = try object(&scan, index, KeyTable.root, depth: 0)
    } else if scan.byte(index) == 0x5B {
      index = try array(&scan, index)
    } else {
      index = try value(&scan, index, into: try nextField(index))
    }
    index = scan.space(index)
    if index < count { throw Problem(kind: .syntax, index: index) }
  }

  /// Gives the record so many fields: those that it lacks are absent, and those too many are dropped.
  mutating func fit(fieldCount count: Int) {
    reserve(count)
    while fieldCount < count {
      ranges[fieldCount] = FieldRange(.absent, at: 0, length: 0)
      fieldCount += 1
    }
    fieldCount = count
  }

  /// The elements of an array are the fields.
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
          ? unescape(scan, start + 1, end - 1) : FieldRange(.quotedText, at: start + 1, length: end - start - 2)
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
