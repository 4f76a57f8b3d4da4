package import JobSchedule
import Jobs
import ObjectGraph

/// Orders, as the lead obeys them.
extension Assigner {
  /// Obeys and answers the orders whose jobs are not just being ended.
  package mutating func obeyOrders(at now: Moment) {
    for var order in desk.takeOrders() {
      // It goes through all of its jobs only if the one that it has waited for is ready.
      if let awaited = order.awaited, !isReady(awaited, for: order, at: now) {
        desk.postpone(order)
      } else if let awaited = awaited(by: order, at: now) {
        order.awaited = awaited
        desk.postpone(order)
      } else {
        next.answers.append(order.placed.answer(obey(order.placed, at: now)))
        desk.finish(order)
      }
    }
  }

  /// Has hosts revert what could not be reverted some time ago.
  mutating func revertAgain(at now: Moment) {
    let due = nextReversions.filter { $0.value <= now.steady }
    if due.isEmpty { return }
    for job in due.keys {
      nextReversions[job] = nil
      if let ending = stranded.removeValue(forKey: job) { revert(job, ending, at: now) }
    }
    obeyOrders(at: now)
  }

  /// A job that an order has to wait for; nil if it can be obeyed.
  private mutating func awaited(by order: OrderDesk.Waiting, at now: Moment) -> ManagedObjectID? {
    let jobs = order.placed.order.jobs
    // Nothing of a replacement is prepared before it can be.
    if let awaited = jobs.first(where: { !isTurn(of: order, at: $0) }) { return awaited }
    guard case .replace(let replacements) = order.placed.order else { return nil }
    var awaited: ManagedObjectID?
    // Of all that run, each is told to end.
    for one in replacements where !prepare(one, at: now) { awaited = one.job }
    return awaited
  }

  private mutating func isReady(_ job: ManagedObjectID, for order: OrderDesk.Waiting, at now: Moment) -> Bool {
    guard isTurn(of: order, at: job) else { return false }
    guard case .replace(let replacements) = order.placed.order else { return true }
    // A file names each job once.
    return replacements.first { $0.job == job }.map { prepare($0, at: now) } ?? true
  }

  /// False if an earlier order for a job waits, or what the job is by now is not on record yet.
  private func isTurn(of order: OrderDesk.Waiting, at job: ManagedObjectID) -> Bool {
    desk.isTurn(of: order, at: job) && !isUnrecorded(job)
  }

  /// Answers questions, as many as leave time for everything else.
  package mutating func answerQuestions(at now: Moment) { next.answers += desk.answers(from: schedule, at: now) }

  private mutating func obey(_ placed: PlacedOrder, at now: Moment) -> OrderAnswer.Content {
    switch placed.order {
    case .pause(let name, let isPaused):
      setPaused(isPaused, name, at: now)
      return .done
    case .command(let command, let targets):
      return .outcomes(
        targets.map { target in
          desk.isToBeReplaced(target.job, before: placed)
            ? .replacing : obey(command, target, row: desk.row(of: target.job), at: now)
        })
    case .replace(let replacements): return .outcomes(replacements.map { replace($0) })
    case .edit(let change):
      let isReplacing = desk.isToBeReplaced(change.job, before: placed)
      return .outcomes([isReplacing ? .replacing : edit(change, desk.row(of: change.job))])
    // The desk has questions elsewhere.
    case .ask, .unreadable: return .unreadable
    }
  }

  /// True if the end of a job, or what it is by now, is not on record yet.
  func isUnrecorded(_ id: ManagedObjectID) -> Bool {
    schedule.state(of: id)?.isFinal == true || refused[id] != nil || rewritten.contains(id)
  }

  /// Pauses or resumes a resource; a host that is paused is drained, and schedules are for their hosts.
  mutating func setPaused(_ isPaused: Bool, _ name: Resource.Name, at now: Moment) {
    switch name {
    case .host(let root):
      hosts.setDrained(isPaused, root, telling: &schedule, at: now)
      if !isPaused { revertStranded(at: now) }
    case .schedule: break
    default: schedule.setPaused(isPaused, name, at: now)
    }
  }

  private mutating func obey(
    _ command: JobCommand, _ target: Order.Target, row: FleetJob?, at now: Moment
  ) -> OrderAnswer.Outcome {
    let id = target.job
    guard let row else { return .unknown }
    let state = schedule.state(of: id) ?? row.state
    if stranded[id] != nil { return command.isCancel ? .done : .impossible(state) }
    switch command {
    case .cancel(let reason):
      if state == .running { return stop(id, .cancelled, because: reason) ? .done : .impossible(state) }
      if state.isFinal && state != .quarantined { return .impossible(state) }
      end(row, reason, at: now)
    case .hold:
      if state == .running { return stop(id, .held, because: nil) ? .done : .impossible(state) }
      guard schedule.hold(id) else { return .impossible(state) }
      next.changes.append(JobChange(id, .state(.held, nil)))
    case .release:
      guard schedule.resume(id, at: now) else { return .impossible(state) }
      next.changes.append(JobChange(id, .state(.available, nil)))
    case .setPriority(let priority):
      guard schedule.setPriority(priority, of: id, at: now) else { return .impossible(state) }
      next.changes.append(JobChange(id, .priority(priority)))
    case .retry:
      guard schedule.forgetTime(of: id) else { return putBack(row, target, from: state, after: .retried, at: now) }
      _ = schedule.resume(id, at: now)
      next.changes.append(JobChange(id, .again(attempts: target.attempts)))
    case .redrive: return putBack(row, target, from: state, after: .redriven, at: now)
    case .delete:
      // A quarantined job may be completed one day, and may have saved something that only its handler reverts.
      guard state.isFinal, state != .quarantined else { return .impossible(state) }
      if let dependent = runs.dependent(on: row.name) { return .needed(state, by: dependent) }
      next.changes.append(JobChange(id, .deleted(name: row.name)))
    }
    return .done
  }

  /// Puts a final job back into the schedule.
  private mutating func putBack(
    _ row: FleetJob, _ target: Order.Target, from state: JobState, after event: JobEvent, at now: Moment
  ) -> OrderAnswer.Outcome {
    guard state.isFinal, state.after(event) != nil else { return .impossible(state) }
    if let owner = row.specification.unique.flatMap({ schedule.uniqueOwners[$0] }) {
      return .keyTaken(state, owner: owner)
    }
    enter(row, isHeld: false, at: now)
    next.changes.append(JobChange(row.id, .again(attempts: target.attempts, row.specificationPutBack)))
    return .done
  }

  /// Enters a job into the schedule once more; it waits for nothing.
  mutating func enter(_ row: FleetJob, isHeld: Bool, at now: Moment) {
    runs.note(row)
    var specification = row.specification
    specification.notBefore = nil
    // A job that is only to be reverted takes no key from others.
    if isHeld { specification.unique = nil }
    schedule.add(
      NewJob(
        id: row.id, file: nil, specification: specification, name: row.name, isHeld: isHeld,
        place: hosts.addNeed(of: row, telling: &schedule, at: now)), at: now)
  }

  /// Tells a run to end; false if an earlier reason outweighs this one.
  mutating func stop(_ id: ManagedObjectID, _ event: JobEvent, because reason: String?) -> Bool {
    guard let run = runs[id] else { return false }
    if let earlier = runs.stop(of: id)?.event, ![.held, .interrupted].contains(earlier) || event != .cancelled {
      return event == earlier || event == .cancelled
    }
    tell(RunStop(run: run, event: event, reason: reason))
    return true
  }

  private mutating func tell(_ stop: RunStop) {
    runs.tell(stop)
    next.stops.append(stop)
  }

  /// Does with a job that does not run what its attempt was told.
  mutating func carryOut(_ ending: Ending, of id: ManagedObjectID, at now: Moment) {
    guard let state = schedule.state(of: id), !state.isFinal else { return }
    if ending.event == .interrupted {
      // It does not run before it is replaced.
      if desk.isToBeReplaced(id) { _ = schedule.hold(id) }
      return
    }
    if ending.event != .held { return revert(id, ending, at: now) }
    if schedule.hold(id) { next.changes.append(JobChange(id, .state(.held, nil))) }
  }

  /// Cancels a job that does not run.
  private mutating func end(_ row: FleetJob, _ reason: String, at now: Moment) {
    if row.isPartial {
      if !schedule.contains(row.id) { enter(row, isHeld: true, at: now) }
      revert(row.id, (.cancelled, reason), at: now)
    } else if schedule.contains(row.id) {
      cancel([row.id], .text(reason))
    } else {
      refused[row.id] = row.name
      next.changes.append(JobChange(row.id, .state(.cancelled, .text(reason))))
    }
  }

  /// Gives a job to a host that is to revert what its checkpoints have saved, and to end it: now, whatever its limits.
  mutating func revert(_ id: ManagedObjectID, _ ending: Ending, at now: Moment) {
    guard let job = schedule.job(id), !job.state.isFinal, job.state != .running else { return }
    guard nextReversions[id] == nil, let host = hosts.next(meeting: schedule.place(of: job), mustHaveRoom: false),
      schedule.restart(id, at: now)
    else {
      // Whoever wants it replaced tries again.
      if ending.event == .interrupted { return }
      stranded[id] = ending
      _ = schedule.hold(id)
      return next.changes.append(JobChange(id, .stop(ending.event, ending.reason)))
    }
    let run = assign(id, to: host, at: now)
    next.runs.append(run)
    reverting.insert(id)
    tell(RunStop(run: run, event: ending.event, reason: ending.reason))
  }
}
