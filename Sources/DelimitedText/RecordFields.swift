/// The fields of one record, as pointers into the memory of the reader that it comes from.
///
/// Valid until the next call that reads. Whoever looks at several fields keeps this value rather than ask the reader
/// for each.
package struct RecordFields {
  @usableFromInline let record: UnsafePointer<UInt8>
  @usableFromInline let unescaped: UnsafePointer<UInt8>
  @usableFromInline let ranges: UnsafePointer<FieldRange>
  package let count: Int

  /// - Parameters:
  ///   - record: what ranges count from.
  ///   - unescaped: what ranges count from that are marked so.
  @inlinable
  package init(
    record: UnsafePointer<UInt8>, unescaped: UnsafePointer<UInt8>, ranges: UnsafePointer<FieldRange>, count: Int
  ) {
    self.record = record
    self.unescaped = unescaped
    self.ranges = ranges
    self.count = count
  }

  /// The text of a field as UTF-8, without quotes and escapes; of what is missing, nothing.
  @inlinable @inline(__always)
  package subscript(_ index: Int) -> UnsafeRawBufferPointer {
    precondition(index >= 0 && index < count, "no such field in this record")
    let range = ranges[index]
    return UnsafeRawBufferPointer(start: (range.isUnescaped ? unescaped : record) + range.offset, count: range.length)
  }

  @inlinable @inline(__always)
  package func kind(_ index: Int) -> FieldKind {
    precondition(index >= 0 && index < count, "no such field in this record")
    return ranges[index].kind
  }
}

extension RecordFields {
  /// Returns the offset of a field in its record; nil if its text was unescaped.
  package func offsetInRecord(_ index: Int) -> Int? {
    ranges[index].isUnescaped ? nil : ranges[index].offset
  }
}

/// The record that a reader is at; its pointers are valid until the next call that reads.
package struct PresentRecord {
  package var fields: RecordFields
  /// The record as it came, in UTF-8, without its line end; empty if it was over the size limit.
  package var raw: UnsafeRawBufferPointer
  /// The 1-based line that it begins in.
  package var line: Int
  /// Its offset in the text.
  package var offset: Int
  /// The 1-based byte in its line that it begins at.
  package var column: Int

  package init(fields: RecordFields, raw: UnsafeRawBufferPointer, line: Int, offset: Int, column: Int = 1) {
    self.fields = fields
    self.raw = raw
    self.line = line
    self.offset = offset
    self.column = column
  }
}

/// The notation of a field.
package enum FieldKind: UInt8, Sendable, CaseIterable {
  /// Text without quotes; if empty, it may be a missing value.
  case text
  /// Text in quotes, taken out of them; empty, it is a text all the same. Every string of JSON is one.
  case quotedText
  /// A number of JSON, as it is written.
  case number
  /// `true` or `false` of JSON.
  case boolean
  /// An array or an object of JSON, as it is written.
  case json
  /// `null` of JSON.
  case null
  /// The record ends before the field, or its object lacks the key.
  case absent

  /// True if nothing is there at all; an empty unquoted text is for the reader's owner to judge.
  package var isMissing: Bool { self == .null || self == .absent }
}

/// The place and the kind of one field in eight bytes, so that a record's index stays in one or two cache
/// lines.
package struct FieldRange {
  @usableFromInline static let offsetMask: UInt32 = 1 << 30 - 1
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
  /// True if the text lies among the unescaped bytes instead of in the record.
  @inlinable package var isUnescaped: Bool { lengthAndFlags & Self.unescapedFlag != 0 }
}

/// A place between two records of an input, where a later reader can continue.
package struct RecordPosition: Sendable, Hashable {
  package static let start = RecordPosition(byteOffset: 0, line: 1)

  /// Bytes of the input before this place.
  package var byteOffset: Int
  /// The 1-based number of the line that begins here; line ends inside quotes count.
  package var line: Int
  /// The offset of the start of that line, as far as it is known; only messages depend on it.
  package var lineOffset: Int

  /// - Parameter lineOffset: the same place if nothing is said.
  package init(byteOffset: Int, line: Int, lineOffset: Int? = nil) {
    self.byteOffset = byteOffset
    self.line = line
    self.lineOffset = lineOffset ?? byteOffset
  }
}
