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
