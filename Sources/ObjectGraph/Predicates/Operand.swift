public import ObjectModel

/// A value in a predicate: a constant, an object, the object under test, or something computed from it.
public indirect enum Operand: Sendable, Hashable {
  /// What is computed from two numbers.
  ///
  /// Two integers give an integer, and `/` cuts off the fraction, as in NSExpression; a result that 64 bits can't hold
  /// becomes a floating-point number. With a floating-point number the result is one. With nil, on division by zero,
  /// and where the result is no number, it is nil.
  public enum Arithmetic: String, Sendable, Hashable {
    case add = "+"
    case subtract = "-"
    case multiply = "*"
    case divide = "/"
  }

  /// What is computed from one value; of nil it is nil.
  public enum Function: String, Sendable, Hashable, CaseIterable {
    case absolute = "abs"
    case ceiling
    case floor
    case lowercase
    case uppercase
    /// The number of characters of a text.
    case length
  }

  case value(Value)
  case object(ManagedObjectID)
  /// `SELF`, the object under test.
  case evaluatedObject
  /// Property names from the object under test, through to-one relationships: `["department", "name"]`.
  case keyPath([String])
  /// `$name`: the element that a subquery looks at, or else to be replaced by ``Condition/substituting(_:)``.
  case variable(String)
  /// `$name.property`: property names from the element that a subquery looks at.
  case variablePath(String, [String])
  case arithmetic(Operand, Arithmetic, Operand)
  case function(Function, Operand)
  /// The number of objects of a to-many relationship that meet a condition, in which the variable stands for each of
  /// them: `SUBQUERY(path, $variable, condition).@count`.
  case count(Collection, variable: String, Condition)

  /// A path to a to-many relationship, from the object under test or from a subquery's element.
  public struct Collection: Sendable, Hashable {
    /// The variable that the path begins at; nil for the object under test.
    public var variable: String?
    /// The names of the properties; empty for the object itself.
    public var path: [String]

    /// The objects at the end of a path, which starts at the fetched object or at a variable of an enclosing subquery.
    public init(_ path: some Sequence<String>, from variable: String? = nil) {
      self.path = Array(path)
      self.variable = variable
    }
  }
}
