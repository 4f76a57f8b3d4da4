/// What becomes of a packed row whose key a stored object has already.
package enum PackedConflict: Sendable {
  /// It is not written, and is told as one that violates a constraint.
  case violation
  /// It is left out.
  case skip
  /// The stored object takes over the row's values.
  case update
}
