import DelimitedText

/// Objects: their keys lead to columns.
extension JSONFieldParser {
  mutating func object(
    _ scan: inout JSONScan, _ start: Int, _ parent: Int, depth: Int
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
        ? escapedKey(scan, keyStart, index - 1, parent)
        : self.node(
          UnsafeRawBufferPointer(start: scan.bytes + keyStart, count: index - 1 - keyStart), parent, after: previous)
      index = scan.space(index)
      guard scan.byte(index) == 0x3A else { throw Problem(kind: .syntax, index: index) }
      index = scan.space(index + 1)
      index = node < 0 ? scan.value(index) : try member(&scan, index, node, depth: depth)
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
    _ scan: inout JSONScan, _ index: Int, _ node: Int, depth: Int
  ) throws(Problem) -> Int {
    var column = keys.nodes[node].column
    if scan.byte(index) == 0x7B {
      let opens = keys.nodes[node].hasChildren || (grows && flattens && depth < Self.flatteningLimit)
      if opens {
        keys.nodes[node].hasChildren = true
        let end = try object(&scan, index, node, depth: depth + 1)
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

  private mutating func escapedKey(_ scan: JSONScan, _ start: Int, _ end: Int, _ parent: Int) -> Int {
    let range = unescape(scan, start, end)
    let key = UnsafeRawBufferPointer(start: unescaped + range.offset, count: range.length)
    let found = grows ? keys.insert(key, in: parent) : keys.find(key, in: parent)
    unescapedCount = range.offset
    return found
  }
}
