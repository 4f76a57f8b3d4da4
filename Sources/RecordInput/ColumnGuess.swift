import DelimitedText

/// A guess at a column's type, refined value by value in constant memory.
///
/// Of each type that the values may have, those that are not of it are counted, so that a report can say what keeps a
/// column from being more than text, and a few of them can be tolerated.
package struct ColumnGuess: Sendable {
  /// The share of values, from 0 to 1, that may be of another type.
  package var tolerance = 0.0

  // A number is written as JSON writes it, a date as in ISO 8601; foreign ones are written in another way.
  private var numberMisfits = Misfits()
  private var booleanMisfits = Misfits()
  private var dateMisfits = Misfits()
  private var uuidMisfits = Misfits()
  private var numbers = NumberGuess()
  /// True if all numbers are told to be some, as in JSON.
  private var areTyped = true
  private var foreignNumbers = NotationGuess()
  private var foreignDates = DateGuess()
  /// Of words that are one letter.
  private var sawTrueLetter = false
  private var sawFalseLetter = false
  private var sawBooleanWord = false
  /// True if numbers with a decimal comma may be pairs.
  private var distrustsCommas = false
  /// Values that are there, texts without characters among them.
  package private(set) var valueCount: Int64 = 0
  private var emptyTexts: Int64 = 0

  package init() {}

  /// Takes a field into account.
  ///
  /// - Parameters:
  ///   - isTyped: whether quotes make a text, as in JSON.
  ///   - line: of the record.
  ///   - scratch: is written over.
  package mutating func add(
    _ field: UnsafeRawBufferPointer, _ kind: FieldKind, isTyped: Bool, line: Int = 0, using scratch: ByteScratch
  ) {
    if kind.isMissing || (kind == .text && field.isEmpty) { return }
    valueCount += 1
    if field.isEmpty {
      emptyTexts += 1
      return
    }
    let isText = kind == .text || kind == .quotedText
    let isUntyped = isText && !(isTyped && kind == .quotedText)
    // What begins otherwise is no number in any notation.
    let beginsAsNumber = (kind == .number || isUntyped) && ((0x30...0x39).contains(field[0]) || field[0] == 0x2D)
    if beginsAsNumber, numbers.add(field) {
      if kind != .number { areTyped = false }
    } else {
      numberMisfits.add(field, line: line)
    }
    if !(kind == .boolean || isUntyped) || !addWord(field) { booleanMisfits.add(field, line: line) }
    if !isText || FieldParser.date(field) == nil { dateMisfits.add(field, line: line) }
    if !isText || FieldParser.uuid(field) == nil { uuidMisfits.add(field, line: line) }
    foreignNumbers.add(beginsAsNumber && isUntyped ? field : nil, whole: field, line: line, using: scratch)
    foreignDates.add(isText ? field : nil, whole: field, line: line)
  }

  /// 1 and 0 are numbers rather than words.
  private mutating func addWord(_ field: UnsafeRawBufferPointer) -> Bool {
    guard field[0] > 0x39, let value = FieldParser.bool(field) else { return false }
    if field.count > 1 {
      sawBooleanWord = true
    } else if value {
      sawTrueLetter = true
    } else {
      sawFalseLetter = true
    }
    return true
  }

  /// The narrowest type that holds all values as they are, but for those that are tolerated.
  package var type: GuessedType { result?.type ?? .string }

  /// The notation of the values, if it is not the usual one.
  package var spelling: ValueSpelling { result?.spelling ?? .usual }

  /// The number of values that are of another type, and tolerated.
  package var toleratedCount: Int64 { result?.misfits.count ?? 0 }

  /// The values that have a text.
  private var spelledCount: Int64 { valueCount - emptyTexts }

  /// A kind of values that a column may hold, and what speaks against it.
  private struct Reading {
    /// In the plural.
    let noun: String
    let misfits: Misfits
    /// Nil if no type is safe for such values.
    var type: GuessedType?
    var spelling = ValueSpelling.usual
    /// The reason for that.
    var doubt = ""
  }

  private var result: Reading? {
    guard let best = bestReading(tolerating: Int64(tolerance * Double(spelledCount))) else { return nil }
    return best.type == nil ? nil : best
  }

  /// The reading that fits most values, among those that fit all but a few.
  private func bestReading(tolerating limit: Int64) -> Reading? {
    let readings = readings.filter { $0.misfits.count <= limit && $0.misfits.count < spelledCount }
    guard let least = readings.map(\.misfits.count).min() else { return nil }
    let best = readings.filter { $0.misfits.count == least }
    // Numbers that are no safe ones are so in every notation.
    return numberMisfits.count == least ? best.first : best.first { $0.type != nil } ?? best.first
  }

  /// In the order in which they are preferred.
  private var readings: [Reading] {
    let date = "dates"
    return [
      numberReading, booleanReading, Reading(noun: date, misfits: dateMisfits, type: .date),
      Reading(noun: "UUIDs", misfits: uuidMisfits, type: .uuid), foreignNumberReading,
      foreignDates.result.map { pattern, misfits in
        guard let pattern else {
          return Reading(
            noun: date, misfits: misfits, doubt: "nothing tells the day from the month, as in \(foreignDates.example)")
        }
        return Reading(noun: date + " as \(pattern)", misfits: misfits, type: .date, spelling: .dates(pattern))
      },
    ].compactMap(\.self)
  }

  private var numberReading: Reading {
    var reading = Reading(noun: noun(of: numbers.type), misfits: numberMisfits, type: numbers.type)
    if !areTyped, numbers.areCodes {
      reading.type = nil
      reading.doubt = "written as versions or sections are, with zeros that a number would lose"
    } else if reading.type == nil {
      reading.doubt = "of more digits than any type of number holds"
    }
    return reading
  }

  private var booleanReading: Reading {
    // A lone letter may mean anything.
    if sawBooleanWord || (sawTrueLetter && sawFalseLetter) {
      return Reading(noun: "words for true and false", misfits: booleanMisfits, type: .boolean)
    }
    return Reading(noun: "one letter", misfits: booleanMisfits, doubt: "which may mean anything")
  }

  private var foreignNumberReading: Reading? {
    guard let (notation, numbers, misfits) = foreignNumbers.result else { return nil }
    guard let notation else {
      return Reading(
        noun: "numbers", misfits: misfits,
        doubt: "nothing tells decimal characters from those between groups, as in \(foreignNumbers.example)")
    }
    let spelling = ValueSpelling.numbers(notation)
    var reading = Reading(
      noun: noun(of: numbers.type) + " as \(spelling.example ?? "")", misfits: misfits, type: numbers.type,
      spelling: spelling)
    if distrustsCommas, notation.decimal == ",", notation.grouping.isEmpty {
      reading.type = nil
      reading.doubt = "which may be pairs, since other columns have decimal points"
    } else if reading.type == nil {
      reading.doubt = "of more digits than any type of number holds"
    }
    return reading
  }

  private func noun(of type: GuessedType?) -> String {
    switch type {
    case .integer16, .integer32, .integer64: "whole numbers"
    case .double, .decimal: "decimals"
    default: "numbers"
    }
  }

  /// True if most of its values are numbers, of which some have a decimal point.
  var writesDecimalPoints: Bool { numberMisfits.count * 2 < spelledCount && numbers.sawPoint }

  /// Treats numbers with a decimal comma as text: they are pairs, in an input that has decimal points elsewhere.
  mutating func distrustCommas() { distrustsCommas = true }

  /// True if some of the records have no value.
  package func isOptional(records: Int64) -> Bool {
    valueCount < records || (emptyTexts > 0 && type != .string)
  }

  /// The reason for the type, in words.
  package var explanation: String {
    if spelledCount == 0 { return valueCount == 0 ? "no record has a value" : "texts without characters" }
    if let result, let type = result.type {
      let range = result.spelling == .usual ? numbers.range(for: type) : nil
      let plain =
        range ?? (type == .decimal ? result.noun + " of more digits than a Double keeps" : result.noun)
      if result.misfits.count == 0 { return plain }
      return "\(share(result.misfits)) are \(plain); the others are rejected, first: \(result.misfits.example)"
        + advice(on: result.misfits)
    }
    guard let near = bestReading(tolerating: spelledCount / 2) else {
      return "no narrower type fits, first: \(numberMisfits.example)"
    }
    let doubt = near.doubt.isEmpty ? "" : ", " + near.doubt
    if near.misfits.count == 0 { return near.noun + doubt }
    return "\(share(near.misfits)) are \(near.noun)\(doubt), first other: \(near.misfits.example)"
      + (near.type == nil ? "" : advice(on: near.misfits))
  }

  /// A way to make a missing value of a word that stands for one.
  private func advice(on misfits: Misfits) -> String {
    guard let word = misfits.placeholder else { return "" }
    return "; \(misfits.count == 1 ? "it" : "all others are that, too, and it") is no value with --null \"\(word)\""
  }

  /// The share of all others, rounded down, so that it is never a whole.
  private func share(_ misfits: Misfits) -> String {
    let fitting = spelledCount - misfits.count
    let percent = fitting * 100 / spelledCount
    let tenths = fitting * 1_000 / spelledCount % 10
    return percent < 99 || tenths == 0 ? "\(percent) %" : "\(percent).\(tenths) %"
  }
}
