import DelimitedText
import JSONText

/// A place in a text of JSON that comes in blocks, and its line: it skips what stands around the records, which must be
/// JSON as well.
struct TextCursor: ~Copyable {
  private(set) var block: TextBlock
  /// The index of the next byte in the block.
  var index = 0
  private(set) var line: Int
  /// The offset of the present line.
  private(set) var lineStart: Int
  /// The most bytes of a key or a string.
  private let textLimit: Int

  init(_ stream: any ByteStream, options: InputOptions, at position: RecordPosition) {
    block = TextBlock(stream, blockSize: options.blockSize, offset: position.byteOffset)
    textLimit = options.maxRecordSize
    line = position.line
    lineStart = position.lineOffset
  }

  /// The place in the whole text.
  var position: RecordPosition { RecordPosition(byteOffset: block.offset + index, line: line, lineOffset: lineStart) }

  /// Reads on, and moves what is from `keep` on to the front; the owner moves its indices, this one's included.
  mutating func fill(keeping keep: Int) throws(InputError) { try block.fill(keeping: keep) }

  /// Notes where a line begins.
  @inline(__always)
  mutating func beginLine(at index: Int) {
    line &+= 1
    lineStart = block.offset &+ index
  }

  // MARK: The way into the array and out of it

  /// Skips a byte order mark, if this is the begin of the text.
  mutating func skipMark() throws(InputError) {
    if block.offset > 0 { return }
    while block.end < 3, !block.hasEnded { try block.fill(keeping: 0) }
    if block.end >= 3, block.bytes[0] == 0xEF, block.bytes[1] == 0xBB, block.bytes[2] == 0xBF {
      index = 3
      lineStart = 3
    }
  }

  /// Goes to the value of a key of the object that is next.
  mutating func enter(_ key: String) throws(InputError) {
    let byte = try skipSpace()
    guard byte == 0x7B else { throw unexpected(byte, "an object with the key \"\(key)\"") }
    index += 1
    if try skipSpace() == 0x7D { throw missing(key) }
    while true {
      if try readKey() == key { return }
      try passValue()
      let byte = try skipSpace()
      if byte == 0x7D { throw missing(key) }
      guard byte == 0x2C else { throw unexpected(byte, "\",\" or \"}\" after a value") }
      index += 1
    }
  }

  /// Goes from the end of an array to that of the text, out of all objects around it.
  mutating func leave(_ path: [String]) throws(InputError) {
    for _ in path {
      while true {
        let byte = try skipSpace()
        if byte == 0x7D { break }
        guard byte == 0x2C else { throw unexpected(byte, "\",\" or \"}\" after a value") }
        index += 1
        _ = try readKey()
        try passValue()
      }
      index += 1
    }
    let byte = try skipSpace()
    if byte != nil { throw unexpected(byte, "the end of the text") }
  }

  /// Goes to the next byte that is not white space, and returns it; nil at the end.
  @discardableResult
  mutating func skipSpace() throws(InputError) -> UInt8? {
    while true {
      while index < block.end {
        let byte = block.bytes[index]
        guard isSpace(byte) else { return byte }
        index += 1
        if byte == 0x0A { beginLine(at: index) }
      }
      if block.hasEnded { return nil }
      try block.fill(keeping: index)
      index = 0
    }
  }

  private func missing(_ key: String) -> InputError {
    InputError("line \(line): there is no key \"\(key)\", which should lead to the records")
  }

  func unexpected(_ byte: UInt8?, _ expectation: String) -> InputError {
    guard let byte else {
      return InputError("the text ends in line \(line), where \(expectation) should come; it was cut off")
    }
    let found = byte > 0x20 && byte < 0x7F ? "\"\(Character(Unicode.Scalar(byte)))\"" : "the byte \(byte)"
    return InputError("line \(line): \(found) stands where \(expectation) should come")
  }

  // MARK: Values

  /// Skips a value; of a large one, only one key or string is in memory at a time.
  private mutating func passValue() throws(InputError) {
    /// True if what is open is an object, from the outside in.
    var open: [Bool] = []
    repeat {
      let byte = try skipSpace()
      if byte == 0x7B || byte == 0x5B {
        guard open.count < JSONScan.depthLimit else {
          throw InputError("line \(line): more than \(JSONScan.depthLimit) arrays and objects inside each other")
        }
        let isObject = byte == 0x7B
        index += 1
        open.append(isObject)
        if try skipSpace() != (isObject ? 0x7D : 0x5D) {
          if isObject { _ = try readKey() }
          continue
        }
        index += 1
        open.removeLast()
      } else {
        try passScalar(byte)
      }
      try closeValues(&open)
    } while !open.isEmpty
  }

  /// Skips the comma after a value, and leaves everything that ends before it.
  private mutating func closeValues(_ open: inout [Bool]) throws(InputError) {
    while let isObject = open.last {
      let byte = try skipSpace()
      if byte != 0x2C, byte != (isObject ? 0x7D : 0x5D) {
        throw unexpected(byte, isObject ? "\",\" or \"}\" after a value" : "\",\" or \"]\" after an element")
      }
      index += 1
      if byte == 0x2C {
        if isObject { _ = try readKey() }
        return
      }
      open.removeLast()
    }
  }

  /// Reads a key and the colon after it.
  private mutating func readKey() throws(InputError) -> String {
    let byte = try skipSpace()
    guard byte == 0x22 else { throw unexpected(byte, "a key in quotes") }
    let text = try readToken(byte)
    guard let key = try? JSONValue(parsing: text).string else {
      throw unexpected(byte, "a key without control characters")
    }
    let colon = try skipSpace()
    guard colon == 0x3A else { throw unexpected(colon, "\":\" after a key") }
    index += 1
    return key
  }

  private mutating func passScalar(_ byte: UInt8?) throws(InputError) {
    let text = try readToken(byte)
    guard let start = text.baseAddress else { throw unexpected(byte, "a value") }
    var scan = JSONScan(start.assumingMemoryBound(to: UInt8.self), count: text.count)
    guard scan.value(0) == text.count, isValidUTF8(text) else { throw unexpected(byte, "a value") }
  }

  /// The bytes of a text in quotes, a number or a word; valid until more is read.
  private mutating func readToken(_ byte: UInt8?) throws(InputError) -> UnsafeRawBufferPointer {
    var start = index
    var index = start + (byte == 0x22 ? 1 : 0)
    while true {
      if index >= block.end {
        if block.hasEnded {
          if byte == 0x22 { throw unexpected(nil, "a quote at the end of a text") }
          break
        }
        if index - start > textLimit {
          throw InputError("line \(line): a text beside the records is more than \(textLimit) bytes")
        }
        try block.fill(keeping: start)
        index -= start
        start = 0
        continue
      }
      let next = block.bytes[index]
      if byte == 0x22 {
        if next == 0x22 {
          index += 1
          break
        }
        index += next == 0x5C ? 2 : 1
      } else {
        if isSpace(next) || next == 0x2C || next == 0x3A || next == 0x5D || next == 0x7D { break }
        index += 1
      }
    }
    self.index = min(index, block.end)
    return UnsafeRawBufferPointer(start: block.bytes + start, count: self.index - start)
  }
}

/// True if a byte is one of the four that JSON calls white space.
func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 }
