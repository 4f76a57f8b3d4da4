public import ObjectModel

/// A value in a predicate: a constant, an object, the object under test, or a path of properties from it.
public indirect enum Operand: Sendable, Hashable {
  case value(Value)
  case object(ManagedObjectID)
  /// `SELF`, the object under test.
  case evaluatedObject
  /// Property names from the object under test, through to-one relationships: `["department", "name"]`.
  case keyPath([String])
  /// `$name`, to be replaced by ``Condition/substituting(_:)``.
  case variable(String)
}
