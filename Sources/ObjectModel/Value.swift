public import Foundation

/// One property value outside a row: a default, a predicate's constant, what `value(forKey:)` returns.
///
/// Rows themselves hold no `Value`s; see ``StorageClass``.
public enum Value: Sendable, Hashable {
  /// No value.
  case null
  /// An integer of any size that the attribute has.
  case integer(Int64)
  /// A floating-point number.
  case double(Double)
  /// True or false.
  case boolean(Bool)
  /// A text.
  case string(String)
  /// A decimal number.
  case decimal(Decimal)
  /// A moment.
  case date(Date)
  /// Bytes.
  case data(Data)
  /// A UUID.
  case uuid(UUID)
  /// A URI; also how a reference to an object shows.
  case url(URL)

  /// True if this is the absence of a value.
  public var isNull: Bool { if case .null = self { true } else { false } }
}

extension Value: ExpressibleByIntegerLiteral, ExpressibleByFloatLiteral, ExpressibleByBooleanLiteral,
  ExpressibleByStringLiteral, ExpressibleByNilLiteral
{
  /// An integer.
  public init(integerLiteral value: Int64) { self = .integer(value) }
  /// A floating-point number.
  public init(floatLiteral value: Double) { self = .double(value) }
  /// A Boolean.
  public init(booleanLiteral value: Bool) { self = .boolean(value) }
  /// A text.
  public init(stringLiteral value: String) { self = .string(value) }
  /// No value.
  public init(nilLiteral: ()) { self = .null }
}

extension Value: CustomStringConvertible {
  /// The value as people read it: texts and numbers as they are, moments as ISO 8601, the size of bytes, `nil`.
  public var description: String {
    switch self {
    case .null: "nil"
    case .integer(let value): "\(value)"
    case .double(let value): "\(value)"
    case .boolean(let value): "\(value)"
    case .string(let value): value
    case .decimal(let value): "\(value)"
    case .date(let value): value.formatted(.iso8601)
    case .data(let value): "\(value.count) bytes"
    case .uuid(let value): value.uuidString
    case .url(let value): value.absoluteString
    }
  }
}

extension Value {
  /// True if the value is one of the attribute type, after the lossless conversions that ``converted(to:)`` makes.
  public func fits(_ type: AttributeType) -> Bool { converted(to: type) != nil }

  /// The value as the attribute type stores it, or nil where that would lose something.
  public func converted(to type: AttributeType) -> Value? {
    // A plain nil can be taken for the value of that literal, which is null.
    switch (type, self) {
    case (_, .null): self
    case (.integer16, .integer(let number)): Int16(exactly: number).map { _ in self }
    case (.integer32, .integer(let number)): Int32(exactly: number).map { _ in self }
    case (.integer64, .integer): self
    case (.boolean, .boolean): self
    case (.boolean, .integer(let number)): number == 0 || number == 1 ? .boolean(number == 1) : Value?.none
    case (.double, .double), (.float, .double): self
    case (.double, .integer(let number)), (.float, .integer(let number)): Double(exactly: number).map(Value.double)
    case (.decimal, .decimal): self
    case (.decimal, .integer(let number)): .decimal(Decimal(number))
    case (.string, .string), (.date, .date), (.binary, .data), (.uuid, .uuid), (.uri, .url): self
    case (.transformable, .data), (.undefined, _): self
    default: nil
    }
  }

  /// Reads a value of the type from the text of a model file, or nil if the text is no such value.
  public init?(_ text: String, as type: AttributeType) {
    let value: Value? =
      switch type {
      case .integer16: Int16(text).map { .integer(Int64($0)) }
      case .integer32: Int32(text).map { .integer(Int64($0)) }
      case .integer64: Int64(text).map(Value.integer)
      case .decimal: Value.decimal(from: text).map(Value.decimal)
      case .double: Double(text).flatMap { $0.isFinite ? .double($0) : nil }
      case .float: Float(text).flatMap { $0.isFinite ? .double(Double($0)) : nil }
      case .string: .string(text)
      case .boolean:
        switch text.uppercased() {
        case "YES", "TRUE", "1": .boolean(true)
        case "NO", "FALSE", "0": .boolean(false)
        default: nil
        }
      case .date: Double(text).flatMap { $0.isFinite ? .date(Date(timeIntervalSinceReferenceDate: $0)) : nil }
      case .uuid: UUID(uuidString: text).map(Value.uuid)
      case .uri: URL(string: text).map(Value.url)
      case .binary, .transformable: Data(base64Encoded: text).map(Value.data)
      case .undefined: nil
      }
    guard let value else { return nil }
    self = value
  }

  /// Foundation reads as much of a text as looks like a number and passes over the rest; here all of it must be one.
  private static func decimal(from text: String) -> Decimal? {
    guard isDecimal(text) else { return nil }
    guard let decimal = Decimal(string: text, locale: Locale(identifier: "en_US_POSIX")) else { return nil }
    return decimal.isNaN ? nil : decimal
  }

  /// True if a text is a number with an optional sign, fraction and exponent of up to three digits.
  private static func isDecimal(_ text: String) -> Bool {
    var rest = text.utf8[...]
    func drop(_ characters: String) -> Bool {
      guard let first = rest.first, characters.utf8.contains(first) else { return false }
      rest.removeFirst()
      return true
    }
    func dropDigits() -> Int {
      let count = rest.prefix { (0x30...0x39).contains($0) }.count
      rest.removeFirst(count)
      return count
    }
    _ = drop("+-")
    guard dropDigits() > 0 else { return false }
    if drop("."), dropDigits() == 0 { return false }
    if drop("eE") {
      _ = drop("+-")
      guard (1...3).contains(dropDigits()) else { return false }
    }
    return rest.isEmpty
  }
}

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

extension Value {
  /// Makes a value of any of the types that attributes can have; nil for other types.
  public init?(_ any: Any?) {
    switch any {
    case nil: self = .null
    case let value as Value: self = value
    case let value as Bool: self = .boolean(value)
    case let value as any BinaryInteger:
      guard let integer = Int64(exactly: value) else { return nil }
      self = .integer(integer)
    case let value as Double: self = .double(value)
    case let value as Float: self = .double(Double(value))
    case let value as String: self = .string(value)
    case let value as Decimal: self = .decimal(value)
    case let value as Date: self = .date(value)
    case let value as Data: self = .data(value)
    case let value as UUID: self = .uuid(value)
    case let value as URL: self = .url(value)
    default: return nil
    }
  }

  /// Returns the value as a Swift type, or nil: `row["count"]?.typed(as: Int.self)`.
  ///
  /// Integers convert to other number types that hold them exactly.
  /// - Parameter type: the wanted type.
  public func typed<Wanted>(as type: Wanted.Type) -> Wanted? {
    if let value = unwrapped as? Wanted { return value }
    guard case .integer(let number) = self else { return nil }
    return switch type {
    case let integer as any BinaryInteger.Type: integer.init(exactly: number) as? Wanted
    case let real as any BinaryFloatingPoint.Type: real.init(exactly: number) as? Wanted
    default: nil
    }
  }

  /// The Swift value, or nil.
  public var unwrapped: (any Sendable)? {
    switch self {
    case .null: nil
    case .integer(let value): value
    case .double(let value): value
    case .boolean(let value): value
    case .string(let value): value
    case .decimal(let value): value
    case .date(let value): value
    case .data(let value): value
    case .uuid(let value): value
    case .url(let value): value
    }
  }
}
