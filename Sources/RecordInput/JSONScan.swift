/// Steps over the parts of a JSON text that lies in memory (RFC 8259); each function takes the index of a part's first
/// byte and returns the index after it, or -1 with the index of the first wrong byte in `problem`.
///
/// It lives no longer than the call that lent it the bytes, which must be UTF-8.
struct JSONScan {
  static let depthLimit = 512

  let bytes: UnsafePointer<UInt8>
  let end: Int
  private(set) var problem = 0
  /// True if the string stepped over last has escapes.
  private(set) var hasEscapes = false

  init(_ bytes: UnsafePointer<UInt8>, count: Int) {
    self.bytes = bytes
    end = count
  }

  /// The byte at an index, or NUL, which begins nothing, at the end.
  @inline(__always)
  func byte(_ index: Int) -> UInt8 { index < end ? bytes[index] : 0 }

  @inline(__always)
  mutating func fail(_ index: Int) -> Int {
    problem = index
    return -1
  }

  @inline(__always)
  func space(_ start: Int) -> Int {
    var index = start
    while index < end {
      let byte = bytes[index]
      guard byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 else { break }
      index &+= 1
    }
    return index
  }

  /// Steps over a string with its quotes.
  @inline(__always)
  mutating func string(_ start: Int) -> Int {
    guard byte(start) == 0x22 else { return fail(start) }
    hasEscapes = false
    var index = start &+ 1
    while true {
      index = ordinary(index)
      guard index < end else { return fail(end) }
      let byte = bytes[index]
      if byte == 0x22 { return index &+ 1 }
      guard byte == 0x5C else { return fail(index) }
      hasEscapes = true
      index = escape(index)
      if index < 0 { return -1 }
    }
  }

  /// The first index from `start` that is a quote, a backslash, a control character or the end; eight bytes a time.
  @inline(__always)
  private func ordinary(_ start: Int) -> Int {
    let ones: UInt64 = 0x0101_0101_0101_0101
    let high: UInt64 = 0x8080_8080_8080_8080
    let low: UInt64 = 0x7F7F_7F7F_7F7F_7F7F
    var index = start
    while index &+ 8 <= end {
      let word = UInt64(littleEndian: UnsafeRawPointer(bytes + index).loadUnaligned(as: UInt64.self))
      let notQuote = word ^ (ones &* 0x22)
      let notEscape = word ^ (ones &* 0x5C)
      // Each sum has a byte's high bit set where the byte is not the one looked for, or no control character.
      let others =
        ((notQuote & low) &+ low | notQuote) & ((notEscape & low) &+ low | notEscape)
        & ((word & low) &+ (ones &* 0x60) | word)
      let found = ~others & high
      if found != 0 { return index &+ found.trailingZeroBitCount &>> 3 }
      index &+= 8
    }
    while index < end {
      let byte = bytes[index]
      if byte == 0x22 || byte == 0x5C || byte < 0x20 { break }
      index &+= 1
    }
    return index
  }

  /// Steps over an escape, or two if they are a pair of surrogates.
  private mutating func escape(_ start: Int) -> Int {
    switch byte(start + 1) {
    case 0x22, 0x5C, 0x2F, 0x62, 0x66, 0x6E, 0x72, 0x74: return start + 2
    case 0x75: break
    default: return fail(start)
    }
    guard let first = hexadecimal(start + 2) else { return fail(start) }
    if first & 0xF800 != 0xD800 { return start + 6 }
    guard first < 0xDC00, byte(start + 6) == 0x5C, byte(start + 7) == 0x75, let second = hexadecimal(start + 8),
      second & 0xFC00 == 0xDC00
    else { return fail(start) }
    return start + 12
  }

  /// Returns the value of four hexadecimal digits; nil if there are none.
  func hexadecimal(_ start: Int) -> UInt32? {
    var value: UInt32 = 0
    for index in start..<start + 4 {
      let byte = byte(index)
      switch byte {
      case 0x30...0x39: value = value << 4 | UInt32(byte - 0x30)
      case 0x41...0x46, 0x61...0x66: value = value << 4 | UInt32((byte | 0x20) - 0x61 + 10)
      default: return nil
      }
    }
    return value
  }

  @inline(__always)
  private func digits(_ start: Int) -> Int {
    var index = start
    while index < end, bytes[index] &- 0x30 < 10 { index &+= 1 }
    return index
  }

  @inline(__always)
  mutating func number(_ start: Int) -> Int {
    var index = byte(start) == 0x2D ? start &+ 1 : start
    let first = index
    index = digits(index)
    guard index > first else { return fail(first) }
    if bytes[first] == 0x30, index > first &+ 1 { return fail(first) }
    if byte(index) == 0x2E {
      let fraction = index &+ 1
      index = digits(fraction)
      guard index > fraction else { return fail(index) }
    }
    if byte(index) | 0x20 == 0x65 {
      index &+= 1
      if byte(index) == 0x2B || byte(index) == 0x2D { index &+= 1 }
      let exponent = index
      index = digits(exponent)
      guard index > exponent else { return fail(index) }
    }
    return index
  }

  /// Steps over true, false or null.
  mutating func word(_ start: Int) -> Int {
    let word: StaticString = byte(start) == 0x74 ? "true" : byte(start) == 0x66 ? "false" : "null"
    let count = word.utf8CodeUnitCount
    guard start + count <= end else { return fail(start) }
    for offset in 0..<count where bytes[start + offset] != word.utf8Start[offset] { return fail(start) }
    return start + count
  }

  /// Steps over a whole value; nested arrays and objects take a bit each.
  mutating func value(_ start: Int) -> Int {
    var objects = InlineArray<8, UInt64>(repeating: 0)
    var depth = 0
    var index = start
    while true {
      switch byte(index) {
      case 0x7B, 0x5B:
        guard depth < Self.depthLimit else { return fail(index) }
        let isObject = bytes[index] == 0x7B
        let bit: UInt64 = 1 << UInt64(depth & 63)
        objects[depth >> 6] = isObject ? objects[depth >> 6] | bit : objects[depth >> 6] & ~bit
        depth += 1
        index = space(index + 1)
        if byte(index) == (isObject ? 0x7D : 0x5D) {
          index += 1
          depth -= 1
        } else {
          if isObject { index = key(index) }
          if index < 0 { return -1 }
          continue
        }
      case 0x22: index = string(index)
      case 0x2D, 0x30...0x39: index = number(index)
      case 0x74, 0x66, 0x6E: index = word(index)
      default: return fail(index)
      }
      if index < 0 { return -1 }
      // After a value.
      while depth > 0 {
        let isObject = objects[(depth - 1) >> 6] >> UInt64((depth - 1) & 63) & 1 == 1
        index = space(index)
        if byte(index) == 0x2C {
          index = space(index + 1)
          if isObject { index = key(index) }
          break
        }
        guard byte(index) == (isObject ? 0x7D : 0x5D) else { return fail(index) }
        index += 1
        depth -= 1
      }
      if depth == 0 || index < 0 { return index }
    }
  }

  /// Steps over a key, its colon and the space around it.
  private mutating func key(_ start: Int) -> Int {
    var index = string(start)
    if index < 0 { return -1 }
    index = space(index)
    guard byte(index) == 0x3A else { return fail(index) }
    return space(index + 1)
  }
}
