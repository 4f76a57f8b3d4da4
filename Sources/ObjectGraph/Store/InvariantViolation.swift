/// The findings of a check of invariants: a fault of the library, or damage to the store's files.
public struct InvariantViolation: Error, Sendable, CustomStringConvertible {
  /// The checked subject: the name of a context, or the path of a store.
  public let subject: String
  /// Each contradiction in a sentence, without values.
  public let findings: [String]

  /// The subject and all findings.
  public var description: String { "\(subject): " + findings.joined(separator: "; ") }
}
