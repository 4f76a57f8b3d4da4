import DelimitedText

/// Tells whether a text's first record names the columns.
///
/// Names are no numbers, dates or UUIDs, and none comes again below, as a value that stands for a category would. Some
/// may be missing or be there twice, if at least one stands above values of another kind.
struct HeaderDetection {
  private var names: [[UInt8]]?
  private var isHeader = true
  /// Whether each column has a name that no other one has.
  private var areDistinct = true
  /// By column: whether all values so far are of such a kind.
  private var areTyped: [Bool] = []

  static func hasHeader(_ sample: InputSample, _ dialect: DelimitedDialect) -> Bool {
    var detection = HeaderDetection()
    sample.forEachRecord(dialect, limit: 200) { record in
      // What can't be read names nothing; the records that follow are values all the same.
      if let record { detection.note(record) } else if detection.names == nil { detection.isHeader = false }
    }
    return detection.result
  }

  private mutating func note(_ record: RecordFields) {
    guard let names else {
      let fields = (0..<record.count).map { Array(record[$0]) }
      let given = fields.filter { !$0.isEmpty }
      names = fields
      isHeader = isHeader && !given.isEmpty && given.allSatisfy(Self.isName)
      areDistinct = Set(fields).count == fields.count && given.count == fields.count
      return
    }
    if areTyped.isEmpty { areTyped = names.map { !$0.isEmpty } }
    for index in 0..<min(names.count, record.count) where !record[index].isEmpty {
      if record[index].elementsEqual(names[index]) { isHeader = false }
      if !Self.isTyped(record[index]) { areTyped[index] = false }
    }
  }

  private var result: Bool { isHeader && (areDistinct || areTyped.contains(true)) }

  private static func isName(_ field: [UInt8]) -> Bool {
    field.withUnsafeBytes { !isTyped($0) && $0.contains(where: isLetter) }
  }

  private static func isTyped(_ field: UnsafeRawBufferPointer) -> Bool {
    FieldParser.double(field) != nil || FieldParser.date(field) != nil || FieldParser.uuid(field) != nil
  }

  private static func isLetter(_ byte: UInt8) -> Bool { byte >= 0x80 || (byte | 0x20) &- 0x61 < 26 }
}
