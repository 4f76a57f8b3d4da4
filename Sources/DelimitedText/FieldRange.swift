/// Where the text of one field lies, in eight bytes, so that a record's index stays in one or two cache lines.
struct FieldRange {
  private static let quotedFlag: UInt32 = 1 << 31
  private static let unescapedFlag: UInt32 = 1 << 30

  /// From the record's first byte, or from the begin of the unescaped bytes.
  private let start: UInt32
  private let lengthAndFlags: UInt32

  @inline(__always)
  init(unquotedAt start: Int, length: Int) {
    self.start = UInt32(truncatingIfNeeded: start)
    self.lengthAndFlags = UInt32(truncatingIfNeeded: length)
  }

  init(quotedAt start: Int, length: Int, isUnescaped: Bool) {
    self.start = UInt32(truncatingIfNeeded: start)
    self.lengthAndFlags =
      UInt32(truncatingIfNeeded: length) | Self.quotedFlag | (isUnescaped ? Self.unescapedFlag : 0)
  }

  var offset: Int { Int(start) }
  var length: Int { Int(lengthAndFlags & ~(Self.quotedFlag | Self.unescapedFlag)) }
  var isQuoted: Bool { lengthAndFlags & Self.quotedFlag != 0 }
  /// Whether the text lies among the unescaped bytes instead of in the record.
  var isUnescaped: Bool { lengthAndFlags & Self.unescapedFlag != 0 }
}
