/// Where the text of one field lies and what it is, in eight bytes, so that a record's index stays in one or two cache
/// lines.
package struct FieldRange {
  @usableFromInline static let offsetMask: UInt32 = 1 << 30 - 1
  /// The lowest bit of the kind; its other two are above the start.
  @usableFromInline static let kindFlag: UInt32 = 1 << 31
  @usableFromInline static let unescapedFlag: UInt32 = 1 << 30

  /// From the record's first byte, or from the begin of the unescaped bytes.
  @usableFromInline let start: UInt32
  @usableFromInline let lengthAndFlags: UInt32

  /// An unquoted text.
  @inline(__always)
  init(unquotedAt start: Int, length: Int) {
    self.start = UInt32(truncatingIfNeeded: start)
    self.lengthAndFlags = UInt32(truncatingIfNeeded: length)
  }

  /// - Precondition: `start` and `length` are below 1 GiB.
  @inlinable @inline(__always)
  package init(_ kind: FieldKind, at start: Int, length: Int, isUnescaped: Bool = false) {
    let kind = UInt32(kind.rawValue)
    self.start = UInt32(truncatingIfNeeded: start) | (kind >> 1) << 30
    self.lengthAndFlags =
      UInt32(truncatingIfNeeded: length) | (kind & 1) << 31 | (isUnescaped ? Self.unescapedFlag : 0)
  }

  @inlinable package var offset: Int { Int(start & Self.offsetMask) }
  @inlinable package var length: Int { Int(lengthAndFlags & Self.offsetMask) }
  @inlinable package var kind: FieldKind {
    FieldKind(rawValue: UInt8(truncatingIfNeeded: (start >> 30) << 1 | lengthAndFlags >> 31)).unsafelyUnwrapped
  }
  /// Whether the text lies among the unescaped bytes instead of in the record.
  @inlinable package var isUnescaped: Bool { lengthAndFlags & Self.unescapedFlag != 0 }
}
