import DelimitedText

/// Tells whether a text's first record names the columns.
///
/// Names are no values of the kind that stands below them, such as numbers, dates, and yes among yes and no. One at least
/// stands above values of another kind; or else they are all different, and none comes again below, as a value that
/// stands for a category would.
struct HeaderDetection {
  private struct Column {
    let name: [UInt8]
    /// Of all values, the first record's among them.
    var guess = ColumnGuess()
    /// True if there are values below, and all of them of such a kind as no name is.
    var isTyped: Bool?
    var repeatsName = false
  }

  private var columns: [Column] = []
  private var hasFirst = false
  private var isReadable = true
  private let scratch = ByteScratch()

  static func hasHeader(_ sample: InputSample, _ dialect: DelimitedDialect) -> Bool {
    var detection = HeaderDetection()
    sample.forEachRecord(dialect, limit: 200) { record in
      // What can't be read names nothing; the records that follow are values all the same.
      if let record { detection.note(record) } else if !detection.hasFirst { detection.isReadable = false }
    }
    return detection.result
  }

  private mutating func note(_ record: RecordFields) {
    let isFirst = !hasFirst
    if isFirst {
      columns = (0..<record.count).map { Column(name: Array(record[$0])) }
      hasFirst = true
    }
    for index in 0..<min(columns.count, record.count) where !record[index].isEmpty && !columns[index].name.isEmpty {
      let field = record[index]
      columns[index].guess.add(field, record.kind(index), isTyped: false, using: scratch)
      if isFirst { continue }
      columns[index].isTyped = columns[index].isTyped != false && Self.isTyped(field)
      if field.elementsEqual(columns[index].name) { columns[index].repeatsName = true }
    }
  }

  private var result: Bool {
    let named = columns.filter { !$0.name.isEmpty }
    guard isReadable, !named.isEmpty, named.allSatisfy(Self.isName) else { return false }
    if named.contains(where: { $0.isTyped == true && !Self.meansNothing($0.name) }) { return true }
    let areDistinct = named.count == columns.count && Set(named.map(\.name)).count == named.count
    return areDistinct && !named.contains { $0.repeatsName }
  }

  private static func isName(_ column: Column) -> Bool {
    guard column.name.withUnsafeBytes({ !isTyped($0) && $0.contains(where: isLetter) }) else { return false }
    switch column.guess.type {
    case .string: return true
    // Columns are called x and y, or t.
    case .boolean: return column.name.count == 1
    default: return false
    }
  }

  private static func isTyped(_ field: UnsafeRawBufferPointer) -> Bool {
    FieldParser.double(field) != nil || FieldParser.date(field) != nil || FieldParser.uuid(field) != nil
  }

  private static func isLetter(_ byte: UInt8) -> Bool { byte >= 0x80 || (byte | 0x20) &- 0x61 < 26 }

  /// True for a usual word for a missing value.
  private static func meansNothing(_ name: [UInt8]) -> Bool {
    ["na", "n/a", "null", "nil", "none", "nan"].contains(String(decoding: name, as: UTF8.self).lowercased())
  }
}
