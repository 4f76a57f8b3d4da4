import DelimitedText
import Glibc
import JSONText
import SystemSupport

/// Records that are JSON: one on each line, the elements of an array, or a whole text.
final class JSONRecords: RecordReader {
  /// The part of the text in which the next record is looked for.
  private enum Place {
    case beforeText, lines, firstElement, behindElement, wholeText, end
  }

  // Nothing that is used here calls back: checking each access to a property would take a quarter of the time.

  private let form: InputForm
  private let options: InputOptions
  /// The place after the record; while the next is looked for, where the search is.
  @exclusivity(unchecked)
  private var cursor: TextCursor
  @exclusivity(unchecked)
  private var place: Place
  @exclusivity(unchecked)
  private var parser: JSONFieldParser
  /// The number of fields of every record that is an array; nil until the first.
  @exclusivity(unchecked)
  private(set) var fieldCount: Int?

  /// Indices of the record in the block.
  @exclusivity(unchecked)
  private var recordStart = 0
  @exclusivity(unchecked)
  private var recordEnd = 0
  @exclusivity(unchecked)
  private var isOversized = false
  @exclusivity(unchecked)
  private var recordLine: Int
  @exclusivity(unchecked)
  private var recordOffset: Int
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
    cursor = TextCursor(stream, options: options, at: position)
    place = isAtStart ? .beforeText : form.holdsOneRecord ? .end : form.format == .ndjson ? .lines : .behindElement
    self.position = position
    parser = JSONFieldParser(options, isKeyed: form.hasHeader, columnNames: columnNames)
    self.fieldCount = fieldCount
    recordLine = position.line
    recordOffset = position.byteOffset
  }

  var record: PresentRecord {
    let start = cursor.block.bytes + recordStart
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
    position = cursor.position
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
      try parser.parse(cursor.block.bytes + recordStart, count: recordEnd - recordStart)
    } catch {
      return .bad(explain(error))
    }
    if !form.hasHeader, parser.fieldCount != fieldCount, let error = fit() { return .bad(error) }
    return .record
  }

  /// Notes where a record begins.
  private func beginRecord(at index: Int) {
    recordStart = index
    recordLine = cursor.line
    recordOffset = cursor.block.offset + index
    recordColumn = recordOffset - cursor.lineStart + 1
    isOversized = false
  }

  /// Goes to the first record: into the array, wherever it is.
  private func enter() throws(InputError) {
    try cursor.skipMark()
    guard form.format == .json else {
      place = .lines
      return
    }
    for key in form.path { try cursor.enter(key) }
    let byte = try cursor.skipSpace()
    if byte == 0x5B {
      cursor.index += 1
      place = .firstElement
    } else if form.path.isEmpty {
      if byte == nil { throw InputError("the text is empty; it should be JSON") }
      place = .wholeText
    } else {
      throw cursor.unexpected(byte, "an array at the path \"\(form.path.joined(separator: "."))\"")
    }
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
    case .nulCharacter:
      return recordError(
        "nulByte", at: problem.index, "the text holds the character U+0000, which not every store holds")
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
    var scan = JSONScan(cursor.block.bytes + recordStart, count: recordEnd - recordStart)
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
    try cursor.fill(keeping: keep)
    index -= keep
    recordStart = isOversized ? 0 : recordStart - keep
  }

  /// Finds the next line that is not blank; false at the end.
  private func findLine() throws(InputError) -> Bool {
    while true {
      beginRecord(at: cursor.index)
      var index = cursor.index
      while true {
        if let found = memchr(cursor.block.bytes + index, 0x0A, cursor.block.end - index) {
          recordEnd = cursor.block.bytes.distance(to: found.assumingMemoryBound(to: UInt8.self))
          cursor.index = recordEnd + 1
          cursor.beginLine(at: cursor.index)
          break
        }
        index = cursor.block.end
        if cursor.block.hasEnded {
          recordEnd = index
          cursor.index = index
          break
        }
        try fill(&index)
      }
      if recordEnd - recordStart > options.maxRecordSize { isOversized = true }
      if !isOversized { skipMarks() }
      if recordEnd > recordStart, cursor.block.bytes[recordEnd - 1] == 0x0D { recordEnd -= 1 }
      if !isBlank || isOversized { return true }
      if cursor.block.hasEnded, cursor.index == cursor.block.end { return false }
    }
  }

  /// A line begins with byte order marks where texts were concatenated.
  private func skipMarks() {
    let bytes = cursor.block.bytes
    while recordEnd - recordStart >= 3, bytes[recordStart] == 0xEF, bytes[recordStart + 1] == 0xBB,
      bytes[recordStart + 2] == 0xBF
    {
      recordStart += 3
      recordOffset += 3
    }
  }

  private var isBlank: Bool {
    var index = recordStart
    while index < recordEnd, isSpace(cursor.block.bytes[index]) { index += 1 }
    return index == recordEnd
  }

  /// Finds the rest of the text, which is one record.
  private func findWholeText() throws(InputError) -> Bool {
    beginRecord(at: cursor.index)
    var index = cursor.index
    repeat {
      index = cursor.block.end
      try fill(&index)
    } while !cursor.block.hasEnded
    recordEnd = cursor.block.end
    cursor.index = recordEnd
    if recordEnd - recordStart > options.maxRecordSize { isOversized = true }
    place = .end
    for index in recordStart..<recordEnd where cursor.block.bytes[index] == 0x0A { cursor.beginLine(at: index + 1) }
    while recordEnd > recordStart, isSpace(cursor.block.bytes[recordEnd - 1]) { recordEnd -= 1 }
    return true
  }

  /// Finds the next element of the array; at its end, checks the text that follows.
  private func findElement() throws(InputError) -> Bool {
    let isFirst = place == .firstElement
    place = .behindElement
    var byte = try cursor.skipSpace()
    if byte == 0x5D {
      cursor.index += 1
      try cursor.leave(form.path)
      place = .end
      return false
    }
    if !isFirst {
      guard byte == 0x2C else { throw cursor.unexpected(byte, "\",\" or \"]\" after an element of the array") }
      let comma = cursor.position
      cursor.index += 1
      byte = try cursor.skipSpace()
      if byte == 0x5D { missingElement = Self.missing(comma, "a comma before the closing \"]\"; remove it") }
    }
    beginRecord(at: cursor.index)
    if byte == 0x2C {
      missingElement = Self.missing(cursor.position, "a value is missing before this comma")
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
    var index = cursor.index
    var depth = 0
    var isInString = false
    while true {
      let bytes = UnsafePointer(cursor.block.bytes)
      let end = cursor.block.end
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
            cursor.beginLine(at: index &+ 1)
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
          case 0x0A: cursor.beginLine(at: index &+ 1)
          default: break
          }
        }
        index &+= 1
      }
      if cursor.block.hasEnded, depth == 0, !isInString, isOversized || index > recordStart {
        return endValue(at: index)
      }
      if cursor.block.hasEnded {
        throw InputError(
          "the text ends inside the record that begins in line \(recordLine); it was cut off, or something is not "
            + "closed")
      }
      try fill(&index)
    }
  }

  private func endValue(at index: Int) {
    cursor.index = index
    recordEnd = index
    if recordEnd - recordStart > options.maxRecordSize { isOversized = true }
    guard !isOversized else { return }
    while recordEnd > recordStart, isSpace(cursor.block.bytes[recordEnd - 1]) { recordEnd -= 1 }
  }
}
