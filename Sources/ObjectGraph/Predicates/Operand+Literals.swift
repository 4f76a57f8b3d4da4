// Constants can be written as literals: `["age": 18, "name": "Ada"]`. A key path needs `.keyPath`.

extension Operand: ExpressibleByIntegerLiteral, ExpressibleByFloatLiteral, ExpressibleByBooleanLiteral,
  ExpressibleByStringLiteral
{
  public init(integerLiteral value: Int64) { self = .value(.integer(value)) }
  public init(floatLiteral value: Double) { self = .value(.double(value)) }
  public init(booleanLiteral value: Bool) { self = .value(.boolean(value)) }
  public init(stringLiteral value: String) { self = .value(.string(value)) }
}
