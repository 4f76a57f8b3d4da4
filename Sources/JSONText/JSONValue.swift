/// A value of a JSON text.
///
/// Integers that fit into 64 bits stay integers. Every other number is a Double, the nearest one if it has none that is
/// exact: 9223372036854775808 and 0.1 become what a Double holds. `-0` is the integer 0, `-0.0` is not.
public enum JSONValue: Sendable, Hashable {
  /// The word `null`.
  case null
  /// True or false.
  case bool(Bool)
  /// A whole number of 64 bits.
  case integer(Int64)
  /// Any other number. Infinities and NaN come from no text, and are written as null.
  case number(Double)
  /// A text.
  case string(String)
  /// Values in their order.
  case array([JSONValue])
  /// Values by their keys, in the order of the text.
  case object(JSONObject)
}

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

  /// True if it is null.
  public var isNull: Bool { self == .null }

  /// The value of a key; nil if it is missing or this is no object.
  public subscript(key: String) -> JSONValue? { object?[key] }

  /// Its kind with an article, for messages such as `"priority" must be an integer, not a string`.
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

extension JSONValue: ExpressibleByNilLiteral {
  /// JSON's null.
  public init(nilLiteral: ()) {
    self = .null
  }
}

extension JSONValue: ExpressibleByBooleanLiteral {
  /// A Boolean.
  public init(booleanLiteral value: Bool) {
    self = .bool(value)
  }
}

extension JSONValue: ExpressibleByIntegerLiteral {
  /// An integer.
  public init(integerLiteral value: Int64) {
    self = .integer(value)
  }
}

extension JSONValue: ExpressibleByFloatLiteral {
  /// A floating-point number.
  public init(floatLiteral value: Double) {
    self = .number(value)
  }
}

extension JSONValue: ExpressibleByStringInterpolation {
  /// A text.
  public init(stringLiteral value: String) {
    self = .string(value)
  }
}

extension JSONValue: ExpressibleByArrayLiteral {
  /// An array.
  public init(arrayLiteral elements: JSONValue...) {
    self = .array(elements)
  }
}

extension JSONValue: ExpressibleByDictionaryLiteral {
  /// Keeps the order.
  ///
  /// - Precondition: No key occurs twice.
  public init(dictionaryLiteral elements: (String, JSONValue)...) {
    self = .object(JSONObject(literal: elements))
  }
}

/// The members of a JSON object in their order.
///
/// Objects are equal if they have the same members in the same order. As for any String, keys that differ only in how
/// accented characters are composed are the same key.
///
/// - Complexity: Looking a key up compares up to 32 keys; a larger object keeps a table of them.
public struct JSONObject: Sendable {
  struct Member: Sendable, Hashable {
    let key: String
    var value: JSONValue
  }

  // Most objects are small, and comparing short keys costs less than hashing one.
  private static let largestWithoutTable = 32

  private(set) var members: [Member] = []
  // The index of each key's member; empty up to the size above.
  private var table: [String: Int] = [:]

  /// An object without members.
  public init() {}

  /// The keys in their order.
  public var keys: [String] { members.map(\.key) }

  /// The value of a key; assigning nil removes the member, a new key comes last.
  ///
  /// - Complexity: Removing is linear.
  public subscript(key: String) -> JSONValue? {
    get { index(of: key).map { members[$0].value } }
    set {
      switch (index(of: key), newValue) {
      case (let index?, let value?): members[index].value = value
      case (let index?, nil): remove(at: index)
      case (nil, let value?): appendNew(key, value)
      case (nil, nil): break
      }
    }
  }

  func index(of key: String) -> Int? {
    guard table.isEmpty else { return table[key] }
    for index in members.indices where members[index].key == key { return index }
    return nil
  }

  /// Appends a member whose key isn't there yet.
  mutating func appendNew(_ key: String, _ value: JSONValue) {
    members.append(Member(key: key, value: value))
    if !table.isEmpty {
      table[key] = members.count - 1
    } else if members.count > Self.largestWithoutTable {
      makeTable()
    }
  }

  mutating func replaceValue(at index: Int, with value: JSONValue) {
    members[index].value = value
  }

  private mutating func remove(at index: Int) {
    members.remove(at: index)
    table = [:]
    if members.count > Self.largestWithoutTable { makeTable() }
  }

  private mutating func makeTable() {
    table.reserveCapacity(members.count * 2)
    for (index, member) in members.enumerated() { table[member.key] = index }
  }
}

extension JSONObject: Hashable {
  /// True if both have the same members in the same order.
  public static func == (left: Self, right: Self) -> Bool { left.members == right.members }

  /// The hash of the members.
  public func hash(into hasher: inout Hasher) { hasher.combine(members) }
}

extension JSONObject: RandomAccessCollection {
  /// 0.
  public var startIndex: Int { 0 }

  /// The number of members.
  public var endIndex: Int { members.count }

  /// The member at a place, in the order of the text.
  public subscript(position: Int) -> (key: String, value: JSONValue) {
    (members[position].key, members[position].value)
  }
}

extension JSONObject: ExpressibleByDictionaryLiteral {
  /// Keeps the order.
  ///
  /// - Precondition: No key occurs twice.
  public init(dictionaryLiteral elements: (String, JSONValue)...) {
    self.init(literal: elements)
  }

  init(literal elements: [(String, JSONValue)]) {
    members.reserveCapacity(elements.count)
    for (key, value) in elements {
      precondition(index(of: key) == nil, "the key \"\(key)\" occurs twice in a literal")
      appendNew(key, value)
    }
  }
}

extension JSONValue {
  /// Compares without regard to the order of keys.
  package func isEqual(to other: JSONValue) -> Bool {
    switch (self, other) {
    case (.object(let one), .object(let other)):
      one.count == other.count
        && one.keys.allSatisfy { key in other[key].map { one[key]?.isEqual(to: $0) == true } ?? false }
    case (.array(let one), .array(let other)):
      one.count == other.count && zip(one, other).allSatisfy { $0.isEqual(to: $1) }
    default: self == other
    }
  }
}
