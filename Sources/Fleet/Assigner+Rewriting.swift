import JobSchedule
import Jobs
import ObjectGraph

/// Other specifications and arguments for known jobs.
///
/// The lead writes them into the records, together with news of these jobs, and admits them anew when it reads that: as it
/// does with jobs that are new. Until then they are held in the schedule, where others go on to wait for them.
extension Assigner {
  /// Replaces jobs, all of them or none yet.
  ///
  /// - Returns: nil while something is left that could still save for an earlier specification.
  mutating func replace(
    _ replacements: [JobReplacement], _ rows: [ManagedObjectID: FleetJob], at now: Moment
  ) -> [OrderAnswer.Outcome]? {
    let pairs = replacements.map { one in (one, row: rows[one.job].flatMap { one.isMade(of: $0) ? nil : $0 }) }
    var isReady = true
    for (_, row) in pairs { if let row, !prepare(row, at: now) { isReady = false } }
    if !isReady { return nil }
    for (one, row) in pairs { if let row { put(one, over: row) } }
    return replacements.map { rows[$0.job] == nil ? .unknown : .done }
  }

  /// Has nothing be left of what is to be replaced; false if something has to end first.
  private mutating func prepare(_ row: FleetJob, at now: Moment) -> Bool {
    let state = schedule.state(of: row.id)
    if state == .running {
      _ = stop(row.id, .interrupted, because: JobReplacement.reason)
      return false
    }
    if stranded[row.id] != nil { return false }
    if !row.isPartial { return true }
    if state == nil { enter(row, isHeld: true, at: now) }
    revert(row.id, (.interrupted, JobReplacement.reason), at: now)
    return false
  }

  private mutating func put(_ replacement: JobReplacement, over row: FleetJob) {
    let new = replacement.following(row, attempts: max(row.attempt, runs.lastAttempt(of: row.id)))
    // One that was only held to be replaced goes on.
    let isHeld = row.state == .held && row.stop?.reason != JobReplacement.reason
    next.changes.append(JobChange(row.id, .replaced(new, isHeld: isHeld)))
    desk.note(new)
    awaitNews(of: row.id)
  }

  /// Gives a job other arguments, if it does not run.
  mutating func edit(_ change: ArgumentChange, _ row: FleetJob?) -> OrderAnswer.Outcome {
    guard let row else { return .unknown }
    let state = schedule.state(of: row.id) ?? row.state
    if state.isFinal || state == .running || stranded[row.id] != nil { return .impossible(state) }
    // A later attempt would go on, with other arguments, where an earlier one has stopped.
    if row.isPartial { return .begun }
    next.changes.append(JobChange(row.id, .edited(change)))
    awaitNews(of: row.id)
    return .done
  }

  private mutating func awaitNews(of id: ManagedObjectID) {
    _ = schedule.hold(id)
    rewritten.insert(id)
  }
}
