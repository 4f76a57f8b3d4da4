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

  /// The states of jobs that are not over.
  package static let unfinished = allCases.filter { !$0.isFinal }

  /// True if the daemon does nothing more about the job by itself.
  public var isFinal: Bool {
    switch self {
    case .available, .scheduled, .waiting, .held, .running, .retryable: false
    case .completed, .cancelled, .discarded, .quarantined: true
    }
  }

  /// True if the job has failed: it is final, and not completed.
  public var isFailure: Bool { isFinal && self != .completed }
}

/// An event in the life of a job; with ``JobState`` it is the state machine of Documentation/JobStates.md.
public enum JobEvent: String, Sendable, Hashable, CaseIterable {
  /// The time that it was to wait for has come.
  case due
  /// All jobs that it waits for are final, in the way that it asks for.
  case unblocked
  /// Like ``unblocked``, but its time has not come yet.
  case unblockedEarly
  /// A worker starts an attempt.
  case started
  /// Its handler succeeded.
  case succeeded
  /// The attempt failed, and another may help.
  case failed
  /// The attempt failed for good, or it was the last.
  case gaveUp
  /// Its process crashed too often.
  case quarantined
  /// The attempt was cut short through no fault of the job, so that it is to run again at once.
  case interrupted
  /// An operator cancels it, or a job that it depends on has failed.
  case cancelled
  /// An operator holds it.
  case held
  /// An operator resumes it, and nothing keeps it from running.
  case released
  /// Like ``released``, but its time has not come yet.
  case releasedEarly
  /// Like ``released``, but it waits for other jobs.
  case releasedWaiting
  /// An operator wants another attempt, now.
  case retried
  /// An operator has looked at a quarantined job, and puts it back.
  case redriven
}

extension JobState {
  /// The state after an event, or nil if the event can't happen in this state.
  public func after(_ event: JobEvent) -> JobState? {
    switch (event, self) {
    case (.due, .scheduled), (.due, .retryable): .available
    case (.unblocked, .waiting): .available
    case (.unblockedEarly, .waiting): .scheduled
    case (.started, .available): .running
    case (.succeeded, .running): .completed
    case (.failed, .running): .retryable
    case (.gaveUp, .running): .discarded
    case (.quarantined, .running): .quarantined
    case (.interrupted, .running): .available
    case (.cancelled, _) where !isFinal: .cancelled
    case (.held, _) where !isFinal && self != .held: .held
    case (.released, .held): .available
    case (.releasedEarly, .held): .scheduled
    case (.releasedWaiting, .held): .waiting
    case (.retried, .scheduled), (.retried, .retryable), (.retried, .completed), (.retried, .cancelled),
      (.retried, .discarded):
      .available
    case (.redriven, .quarantined): .available
    default: nil
    }
  }
}
