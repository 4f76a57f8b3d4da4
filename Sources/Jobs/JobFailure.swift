/// An error that holds the job, until an operator has looked at it and resumes or cancels it.
package struct AttemptHold: Error, Sendable, CustomStringConvertible {
  /// The reason, and what to do.
  package let description: String

  package init(_ description: String) { self.description = description }

  /// The hold of a job whose stored progress can't be read: to begin anew would do things twice.
  package static func unreadableProgress(_ cursor: String) -> AttemptHold {
    AttemptHold(
      "the progress that an earlier attempt has stored is not understood, and to begin anew would do things twice; a newer "
        + "release may have stored it: install that again and resume the job, or cancel it (\(cursor.prefix(100)))")
  }
}

/// The failure of an attempt at a job, permanent or not.
public struct JobFailure: Error, Sendable, Hashable, CustomStringConvertible {
  /// The message: what happened, to which file, line or key, and what to do.
  public var message: String
  /// True if every further attempt would fail in the same way.
  public var isPermanent: Bool
  /// True if a disk was full or read-only, a path hidden from the daemon, or the machine short of memory, processes or
  /// descriptors: the attempt doesn't count then, and others follow until that is mended.
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

/// The evidence of a crash: how the process ended, what it used, and the end of its log.
public struct CrashEvidence: Sendable, Hashable {
  /// The signal that ended it; nil if it ended by itself.
  public var signal: Int32?
  /// The status that it ended with by itself; nil if a signal ended it.
  public var exitStatus: Int32?
  /// Processor time in its own code, in seconds, with that of the descendants it waited for.
  public var userSeconds: Double
  /// Processor time that the kernel took for it, in seconds.
  public var systemSeconds: Double
  /// The peak of its memory, or more: the daemon's own memory at the time of the start counts as well.
  public var maximumResidentBytes: Int
  /// The last lines of its log; control characters are not escaped.
  public var logTail: String

  /// The evidence of a crash.
  public init(
    signal: Int32? = nil, exitStatus: Int32? = nil, userSeconds: Double = 0, systemSeconds: Double = 0,
    maximumResidentBytes: Int = 0, logTail: String = ""
  ) {
    self.signal = signal
    self.exitStatus = exitStatus
    self.userSeconds = userSeconds
    self.systemSeconds = systemSeconds
    self.maximumResidentBytes = maximumResidentBytes
    self.logTail = logTail
  }
}
