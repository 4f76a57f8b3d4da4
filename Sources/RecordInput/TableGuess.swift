import DelimitedText

/// The demands on an input's columns beyond what their values tell.
package struct TableDemands: Sendable {
  /// The share of a column's values, from 0 to 1, that may be of another type.
  package var tolerance = 0.0
  /// Texts that stand for a missing value in any column.
  package var nullWords: Set<String> = []
  /// The columns whose values together tell records apart, by name, or by number from 1; empty if there are none.
  package var key: [String] = []
  /// By column: the keys that its values have to be among.
  package var references: [String: KeyCheck] = [:]

  package init() {}
}

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
  /// The check of the columns that are to be a key; nil if none are.
  package private(set) var key: KeyCheck?
  /// By column: the values that are no key of what they lead to.
  package private(set) var references: [String: LineList] = [:]

  /// Reads a source to its end; bad records are counted and otherwise left out.
  ///
  /// - Parameter progress: called now and then.
  package init(
    _ source: RecordSource, _ demands: TableDemands = TableDemands(), progress: () -> Void = {}
  ) throws(InputError) {
    let isTyped = !source.form.isDelimited
    names = source.columnNames
    let scratch = ByteScratch()
    let nullWords = demands.nullWords.map { Array($0.utf8) }
    if !demands.key.isEmpty { key = KeyCheck() }
    for column in demands.references.keys { references[column] = LineList() }
    var keyIndexes: [Int?] = []
    var referenceIndexes: [(column: String, index: Int)] = []
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
        if columns.count < fields.count {
          while columns.count < fields.count {
            columns.append(ColumnGuess())
            columns[columns.count - 1].tolerance = demands.tolerance
          }
          names = source.columnNames
          keyIndexes = demands.key.map(index)
          referenceIndexes = demands.references.keys.compactMap { name in index(of: name).map { (name, $0) } }
        }
        let line = source.record.line
        func value(_ index: Int) -> UnsafeRawBufferPointer? {
          guard index < fields.count, !fields.kind(index).isMissing, !fields[index].isEmpty else { return nil }
          return nullWords.contains { fields[index].elementsEqual($0) } ? nil : fields[index]
        }
        for index in 0..<fields.count {
          let isNull = !nullWords.isEmpty && !fields[index].isEmpty && value(index) == nil
          columns[index].add(
            fields[index], isNull ? .null : fields.kind(index), isTyped: isTyped, line: line, using: scratch)
        }
        if key != nil { key?.add(keyIndexes.map { $0.flatMap(value) }, line: line) }
        for (column, index) in referenceIndexes {
          if let value = value(index), demands.references[column]?.contains(value) == false {
            references[column]?.add(line)
          }
        }
        // Keys of JSON objects that are missing are no reason to state anything.
        if names == nil || !isTyped { noteShortRecord(fields) }
        records += 1
      }
      if (records + badRecords) % 50_000 == 0 { progress() }
    }
  }

  /// The place of a column, by its name, or by its number if the columns have no names.
  package func index(of column: String) -> Int? {
    if let index = names?.firstIndex(of: column) { return index }
    guard let number = Int(column), columns.indices.contains(number - 1), names?.count != columns.count else {
      return nil
    }
    return number - 1
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
