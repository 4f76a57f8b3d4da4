import DelimitedText
import Glibc
import JSONText

/// Records that are JSON: one on each line, the elements of an array, or a whole text.
final class JSONRecords: RecordReader {
  /// Where in the text the next record is looked for.
  enum Place {
    case beforeText, lines, firstElement, behindElement, wholeText, end
  }

  // Nothing that is used here calls back: checking each access to a property would take a quarter of the time.

  let form: InputForm
  let options: InputOptions
  @exclusivity(unchecked)
  var block: TextBlock
  @exclusivity(unchecked)
  var place: Place
  @exclusivity(unchecked)
  private var parser: JSONFieldParser
  /// Of every record that is an array; nil until the first.
  @exclusivity(unchecked)
  private(set) var fieldCount: Int?

  /// Indices into the block: the record, and what comes after it.
  @exclusivity(unchecked)
  var recordStart = 0
  @exclusivity(unchecked)
  var recordEnd = 0
  @exclusivity(unchecked)
  var nextStart = 0
  @exclusivity(unchecked)
  var isOversized = false
  @exclusivity(unchecked)
  private(set) var recordLine: Int
  @exclusivity(unchecked)
  var recordOffset: Int
  @exclusivity(unchecked)
  var line: Int
  /// Where the present line begins in the text.
  @exclusivity(unchecked)
  var lineStart: Int
  @exclusivity(unchecked)
  private var recordColumn = 1
  /// Why there is no record where one should be.
  @exclusivity(unchecked)
  var missingElement: RecordError?

  /// - Parameter isAtStart: whether no record comes before `position`.
  init(
    _ stream: any ByteStream, _ form: InputForm, _ options: InputOptions, at position: RecordPosition,
    isAtStart: Bool, columnNames: [String]? = nil, fieldCount: Int? = nil
  ) {
    self.form = form
    self.options = options
    block = TextBlock(stream, blockSize: options.blockSize, offset: position.byteOffset)
    place = isAtStart ? .beforeText : form.holdsOneRecord ? .end : form.format == .ndjson ? .lines : .behindElement
    self.position = position
    parser = JSONFieldParser(options, isKeyed: form.hasHeader, columnNames: columnNames)
    self.fieldCount = fieldCount
    line = position.line
    lineStart = position.lineOffset
    recordLine = position.line
    recordOffset = position.byteOffset
  }

  var record: PresentRecord {
    let start = block.bytes + recordStart
    return PresentRecord(
      fields: RecordFields(
        record: start, unescaped: parser.unescaped, ranges: parser.ranges, count: parser.fieldCount),
      raw: UnsafeRawBufferPointer(start: start, count: isOversized ? 0 : recordEnd - recordStart), line: recordLine,
      offset: recordOffset, column: recordColumn)
  }

  /// Stays behind the last record when the end is reached, so that somebody can go on there.
  @exclusivity(unchecked)
  private(set) var position: RecordPosition

  var columnNames: [String]? { form.hasHeader ? parser.columnNames : nil }

  func next() throws(InputError) -> RecordSource.Step {
    if place == .beforeText { try enter() }
    let isThere =
      switch place {
      case .lines: try findLine()
      case .firstElement, .behindElement: try findElement()
      case .wholeText: try findWholeText()
      case .beforeText, .end: false
      }
    guard isThere else { return .end }
    position = RecordPosition(byteOffset: block.offset + nextStart, line: line, lineOffset: lineStart)
    if let missing = missingElement {
      missingElement = nil
      return .bad(missing)
    }
    if isOversized {
      return .bad(
        recordError(
          "recordTooLarge", at: 0,
          "the record that begins here is more than \(options.maxRecordSize) bytes; look for what is not closed, or "
            + "raise the limit"))
    }
    guard isValidUTF8(record.raw) else { return .bad(RecordError(form.encoding, in: record)) }
    do throws(JSONFieldParser.Problem) {
      try parser.parse(block.bytes + recordStart, count: recordEnd - recordStart)
    } catch {
      return .bad(explain(error))
    }
    if !form.hasHeader, parser.fieldCount != fieldCount, let error = fit() { return .bad(error) }
    return .record
  }

  /// Notes where a record begins.
  func beginRecord(at index: Int) {
    recordStart = index
    recordLine = line
    recordOffset = block.offset + index
    recordColumn = recordOffset - lineStart + 1
    isOversized = false
  }

  /// Notes where a line begins.
  @inline(__always)
  func beginLine(at index: Int) {
    line &+= 1
    lineStart = block.offset &+ index
  }

  private func fit() -> RecordError? {
    let found = parser.fieldCount
    guard let expected = fieldCount else {
      if !options.allowsAnyFieldCount { fieldCount = found }
      return nil
    }
    guard options.raggedRows.allows(found, insteadOf: expected) else {
      return recordError(
        "fieldCount", at: 0, "the record has \(counted(found, "field")), but \(options.firstOrList) has \(expected)")
    }
    parser.fit(fieldCount: expected)
    return nil
  }

  private func explain(_ problem: JSONFieldParser.Problem) -> RecordError {
    switch problem.kind {
    case .notAnObject:
      return recordError("notAnObject", at: problem.index, "the record is no object, so it has no keys for columns")
    case .tooManyFields:
      return recordError(
        "tooManyFields", at: problem.index, "the record has more than \(options.maxFieldCount) fields; raise the limit")
    case .syntax:
      // Reading it a second time tells what is wrong; nobody pays for it with records that are right.
      do throws(JSONError) {
        _ = try JSONValue(
          parsing: record.raw, limits: JSONLimits(depth: JSONScan.depthLimit, duplicateKeys: .useLast))
        return recordError("json", at: problem.index, "the record is no JSON from here on")
      } catch {
        if form.format == .ndjson, holdsAnother(at: problem.index) {
          return recordError(
            "severalValues", at: problem.index,
            "another value follows on the same line; end each record with a line feed")
        }
        return recordError(error.code.rawValue, at: error.byteOffset, error.message)
      }
    }
  }

  /// Whether the record is a value and another one that begins at an index.
  private func holdsAnother(at index: Int) -> Bool {
    var scan = JSONScan(block.bytes + recordStart, count: recordEnd - recordStart)
    let end = scan.value(scan.space(0))
    guard end >= 0, scan.space(end) == index else { return false }
    return scan.byte(index) == 0x7B || scan.byte(index) == 0x5B
  }

  private func recordError(_ rule: String, at index: Int, _ message: String) -> RecordError {
    RecordError(rule, in: record, at: index, message)
  }
}
