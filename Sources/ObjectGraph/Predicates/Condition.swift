/// A predicate's syntax tree: what both front ends make and both back ends evaluate.
///
/// Names are resolved against an entity when a fetch request is executed or bound; see `Condition+Resolving`.
public indirect enum Condition: Sendable, Hashable {
  /// How two values are compared.
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

  /// How many objects of a to-many relationship must meet a comparison; of an empty one, all do.
  public enum Quantifier: String, Sendable, Hashable {
    /// At least one object.
    case any = "ANY"
    /// Every object; true of no objects.
    case all = "ALL"
    /// No object.
    case none = "NONE"
  }

  /// What a comparison of texts disregards.
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
  /// Whether a value is nil.
  case isNull(Operand)
  /// Whether any, all or none of a to-many relationship's objects meet a comparison, whose left side is a path through
  /// that relationship.
  case quantified(Quantifier, Condition)
  /// Whether an object of a to-many relationship meets a condition, in which the variable stands for that object.
  case exists(Operand.Collection, variable: String, Condition)
  /// True where the other is not.
  case not(Condition)
  /// True where all are; of none it is true.
  case and([Condition])
  /// True where at least one is; of none it is false.
  case or([Condition])
}
