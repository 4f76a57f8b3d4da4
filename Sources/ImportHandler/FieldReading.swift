import DelimitedText
import Foundation
import ObjectModel
import RecordInput

/// Brings the texts of a column into the form in which ISO 8601, JSON and the like write values.
struct FieldReading {
  enum Converted {
    case text(UnsafeRawBufferPointer)
    /// A date in seconds since 2001.
    case seconds(Double)
    case mismatch(String)
  }

  private let rules: ValueRules
  /// Made once, not for each number.
  private let notation: NumberNotation
  /// The words of booleans in lower case.
  private let booleans: [String: Bool]
  /// The last converted text; valid until the next call.
  private let scratch = ByteScratch()

  init(_ rules: ValueRules) {
    self.rules = rules
    notation = rules.notation
    let words = rules.trueWords.map { ($0.lowercased(), true) } + rules.falseWords.map { ($0.lowercased(), false) }
    booleans = Dictionary(words) { first, _ in first }
  }

  /// Trims a field, and tells whether it is a missing value.
  func prepare(_ bytes: UnsafeRawBufferPointer) -> (field: UnsafeRawBufferPointer, isNull: Bool) {
    var field = bytes
    if rules.trims { field = trimmingBlanks(bytes) }
    if field.isEmpty { return (field, rules.emptyIsNull) }
    return (field, rules.nullWords.contains { field.elementsEqual($0) })
  }

  /// A field as a value of the type is usually written.
  func convert(_ field: UnsafeRawBufferPointer, _ type: AttributeType) -> Converted {
    switch type {
    case .integer16, .integer32, .integer64, .double, .float, .decimal:
      if !rules.changesNumbers { return .text(field) }
      return notation.spell(field, into: scratch) ? .text(scratch.bytes) : .mismatch(numberForm)
    case .boolean:
      if rules.trueWords.isEmpty { return .text(field) }
      let word = String(decoding: field, as: UTF8.self).lowercased()
      if let isTrue = booleans[word] { return .text(scratch.set(isTrue ? "true" : "false")) }
      return .mismatch("one of " + (rules.trueWords + rules.falseWords).joined(separator: ", "))
    case .date: return rules.dates.isEmpty ? .text(field) : date(field)
    default: return .text(field)
    }
  }

  private func date(_ field: UnsafeRawBufferPointer) -> Converted {
    for pattern in rules.dates {
      if pattern.isEpoch {
        guard let seconds = FieldParser.double(field).flatMap(pattern.secondsSince2001) else { continue }
        return .seconds(seconds)
      }
      guard let iso = pattern.iso8601(field) else { continue }
      if let seconds = iso.withUnsafeBytes({ FieldParser.date($0) }) { return .seconds(seconds) }
    }
    return .mismatch("a date in the format that the job states")
  }

  /// True if a text is a URI as RFC 3986 has it, which Foundation keeps as it is.
  static func isURI(_ field: UnsafeRawBufferPointer) -> Bool {
    let text = String(decoding: field, as: UTF8.self)
    return URL(string: text, encodingInvalidCharacters: false)?.absoluteString == text
  }

  private var numberForm: String {
    return notation.grouping.isEmpty
      ? "a number with the decimal character \(notation.decimal)"
      : "a number such as 1\(notation.grouping)234\(notation.decimal)5"
  }
}
