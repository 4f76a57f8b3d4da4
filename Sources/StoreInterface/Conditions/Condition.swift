package import ObjectModel

/// A predicate's syntax tree: what both front ends make and both back ends evaluate.
///
/// Names are resolved against an entity when a fetch request is executed or bound; see `Condition+Resolving`.
public indirect enum Condition: Sendable, Hashable {
  /// A comparison of two values.
  public enum Comparison: String, Sendable, Hashable {
    /// Equal; nil equals nil only.
    case equal = "=="
    /// Not equal; nil differs from every value.
    case notEqual = "!="
    /// Smaller; never true of nil.
    case less = "<"
    /// Smaller or equal.
    case lessOrEqual = "<="
    /// Larger; never true of nil.
    case greater = ">"
    /// Larger or equal.
    case greaterOrEqual = ">="
    /// The text begins with the other.
    case beginsWith = "BEGINSWITH"
    /// The text ends with the other.
    case endsWith = "ENDSWITH"
    /// The text contains the other.
    case contains = "CONTAINS"
    /// `?` stands for one character, `*` for any number of them.
    case like = "LIKE"
    /// An ICU regular expression that matches the whole text.
    case matches = "MATCHES"
  }

  /// The share of a to-many relationship's objects that must meet a comparison; of an empty one, all do.
  public enum Quantifier: String, Sendable, Hashable {
    /// At least one object.
    case any = "ANY"
    /// Every object; true of no objects.
    case all = "ALL"
    /// No object.
    case none = "NONE"
  }

  /// The differences that a comparison of texts ignores.
  public struct TextOptions: OptionSet, Sendable, Hashable {
    /// The options as bits.
    public let rawValue: UInt8
    /// Options by their bits.
    public init(rawValue: UInt8) { self.rawValue = rawValue }
    /// `[c]`: upper and lower case are the same.
    public static let caseInsensitive = TextOptions(rawValue: 1)
    /// `[d]`: letters with and without diacritical marks are the same.
    public static let diacriticInsensitive = TextOptions(rawValue: 2)
  }

  /// `TRUEPREDICATE` or `FALSEPREDICATE`.
  case constant(Bool)
  /// A comparison of two values.
  case compare(Operand, Comparison, Operand, TextOptions)
  /// `operand BETWEEN {lower, upper}`, both included.
  case between(Operand, lower: Operand, upper: Operand)
  /// `operand IN {…}`.
  case isIn(Operand, [Operand], TextOptions)
  /// True if a value is nil.
  case isNull(Operand)
  /// True if any, all or none of a to-many relationship's objects meet a comparison, whose left side is a path through
  /// that relationship.
  case quantified(Quantifier, Condition)
  /// True if an object of a to-many relationship meets a condition, in which the variable stands for that object.
  case exists(Operand.Collection, variable: String, Condition)
  /// True where the other is not.
  case not(Condition)
  /// True where all are; of none it is true.
  case and([Condition])
  /// True where at least one is; of none it is false.
  case or([Condition])
}

extension Condition {
  /// The condition that a to-one relationship leads to an object.
  package static func leads(_ relationship: Property, to id: ManagedObjectID) -> Condition {
    .compare(.keyPath([relationship.name]), .equal, .object(id), [])
  }

  /// The condition that a to-one relationship leads to one of some objects.
  package static func leads(_ relationship: Property, toAnyOf ids: some Sequence<ManagedObjectID>) -> Condition {
    .isIn(.keyPath([relationship.name]), ids.map(Operand.object), [])
  }

  /// The condition to be one of some objects.
  package static func isAny(of ids: some Sequence<ManagedObjectID>) -> Condition {
    .isIn(.evaluatedObject, ids.map(Operand.object), [])
  }
}

extension Condition.Comparison {
  /// The comparison with both sides exchanged; nil for those of texts.
  var mirrored: Self? {
    switch self {
    case .equal, .notEqual: self
    case .less: .greater
    case .lessOrEqual: .greaterOrEqual
    case .greater: .less
    case .greaterOrEqual: .lessOrEqual
    case .beginsWith, .endsWith, .contains, .like, .matches: nil
    }
  }

  /// True if it is defined for texts only.
  package var isOfTexts: Bool { mirrored == nil }

  /// True if it asks for more than equality.
  var isOrdering: Bool { self != .equal && self != .notEqual }
}

extension Condition: CustomStringConvertible {
  /// The condition as a format string that reads as the same condition.
  public var description: String {
    switch self {
    case .constant(let truth): truth ? "TRUEPREDICATE" : "FALSEPREDICATE"
    case .compare(let left, let comparison, let right, let options): "\(left) \(comparison.rawValue)\(options) \(right)"
    case .between(let operand, let lower, let upper): "\(operand) BETWEEN {\(lower), \(upper)}"
    case .isIn(let operand, let list, let options):
      "\(operand) IN\(options) {\(list.map(\.description).joined(separator: ", "))}"
    case .isNull(let operand): "\(operand) == nil"
    case .quantified(let quantifier, let condition): "\(quantifier.rawValue) \(condition)"
    case .exists(let collection, let variable, let condition):
      "SUBQUERY(\(collection), $\(variable), \(condition)).@count > 0"
    case .not(let condition): "NOT (\(condition))"
    case .and(let conditions): Self.joined(conditions, " AND ", empty: "TRUEPREDICATE")
    case .or(let conditions): Self.joined(conditions, " OR ", empty: "FALSEPREDICATE")
    }
  }

  private static func joined(_ conditions: [Condition], _ separator: String, empty: String) -> String {
    if conditions.isEmpty { return empty }
    return conditions.map { $0.isCompound ? "(\($0))" : $0.description }.joined(separator: separator)
  }

  private var isCompound: Bool {
    switch self {
    case .and, .or: true
    default: false
    }
  }
}

extension Condition.TextOptions: CustomStringConvertible {
  /// `[c]`, `[d]`, `[cd]` or nothing.
  public var description: String {
    if isEmpty { return "" }
    return "[" + (contains(.caseInsensitive) ? "c" : "") + (contains(.diacriticInsensitive) ? "d" : "") + "]"
  }
}

extension Condition {
  /// Reads a condition from a format string such as `age >= %@ AND lastName BEGINSWITH[c] 'mc'`.
  ///
  /// Arguments: `%@` for a value, an object or its ID, or a collection of these; `%K` for a key path in text; `%d`,
  /// `%i`, `%ld`, `%u` and `%f` for numbers. `$name` stands for a value that ``substituting(_:)`` puts in later. A
  /// property named like a keyword is written `#name`. Keywords may be in lower case.
  ///
  /// - Throws: ``ConditionError`` with the column and the offending part.
  public init(format: String, _ arguments: Any?...) throws {
    try self.init(format: format, arguments: arguments)
  }

  /// Reads a condition from a format string and an array of arguments.
  public init(format: String, arguments: [Any?]) throws {
    var parser = try FormatParser(format, arguments)
    self = try parser.parse()
  }
}

extension Operand {
  /// Reads a value from a format string such as `age + %@` or `lowercase:(name)`; see ``Condition/init(format:_:)``.
  ///
  /// - Throws: ``ConditionError`` with the column and the offending part.
  public init(format: String, _ arguments: (any Sendable)?...) throws {
    try self.init(format: format, arguments: arguments)
  }

  /// Reads a value from a format string such as `price * amount`.
  package init(format: String, arguments: [Any?]) throws {
    var parser = try FormatParser(format, arguments)
    self = try parser.parseOperand()
  }
}
