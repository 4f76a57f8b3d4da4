import DelimitedText

/// The columns of an input, inferred from all of its records.
package struct TableGuess: Sendable {
  /// In the order of the fields.
  package private(set) var columns: [ColumnGuess] = []
  /// Of the columns, if they have any.
  package private(set) var names: [String]?
  package private(set) var records: Int64 = 0
  package private(set) var badRecords: Int64 = 0
  /// The first of the errors.
  package private(set) var errors: [RecordError] = []
  /// The rules that bad records have broken.
  package private(set) var brokenRules: Set<String> = []
  /// True if some records have fewer fields than there are columns.
  package var hasShortRecords: Bool { fewestFields < columns.count }
  private var fewestFields = Int.max

  /// Reads a source to its end; bad records are counted and otherwise left out.
  ///
  /// - Parameter progress: called now and then.
  package init(_ source: RecordSource, progress: () -> Void = {}) throws(InputError) {
    let isTyped = !source.form.isDelimited
    names = source.columnNames
    let scratch = ByteScratch()
    while true {
      switch try source.next() {
      case .end:
        names = source.columnNames
        if columns.contains(where: \.writesDecimalPoints) {
          for index in columns.indices { columns[index].distrustCommas() }
        }
        return
      case .bad(let error):
        badRecords += 1
        brokenRules.insert(error.rule)
        if errors.count < 3 { errors.append(error) }
      case .record:
        let fields = source.record.fields
        while columns.count < fields.count { columns.append(ColumnGuess()) }
        for index in 0..<fields.count {
          columns[index].add(fields[index], fields.kind(index), isTyped: isTyped, using: scratch)
        }
        // Keys of JSON objects that are missing are no reason to state anything.
        if names == nil || !isTyped { noteShortRecord(fields) }
        records += 1
      }
      if (records + badRecords) % 50_000 == 0 { progress() }
    }
  }

  /// True if quotes in the middle of fields are all that is wrong with quotes, so that they may be taken for text.
  package var hasStrayQuotes: Bool {
    brokenRules.contains(DelimitedTextError.Code.strayQuote.rawValue)
      && !brokenRules.contains(DelimitedTextError.Code.textAfterQuote.rawValue)
  }

  private mutating func noteShortRecord(_ fields: RecordFields) {
    var count = fields.count
    while count > 0, fields.kind(count - 1) == .absent { count -= 1 }
    fewestFields = min(fewestFields, count)
  }
}
