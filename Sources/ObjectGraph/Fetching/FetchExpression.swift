public import ObjectModel

/// One entry of the dictionaries that a fetch returns: a property, what is computed of an object, an aggregate over a
/// group, or a value.
///
///     request.propertiesToFetch = ["department.name", try .expression("age / 10", as: "decade")]
///     request.propertiesToFetch = ["department.name", .count(), .average("age", as: "meanAge")]
///     request.propertiesToGroupBy = ["department.name"]
public struct FetchExpression: Sendable, Hashable, ExpressibleByStringLiteral {
  /// What is computed over the rows of a group; nil counts for none of them.
  public enum Function: String, Sendable, Hashable {
    /// How many values there are.
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

  /// A property by its key path, under the key path as name.
  public init(stringLiteral keyPath: String) { self = .property(keyPath) }

  /// An attribute, or a to-one relationship, whose value is its destination's URI.
  public static func property(_ keyPath: String, as name: String? = nil) -> Self {
    Self(name ?? keyPath, .property(names(keyPath)))
  }

  /// The object's ID as its URI.
  public static func objectID(as name: String = "objectID") -> Self { Self(name, .objectID) }

  /// What a format string computes of each object: `price * amount`, `uppercase:(name)`, `orders.@sum.total`.
  ///
  /// - Throws: ``ConditionError`` with the column and the offending part of the text.
  public static func expression(
    _ format: String, _ arguments: Any?..., as name: String
  ) throws(ConditionError) -> Self {
    Self(name, .computed(try Operand(format: format, arguments: arguments)))
  }

  /// The same value everywhere.
  public static func value(_ value: Value, as name: String) -> Self { Self(name, .value(value)) }

  /// The number of rows, or of those where the property is not nil.
  public static func count(_ keyPath: String? = nil, as name: String = "count") -> Self {
    Self(name, .aggregate(.count, keyPath.map(names)))
  }

  /// The sum; 0 of nothing. Integers whose sum exceeds 64 bits make the fetch fail.
  public static func sum(_ keyPath: String, as name: String = "sum") -> Self {
    Self(name, .aggregate(.sum, names(keyPath)))
  }

  /// The smallest value; nil of nothing.
  public static func min(_ keyPath: String, as name: String = "min") -> Self {
    Self(name, .aggregate(.min, names(keyPath)))
  }

  /// The largest value; nil of nothing.
  public static func max(_ keyPath: String, as name: String = "max") -> Self {
    Self(name, .aggregate(.max, names(keyPath)))
  }

  /// The mean; nil of nothing. Decimals have a decimal mean, all other numbers a double.
  public static func average(_ keyPath: String, as name: String = "average") -> Self {
    Self(name, .aggregate(.average, names(keyPath)))
  }

  static func names(_ keyPath: String) -> [String] {
    keyPath.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
  }
}
