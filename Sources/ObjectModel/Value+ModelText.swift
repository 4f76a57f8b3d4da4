import Foundation

// The spelling of values in model files. The editor has written numbers in more ways over the years than a strict reader takes,
// and Core Data makes something of every text, as NSString's integerValue, doubleValue and boolValue do.

extension Value {
  /// Reads a value as Core Data reads a model file's: as much of a number as the text begins with, else 0; nil for what
  /// has no value then (a UUID, a URI, a date, bytes).
  init?(lenient text: String, as type: AttributeType) {
    if let value = Value(text, as: type) {
      self = value
      return
    }
    let number = Self.number(atStartOf: text)
    let value: Value? =
      switch type {
      case .integer16: Self.integer(number, Int64(Int16.min)...Int64(Int16.max))
      case .integer32: Self.integer(number, Int64(Int32.min)...Int64(Int32.max))
      case .integer64: Self.integer(number, .min ... .max)
      case .double, .float: Value(number.isEmpty ? "0" : number, as: type)
      case .decimal: number.isEmpty ? nil : Value(number, as: type)
      case .boolean: .boolean(Self.isTrue(text))
      case .string, .date, .binary, .uuid, .uri, .transformable, .undefined: nil
      }
    guard let value else { return nil }
    self = value
  }

  /// True if a text that is no plain value of a type means the same number, like "0.0" for 0.
  func isSpelled(_ text: String) -> Bool {
    guard let number = Double(text.filter { !$0.isWhitespace }) else { return false }
    // Beyond 15 digits a Double may be equal to more numbers than one.
    return switch self {
    case .integer(let value): abs(number) < 1e15 && number == Double(value)
    case .boolean(let value): number == (value ? 1 : 0)
    default: false
    }
  }

  /// True if a text begins with a number.
  static func isNumber(atStartOf text: String) -> Bool { !number(atStartOf: text).isEmpty }

  private static func number(atStartOf text: String) -> String {
    let number = text.prefixMatch(of: /\s*([+-]?)([0-9]*)(\.[0-9]*)?([eE][+-]?[0-9]+)?/)
    guard let (_, sign, whole, fraction, exponent) = number?.output else { return "" }
    let decimals = (fraction ?? "").dropFirst()
    if whole.isEmpty && decimals.isEmpty { return "" }
    return "\(sign == "-" ? "-" : "")\(whole.isEmpty ? "0" : whole)"
      + (decimals.isEmpty ? "" : ".\(decimals)") + (exponent ?? "")
  }

  /// The whole part, or the nearest number that the type has.
  private static func integer(_ number: String, _ range: ClosedRange<Int64>) -> Value {
    let digits = number.prefix { $0 == "-" || $0.isNumber }
    let bound = number.hasPrefix("-") ? range.lowerBound : range.upperBound
    if digits.isEmpty { return .integer(0) }
    return .integer(Int64(digits).map { min(max($0, range.lowerBound), range.upperBound) } ?? bound)
  }

  /// True if the first character behind a sign and zeros is one of Y, y, T, t and 1 to 9.
  private static func isTrue(_ text: String) -> Bool {
    text.prefixMatch(of: /\s*[+-]?0*[YyTt1-9]/) != nil
  }
}
