extension JSONValue {
  /// The text if it is a string.
  public var string: String? {
    if case .string(let string) = self { string } else { nil }
  }

  /// The integer; also that of a number without a fraction that fits, such as 1e3 or 4.0.
  public var integer: Int64? {
    switch self {
    case .integer(let integer): integer
    case .number(let number): Self.integer(exactly: number)
    default: nil
    }
  }

  /// The number as a Double, rounded if it is an integer beyond 2^53.
  public var number: Double? {
    switch self {
    case .integer(let integer): Double(integer)
    case .number(let number): number
    default: nil
    }
  }

  /// True or false if it is one of them; 0, 1 and strings are not.
  public var bool: Bool? {
    if case .bool(let bool) = self { bool } else { nil }
  }

  /// The elements if it is an array.
  public var array: [JSONValue]? {
    if case .array(let array) = self { array } else { nil }
  }

  /// The members if it is an object.
  public var object: JSONObject? {
    if case .object(let object) = self { object } else { nil }
  }

  /// Whether it is null.
  public var isNull: Bool { self == .null }

  /// The value of a key; nil if it is missing or this is no object.
  public subscript(key: String) -> JSONValue? { object?[key] }

  /// What it is, with its article, for messages such as `"priority" must be an integer, not a string`.
  public var kindName: String {
    switch self {
    case .null: "null"
    case .bool: "a boolean"
    case .integer: "an integer"
    case .number: "a number"
    case .string: "a string"
    case .array: "an array"
    case .object: "an object"
    }
  }

  // Int64(exactly:) would do, but calls the C library's trunc and so asks everyone who links this module for libm.
  private static func integer(exactly number: Double) -> Int64? {
    guard number >= -0x1p63, number < 0x1p63 else { return nil }
    let integer = Int64(number)
    return Double(integer) == number ? integer : nil
  }
}
