import DelimitedText

/// What must be known of an input before its first record: where that is, what the columns are called, how many.
struct Opening {
  private(set) var reader: any RecordReader
  private(set) var start: RecordPosition
  private(set) var fieldCount: Int?

  init(_ input: InputBytes, _ form: InputForm, _ options: InputOptions) throws(InputError) {
    let first = try Self.position(afterLines: form.skippedLines, input)
    start = first
    reader = try Self.reader(input, form, options, at: first)
    guard form.isDelimited || !form.hasHeader else { return }
    if form.hasHeader, let records = reader as? DelimitedRecords, try records.readHeader() {
      start = records.position
      fieldCount = records.fieldCount
      return
    }
    // Wherever somebody goes on later, records have as many fields as the first.
    if options.allowsAnyFieldCount {
      fieldCount = nil
    } else if let stated = options.fieldCount {
      fieldCount = stated
    } else {
      fieldCount = try Self.countOfFields(reader)
    }
    reader = try Self.reader(input, form, options, at: first, fieldCount: fieldCount)
  }

  private static func reader(
    _ input: InputBytes, _ form: InputForm, _ options: InputOptions, at position: RecordPosition, fieldCount: Int? = nil
  ) throws(InputError) -> any RecordReader {
    let stream = try input.stream(from: position.byteOffset)
    return form.isDelimited
      ? DelimitedRecords(stream, form, options, at: position, fieldCount: fieldCount)
      : JSONRecords(stream, form, options, at: position, isAtStart: true, fieldCount: fieldCount)
  }

  private static func countOfFields(_ records: any RecordReader) throws(InputError) -> Int? {
    while records.fieldCount == nil {
      if try records.next() == .end { return nil }
    }
    return records.fieldCount
  }

  /// Where the text goes on behind so many lines.
  private static func position(afterLines count: Int, _ input: InputBytes) throws(InputError) -> RecordPosition {
    guard count > 0 else { return .start }
    let stream = try input.stream(from: 0)
    let block = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 16, alignment: 16)
    defer { block.deallocate() }
    var position = RecordPosition.start
    var wasReturn = false
    while true {
      let read = try stream.read(into: block)
      if read == 0 { return RecordPosition(byteOffset: position.byteOffset, line: position.line) }
      for byte in block[..<read] {
        // The line feed after a carriage return belongs to the same line end.
        if position.line == count + 1, !(wasReturn && byte == 0x0A) {
          return RecordPosition(byteOffset: position.byteOffset, line: position.line)
        }
        position.byteOffset += 1
        if byte == 0x0D || (byte == 0x0A && !wasReturn) { position.line += 1 }
        wasReturn = byte == 0x0D
      }
    }
  }
}
