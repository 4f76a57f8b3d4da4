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
