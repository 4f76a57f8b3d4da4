/// The current record, after ``DelimitedReader/nextRecord()`` answered `.record` or threw.
extension DelimitedReader {
  /// The text of a field, without its quotes and with doubled quotes made single; valid until the next call that reads.
  @inline(__always)
  package func field(_ index: Int) -> UnsafeRawBufferPointer {
    precondition(index >= 0 && index < fieldCount, "no such field in this record")
    let range = fields[index]
    let base = range.isUnescaped ? unescaped : bytes + recordStart
    return UnsafeRawBufferPointer(start: base + range.offset, count: range.length)
  }

  /// Whether a field was quoted: `""` is an empty text, nothing at all may mean that there is no value.
  @inline(__always)
  package func isQuoted(_ index: Int) -> Bool {
    precondition(index >= 0 && index < fieldCount, "no such field in this record")
    return fields[index].isQuoted
  }

  /// The record as it came, without its line end; empty if it was over the size limit.
  package var rawRecord: UnsafeRawBufferPointer {
    isDiscarding
      ? UnsafeRawBufferPointer(start: bytes, count: 0)
      : UnsafeRawBufferPointer(start: bytes + recordStart, count: recordEnd - recordStart)
  }

  /// The offset of the record's first byte in the input.
  package var recordOffset: Int { inputOffset + recordStart }

  /// The place after the record and its line end, where a later reader can go on.
  package var position: DelimitedPosition {
    DelimitedPosition(byteOffset: inputOffset + nextStart, line: line)
  }
}
