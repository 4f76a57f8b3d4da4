/// Steps through the bytes that may mean something to a reader, 64 bytes per look.
///
/// Special are the separator, the quote and every byte below 14: NUL, tab, LF, CR and others that the reader ignores.
/// One range costs less than three comparisons. Eight bytes are compared at once in a 64-bit word (exact per byte,
/// unlike the shorter "has a zero byte" trick), and a multiplication gathers the eight results in one byte of the
/// block's mask.
struct SpecialByteCursor {
  static let blockSize = 64

  private static let ones: UInt64 = 0x0101_0101_0101_0101
  private static let low: UInt64 = 0x7F7F_7F7F_7F7F_7F7F
  private static let high: UInt64 = 0x8080_8080_8080_8080

  private let separators: UInt64
  private let quotes: UInt64
  private var base = -Self.blockSize
  private var mask: UInt64 = 0

  init(separator: UInt8, quote: UInt8) {
    separators = UInt64(separator) &* Self.ones
    quotes = UInt64(quote) &* Self.ones
  }

  /// The index of the next special byte before `end`, or -1; it stays the next one until consumed.
  ///
  /// - Parameter bytes: readable for a block beyond `end`.
  @inline(__always)
  mutating func peek(_ bytes: UnsafePointer<UInt8>, end: Int) -> Int {
    while mask == 0 {
      let next = base &+ Self.blockSize
      guard next < end else { return -1 }
      base = next
      mask = specials(UnsafeRawPointer(bytes + next))
      let count = end &- next
      if count < Self.blockSize { mask &= (1 &<< UInt64(truncatingIfNeeded: count)) &- 1 }
    }
    return base &+ mask.trailingZeroBitCount
  }

  /// Steps over the byte that `peek` found.
  @inline(__always)
  mutating func consume() { mask &= mask &- 1 }

  /// Goes on at `index`, which is not before the current place.
  @inline(__always)
  mutating func seek(to index: Int) {
    let distance = index &- base
    if distance < Self.blockSize {
      mask &= ~0 &<< UInt64(truncatingIfNeeded: distance)
    } else {
      base = index &- Self.blockSize
      mask = 0
    }
  }

  /// The first index not yet examined, when the bytes end at `end`.
  func resumeIndex(end: Int) -> Int {
    mask != 0 ? base + mask.trailingZeroBitCount : min(base + Self.blockSize, end)
  }

  /// Goes on at `index` of moved or longer bytes.
  mutating func restart(at index: Int) {
    base = index - Self.blockSize
    mask = 0
  }

  @inline(__always)
  private func specials(_ block: UnsafeRawPointer) -> UInt64 {
    var result: UInt64 = 0
    var offset = 0
    while offset < Self.blockSize {
      let word = UInt64(littleEndian: block.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
      let notSeparator = word ^ separators
      let notQuote = word ^ quotes
      // Each sum has a byte's high bit set where the byte is not the one looked for; no sum carries into the next byte.
      let others =
        ((notSeparator & Self.low) &+ Self.low | notSeparator)
        & ((notQuote & Self.low) &+ Self.low | notQuote)
        & ((word & Self.low) &+ (Self.ones &* (128 - 14)) | word)
      let found = (~others & Self.high) &>> 7
      result |= ((found &* 0x0102_0408_1020_4080) &>> 56) &<< UInt64(truncatingIfNeeded: offset)
      offset &+= 8
    }
    return result
  }
}

/// True if bytes are well-formed UTF-8; 3 ns for a short record of ASCII characters.
///
/// Check ``PresentRecord/raw`` once instead of each field: separators and quotes are ASCII, so a field is valid
/// if its record is.
package func isValidUTF8(_ bytes: UnsafeRawBufferPointer) -> Bool {
  guard let base = bytes.baseAddress else { return true }
  var index = 0
  while index &+ 8 <= bytes.count {
    guard base.loadUnaligned(fromByteOffset: index, as: UInt64.self) & 0x8080_8080_8080_8080 == 0 else { break }
    index &+= 8
  }
  var rest: UInt8 = 0
  if index &+ 8 > bytes.count {
    while index < bytes.count {
      rest |= bytes[index]
      index &+= 1
    }
    if rest < 0x80 { return true }
  }
  // The standard library's validator begins a new character at any ASCII byte, but the fast loop only stops at whole
  // words: give it all.
  return (try? UTF8Span(validating: Span(_unsafeElements: bytes.bindMemory(to: UInt8.self)))) != nil
}

/// Returns the index of the first byte that is not well-formed UTF-8; nil if there is none.
package func firstInvalidUTF8(_ bytes: UnsafeRawBufferPointer) -> Int? {
  do throws(UTF8.ValidationError) {
    _ = try UTF8Span(validating: Span(_unsafeElements: bytes.bindMemory(to: UInt8.self)))
    return nil
  } catch {
    return error.byteOffsets.lowerBound
  }
}

/// Names of ASCII bytes.
enum Byte {
  static let lineFeed: UInt8 = 0x0A
  static let carriageReturn: UInt8 = 0x0D
  static let plus: UInt8 = 0x2B
  static let comma: UInt8 = 0x2C
  static let minus: UInt8 = 0x2D
  static let period: UInt8 = 0x2E
  static let zero: UInt8 = 0x30
  static let colon: UInt8 = 0x3A
  /// Makes an ASCII letter lower case by OR.
  static let lowerCaseBit: UInt8 = 0x20
}
