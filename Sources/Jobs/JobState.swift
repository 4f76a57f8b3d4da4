/// The state of a job; the diagram is in Documentation/JobStates.md.
public enum JobState: String, Sendable, Hashable, CaseIterable {
  /// Admitted, and ready to run; leads to ``running``, ``cancelled`` or ``held``.
  case available
  /// Admitted, and to be run at a later time; leads to ``available``.
  case scheduled
  /// Admitted, and waiting for other jobs; leads to ``available`` or ``scheduled``, or to ``cancelled`` with them.
  case waiting
  /// Kept from running until an operator resumes it; leads to ``available``, ``scheduled`` or ``waiting``.
  case held
  /// Its handler runs; leads to any other state but ``scheduled`` and ``waiting``.
  case running
  /// An attempt failed, and another follows after a delay; leads to ``available``.
  case retryable
  /// Done: its effects are merged, and on disk once the job is durable.
  case completed
  /// Ended by an operator, or because a job that it depends on failed.
  case cancelled
  /// Given up: a permanent failure, or the last attempt failed.
  case discarded
  /// Set aside because its process crashed too often; leads to ``available`` when an operator redrives it.
  case quarantined

  /// True if the daemon does nothing more about the job by itself.
  public var isFinal: Bool { self >= .completed }

  /// True if the job has failed: it is final, and not completed.
  public var isFailure: Bool { isFinal && self != .completed }
}

extension JobState: Comparable {
  /// The order of the cases: those that are unfinished come before those that are final.
  public static func < (left: Self, right: Self) -> Bool { left.ordinal < right.ordinal }

  private var ordinal: Int {
    switch self {
    case .available: 0
    case .scheduled: 1
    case .waiting: 2
    case .held: 3
    case .running: 4
    case .retryable: 5
    case .completed: 6
    case .cancelled: 7
    case .discarded: 8
    case .quarantined: 9
    }
  }
}

extension Job {
  /// The job's state as it was last saved; a name that is not known reads as ``JobState/held``, so that a job of a
  /// newer daemon is kept and not run.
  public var currentState: JobState {
    get { JobState(rawValue: state) ?? .held }
    set { state = newValue.rawValue }
  }

  /// The event that is to end or hold the job as soon as its attempt has ended and is reverted; nil if there is none.
  ///
  /// It is on record, so that the next start applies it if the daemon ends in between.
  package var pendingStop: JobEvent? { stopEvent.flatMap(JobEvent.init) }

  /// - Parameter reason: the failure that the job's record gets in the end.
  package func setPendingStop(_ event: JobEvent?, _ reason: String? = nil) {
    stopEvent = event?.rawValue
    stopReason = reason
  }
}
