/// An error of a predicate or a sort that can't be read, does not fit its entity, or can't be answered.
public struct ConditionError: Error, Sendable, Hashable, CustomStringConvertible {
  /// The kind of a predicate error; open, so that more can be added.
  public struct Code: RawRepresentable, Sendable, Hashable {
    /// The code as text, which stays the same from release to release.
    public let rawValue: String
    /// A code by its text: one of those below, one of a later release, or one of your own.
    public init(rawValue: String) { self.rawValue = rawValue }
    /// The format string breaks the grammar.
    public static let syntax = Code(rawValue: "syntax")
    /// An argument of the format string is missing, superfluous or of a type that can't be compared.
    public static let argument = Code(rawValue: "argument")
    /// The model has no entity of that name.
    public static let unknownEntity = Code(rawValue: "unknown-entity")
    /// A key path names a property that the entity does not have.
    public static let unknownProperty = Code(rawValue: "unknown-property")
    /// Values of types that have no comparison, or a constant that is no value of the property's type.
    public static let typeMismatch = Code(rawValue: "type-mismatch")
    /// The predicate is meaningful but can't be answered.
    public static let unsupported = Code(rawValue: "unsupported")
  }

  /// The kind of mistake.
  public var code: Code
  /// The problem and the remedy, in words.
  public var message: String
  /// The offending part of the predicate, as a format string spells it.
  public var fragment: String?
  /// The column at which the offending part begins in the format string, in characters from 1.
  public var column: Int?

  /// An error about a condition.
  public init(_ code: Code, _ message: String, fragment: String? = nil, column: Int? = nil) {
    self.code = code
    self.message = message
    self.fragment = fragment
    self.column = column
  }

  /// The message with the offending part of the text and its place.
  public var description: String {
    var text = message
    if let fragment { text += ": \(fragment)" }
    if let column { text += " (column \(column))" }
    return text
  }
}
