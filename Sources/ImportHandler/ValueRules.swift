import JSONText
import Jobs
import RecordInput

/// The rules by which the texts of a column become values.
struct ValueRules: Sendable {
  var trims = false
  /// True if a quoted empty text is a missing value, too.
  var emptyIsNull = false
  /// Texts that stand for a missing value.
  var nullWords: [[UInt8]] = []
  private var decimal: Character?
  private var grouping: String?
  /// The ways to write a date; none for ISO 8601.
  var dates: [DatePattern] = []
  /// In any case.
  var trueWords: [String] = []
  var falseWords: [String] = []
  /// The value in place of a missing one, as ISO 8601, JSON and the like write it.
  var fallback: [UInt8]?

  /// True if texts are used as they are.
  var arePlain: Bool {
    !trims && !emptyIsNull && nullWords.isEmpty && !changesNumbers && dates.isEmpty && trueWords.isEmpty
      && fallback == nil
  }

  /// The notation of numbers.
  var notation: NumberNotation { NumberNotation(decimal: decimal ?? ".", grouping: grouping ?? "") }

  var changesNumbers: Bool { decimal != nil || grouping?.isEmpty == false }

  static let keys = ["trim", "emptyAsNull", "null", "decimal", "grouping", "dates", "true", "false"]

  init() {}

  /// Reads the keys of an object on top of what holds for all columns.
  init(_ reader: ArgumentReader, over common: ValueRules = ValueRules()) throws(JobFileError) {
    self = common
    if let flag = try reader.flag("trim") { trims = flag }
    if let flag = try reader.flag("emptyAsNull") { emptyIsNull = flag }
    if let words = try Self.texts(reader, "null") { nullWords = words.map { Array($0.utf8) } }
    if let text = try reader.text("decimal") {
      guard text == "." || text == "," else { throw reader.error("must be \".\" or \",\"", "decimal") }
      decimal = Character(text)
    }
    if let text = try reader.text("grouping") {
      guard text.count <= 1, text.first.map({ !$0.isNumber && $0 != "-" && $0 != "+" }) ?? true else {
        throw reader.error("must be one character other than a digit or a sign", "grouping")
      }
      grouping = text
    }
    if grouping == String(decimal ?? ".") {
      throw reader.error("must not be the decimal character", "grouping")
    }
    if let patterns = try Self.texts(reader, "dates") {
      dates = []
      for pattern in patterns {
        guard let compiled = DatePattern(pattern) else {
          throw reader.error(
            "\"\(pattern)\" is not a date format; write it with yyyy, MM, dd, HH, mm, ss, or use \"epoch\"", "dates")
        }
        dates.append(compiled)
      }
    }
    if let words = try Self.texts(reader, "true") { trueWords = words }
    if let words = try Self.texts(reader, "false") { falseWords = words }
    if trueWords.isEmpty != falseWords.isEmpty {
      throw reader.error("needs its counterpart: state the words for true and those for false", "true")
    }
    let others = Set(falseWords.map { $0.lowercased() })
    if let both = trueWords.first(where: { others.contains($0.lowercased()) }) {
      throw reader.error("has the word \"\(both)\" in common with \"false\"", "true")
    }
  }

  /// A text, or a list of them.
  private static func texts(_ reader: ArgumentReader, _ key: String) throws(JobFileError) -> [String]? {
    guard let value = reader.value(key) else { return nil }
    if let text = value.string { return [text] }
    let texts = value.array?.compactMap(\.string)
    guard let texts, texts.count == value.array?.count else {
      throw reader.error("must be a string or a list of strings, not \(value.kindName)", key)
    }
    return texts
  }

  /// Returns a value of a job file as a column would hold it; nil if it is not a scalar.
  static func text(of value: JSONValue) -> [UInt8]? {
    switch value {
    case .string(let text): Array(text.utf8)
    case .bool(let flag): Array((flag ? "true" : "false").utf8)
    case .integer, .number: Array(value.serialized().utf8)
    default: nil
    }
  }
}
