/// The current record, after ``DelimitedReader/nextRecord()`` answered `.record` or threw.
extension DelimitedReader {
  /// The record; valid until the next call that reads.
  package var record: PresentRecord {
    // Mutating, since the compiler copies all of the reader where a property of it is only read.
    mutating get {
      PresentRecord(
        fields: RecordFields(record: bytes + recordStart, unescaped: unescaped, ranges: fields, count: fieldCount),
        raw: rawRecord, line: recordLine, offset: recordOffset)
    }
  }

  /// The text of a field, without its quotes and with doubled quotes made single; valid until the next call that reads.
  package mutating func field(_ index: Int) -> UnsafeRawBufferPointer { record.fields[index] }

  /// Whether a field was quoted: `""` is an empty text, nothing at all may mean that there is no value.
  package mutating func isQuoted(_ index: Int) -> Bool { record.fields.kind(index) == .quotedText }

  /// Gives the record so many fields: those that it lacks are absent, and those too many are dropped.
  ///
  /// - Precondition: `count` is within the dialect's limit.
  package mutating func fit(fieldCount count: Int) {
    precondition(count <= dialect.maxFieldCount, "more fields than the dialect allows")
    while fieldCapacity < count { growFields() }
    while fieldCount < count {
      fields[fieldCount] = FieldRange(.absent, at: 0, length: 0)
      fieldCount += 1
    }
    fieldCount = count
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
  package var position: RecordPosition {
    RecordPosition(byteOffset: inputOffset + nextStart, line: line)
  }
}
