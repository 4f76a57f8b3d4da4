import DelimitedText
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
  /// What was converted last; valid until the next call.
  private let scratch = ByteScratch()

  init(_ rules: ValueRules) {
    self.rules = rules
    notation = rules.notation
  }

  /// Trims a field, and tells whether it means that there is no value.
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
      if rules.trueWords.contains(where: { field.elementsEqual($0) }) { return .text(scratch.set("true")) }
      if rules.falseWords.contains(where: { field.elementsEqual($0) }) { return .text(scratch.set("false")) }
      let words = (rules.trueWords + rules.falseWords).map { String(decoding: $0, as: UTF8.self) }
      return .mismatch("one of " + words.joined(separator: ", "))
    case .date: return rules.dates.isEmpty ? .text(field) : date(field)
    default: return .text(field)
    }
  }

  private func date(_ field: UnsafeRawBufferPointer) -> Converted {
    for pattern in rules.dates {
      if pattern.isEpoch {
        guard let number = FieldParser.double(field) else { continue }
        return .seconds(pattern.secondsSince2001(number))
      }
      guard let iso = pattern.iso8601(field) else { continue }
      if let seconds = iso.withUnsafeBytes({ FieldParser.date($0) }) { return .seconds(seconds) }
    }
    return .mismatch("a date in the format that the job states")
  }

  private var numberForm: String {
    return notation.grouping.isEmpty
      ? "a number with the decimal character \(notation.decimal)"
      : "a number such as 1\(notation.grouping)234\(notation.decimal)5"
  }
}
