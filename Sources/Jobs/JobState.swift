/// Where a job is in its life; the diagram is in Documentation/JobStates.md.
public enum JobState: String, Sendable, Hashable, CaseIterable {
  /// Accepted, and ready to run.
  case available
  /// Its handler is at work.
  case running
  /// Done: its effects are merged, and on disk once the job is durable.
  case completed
  /// Given up: a permanent failure, or the last attempt failed.
  case discarded

  /// Whether nothing will happen to the job any more.
  public var isFinal: Bool { self == .completed || self == .discarded }

  /// The states that may follow.
  public var successors: Set<JobState> {
    switch self {
    case .available: [.running, .completed, .discarded]
    case .running: [.available, .completed, .discarded]
    case .completed, .discarded: []
    }
  }
}

extension Job {
  /// The job's state; a move that ``JobState/successors`` does not allow is a programmer's error and traps.
  public var currentState: JobState {
    get { JobState(rawValue: state) ?? .discarded }
    set {
      precondition(
        newValue == currentState || currentState.successors.contains(newValue),
        "a job can't go from \(currentState) to \(newValue)")
      state = newValue.rawValue
    }
  }
}
