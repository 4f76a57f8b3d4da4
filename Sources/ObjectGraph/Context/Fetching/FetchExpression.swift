public import ObjectModel

/// One entry of the dictionaries that a fetch returns: a property, a computed value, an aggregate over a group, or a
/// constant.
///
///     request.propertiesToFetch = ["department.name", try .expression("age / 10", as: "decade")]
///     request.propertiesToFetch = ["department.name", .count(), .average("age", as: "meanAge")]
///     request.propertiesToGroupBy = ["department.name"]
public struct FetchExpression: Sendable, Hashable, ExpressibleByStringLiteral {
  /// A function over the rows of a group, which ignores nil.
  public enum Function: String, Sendable, Hashable {
    /// The number of values.
    case count
    /// Their sum.
    case sum
    /// The smallest.
    case min
    /// The largest.
    case max
    /// Their mean.
    case average
  }

  enum Kind: Sendable, Hashable {
    case property([String])
    /// Counts rows if it has no path.
    case aggregate(Function, [String]?)
    case value(Value)
    case objectID
    case computed(Operand)
  }

  /// The key in the dictionaries.
  public var name: String
  let kind: Kind

  init(_ name: String, _ kind: Kind) {
    self.name = name
    self.kind = kind
  }

  /// Makes a property by its key path, with the key path as name.
  public init(stringLiteral keyPath: String) { self = .property(keyPath) }

  /// Returns an attribute, or a to-one relationship, whose value is its destination's URI.
  public static func property(_ keyPath: String, as name: String? = nil) -> Self {
    Self(name ?? keyPath, .property(names(keyPath)))
  }

  /// Returns the object's ID as its URI.
  public static func objectID(as name: String = "objectID") -> Self { Self(name, .objectID) }

  /// Returns an expression computed of each object: `price * amount`, `uppercase:(name)`, `orders.@sum.total`.
  ///
  /// - Throws: ``ConditionError`` with the column and the offending part of the text.
  public static func expression(
    _ format: String, _ arguments: Any?..., as name: String
  ) throws -> Self {
    Self(name, .computed(try Operand(format: format, arguments: arguments)))
  }

  /// Returns the same value in all dictionaries.
  public static func value(_ value: Value, as name: String) -> Self { Self(name, .value(value)) }

  /// Returns the number of rows, or of those where the property is not nil.
  public static func count(_ keyPath: String? = nil, as name: String = "count") -> Self {
    Self(name, .aggregate(.count, keyPath.map(names)))
  }

  /// Returns the sum; 0 without values. Integers whose sum exceeds 64 bits make the fetch fail.
  public static func sum(_ keyPath: String, as name: String = "sum") -> Self {
    Self(name, .aggregate(.sum, names(keyPath)))
  }

  /// Returns the smallest value; nil without values.
  public static func min(_ keyPath: String, as name: String = "min") -> Self {
    Self(name, .aggregate(.min, names(keyPath)))
  }

  /// Returns the largest value; nil without values.
  public static func max(_ keyPath: String, as name: String = "max") -> Self {
    Self(name, .aggregate(.max, names(keyPath)))
  }

  /// Returns the mean; nil without values. Decimals have a decimal mean, all other numbers a double.
  public static func average(_ keyPath: String, as name: String = "average") -> Self {
    Self(name, .aggregate(.average, names(keyPath)))
  }

  static func names(_ keyPath: String) -> [String] {
    keyPath.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
  }
}
