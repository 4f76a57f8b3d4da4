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

  /// Whether this is the absence of a value.
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
