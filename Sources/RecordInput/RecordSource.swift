import DelimitedText
package import SystemSupport

/// The records of a file, one after the other, however the file is written, encoded and packed.
///
/// Nothing is allocated per record. Each record has a position after it, from which a later source of the same file can
/// continue. Not thread-safe; memory is bounded by the block size and the largest record.
package final class RecordSource {
  package typealias Step = RecordStep

  /// The notation of the file, as stated or detected.
  package let form: InputForm
  /// The position before the first record, after a header.
  package let start: RecordPosition
  /// The number of fields of every record, header included; nil if it may differ.
  package let fieldCount: Int?
  /// The present record, as unpacked UTF-8; valid until the next call.
  @exclusivity(unchecked)
  package private(set) var record: PresentRecord

  private let input: InputBytes
  private let options: InputOptions
  @exclusivity(unchecked)
  private var reader: any RecordReader

  /// Opens a file for its first record.
  ///
  /// Reads the first part of it, to detect what is not stated, and the header.
  package convenience init(_ file: consuming FileDescriptor, _ options: InputOptions = InputOptions())
    throws(InputError)
  {
    try self.init(FileBytes(file), options)
  }

  private init(_ file: FileBytes, _ options: InputOptions) throws(InputError) {
    self.options = options
    let (input, form) = try FormDetection.find(file, options)
    self.input = input
    self.form = form
    let opening = try Opening(input, form, options: options)
    start = opening.start
    fieldCount = opening.fieldCount
    reader = opening.reader
    record = opening.reader.record
  }

  /// Goes to the next record.
  ///
  /// - Throws: why nothing more can be read: the system's error, or an archive that is damaged or cut off.
  package func next() throws(InputError) -> Step {
    let step = try reader.next()
    record = reader.record
    return step
  }

  /// Goes to a ``position`` or ``start`` of this source, or of another of the same file and options.
  ///
  /// In plain UTF-8 this is a jump; otherwise the text before it is read again. Fields are those of an undisturbed
  /// reading if the columns of JSON objects are stated; else columns are found from here on.
  package func go(to position: RecordPosition) throws(InputError) {
    let stream = try input.stream(from: position.byteOffset)
    let names = columnNames
    reader =
      form.isDelimited
      ? DelimitedRecords(stream, form, options: options, at: position, columnNames: names, fieldCount: fieldCount)
      : JSONRecords(
        stream, form, options: options, at: position, isAtStart: position.byteOffset == start.byteOffset,
        columnNames: names, fieldCount: fieldCount)
    record = reader.record
  }

  /// The names that the header gives; of JSON, the columns stated or found so far. Nil if columns have no names.
  package var columnNames: [String]? { reader.columnNames }

  /// The place after the present record.
  package var position: RecordPosition { reader.position }

  /// The number of bytes of the file that are consumed; of a compressed or recoded file, those that were read.
  package var fileOffset: Int64 { input.isPlain ? Int64(position.byteOffset) : input.file.offset }

  /// The file's size, owner and times now.
  package func fileStatus() throws(SystemError) -> FileStatus { try input.file.file.status() }

  /// Makes an error for the present record, or for one of its fields.
  package func error(rule: String, field: Int? = nil, _ message: String) -> RecordError {
    var offset = 0
    if let field, field < record.fields.count, form.isDelimited { offset = record.fields.offsetInRecord(field) ?? 0 }
    var error = RecordError(rule, in: record, at: offset, message)
    error.fieldIndex = field
    return error
  }
}

/// The facts that must be known before the first record: its place, the names of the columns and their number.
struct Opening {
  private(set) var reader: any RecordReader
  private(set) var start: RecordPosition
  private(set) var fieldCount: Int?

  init(_ input: InputBytes, _ form: InputForm, options: InputOptions) throws(InputError) {
    let first = try Self.position(afterLines: form.skippedLines, input)
    start = first
    reader = try Self.reader(input, form, options: options, at: first)
    guard form.isDelimited || !form.hasHeader else { return }
    if form.hasHeader, let records = reader as? DelimitedRecords, try records.readHeader() {
      start = records.position
      fieldCount = records.fieldCount
      return
    }
    // Wherever a later source continues, records have as many fields as the first.
    if options.allowsAnyFieldCount {
      fieldCount = nil
    } else if let stated = options.fieldCount {
      fieldCount = stated
    } else {
      fieldCount = try Self.countOfFields(reader)
    }
    reader = try Self.reader(input, form, options: options, at: first, fieldCount: fieldCount)
  }

  private static func reader(
    _ input: InputBytes, _ form: InputForm, options: InputOptions, at position: RecordPosition, fieldCount: Int? = nil
  ) throws(InputError) -> any RecordReader {
    let stream = try input.stream(from: position.byteOffset)
    return form.isDelimited
      ? DelimitedRecords(stream, form, options: options, at: position, fieldCount: fieldCount)
      : JSONRecords(stream, form, options: options, at: position, isAtStart: true, fieldCount: fieldCount)
  }

  private static func countOfFields(_ records: any RecordReader) throws(InputError) -> Int? {
    while records.fieldCount == nil {
      if try records.next() == .end { return nil }
    }
    return records.fieldCount
  }

  /// Returns the position after a number of lines.
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
