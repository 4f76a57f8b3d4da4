import DelimitedText
import SystemSupport

/// Records whose fields stand between separators.
final class DelimitedRecords: RecordReader {
  // Used once per record, by nothing that could call back: checking each access would take a third of the time.
  @exclusivity(unchecked)
  private var reader: DelimitedReader
  private let stream: any ByteStream
  private let encoding: TextEncoding
  private let options: InputOptions
  private(set) var columnNames: [String]? { didSet { noteUnnamed() } }
  /// The first of the columns at the end that must be empty.
  @exclusivity(unchecked)
  private var firstUnnamed = Int.max
  /// The number of fields of every record; nil until the first good record.
  @exclusivity(unchecked)
  private(set) var fieldCount: Int?

  /// - Parameter position: where the stream begins.
  init(
    _ stream: any ByteStream, _ form: InputForm, options: InputOptions, at position: RecordPosition,
    columnNames: [String]? = nil, fieldCount: Int? = nil
  ) {
    reader = DelimitedReader(dialect: form.dialect, blockSize: options.blockSize, startingAt: position)
    self.stream = stream
    encoding = form.encoding
    self.options = options
    self.columnNames = columnNames
    self.fieldCount = fieldCount
    noteUnnamed()
  }

  var record: PresentRecord { reader.record }
  var position: RecordPosition { reader.position }

  func next() throws(InputError) -> RecordStep { try next(isHeader: false) }

  private func next(isHeader: Bool) throws(InputError) -> RecordStep {
    while true {
      let step: DelimitedReader.Step
      do throws(DelimitedTextError) { step = try reader.nextRecord() } catch {
        // A stray quote has swallowed an unknown number of records.
        if error.swallowsRecords { throw InputError("\(error)") }
        return .bad(RecordError(error))
      }
      switch step {
      case .needsInput:
        try reader.fill { [stream] (buffer) throws(InputError) in try stream.read(into: buffer) }
      case .end: return .end
      case .record:
        let record = reader.record
        guard isValidUTF8(record.raw) else { return .bad(RecordError(encoding, in: record)) }
        var count = record.fields.count
        if count != fieldCount {
          if fieldCount != nil || isHeader, record.isBlankLine { continue }
          if let error = fit() { return .bad(error) }
          count = reader.fieldCount
        }
        if count > firstUnnamed, let error = unnamedValue() { return .bad(error) }
        return .record
      }
    }
  }

  /// Reads the record that names the columns; false if there is none.
  func readHeader() throws(InputError) -> Bool {
    switch try next(isHeader: true) {
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

  private func noteUnnamed() {
    guard options.refusesUnnamedValues, let columnNames else { return }
    firstUnnamed = columnNames.namedCount
  }

  /// Returns the error for a value in a column without a name; nil if there is none.
  private func unnamedValue() -> RecordError? {
    let record = record
    guard let index = (firstUnnamed..<record.fields.count).first(where: { !record.fields[$0].isEmpty }) else {
      return nil
    }
    var error = RecordError(
      "unnamedColumn", in: record, at: record.fields.offsetInRecord(index) ?? 0,
      "the header has no name for this value; name the column, or state \"columns\" to leave it out")
    error.fieldIndex = index
    return error
  }
}

extension [String] {
  /// The number of columns up to the last that has a name.
  package var namedCount: Int { (lastIndex { !$0.isEmpty } ?? -1) + 1 }
}

extension PresentRecord {
  /// True if the record is a line of nothing but blanks, which separate nothing.
  var isBlankLine: Bool { fields.count == 1 && raw.allSatisfy { $0 == 0x20 || $0 == 0x09 } }
}
