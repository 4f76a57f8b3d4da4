/// What can happen to a job; together with ``JobState`` it is the state machine of Documentation/JobStates.md.
public enum JobEvent: String, Sendable, Hashable, CaseIterable {
  /// The time has come that it was to wait for.
  case due
  /// All jobs that it waits for are over, in the way that it asks for.
  case unblocked
  /// As ``unblocked``, but its time has not come yet.
  case unblockedEarly
  /// A worker takes it.
  case started
  /// Its handler came to an end.
  case succeeded
  /// The attempt failed, and another may help.
  case failed
  /// The attempt failed for good, or it was the last.
  case gaveUp
  /// Its process crashed too often.
  case quarantined
  /// The attempt was cut short through no fault of the job, so that it is to run again at once.
  case interrupted
  /// Somebody, or the end of a job that it needs, calls it off.
  case cancelled
  /// Somebody puts it aside.
  case held
  /// Somebody lets it go on, and nothing keeps it.
  case released
  /// As ``released``, but its time has not come yet.
  case releasedEarly
  /// As ``released``, but it waits for other jobs.
  case releasedWaiting
  /// Somebody wants another attempt, now.
  case retried
  /// Somebody has looked at a quarantined job, and puts it back.
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
