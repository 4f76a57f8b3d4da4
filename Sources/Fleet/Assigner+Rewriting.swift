import JSONText
import JobSchedule
import Jobs
import ObjectGraph

/// Other specifications and arguments for known jobs.
///
/// The lead writes them into the records, together with news of these jobs, and admits them anew when it reads that: as it
/// does with jobs that are new. Until then they are held in the schedule, where others go on to wait for them.
extension Assigner {
  /// Has nothing be left of what a job is to be instead of, and has it not begin; false if something has to end first.
  mutating func prepare(_ replacement: JobReplacement, at now: Moment) -> Bool {
    guard let row = desk.row(of: replacement.job), !replacement.isMade(of: row) else { return true }
    let id = row.id
    let state = schedule.state(of: id)
    if state == .running {
      if runs.stop(of: id) == nil { heldForReplacement.insert(id) }
      _ = stop(id, .interrupted, because: JobReplacement.reason)
      return false
    }
    if stranded[id] != nil { return false }
    if state != nil, schedule.hold(id) { heldForReplacement.insert(id) }
    if !row.isPartial { return true }
    if nextReversions[id] != nil { return false }
    if state == nil {
      enter(row, isHeld: true, at: now)
      heldForReplacement.insert(id)
    }
    revert(id, (.interrupted, JobReplacement.reason), at: now)
    return false
  }

  /// Replaces a job that is prepared for it.
  mutating func replace(_ replacement: JobReplacement) -> OrderAnswer.Outcome {
    guard let row = desk.row(of: replacement.job) else { return .unknown }
    if replacement.isMade(of: row) { return .done }
    let new = replacement.following(row, attempts: max(row.attempt, runs.lastAttempt(of: row.id)))
    // One that an operator has held stays held.
    let isHeld = schedule.state(of: row.id) == .held && !heldForReplacement.contains(row.id)
    heldForReplacement.remove(row.id)
    next.changes.append(JobChange(row.id, .replaced(new, isHeld: isHeld)))
    desk.note(new)
    awaitNews(of: row.id)
    return .done
  }

  /// Gives a job other arguments, if it does not run.
  mutating func edit(_ change: ArgumentChange, _ row: FleetJob?) -> OrderAnswer.Outcome {
    guard let row else { return .unknown }
    let state = schedule.state(of: row.id) ?? row.state
    if state.isFinal || state == .running || stranded[row.id] != nil { return .impossible(state) }
    // A later attempt would go on, with other arguments, where an earlier one has stopped.
    if row.isPartial { return .begun }
    if !row.specification.arguments.isEqual(to: change.seen) { return .changed }
    desk.note(change.arguments, of: row.id)
    next.changes.append(JobChange(row.id, .edited(change)))
    awaitNews(of: row.id)
    return .done
  }

  private mutating func awaitNews(of id: ManagedObjectID) {
    _ = schedule.hold(id)
    rewritten.insert(id)
  }
}
