import DelimitedText

/// Tells whether a text's first record names the columns.
enum HeaderDetection {
  /// Names are there in every field, differ, and are no numbers, dates or UUIDs; and none comes again below, as a value
  /// that stands for a category would.
  static func hasHeader(_ sample: InputSample, _ dialect: DelimitedDialect) -> Bool {
    var names: [[UInt8]]?
    var isHeader = true
    sample.forEachRecord(dialect, limit: 200) { record in
      guard let record else { return }
      guard let known = names else {
        let fields = (0..<record.count).map { Array(record[$0]) }
        names = fields
        isHeader = Set(fields).count == fields.count && fields.allSatisfy(isName)
        return
      }
      for (index, name) in known.enumerated() where index < record.count && record[index].elementsEqual(name) {
        isHeader = false
      }
    }
    return isHeader
  }

  private static func isName(_ field: [UInt8]) -> Bool {
    field.withUnsafeBytes { field in
      !field.isEmpty && FieldParser.double(field) == nil && FieldParser.date(field) == nil
        && FieldParser.uuid(field) == nil && !field.allSatisfy { !isLetter($0) }
    }
  }

  private static func isLetter(_ byte: UInt8) -> Bool { byte >= 0x80 || (byte | 0x20) &- 0x61 < 26 }
}
