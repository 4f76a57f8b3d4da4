/// Lines of an input in which something is wrong: how many, and the first of them.
package struct LineList: Sendable {
  private static let shownCount = 5

  package private(set) var count: Int64 = 0
  private var first: [String] = []

  mutating func add(_ line: Int, _ note: String = "") {
    count += 1
    if first.count < Self.shownCount { first.append("\(line)\(note)") }
  }

  /// Such as "line 7" or "lines 7, 12, 19, 23, 40 and 2 more".
  package var text: String {
    let more = count - Int64(first.count)
    return (count == 1 ? "line " : "lines ") + first.joined(separator: ", ") + (more > 0 ? " and \(more) more" : "")
  }
}

/// A check whether the values of some columns tell all records of an input apart.
///
/// Values are remembered by a hash of 64 bits, in some 30 bytes for each record.
package struct KeyCheck: Sendable {
  /// The records without a value.
  package private(set) var blanks = LineList()
  /// The records whose values an earlier one has.
  package private(set) var repeats = LineList()
  private var lines: [Int: Int] = [:]

  /// - Parameter values: nil where there is none.
  mutating func add(_ values: [UnsafeRawBufferPointer?], line: Int) {
    let present = values.compactMap(\.self)
    guard present.count == values.count else { return blanks.add(line) }
    let hash = Self.hash(present)
    if let earlier = lines[hash] {
      repeats.add(line, " (as line \(earlier))")
    } else {
      lines[hash] = line
    }
  }

  /// True if a record has that value, of a key of one column.
  func contains(_ value: UnsafeRawBufferPointer) -> Bool { lines[Self.hash([value])] != nil }

  private static func hash(_ values: [UnsafeRawBufferPointer]) -> Int {
    var hasher = Hasher()
    for value in values {
      hasher.combine(value.count)
      hasher.combine(bytes: value)
    }
    return hasher.finalize()
  }
}
