import DelimitedText

/// A guess at a column's type, refined value by value in constant memory.
package struct ColumnGuess: Sendable {
  private struct Candidates: OptionSet {
    let rawValue: UInt8
    /// As JSON writes it.
    static let number = Candidates(rawValue: 1)
    static let boolean = Candidates(rawValue: 2)
    /// As in ISO 8601.
    static let date = Candidates(rawValue: 4)
    static let uuid = Candidates(rawValue: 8)
    /// Written in another way.
    static let foreignNumber = Candidates(rawValue: 16)
    static let foreignDate = Candidates(rawValue: 32)
    static let all = Candidates(rawValue: 63)
  }

  private var candidates = Candidates.all
  private var numbers = NumberGuess()
  /// True if all numbers are told to be some, as in JSON.
  private var areTyped = true
  private var foreignNumbers = NotationGuess()
  private var foreignDates = DateGuess()
  /// Of words that are one letter.
  private var sawTrueLetter = false
  private var sawFalseLetter = false
  private var sawBooleanWord = false
  /// Values that are there, texts without characters among them.
  package private(set) var valueCount: Int64 = 0
  private var emptyTexts: Int64 = 0

  package init() {}

  /// Takes a field into account.
  ///
  /// - Parameters:
  ///   - isTyped: whether quotes make a text, as in JSON.
  ///   - scratch: is written over.
  package mutating func add(
    _ field: UnsafeRawBufferPointer, _ kind: FieldKind, isTyped: Bool, using scratch: ByteScratch
  ) {
    if kind.isMissing || (kind == .text && field.isEmpty) { return }
    valueCount += 1
    if field.isEmpty {
      emptyTexts += 1
      return
    }
    guard !candidates.isEmpty else { return }
    if kind != .number { areTyped = false }
    switch kind {
    case .number: candidates.formIntersection(.number)
    case .boolean: candidates.formIntersection(.boolean)
    case .json: candidates = []
    case .quotedText where isTyped: candidates.formIntersection([.date, .uuid, .foreignDate])
    default: break
    }
    if candidates.contains(.number), !numbers.add(field) { candidates.remove(.number) }
    if candidates.contains(.boolean) { addWord(field) }
    if candidates.contains(.date), FieldParser.date(field) == nil { candidates.remove(.date) }
    if candidates.contains(.uuid), FieldParser.uuid(field) == nil { candidates.remove(.uuid) }
    if candidates.contains(.foreignNumber) {
      foreignNumbers.add(field, scratch)
      if foreignNumbers.isExhausted { candidates.remove(.foreignNumber) }
    }
    if candidates.contains(.foreignDate) {
      foreignDates.add(field)
      if foreignDates.isExhausted { candidates.remove(.foreignDate) }
    }
  }

  /// 1 and 0 are numbers rather than words.
  private mutating func addWord(_ field: UnsafeRawBufferPointer) {
    guard field[0] > 0x39, let value = FieldParser.bool(field) else {
      candidates.remove(.boolean)
      return
    }
    if field.count > 1 {
      sawBooleanWord = true
    } else if value {
      sawTrueLetter = true
    } else {
      sawFalseLetter = true
    }
  }

  /// The narrowest type that holds all values as they are.
  package var type: GuessedType { result.type }

  /// The notation of the values, if it is not the usual one.
  package var spelling: ValueSpelling { result.spelling }

  private var result: (type: GuessedType, spelling: ValueSpelling) {
    guard valueCount > emptyTexts else { return (.string, .usual) }
    if candidates.contains(.number) {
      return (areTyped || !numbers.areCodes ? numbers.type ?? .string : .string, .usual)
    }
    // A lone letter may mean anything.
    if candidates.contains(.boolean), sawBooleanWord || (sawTrueLetter && sawFalseLetter) { return (.boolean, .usual) }
    if candidates.contains(.date) { return (.date, .usual) }
    if candidates.contains(.uuid) { return (.uuid, .usual) }
    if candidates.contains(.foreignNumber), let (notation, type) = foreignNumbers.result {
      return (type, .numbers(notation))
    }
    if candidates.contains(.foreignDate), let pattern = foreignDates.result { return (.date, .dates(pattern)) }
    return (.string, .usual)
  }

  /// True if its values are numbers, of which some have a decimal point.
  var writesDecimalPoints: Bool { candidates.contains(.number) && valueCount > emptyTexts && numbers.sawPoint }

  /// Treats numbers with a decimal comma as text: they are pairs, in an input that has decimal points elsewhere.
  mutating func distrustCommas() {
    if case .numbers(let notation) = spelling, notation.decimal == ",", notation.grouping.isEmpty {
      candidates.remove(.foreignNumber)
    }
  }

  /// True if some of the records have no value.
  package func isOptional(records: Int64) -> Bool {
    valueCount < records || (emptyTexts > 0 && type != .string)
  }
}

/// The notation of a column's values.
package enum ValueSpelling: Sendable, Hashable {
  /// Numbers as in JSON, dates as ISO 8601 has it, or texts.
  case usual
  case numbers(NumberNotation)
  /// By a ``DatePattern``.
  case dates(String)

  /// As the keys of a column in an import's `columns` say it.
  package var keys: [(name: String, value: String)] {
    switch self {
    case .usual: []
    case .numbers(let notation):
      [("decimal", String(notation.decimal))] + (notation.grouping.isEmpty ? [] : [("grouping", notation.grouping)])
    case .dates(let pattern): [("dates", pattern)]
    }
  }
}

/// The type of a column's values, by the names that a model has for it.
package enum GuessedType: String, Sendable, Hashable, CaseIterable {
  case integer16 = "Integer 16"
  case integer32 = "Integer 32"
  case integer64 = "Integer 64"
  case double = "Double"
  case decimal = "Decimal"
  case boolean = "Boolean"
  case date = "Date"
  case uuid = "UUID"
  case string = "String"
}

/// The narrowest type that holds all numbers so far.
struct NumberGuess: Sendable {
  private var areWhole = true
  private var smallest = Int64.max
  private var largest = Int64.min
  private var needsDecimal = false
  private var fitsDecimal = true
  /// True if some have a decimal point.
  private(set) var sawPoint = false
  private var sawWhole = false
  /// A zero at the end of a fraction, other than in "2.0".
  private var sawPadding = false
  private var sawPointZero = false
  private var shortestFraction = Int.max
  private var longestFraction = 0

  /// Takes a number into account, as JSON writes it; false if it is none.
  mutating func add(_ field: UnsafeRawBufferPointer) -> Bool {
    guard let text = NumberText(field), FieldParser.double(field) != nil else { return false }
    if field.contains(0x2E) { sawPoint = true }
    if !text.fitsDouble { needsDecimal = true }
    if !text.fitsDecimal { fitsDecimal = false }
    note(text, field)
    if areWhole, text.isWhole, let value = FieldParser.int64(field) {
      smallest = min(smallest, value)
      largest = max(largest, value)
    } else {
      areWhole = false
    }
    return true
  }

  private mutating func note(_ text: NumberText, _ field: UnsafeRawBufferPointer) {
    if text.fractionLength == 0 {
      // Nothing is often written as 0 among prices.
      if text.isWhole, !(field.count == 1 && field[0] == 0x30) { sawWhole = true }
      return
    }
    shortestFraction = min(shortestFraction, text.fractionLength)
    longestFraction = max(longestFraction, text.fractionLength)
    if text.isPadded { if text.fractionLength == 1 { sawPointZero = true } else { sawPadding = true } }
  }

  /// True if the numbers look like versions or sections: "1.1", "2.0", "10" or "3.9", "3.10".
  ///
  /// Numbers have all their zeros ("1.50", "2.00"), one after each point ("1.5", "2.0"), or none ("1.5", "2").
  var areCodes: Bool {
    if sawWhole { return sawPointZero || sawPadding }
    return sawPadding && shortestFraction < longestFraction
  }

  /// Nil if no type holds them as they are.
  var type: GuessedType? {
    if areWhole {
      if Int16(exactly: smallest) != nil, Int16(exactly: largest) != nil { return .integer16 }
      return Int32(exactly: smallest) != nil && Int32(exactly: largest) != nil ? .integer32 : .integer64
    }
    if !needsDecimal { return .double }
    return fitsDecimal ? .decimal : nil
  }
}

/// A guess at the notation of numbers that are not written as in JSON.
struct NotationGuess: Sendable {
  private struct Candidate: Sendable {
    let notation: NumberNotation
    var numbers = NumberGuess()
    var sawGroup = false
  }

  // A no-break space and a narrow one stand between groups in French texts.
  private var candidates = [(",", "."), (".", ","), (",", " "), (",", "\u{A0}"), (",", "\u{202F}"), (".", "'")]
    .map { Candidate(notation: NumberNotation(decimal: $0.0, grouping: $0.1)) }

  /// Takes a field into account.
  mutating func add(_ field: UnsafeRawBufferPointer, _ scratch: ByteScratch) {
    var index = 0
    while index < candidates.count {
      if candidates[index].notation.spell(field, into: scratch), candidates[index].numbers.add(scratch.bytes) {
        if scratch.bytes.count < field.count { candidates[index].sawGroup = true }
        index += 1
      } else {
        candidates.remove(at: index)
      }
    }
  }

  var isExhausted: Bool { candidates.isEmpty }

  /// The notation and the type of all values; nil if there is none, or if the numbers depend on the choice.
  var result: (notation: NumberNotation, type: GuessedType)? {
    guard let decimal = candidates.first?.notation.decimal,
      candidates.allSatisfy({ $0.notation.decimal == decimal }),
      let best = candidates.first(where: \.sawGroup) ?? candidates.first, let type = best.numbers.type
    else { return nil }
    return (best.sawGroup ? best.notation : NumberNotation(decimal: decimal, grouping: ""), type)
  }
}

/// A guess at the notation of dates that are not written as in ISO 8601.
struct DateGuess: Sendable {
  private struct Candidate: Sendable {
    let text: String
    let pattern: DatePattern
    let beginsWithMonth: Bool
  }

  private static let all: [Candidate] = {
    let days = [
      "dd.MM.yyyy", "d.M.yyyy", "dd/MM/yyyy", "d/M/yyyy", "MM/dd/yyyy", "M/d/yyyy", "yyyy/MM/dd", "dd-MM-yyyy",
      "MM-dd-yyyy", "dd-MMM-yyyy", "dd-MMM-yy", "d MMM yyyy", "MMM d, yyyy",
    ]
    let times = ["", " HH:mm", " HH:mm:ss", " h:mm a", " h:mm:ss a"]
    return days.flatMap { day in
      times.compactMap { time in
        DatePattern(day + time).map {
          Candidate(text: day + time, pattern: $0, beginsWithMonth: day.hasPrefix("M") && !day.hasPrefix("MMM"))
        }
      }
    }
  }()

  private static let longest = 24
  private var candidates = all

  /// Takes a field into account.
  mutating func add(_ field: UnsafeRawBufferPointer) {
    if field.count > Self.longest { return candidates = [] }
    candidates.removeAll { candidate in
      guard let iso = candidate.pattern.iso8601(field) else { return true }
      return iso.withUnsafeBytes { FieldParser.date($0) } == nil
    }
  }

  var isExhausted: Bool { candidates.isEmpty }

  /// Nil if there is none, or if nothing tells whether days or months come first.
  var result: String? {
    guard let first = candidates.first else { return nil }
    return candidates.allSatisfy { $0.beginsWithMonth == first.beginsWithMonth } ? first.text : nil
  }
}
