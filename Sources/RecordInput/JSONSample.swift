import JSONText

/// A guess at a text as JSON, from its first part.
struct JSONSample {
  /// The first byte that is not white space; NUL if there is none.
  let first: UInt8
  /// Nil if it does not look like JSON.
  private(set) var format: InputFormat?
  /// The keys of arrays of objects in an object that is the whole text; of empty arrays, if none is of objects.
  private(set) var arrays: [String] = []
  private let text: [UInt8]
  private let isWhole: Bool

  init(_ sample: InputSample) {
    text = sample.text
    isWhole = sample.isWhole
    let first = text.first { !Self.isSpace($0) } ?? 0
    self.first = first
    guard first == 0x7B || first == 0x5B else { return }
    text.withUnsafeBufferPointer { bytes in
      guard let base = bytes.baseAddress else { return }
      var scan = JSONScan(base, count: bytes.count)
      let start = scan.space(0)
      let end = scan.value(start)
      if end >= 0, scan.space(end) < bytes.count {
        // One value after the other; on the same line, it may be a table that begins with a bracket.
        let isNextLine = bytes[end..<scan.space(end)].contains(0x0A)
        format = isNextLine ? .ndjson : Self.followed(scan, start, by: scan.byte(scan.space(end)))
      } else if end >= 0 || scan.problem == bytes.count {
        if first == 0x7B { arrays = Self.arraysOfObjects(&scan, start) }
        let isOneLine = !bytes[start..<(end < 0 ? bytes.count : end)].contains(0x0A)
        format = first == 0x5B || !arrays.isEmpty || !isOneLine ? .json : .ndjson
      } else {
        format = Self.damaged(scan, start)
      }
    }
  }

  /// A value that something follows on its line: JSON with an error that is told as such, if it is a table of neither
  /// quotes nor separators.
  private static func followed(_ scan: JSONScan, _ start: Int, by next: UInt8) -> InputFormat? {
    let inner = scan.byte(scan.space(start + 1))
    if scan.byte(start) == 0x7B { return inner == 0x22 ? .ndjson : nil }
    let isSeparator = next == 0x2C || next == 0x3B || next == 0x7C
    return (inner == 0x22 || inner == 0x7B || inner == 0x5B) && !isSeparator ? .json : nil
  }

  /// Returns the format of a text that is JSON only up to some point: it is damaged, unless it merely begins with a
  /// bracket.
  private static func damaged(_ scan: JSONScan, _ start: Int) -> InputFormat? {
    let next = scan.byte(scan.space(start + 1))
    let isObject = scan.byte(start) == 0x7B
    guard next == 0x22 || (!isObject && (next == 0x7B || next == 0x5B)) else { return nil }
    guard isObject else { return .json }
    var lineEnd = start
    while lineEnd < scan.end, scan.bytes[lineEnd] != 0x0A { lineEnd += 1 }
    return scan.byte(scan.space(lineEnd)) == 0x7B ? .ndjson : .json
  }

  /// True if records are objects.
  func hasKeys(_ form: InputForm) -> Bool {
    guard form.format == .json, form.path.isEmpty, first == 0x5B else {
      return form.path.isEmpty ? first == 0x7B : true
    }
    let element = text.drop { Self.isSpace($0) }.dropFirst().first { !Self.isSpace($0) }
    return element == 0x7B
  }

  private static func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 }

  /// Among the members that the sample shows.
  private static func arraysOfObjects(_ scan: inout JSONScan, _ start: Int) -> [String] {
    var found: [String] = []
    var empty: [String] = []
    var index = scan.space(start + 1)
    while scan.byte(index) == 0x22 {
      let keyEnd = scan.string(index)
      guard keyEnd > 0 else { break }
      let key = UnsafeRawBufferPointer(start: scan.bytes + index, count: keyEnd - index)
      index = scan.space(keyEnd)
      guard scan.byte(index) == 0x3A else { break }
      index = scan.space(index + 1)
      let inner = scan.byte(index) == 0x5B ? scan.byte(scan.space(index + 1)) : 0
      if inner == 0x7B || inner == 0x5D, let key = try? JSONValue(parsing: key).string {
        if inner == 0x7B { found.append(key) } else { empty.append(key) }
      }
      index = scan.value(index)
      guard index >= 0 else { break }
      index = scan.space(index)
      guard scan.byte(index) == 0x2C else { break }
      index = scan.space(index + 1)
    }
    return found.isEmpty ? empty : found
  }
}
