// Constants can be written as literals: `["age": 18, "name": "Ada"]`. A key path needs `.keyPath`.

extension Operand: ExpressibleByIntegerLiteral, ExpressibleByFloatLiteral, ExpressibleByBooleanLiteral,
  ExpressibleByStringLiteral
{
  /// A constant integer.
  public init(integerLiteral value: Int64) { self = .value(.integer(value)) }
  /// A constant floating-point number.
  public init(floatLiteral value: Double) { self = .value(.double(value)) }
  /// A constant truth value.
  public init(booleanLiteral value: Bool) { self = .value(.boolean(value)) }
  /// A constant text, and no key path.
  public init(stringLiteral value: String) { self = .value(.string(value)) }
}
