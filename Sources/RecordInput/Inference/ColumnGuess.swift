import DelimitedText

/// What all values of a column have in common, gathered one by one in constant memory.
package struct ColumnGuess: Sendable {
  private struct Candidates: OptionSet {
    let rawValue: UInt8
    /// As JSON writes it.
    static let number = Candidates(rawValue: 1)
    static let boolean = Candidates(rawValue: 2)
    /// As ISO 8601 has it.
    static let date = Candidates(rawValue: 4)
    static let uuid = Candidates(rawValue: 8)
    /// Written in another way.
    static let foreignNumber = Candidates(rawValue: 16)
    static let foreignDate = Candidates(rawValue: 32)
    static let all = Candidates(rawValue: 63)
  }

  private var candidates = Candidates.all
  private var numbers = NumberGuess()
  /// Whether all numbers are told to be some, as in JSON.
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
    _ field: UnsafeRawBufferPointer, _ kind: FieldKind, isTyped: Bool, _ scratch: ByteScratch
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
      if foreignNumbers.isOver { candidates.remove(.foreignNumber) }
    }
    if candidates.contains(.foreignDate) {
      foreignDates.add(field)
      if foreignDates.isOver { candidates.remove(.foreignDate) }
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

  /// How the values are written, if it is not the usual way.
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

  /// Whether its values are numbers, of which some have a decimal point.
  var writesDecimalPoints: Bool { candidates.contains(.number) && valueCount > emptyTexts && numbers.sawPoint }

  /// Takes for texts what is a number only if the comma is a decimal one: pairs, in an input that has points elsewhere.
  mutating func distrustCommas() {
    if case .numbers(let notation) = spelling, notation.decimal == ",", notation.grouping.isEmpty {
      candidates.remove(.foreignNumber)
    }
  }

  /// Whether some of so many records have no value.
  package func isOptional(records: Int64) -> Bool {
    valueCount < records || (emptyTexts > 0 && type != .string)
  }
}

/// How the values of a column are written.
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
