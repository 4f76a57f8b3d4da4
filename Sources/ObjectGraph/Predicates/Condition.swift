/// A predicate's syntax tree: what both front ends make and both back ends evaluate.
///
/// Names are resolved against an entity when a fetch request is executed or bound; see `Condition+Resolving`.
public indirect enum Condition: Sendable, Hashable {
  /// How two values are compared.
  public enum Comparison: String, Sendable, Hashable {
    case equal = "=="
    case notEqual = "!="
    case less = "<"
    case lessOrEqual = "<="
    case greater = ">"
    case greaterOrEqual = ">="
    case beginsWith = "BEGINSWITH"
    case endsWith = "ENDSWITH"
    case contains = "CONTAINS"
    /// `?` stands for one character, `*` for any number of them.
    case like = "LIKE"
    /// An ICU regular expression that matches the whole text.
    case matches = "MATCHES"
  }

  /// How many objects of a to-many relationship must meet a comparison; of an empty one, all do.
  public enum Quantifier: String, Sendable, Hashable {
    case any = "ANY"
    case all = "ALL"
    case none = "NONE"
  }

  /// What a comparison of texts disregards.
  public struct TextOptions: OptionSet, Sendable, Hashable {
    public let rawValue: UInt8
    public init(rawValue: UInt8) { self.rawValue = rawValue }
    /// `[c]`: upper and lower case are the same.
    public static let caseInsensitive = TextOptions(rawValue: 1)
    /// `[d]`: letters with and without diacritical marks are the same.
    public static let diacriticInsensitive = TextOptions(rawValue: 2)
  }

  /// `TRUEPREDICATE` or `FALSEPREDICATE`.
  case constant(Bool)
  case compare(Operand, Comparison, Operand, TextOptions)
  /// `operand BETWEEN {lower, upper}`, both included.
  case between(Operand, lower: Operand, upper: Operand)
  /// `operand IN {…}`.
  case isIn(Operand, [Operand], TextOptions)
  case isNull(Operand)
  /// Whether any, all or none of a to-many relationship's objects meet a comparison, whose left side is a path through
  /// that relationship.
  case quantified(Quantifier, Condition)
  /// Whether an object of a to-many relationship meets a condition, in which the variable stands for that object.
  case exists(Operand.Collection, variable: String, Condition)
  case not(Condition)
  case and([Condition])
  case or([Condition])
}
