/// Where a job is in its life; the diagram is in Documentation/JobStates.md.
public enum JobState: String, Sendable, Hashable, CaseIterable {
  /// Accepted, and ready to run; leads to ``running``, or to any state that ends or parks it.
  case available
  /// Accepted, and to be run at a later time; leads to ``available``.
  case scheduled
  /// Accepted, and waiting for other jobs; leads to ``available`` or ``scheduled``, or to ``cancelled`` with them.
  case waiting
  /// Put aside until somebody releases it; leads to ``available``, ``scheduled`` or ``waiting``.
  case held
  /// Its handler is at work; leads to any other state but ``scheduled`` and ``waiting``.
  case running
  /// An attempt failed, and another follows after a delay; leads to ``available``.
  case retryable
  /// Done: its effects are merged, and on disk once the job is durable.
  case completed
  /// Called off by somebody, or because a job that it needs came to nothing.
  case cancelled
  /// Given up: a permanent failure, or the last attempt failed.
  case discarded
  /// Put away because its process crashed too often; leads to ``available`` when somebody has looked at it.
  case quarantined

  /// Whether the daemon will do nothing about the job by itself any more.
  public var isFinal: Bool { self >= .completed }

  /// Whether the job has come to nothing.
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

  /// How the job is to end, or to be put aside, as soon as its attempt has ended and what is to be taken back is; nil if
  /// nobody has decided that.
  ///
  /// On record, so that the next start does it if the daemon ends in between.
  package var pendingStop: JobEvent? { stopEvent.flatMap(JobEvent.init) }

  /// - Parameter reason: what the job's record says as its failure in the end.
  package func setPendingStop(_ event: JobEvent?, _ reason: String? = nil) {
    stopEvent = event?.rawValue
    stopReason = reason
  }
}
