import SystemSupport

/// The columns of a terminal that texts take: two for an ideograph, none for an accent.
extension StringProtocol {
  var columns: Int { utf8.allSatisfy { $0 < 0x80 } ? utf8.count : reduce(0) { $0 + $1.columns } }

  /// As much of the beginning as fits into so many columns.
  func prefix(columns limit: Int) -> SubSequence {
    var sum = 0
    return prefix { character in
      sum += character.columns
      return sum <= limit
    }
  }

  /// As much of the end as fits into so many columns.
  func suffix(columns limit: Int) -> SubSequence {
    var sum = 0
    var start = endIndex
    while start > startIndex {
      let before = index(before: start)
      sum += self[before].columns
      if sum > limit { break }
      start = before
    }
    return self[start...]
  }
}

extension String {
  func padded(to width: Int) -> String {
    self + String(repeating: " ", count: Swift.max(0, width - columns))
  }

  /// The text in at most `width` columns, the last of them an ellipsis if some is missing.
  func cut(to width: Int) -> String {
    columns <= width ? self : prefix(columns: width - 1) + "…"
  }

  /// The text in at most `width` columns, with an ellipsis for what is left out of the middle.
  func cutInMiddle(to width: Int) -> String {
    if columns <= width { return self }
    let head = width / 2
    return prefix(columns: head) + "…" + suffix(columns: Swift.max(0, width - head - 1))
  }

  /// A line of a full screen in at most `width` columns; sequences that choose colours take none, and the last one stays.
  func clipped(to width: Int) -> String {
    var line = ""
    var left = width
    var rest = self[...]
    while let character = rest.first {
      // Control Sequence Introducer, ECMA-48 section 5.4.
      if rest.hasPrefix("\u{1b}["), let end = rest.dropFirst(2).firstIndex(where: { ("@"..."~").contains($0) }) {
        line += rest[...end]
        rest = rest[rest.index(after: end)...]
        continue
      }
      rest.removeFirst()
      left -= character.columns
      if left >= 0 { line.append(character) }
    }
    return line
  }
}

extension Character {
  /// A cluster takes as many as the widest of its parts.
  fileprivate var columns: Int {
    if isASCII { return 1 }
    return unicodeScalars.reduce(0) { max($0, $1.columns) }
  }
}
