/// An error that holds the job, until an operator has looked at it and resumes or cancels it.
package struct AttemptHold: Error, Sendable, CustomStringConvertible {
  /// The reason, and what to do.
  package let description: String

  package init(_ description: String) { self.description = description }
}

/// The failure of an attempt at a job, permanent or not.
public struct JobFailure: Error, Sendable, Hashable, CustomStringConvertible {
  /// The message: what happened, to which file, line or key, and what to do.
  public var message: String
  /// True if every further attempt would fail in the same way.
  public var isPermanent: Bool
  /// True if a disk was full, or the machine short of memory, processes or descriptors: the attempt doesn't count then,
  /// and others follow until there is room.
  public var isShortage = false
  /// The evidence of a crash of the process that did the work; nil for a failure of any other kind.
  public var crash: CrashEvidence?

  /// A failure; the message says what to do about it, and it is permanent unless another attempt may succeed.
  public init(_ message: String, isPermanent: Bool = true) {
    self.message = message
    self.isPermanent = isPermanent
  }

  /// The message.
  public var description: String { message }
}
