import DelimitedText
package import SystemSupport

/// The records of a file, one after the other, however the file is written, encoded and packed.
///
/// Nothing is allocated per record. Each record has a position behind it, where a later source of the same file can go
/// on. One thread at a time; memory is bounded by the block size and the largest record.
package final class RecordSource {
  /// What ``next()`` came to.
  package enum Step: Sendable, Hashable {
    /// A record is there.
    case record
    /// The present record can't be used: ``record`` has its text, and the next call goes on behind it.
    indirect case bad(RecordError)
    case end
  }

  /// How the file is written, as stated or found out.
  package let form: InputForm
  /// Before the first record, behind a header.
  package let start: RecordPosition
  /// Fields of a record between separators, header included, or of an array; nil if that is open.
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
  /// Reads the first part of it, to find out what is not stated, and the header.
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
    let opening = try Opening(input, form, options)
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

  /// Goes to a place that ``position`` or ``start`` gave, of this source or another of the same file and options.
  ///
  /// In plain UTF-8 that is a jump; otherwise all before it is read again. Fields are those of an undisturbed reading if
  /// the columns of JSON objects are stated; else columns are found from here on.
  package func go(to position: RecordPosition) throws(InputError) {
    let stream = try input.stream(from: position.byteOffset)
    let names = columnNames
    reader =
      form.isDelimited
      ? DelimitedRecords(stream, form, options, at: position, columnNames: names, fieldCount: fieldCount)
      : JSONRecords(
        stream, form, options, at: position, isAtStart: position.byteOffset == start.byteOffset, columnNames: names,
        fieldCount: fieldCount)
    record = reader.record
  }

  /// The names that the header gives; of JSON, the columns stated or found so far. Nil if columns have no names.
  package var columnNames: [String]? { reader.columnNames }

  /// The place after the present record.
  package var position: RecordPosition { reader.position }

  /// How many bytes of the file are done with; of one that is packed or recoded, how many were read.
  package var fileOffset: Int64 { input.isPlain ? Int64(position.byteOffset) : input.file.offset }

  /// The file's size, owner and times now.
  package func fileStatus() throws(SystemError) -> FileStatus { try input.file.file.status() }

  /// An error in the present record, or in one of its fields.
  package func error(rule: String, field: Int? = nil, _ message: String) -> RecordError {
    var offset = 0
    if let field, field < record.fields.count, form.isDelimited { offset = record.fields.offsetInRecord(field) ?? 0 }
    var error = RecordError(rule, in: record, at: offset, message)
    error.fieldIndex = field
    return error
  }
}
