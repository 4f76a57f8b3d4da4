import Foundation
import TextSupport

/// A conversion of values of one attribute type to another.
package struct ValueConversion: Sendable, Hashable {
  package let source: AttributeType
  package let target: AttributeType

  /// Fails where values of one type have no meaning in the other, such as bytes and dates.
  package init?(from source: AttributeType, to target: AttributeType) {
    let isKnown =
      source.isNumber && target.isNumber || source == .string && target.hasText || target == .string && source.hasText
    guard isKnown else { return nil }
    self.source = source
    self.target = target
  }

  /// True if a migration makes it unasked: between numbers, where each value survives.
  package var isInferred: Bool { source.isNumber && target.isNumber }

  /// True if each value of the source is one of the target, stored in the same way, so that there is nothing to do.
  package var isWidening: Bool {
    let integers: [AttributeType] = [.integer16, .integer32, .integer64]
    if let from = integers.firstIndex(of: source), let to = integers.firstIndex(of: target) { return from <= to }
    return source == target || source == .float && target == .double
  }

  /// The value in the target's type, or nil if converting it back would not give the same value again.
  package func exact(_ value: Value) -> Value? {
    guard let converted = converted(value, rounds: false), let back = ValueConversion(from: target, to: source),
      let again = back.converted(converted, rounds: false), again == value
    else { return nil }
    return converted
  }

  /// The value in the target's type, rounded where it must be, or nil if it can't be read or is beyond the type's range.
  package func rounded(_ value: Value) -> Value? { converted(value, rounds: true) }

  private func converted(_ value: Value, rounds: Bool) -> Value? {
    if target == .string { return Self.text(of: value, source).map(Value.string) }
    if case .string(let text) = value { return read(text.trimmingCharacters(in: .whitespaces)) }
    switch target {
    case .boolean:
      guard let number = Self.integer(value, rounds: rounds) else { return rounds ? .boolean(true) : Value?.none }
      return rounds || number == 0 || number == 1 ? .boolean(number != 0) : Value?.none
    case .integer16, .integer32, .integer64:
      return Self.integer(value, rounds: rounds).flatMap { Value.integer($0).fits(target) ? .integer($0) : Value?.none }
    case .double: return Self.double(value).map(Value.double)
    case .float: return Self.float(value).map(Value.double)
    case .decimal: return Self.decimal(value, source).map(Value.decimal)
    default: return nil
    }
  }

  private static func integer(_ value: Value, rounds: Bool) -> Int64? {
    switch value {
    case .integer(let number): number
    case .boolean(let isTrue): isTrue ? 1 : 0
    case .double(let number): Int64(exactly: rounds ? number.rounded() : number)
    case .decimal(let number): Int64((rounds ? number.roundedToInteger : number).description)
    default: nil
    }
  }

  private static func double(_ value: Value) -> Double? {
    switch value {
    case .double(let number): number
    case .decimal(let number): Double(number.description)
    default: integer(value, rounds: false).map(Double.init)
    }
  }

  private static func float(_ value: Value) -> Double? {
    let number: Float? =
      switch value {
      case .double(let number): Float(number)
      case .decimal(let number): Float(number.description)
      default: integer(value, rounds: false).map(Float.init)
      }
    guard let number, number.isFinite || double(value)?.isFinite == false else { return nil }
    return Double(number)
  }

  /// The shortest decimal number that reads as the same value.
  private static func decimal(_ value: Value, _ source: AttributeType) -> Decimal? {
    switch value {
    case .decimal(let number): return number
    case .double(let number):
      guard number.isFinite else { return nil }
      let text = source == .float ? Float(number).description : number.description
      guard let decimal = Decimal(string: text), !decimal.isNaN,
        source == .float ? Float(decimal.description) == Float(number) : Double(decimal.description) == number
      else { return nil }
      return decimal
    default: return integer(value, rounds: false).map { Decimal($0) }
    }
  }

  private static func text(of value: Value, _ source: AttributeType) -> String? {
    switch value {
    case .integer(let number): number.description
    case .double(let number): source == .float ? Float(number).description : number.description
    case .boolean(let isTrue): isTrue ? "true" : "false"
    case .string(let text): text
    case .decimal(let number): number.description
    case .date(let date): date.formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: date.hasFraction))
    case .uuid(let uuid): uuid.uuidString
    case .url(let url): url.absoluteString
    case .null, .data: nil
    }
  }

  /// Reads the whole of a text that a person wrote as a value of the target; stricter than for a model's defaults.
  private func read(_ text: String) -> Value? { Value(written: text, as: target) }
}

extension Value {
  /// Reads what a person wrote as a value of a type, or nil if the text is no such value.
  package init?(written text: String, as type: AttributeType) {
    // A plain nil can be taken for the value of that literal, which is null.
    let value: Value? =
      switch type {
      case .integer16, .integer32, .integer64:
        Int64(text).flatMap { Value.integer($0).fits(type) ? .integer($0) : Value?.none }
      case .double: Double(text).flatMap { $0.isFinite ? .double($0) : Value?.none }
      case .float: Float(text).flatMap { $0.isFinite ? .double(Double($0)) : Value?.none }
      case .decimal: Self.writtenDecimal(text)
      case .boolean:
        switch text.lowercased() {
        case "yes", "true", "1": .boolean(true)
        case "no", "false", "0": .boolean(false)
        default: Value?.none
        }
      case .date: Date(moment: text).map(Value.date)
      case .string: .string(text)
      case .uuid: UUID(uuidString: text).map(Value.uuid)
      case .uri: URL(string: text).map(Value.url)
      case .binary, .transformable, .undefined: Value?.none
      }
    guard let value else { return nil }
    self = value
  }

  private static func writtenDecimal(_ text: String) -> Value? {
    // Foundation reads as much of a text as looks like a number; what Double reads whole is one.
    guard let number = Double(text), number.isFinite, text.utf8.allSatisfy({ "0123456789+-.eE".utf8.contains($0) }),
      let decimal = Decimal(string: text, locale: Locale(identifier: "en_US_POSIX")), !decimal.isNaN
    else { return nil }
    return .decimal(decimal)
  }
}

extension AttributeType {
  /// True if the values are numbers, among which migration converts by itself; Booleans are 0 and 1.
  package var isNumber: Bool {
    switch self {
    case .integer16, .integer32, .integer64, .decimal, .double, .float, .boolean: true
    case .string, .date, .binary, .uuid, .uri, .transformable, .undefined: false
    }
  }

  /// True if values can be written as a text that a person reads, and read from it.
  fileprivate var hasText: Bool { self != .binary && self != .transformable && self != .undefined }
}

extension Decimal {
  fileprivate var roundedToInteger: Decimal {
    var (number, result) = (self, Decimal())
    NSDecimalRound(&result, &number, 0, .plain)
    return result
  }
}

extension Date {
  fileprivate var hasFraction: Bool {
    timeIntervalSinceReferenceDate != timeIntervalSinceReferenceDate.rounded(.down)
  }
}
