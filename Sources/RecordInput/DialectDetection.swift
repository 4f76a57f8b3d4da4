import DelimitedText

/// Finds the separator and the quote of a text: those by which its records come out most alike.
struct DialectDetection {
  private static let recordLimit = 500

  /// The result of reading a sample in a dialect.
  private struct Trial {
    var records = 0
    var bad = 0
    var quotedFields = 0
    /// The usual number of fields, and the records that have it.
    var fields = 1
    var alike = 0

    /// Fields of the first record, and the fewest of later ones.
    var first = 1
    var fewest = Int.max

    /// The share of records that are alike.
    var share: Double { fields > 1 && records > 0 && !isInValues ? Double(alike) / Double(records + bad) : 0 }

    /// True if every record has the separator but for the first, as values of one column with a name do.
    var isInValues: Bool { first == 1 && fewest > 1 && fewest < .max }

    /// True if no record has the separator.
    var isIdle: Bool { records > 0 && bad == 0 && fields == 1 && alike == records }

    mutating func note(_ count: Int) {
      if records == 0 { first = count } else { fewest = min(fewest, count) }
      records += 1
    }
  }

  private(set) var dialect: DelimitedDialect

  init(_ sample: InputSample, _ options: InputOptions) {
    // Strict, so that a wrong quote or separator shows.
    dialect = DelimitedDialect(
      comment: options.comment, maxRecordSize: options.maxRecordSize,
      maxFieldCount: max(options.maxFieldCount, options.fieldCount ?? 0))
    switch options.quoting {
    case .none?: dialect.quote = nil
    case .byte(let quote)?: dialect.quote = quote
    case nil: dialect.quote = Self.quote(sample, dialect, separator: options.separator)
    }
    dialect.separator = options.separator ?? Self.separator(sample, dialect)
    // The usual quote gives way to what was stated.
    if options.quoting == nil, dialect.quote == dialect.separator || dialect.quote == dialect.comment {
      dialect.quote = nil
    }
    // Tables of text with tabs between their fields often use quotes as inches and the like.
    if options.quoting == nil, dialect.separator == 0x09, Self.try(dialect, sample).bad > 0 {
      var unquoted = dialect
      unquoted.quote = nil
      let trial = Self.try(unquoted, sample)
      if trial.bad == 0, trial.share == 1 { dialect = unquoted }
    }
    dialect.strayQuotes = options.strayQuotes
  }

  private static func separator(_ sample: InputSample, _ dialect: DelimitedDialect) -> UInt8 {
    var best = (separator: UInt8(0x2C), share: 0.0, fields: 0)
    var idle: [UInt8] = []
    var commaIsInValues = false
    let commaSplitsNumbers = commaSplitsNumbers(sample)
    for separator in InputOptions.usualSeparators where separator != dialect.quote && separator != dialect.comment {
      var dialect = dialect
      dialect.separator = separator
      let trial = `try`(dialect, sample)
      if trial.isIdle { idle.append(separator) }
      if separator == 0x2C { commaIsInValues = trial.isInValues }
      // A comma that only stands in numbers separates nothing if something else does.
      if separator == 0x2C, commaSplitsNumbers, best.share > 0.9 { continue }
      let isBetter =
        trial.share > best.share + 0.05
        || (trial.share >= best.share - 0.05 && trial.share > 0 && trial.fields > best.fields)
      if isBetter { best = (separator, trial.share, trial.fields) }
    }
    // A table of one column is separated by what none of its values has.
    if best.share == 0, commaIsInValues, let separator = idle.last { return separator }
    // Quotes where none should be hide records; what they are separated by can be told nevertheless.
    if best.share == 0, dialect.strayQuotes == .error {
      var literal = dialect
      literal.strayQuotes = .literal
      return Self.separator(sample, literal)
    }
    return best.separator
  }

  /// An apostrophe, if fields are in apostrophes and none is in quotes.
  private static func quote(_ sample: InputSample, _ dialect: DelimitedDialect, separator: UInt8?) -> UInt8 {
    guard !sample.text.contains(0x22), sample.text.contains(0x27), dialect.comment != 0x27, separator != 0x27 else {
      return 0x22
    }
    var apostrophe = dialect
    apostrophe.quote = 0x27
    apostrophe.separator = separator ?? Self.separator(sample, apostrophe)
    let trial = `try`(apostrophe, sample)
    return trial.bad == 0 && trial.quotedFields >= 2 ? 0x27 : 0x22
  }

  private static func commaSplitsNumbers(_ sample: InputSample) -> Bool {
    var found = false
    for (index, byte) in sample.text.enumerated() where byte == 0x2C {
      guard index > 0, index + 1 < sample.text.count, isDigit(sample.text[index - 1]), isDigit(sample.text[index + 1])
      else { return false }
      found = true
    }
    return found
  }

  private static func isDigit(_ byte: UInt8) -> Bool { byte &- 0x30 < 10 }

  private static func `try`(_ dialect: DelimitedDialect, _ sample: InputSample) -> Trial {
    var trial = Trial()
    var counts: [Int: Int] = [:]
    sample.forEachRecord(dialect, limit: recordLimit) { record in
      guard let record else {
        trial.bad += 1
        return
      }
      trial.note(record.count)
      counts[record.count, default: 0] += 1
      for index in 0..<record.count where record.kind(index) == .quotedText { trial.quotedFields += 1 }
    }
    if let usual = counts.max(by: { ($0.value, $0.key) < ($1.value, $1.key) }) {
      trial.fields = usual.key
      trial.alike = usual.value
    }
    return trial
  }
}
