import DelimitedText

/// A reader written for clearness only: one byte after the other over the whole text.
struct ReferenceReader {
  let text: [UInt8]
  let dialect: DelimitedDialect
  var index = 0
  var line = 1
  var lineStart = 0
  var firstOpenLine: Int?

  init(_ text: [UInt8], _ dialect: DelimitedDialect) {
    self.text = text
    self.dialect = dialect
  }

  static func read(_ text: [UInt8], _ dialect: DelimitedDialect) -> [ReadRecord] {
    var reader = ReferenceReader(text, dialect)
    var records: [ReadRecord] = []
    while reader.index < text.count {
      if let record = reader.record() { records.append(record) }
    }
    return records
  }

  /// The size of the line end at `index`, or 0.
  private func lineEndSize(_ index: Int) -> Int {
    guard index < text.count else { return 0 }
    if text[index] == 10 { return 1 }
    if text[index] == 13 { return index + 1 < text.count && text[index + 1] == 10 ? 2 : 1 }
    return 0
  }

  private mutating func record() -> ReadRecord? {
    var result = ReadRecord()
    if text[index...].starts(with: [0xEF, 0xBB, 0xBF]) {
      index += 3
      lineStart = index
      return nil
    }
    let start = index
    let startColumn = index - lineStart + 1
    result.line = line
    result.offset = start
    firstOpenLine = nil
    let isComment = dialect.comment == text[index]
    if isComment {
      while index < text.count, lineEndSize(index) == 0 { index += 1 }
    } else {
      repeat { field(&result) } while index < text.count && lineEndSize(index) == 0 && step()
    }
    let end = index
    let size = lineEndSize(index)
    index += size
    if size > 0 {
      line += 1
      lineStart = index
    }
    if isComment || end == start { return nil }
    result.raw = String(decoding: text[start..<end], as: UTF8.self)
    result.next = RecordPosition(byteOffset: index, line: line)
    if end - start > dialect.maxRecordSize {
      result.raw = ""
      result.error = DelimitedTextError(
        code: .recordTooLarge, line: result.line, column: startColumn, byteOffset: start, fieldIndex: 0,
        limit: dialect.maxRecordSize, quoteLine: firstOpenLine)
    }
    if result.error != nil {
      result.fields = []
      result.quoted = []
    }
    return result
  }

  /// Steps over a separator.
  private mutating func step() -> Bool {
    index += 1
    return true
  }

  /// - Parameter opened: the line of the field's opening quote.
  private func note(_ code: DelimitedTextError.Code, _ record: inout ReadRecord, opened: Int? = nil) {
    guard record.error == nil else { return }
    record.error = DelimitedTextError(
      code: code, line: line, column: index - lineStart + 1, byteOffset: index, fieldIndex: record.fields.count,
      quoteLine: opened == line ? nil : opened)
  }

  private mutating func field(_ record: inout ReadRecord) {
    var value: [UInt8] = []
    let isQuoted = index < text.count && text[index] == dialect.quote
    let opened = line
    if isQuoted { quotedPart(&record, &value) }
    let isStrict = dialect.strayQuotes == .error
    var isFirst = true
    while index < text.count, lineEndSize(index) == 0, text[index] != dialect.separator {
      if text[index] == 0 {
        note(.nulByte, &record)
      } else if isStrict, isQuoted, isFirst {
        note(.textAfterQuote, &record, opened: opened)
      } else if isStrict, text[index] == dialect.quote {
        note(.strayQuote, &record)
      }
      isFirst = false
      value.append(text[index])
      index += 1
    }
    record.fields.append(String(decoding: value, as: UTF8.self))
    record.quoted.append(isQuoted)
  }

  private mutating func quotedPart(_ record: inout ReadRecord, _ value: inout [UInt8]) {
    let opened = (
      code: DelimitedTextError.Code.unclosedQuote, line: line, column: index - lineStart + 1, byteOffset: index
    )
    index += 1
    while index < text.count {
      if text[index] == dialect.quote {
        guard index + 1 < text.count, text[index + 1] == dialect.quote else {
          index += 1
          return
        }
        value.append(text[index])
        index += 2
        continue
      }
      if text[index] == 0 { note(.nulByte, &record, opened: opened.line) }
      let size = max(lineEndSize(index), 1)
      let isLineEnd = lineEndSize(index) > 0
      value += text[index..<index + size]
      index += size
      if isLineEnd {
        firstOpenLine = firstOpenLine ?? opened.line
        line += 1
        lineStart = index
      }
    }
    firstOpenLine = firstOpenLine ?? opened.line
    record.error = DelimitedTextError(
      code: opened.code, line: opened.line, column: opened.column, byteOffset: opened.byteOffset,
      fieldIndex: record.fields.count)
  }
}
