import Foundation

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
