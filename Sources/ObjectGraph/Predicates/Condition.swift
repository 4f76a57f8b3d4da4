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
  case not(Condition)
  case and([Condition])
  case or([Condition])
}
