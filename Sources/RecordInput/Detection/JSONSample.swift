import JSONText

/// What the first part of a text tells about it as JSON.
struct JSONSample {
  /// The first byte that is no space; NUL if there is none.
  let first: UInt8
  /// Nil if it does not look like JSON.
  private(set) var format: InputFormat?
  /// The key of the one array of objects in an object that is the whole text.
  private(set) var path: [String] = []
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
        // One value after the other; on the same line, it is something else.
        format = bytes[end..<scan.space(end)].contains(0x0A) ? .ndjson : nil
      } else if end >= 0 || scan.problem == bytes.count {
        if first == 0x7B { path = Self.arrayOfObjects(&scan, start) }
        let isOneLine = !bytes[start..<(end < 0 ? bytes.count : end)].contains(0x0A)
        format = first == 0x5B || !path.isEmpty || !isOneLine ? .json : .ndjson
      } else {
        format = Self.damaged(scan, start)
      }
    }
  }

  /// What is JSON for a while and then is not: a text that is damaged, unless it only happens to begin with a bracket.
  private static func damaged(_ scan: JSONScan, _ start: Int) -> InputFormat? {
    let next = scan.byte(scan.space(start + 1))
    let isObject = scan.byte(start) == 0x7B
    guard next == 0x22 || (!isObject && (next == 0x7B || next == 0x5B)) else { return nil }
    guard isObject else { return .json }
    var lineEnd = start
    while lineEnd < scan.end, scan.bytes[lineEnd] != 0x0A { lineEnd += 1 }
    return scan.byte(scan.space(lineEnd)) == 0x7B ? .ndjson : .json
  }

  /// Whether records are objects.
  func hasKeys(_ form: InputForm) -> Bool {
    guard form.format == .json, form.path.isEmpty, first == 0x5B else {
      return form.path.isEmpty ? first == 0x7B : true
    }
    let element = text.drop { Self.isSpace($0) }.dropFirst().first { !Self.isSpace($0) }
    return element == 0x7B
  }

  private static func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 }

  /// The key of the first array of objects among the members that the sample shows.
  private static func arrayOfObjects(_ scan: inout JSONScan, _ start: Int) -> [String] {
    var found: [String] = []
    var index = scan.space(start + 1)
    while scan.byte(index) == 0x22 {
      let keyEnd = scan.string(index)
      guard keyEnd > 0 else { break }
      let key = UnsafeRawBufferPointer(start: scan.bytes + index, count: keyEnd - index)
      index = scan.space(keyEnd)
      guard scan.byte(index) == 0x3A else { break }
      index = scan.space(index + 1)
      if scan.byte(index) == 0x5B, scan.byte(scan.space(index + 1)) == 0x7B,
        let key = try? JSONValue(parsing: key).string
      {
        found.append(key)
      }
      index = scan.value(index)
      guard index >= 0 else { break }
      index = scan.space(index)
      guard scan.byte(index) == 0x2C else { break }
      index = scan.space(index + 1)
    }
    return found.count == 1 ? found : []
  }
}
