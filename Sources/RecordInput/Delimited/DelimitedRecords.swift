import DelimitedText

/// Records whose fields stand between separators.
final class DelimitedRecords: RecordReader {
  // Used once per record, by nothing that could call back: checking each access would take a third of the time.
  @exclusivity(unchecked)
  private var reader: DelimitedReader
  private let stream: any ByteStream
  private let encoding: TextEncoding
  private let options: InputOptions
  private(set) var columnNames: [String]?
  /// Of every record; nil until the first that is right.
  @exclusivity(unchecked)
  private(set) var fieldCount: Int?

  /// - Parameter position: where the stream begins.
  init(
    _ stream: any ByteStream, _ form: InputForm, _ options: InputOptions, at position: RecordPosition,
    columnNames: [String]? = nil, fieldCount: Int? = nil
  ) {
    reader = DelimitedReader(dialect: form.dialect, blockSize: options.blockSize, startingAt: position)
    self.stream = stream
    encoding = form.encoding
    self.options = options
    self.columnNames = columnNames
    self.fieldCount = fieldCount
  }

  var record: PresentRecord { reader.record }
  var position: RecordPosition { reader.position }

  func next() throws(InputError) -> RecordSource.Step {
    while true {
      let step: DelimitedReader.Step
      do throws(DelimitedTextError) { step = try reader.nextRecord() } catch { return .bad(RecordError(error)) }
      switch step {
      case .needsInput:
        try reader.fill { [stream] (buffer) throws(InputError) in try stream.read(into: buffer) }
      case .end: return .end
      case .record:
        let record = reader.record
        guard isValidUTF8(record.raw) else { return .bad(RecordError(encoding, in: record)) }
        if reader.fieldCount != fieldCount, let error = fit() { return .bad(error) }
        return .record
      }
    }
  }

  /// Reads the record that names the columns; false if there is none.
  func readHeader() throws(InputError) -> Bool {
    switch try next() {
    case .end: return false
    case .bad(let error): throw InputError("the header can't be read: \(error)")
    case .record:
      let fields = record.fields
      fieldCount = fields.count
      columnNames = (0..<fields.count).map { String(decoding: fields[$0], as: UTF8.self) }
      return true
    }
  }

  /// Makes a record fit that has another number of fields than the first; answers why it can't.
  private func fit() -> RecordError? {
    guard let expected = fieldCount else {
      if columnNames != nil || !options.allowsAnyFieldCount { fieldCount = reader.fieldCount }
      return nil
    }
    let found = reader.fieldCount
    if options.raggedRows.allows(found, insteadOf: expected) {
      reader.fit(fieldCount: expected)
      return nil
    }
    let expectation = columnNames == nil ? options.firstOrList : "the header"
    return RecordError(
      "fieldCount", in: record, at: 0, "the record has \(counted(found, "field")), but \(expectation) has \(expected)")
  }

}
