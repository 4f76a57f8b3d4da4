/// What a check of invariants found: a fault of the library, or damage to the store's files.
public struct InvariantViolation: Error, Sendable, CustomStringConvertible {
  /// Where the check looked: the name of a context, or the path of a store.
  public let subject: String
  /// Each contradiction in a sentence, without values.
  public let findings: [String]

  /// Where, and everything that was found.
  public var description: String { "\(subject): " + findings.joined(separator: "; ") }
}
