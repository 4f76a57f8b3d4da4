import DelimitedText
import Glibc
import JSONText

/// Records that are JSON: one on each line, the elements of an array, or a whole text.
final class JSONRecords: RecordReader {
  /// The part of the text in which the next record is looked for.
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
  /// The number of fields of every record that is an array; nil until the first.
  @exclusivity(unchecked)
  private(set) var fieldCount: Int?

  /// Indices into the block: the record, and what comes after it.
  @exclusivity(unchecked)
  var recordStart = 0
  @exclusivity(unchecked)
  private var recordEnd = 0
  @exclusivity(unchecked)
  var nextStart = 0
  @exclusivity(unchecked)
  private var isOversized = false
  @exclusivity(unchecked)
  private var recordLine: Int
  @exclusivity(unchecked)
  private var recordOffset: Int
  @exclusivity(unchecked)
  var line: Int
  /// The offset of the present line.
  @exclusivity(unchecked)
  var lineStart: Int
  @exclusivity(unchecked)
  private var recordColumn = 1
  /// The error where a record is missing.
  @exclusivity(unchecked)
  private var missingElement: RecordError?

  /// - Parameter isAtStart: whether no record comes before `position`.
  init(
    _ stream: any ByteStream, _ form: InputForm, options: InputOptions, at position: RecordPosition,
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

  /// Stays after the last record when the end is reached, so that a later source can continue there.
  @exclusivity(unchecked)
  private(set) var position: RecordPosition

  var columnNames: [String]? { form.hasHeader ? parser.columnNames : nil }

  func next() throws(InputError) -> RecordStep {
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
      return recordError("notAnObject", at: problem.index, "the record is not an object, so it has no keys for columns")
    case .tooManyFields:
      return recordError(
        "tooManyFields", at: problem.index, "the record has more than \(options.maxFieldCount) fields; raise the limit")
    case .syntax:
      // Reading it a second time tells what is wrong; good records don't pay for that.
      do throws(JSONError) {
        _ = try JSONValue(
          parsing: record.raw, limits: JSONLimits(depth: JSONScan.depthLimit, duplicateKeys: .useLast))
        return recordError("json", at: problem.index, "the record is not JSON from here on")
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

  /// True if the record is a value and another one that begins at an index.
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

/// The search for the next record's bounds.
extension JSONRecords {
  /// Reads more while keeping the present record, unless it is too large already.
  private func fill(_ index: inout Int) throws(InputError) {
    if index - recordStart > options.maxRecordSize { isOversized = true }
    let keep = isOversized ? index : recordStart
    try block.fill(keeping: keep)
    index -= keep
    recordStart = isOversized ? 0 : recordStart - keep
  }

  /// Finds the next line that is not blank; false at the end.
  func findLine() throws(InputError) -> Bool {
    while true {
      beginRecord(at: nextStart)
      var index = nextStart
      while true {
        if let found = memchr(block.bytes + index, 0x0A, block.end - index) {
          recordEnd = block.bytes.distance(to: found.assumingMemoryBound(to: UInt8.self))
          nextStart = recordEnd + 1
          beginLine(at: nextStart)
          break
        }
        index = block.end
        if block.hasEnded {
          recordEnd = index
          nextStart = index
          break
        }
        try fill(&index)
      }
      if recordEnd - recordStart > options.maxRecordSize { isOversized = true }
      if !isOversized { skipMarks() }
      if recordEnd > recordStart, block.bytes[recordEnd - 1] == 0x0D { recordEnd -= 1 }
      if !isBlank || isOversized { return true }
      if block.hasEnded, nextStart == block.end { return false }
    }
  }

  /// A line begins with byte order marks where texts were concatenated.
  private func skipMarks() {
    while recordEnd - recordStart >= 3, block.bytes[recordStart] == 0xEF, block.bytes[recordStart + 1] == 0xBB,
      block.bytes[recordStart + 2] == 0xBF
    {
      recordStart += 3
      recordOffset += 3
    }
  }

  private var isBlank: Bool {
    var index = recordStart
    while index < recordEnd, isSpace(block.bytes[index]) { index += 1 }
    return index == recordEnd
  }

  /// Finds the rest of the text, which is one record.
  func findWholeText() throws(InputError) -> Bool {
    beginRecord(at: nextStart)
    var index = nextStart
    repeat {
      index = block.end
      try fill(&index)
    } while !block.hasEnded
    recordEnd = block.end
    nextStart = recordEnd
    if recordEnd - recordStart > options.maxRecordSize { isOversized = true }
    place = .end
    for index in recordStart..<recordEnd where block.bytes[index] == 0x0A { beginLine(at: index + 1) }
    while recordEnd > recordStart, isSpace(block.bytes[recordEnd - 1]) { recordEnd -= 1 }
    return true
  }

  /// Finds the next element of the array; at its end, checks the text that follows.
  func findElement() throws(InputError) -> Bool {
    let isFirst = place == .firstElement
    place = .behindElement
    var byte = try skipSpace()
    if byte == 0x5D {
      nextStart += 1
      try leave()
      return false
    }
    if !isFirst {
      guard byte == 0x2C else { throw unexpected(byte, "\",\" or \"]\" after an element of the array") }
      let comma = RecordPosition(byteOffset: block.offset + nextStart, line: line, lineOffset: lineStart)
      nextStart += 1
      byte = try skipSpace()
      if byte == 0x5D { missingElement = Self.missing(comma, "a comma before the closing \"]\"; remove it") }
    }
    beginRecord(at: nextStart)
    if byte == 0x2C {
      let comma = RecordPosition(byteOffset: recordOffset, line: line, lineOffset: lineStart)
      missingElement = Self.missing(comma, "a value is missing before this comma")
    }
    try scanElement()
    return true
  }

  private static func missing(_ comma: RecordPosition, _ message: String) -> RecordError {
    RecordError(
      rule: "unexpectedText", line: comma.line, column: comma.byteOffset - comma.lineOffset + 1,
      byteOffset: comma.byteOffset, message: message)
  }

  /// Goes to the end of an element, which is a comma or bracket outside its own brackets and strings.
  ///
  /// Brackets that close nothing are part of a damaged element, except the one that ends the array.
  private func scanElement() throws(InputError) {
    var index = nextStart
    var depth = 0
    var isInString = false
    while true {
      let bytes = UnsafePointer(block.bytes)
      let end = block.end
      scan: while index < end {
        let byte = bytes[index]
        if isInString {
          if byte == 0x22 {
            isInString = false
          } else if byte == 0x5C {
            // What is escaped may be in the next block.
            if index &+ 1 == end { break scan }
            index &+= 1
          } else if byte == 0x0A {
            beginLine(at: index &+ 1)
          }
        } else {
          switch byte {
          case 0x22: isInString = true
          case 0x7B, 0x5B: depth &+= 1
          case 0x7D, 0x5D:
            if depth > 0 {
              depth &-= 1
            } else if byte == 0x5D {
              return endValue(at: index)
            }
          case 0x2C: if depth == 0 { return endValue(at: index) }
          case 0x0A: beginLine(at: index &+ 1)
          default: break
          }
        }
        index &+= 1
      }
      if block.hasEnded, depth == 0, !isInString, isOversized || index > recordStart { return endValue(at: index) }
      if block.hasEnded {
        throw InputError(
          "the text ends inside the record that begins in line \(recordLine); it was cut off, or something is not "
            + "closed")
      }
      try fill(&index)
    }
  }

  private func endValue(at index: Int) {
    nextStart = index
    recordEnd = index
    if recordEnd - recordStart > options.maxRecordSize { isOversized = true }
    guard !isOversized else { return }
    while recordEnd > recordStart, isSpace(block.bytes[recordEnd - 1]) { recordEnd -= 1 }
  }
}

/// True if a byte is one of the four that JSON calls white space.
func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 }
