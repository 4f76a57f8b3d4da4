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
  /// Where a field begins in its record; nil if its text was unescaped.
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
  /// Where it begins in the text.
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
