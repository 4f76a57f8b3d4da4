/// An attempt ends with its job held, until somebody has looked at it and resumes or cancels it.
package struct AttemptHold: Error, Sendable, CustomStringConvertible {
  /// Why, and what to do.
  package let description: String

  package init(_ description: String) { self.description = description }
}

/// Why an attempt at a job failed, and whether another attempt could help.
public struct JobFailure: Error, Sendable, Hashable, CustomStringConvertible {
  /// What happened, to which file, line or key, and what to do.
  public var message: String
  /// Whether every further attempt would fail in the same way.
  public var isPermanent: Bool
  /// Whether a disk was full, or the machine short of memory, processes or descriptors: the attempt doesn't count then,
  /// and others follow until there is room.
  public var isShortage = false
  /// What is known of the process that did the work, if that crashed; nil for a failure of any other kind.
  public var crash: CrashEvidence?

  /// A failure, with what to do about it in words; permanent unless another attempt may succeed.
  public init(_ message: String, isPermanent: Bool = true) {
    self.message = message
    self.isPermanent = isPermanent
  }

  /// The message.
  public var description: String { message }
}
