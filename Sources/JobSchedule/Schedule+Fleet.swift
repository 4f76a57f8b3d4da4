import Jobs
package import ObjectGraph

/// The part that a fleet needs: hosts run the jobs of its lead, and others the jobs of a host.
extension Schedule {
  /// Notes that a job which was added runs already, as it was started by another lead; false if it can't run.
  package mutating func restart(_ id: ManagedObjectID, at now: Moment) -> Bool {
    guard let slot = slots[id], let job = jobs[slot], !job.state.isFinal, job.state != .running else { return false }
    // For this host it has not been ready before.
    if job.state != .available { jobs[slot]?.order = now.steady - Int64(job.priority) * agingStep }
    enter(.running, slot)
    occupy(slot)
    return true
  }

  /// The place where a job runs; nil if it is this host.
  package func place(of job: ScheduledJob) -> String? {
    // It comes last, after a limit.
    let last = lanes[Int(job.lane)].resources.last ?? 0
    return if case .place(let name) = resources[last].name { name } else { nil }
  }

  /// Removes a job, whatever its state, which others know about.
  package mutating func drop(_ id: ManagedObjectID, at now: Moment) {
    _ = endAttempt(of: id, .cancelled, at: now)
    _ = cancel(id)
    _ = finish(id, as: .cancelled, at: now)
    remove(id, at: now)
  }

  /// Tells if any host of a place has a free worker.
  package mutating func setRoom(_ hasRoom: Bool, at place: String, now: Moment) {
    setRoom(hasRoom, of: .place(place), now: now)
  }

  /// Tells if jobs can be run that name something, as far as others than the schedule know.
  package mutating func setRoom(_ hasRoom: Bool, of name: Resource.Name, now: Moment) {
    let index = resource(name)
    resources[index].isFull = !hasRoom
    promote(index, at: now)
    forget(index, at: now)
  }
}
