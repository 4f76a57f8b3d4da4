public import Foundation

/// One property value outside a row: a default, a predicate's constant, what `value(forKey:)` returns.
///
/// Rows themselves hold no `Value`s; see ``StorageClass``.
public enum Value: Sendable, Hashable {
  case null
  case integer(Int64)
  case double(Double)
  case boolean(Bool)
  case string(String)
  case decimal(Decimal)
  case date(Date)
  case data(Data)
  case uuid(UUID)
  case url(URL)

  /// Whether this is the absence of a value.
  public var isNull: Bool { if case .null = self { true } else { false } }
}

extension Value: ExpressibleByIntegerLiteral, ExpressibleByFloatLiteral, ExpressibleByBooleanLiteral,
  ExpressibleByStringLiteral, ExpressibleByNilLiteral
{
  public init(integerLiteral value: Int64) { self = .integer(value) }
  public init(floatLiteral value: Double) { self = .double(value) }
  public init(booleanLiteral value: Bool) { self = .boolean(value) }
  public init(stringLiteral value: String) { self = .string(value) }
  public init(nilLiteral: ()) { self = .null }
}
