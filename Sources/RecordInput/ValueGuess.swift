import DelimitedText

/// The notation of a column's values.
package enum ValueSpelling: Sendable, Hashable {
  /// Numbers as in JSON, dates as ISO 8601 has it, or texts.
  case usual
  case numbers(NumberNotation)
  /// By a ``DatePattern``.
  case dates(String)

  /// A value in that notation, or the pattern; nil for the usual one.
  package var example: String? {
    switch self {
    case .usual: nil
    case .numbers(let notation):
      notation.grouping.isEmpty ? "1\(notation.decimal)5" : "1\(notation.grouping)234\(notation.decimal)5"
    case .dates(let pattern): pattern
    }
  }

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

  /// The smallest and the largest number in words; nil unless all are whole.
  func range(for type: GuessedType) -> String? {
    guard areWhole, [.integer16, .integer32, .integer64].contains(type) else { return nil }
    return smallest == largest ? "the whole number \(smallest)" : "whole numbers from \(smallest) to \(largest)"
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
    var misfits = Misfits()
  }

  // A no-break space and a narrow one stand between groups in French texts.
  private var candidates = [(",", "."), (".", ","), (",", " "), (",", "\u{A0}"), (",", "\u{202F}"), (".", "'")]
    .map { Candidate(notation: NumberNotation(decimal: $0.0, grouping: $0.1)) }
  /// Values that are numbers in no notation.
  private var strangers = Misfits()
  private var count: Int64 = 0
  /// The first value that may be one.
  private(set) var example = ""

  /// Takes a field into account.
  ///
  /// - Parameters:
  ///   - field: nil if it is no number for sure.
  ///   - whole: the field in any case.
  mutating func add(
    _ field: UnsafeRawBufferPointer?, whole: UnsafeRawBufferPointer, line: Int, using scratch: ByteScratch
  ) {
    guard let field, !candidates.isEmpty else { return strangers.add(whole, line: line) }
    count += 1
    if count == 1 { example = String(decoding: field.prefix(30), as: UTF8.self) }
    for index in candidates.indices {
      if candidates[index].notation.spell(field, into: scratch), candidates[index].numbers.add(scratch.bytes) {
        if scratch.bytes.count < field.count { candidates[index].sawGroup = true }
      } else {
        candidates[index].misfits.add(field, line: line)
      }
    }
    let count = count
    candidates.removeAll { isHopeless($0.misfits, of: count) }
  }

  /// The notation and the numbers of most values, and the others; nil if there is none. The notation is nil if the
  /// numbers depend on the choice.
  var result: (notation: NumberNotation?, numbers: NumberGuess, misfits: Misfits)? {
    guard let least = candidates.map(\.misfits.count).min(), least < count else { return nil }
    let fitting = candidates.filter { $0.misfits.count == least }
    guard let best = fitting.first(where: \.sawGroup) ?? fitting.first else { return nil }
    let misfits = best.misfits.joined(with: strangers)
    let decimal = fitting[0].notation.decimal
    guard fitting.allSatisfy({ $0.notation.decimal == decimal }) else { return (nil, best.numbers, misfits) }
    let notation = best.sawGroup ? best.notation : NumberNotation(decimal: decimal, grouping: "")
    return (notation, best.numbers, misfits)
  }
}

/// True if so many of the values are none of a kind that it is not looked for any more.
private func isHopeless(_ misfits: Misfits, of count: Int64) -> Bool {
  misfits.count > 100 && misfits.count > count / 2
}

/// A guess at the notation of dates that are not written as in ISO 8601.
struct DateGuess: Sendable {
  private struct Candidate: Sendable {
    let text: String
    let pattern: DatePattern
    let beginsWithMonth: Bool
    var misfits = Misfits()
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
  /// Values that are dates by no pattern.
  private var strangers = Misfits()
  private var count: Int64 = 0
  /// The first value that may be one.
  private(set) var example = ""

  /// Takes a field into account.
  ///
  /// - Parameters:
  ///   - field: nil if it is no date for sure.
  ///   - whole: the field in any case.
  mutating func add(_ field: UnsafeRawBufferPointer?, whole: UnsafeRawBufferPointer, line: Int) {
    guard let field, !candidates.isEmpty, Self.mayBeDate(field) else { return strangers.add(whole, line: line) }
    count += 1
    if count == 1 { example = String(decoding: field, as: UTF8.self) }
    for index in candidates.indices {
      let iso = candidates[index].pattern.iso8601(field)
      if iso?.withUnsafeBytes({ FieldParser.date($0) }) == nil { candidates[index].misfits.add(field, line: line) }
    }
    let count = count
    candidates.removeAll { isHopeless($0.misfits, of: count) }
  }

  /// Tells most texts from dates by their first character, and by a digit further down.
  private static func mayBeDate(_ field: UnsafeRawBufferPointer) -> Bool {
    guard (6...longest).contains(field.count) else { return false }
    return field[0] &- 0x30 < 10 || field[0] >= 0x41 && field[4...].contains { $0 &- 0x30 < 10 }
  }

  /// The pattern of most values, and the others; nil if there is none. The pattern is nil if nothing tells whether days
  /// or months come first.
  var result: (pattern: String?, misfits: Misfits)? {
    guard let least = candidates.map(\.misfits.count).min(), least < count else { return nil }
    let fitting = candidates.filter { $0.misfits.count == least }
    let first = fitting[0]
    let isClear = fitting.allSatisfy { $0.beginsWithMonth == first.beginsWithMonth }
    return (isClear ? first.text : nil, first.misfits.joined(with: strangers))
  }
}
