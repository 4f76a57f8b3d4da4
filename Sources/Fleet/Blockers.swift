import JobSchedule
import Jobs

/// The reason why a job can't wait for others any more.
struct Lack: Error { let reason: String }

extension Schedule {
  /// The unfinished jobs and the batch that a new job waits for.
  ///
  /// - Parameter known: tells a job that it names, if that is known.
  /// - Throws: ``Lack`` if one of them has ended in another way than it must.
  func blockers(of job: JobSpecification, known: (String) -> NamedJob?) throws(Lack) -> [NewJob.Blocker] {
    var blockers: [NewJob.Blocker] = []
    for (names, mayFail) in [(job.after, false), (job.afterAny, true)] {
      for name in names {
        guard let other = known(name) else {
          blockers.append(NewJob.Blocker(subject: .name(name), mayFail: mayFail))
          continue
        }
        // The ledger may know of an end whose news is still to come, and of a job that is.
        let state = state(of: other.id) ?? other.state
        if state.isFinal, !state.isFailure || mayFail { continue }
        if state.isFailure && state != .quarantined {
          throw Lack(reason: FinishedJob.reasonForOthers(of: name, state))
        }
        let isKnown = contains(other.id) || state.isFinal
        blockers.append(NewJob.Blocker(subject: isKnown ? .job(other.id) : .name(name), mayFail: mayFail))
      }
    }
    if let batch = job.afterBatch { blockers.append(NewJob.Blocker(subject: .batch(batch), mayFail: true)) }
    return blockers
  }
}
