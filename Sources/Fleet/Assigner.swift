package import JobSchedule
import Jobs
import ObjectGraph

/// The schedule of the whole fleet, and who runs what: the lead's value, made of the ledger and kept up to date by news.
package struct Assigner: Sendable {
  package private(set) var schedule: Schedule
  private var hosts = HostSlots()
  private var runs: [ManagedObjectID: Run] = [:]
  private var runsOfHosts: [Int: Set<ManagedObjectID>] = [:]
  /// The orders to end runs, until they have ended.
  private var stops: [ManagedObjectID: RunStop] = [:]
  /// The last attempts of unfinished jobs that have had one.
  private var lastAttempts: [ManagedObjectID: Int] = [:]
  /// Orders that are to be answered, some of them after the next round.
  private var orders: [PlacedOrder] = []
  /// Cancelled jobs of which something is left that only a host can revert, while there is none that could.
  private var stranded: [ManagedObjectID: String] = [:]
  /// The round that is being made.
  private var next = LeadRound(floor: 0)
  /// Jobs that are being cancelled and are not in the schedule, by their names.
  private var refused: [ManagedObjectID: String] = [:]

  // MARK: Making it

  /// Makes the schedule anew; a rate counts as used up, since nobody knows when its last jobs started.
  ///
  /// - Parameter limits: the configured limits of queues and types.
  package init(_ state: FleetState, agingStep: Int64, limits: [ResourceLimits] = [], at now: Moment) {
    schedule = Schedule(agingStep: agingStep, unknownBefore: now.steady)
    schedule.setLimits(limits, at: now)
    for name in state.paused { schedule.setPaused(true, name, at: now) }
    for (number, host) in state.hosts.sorted(by: { $0.key < $1.key }) { join(number, host, at: now) }
    let assigned = Dictionary(uniqueKeysWithValues: state.runs.map { ($0.job, $0) })
    for job in state.jobsWithMembersFirst {
      let run = assigned[job.id]
      admit(job, known: state.known, isBegun: run != nil || job.attempt > 0, isKnown: true, at: now)
      guard let run else { continue }
      lastAttempts[job.id] = run.attempt
      if !hosts.contains(run.host) {
        if !next.gone.contains(run.host) { next.gone.append(run.host) }
      } else if schedule.restart(job.id, at: now) {
        note(run, at: now)
      }
    }
    for stop in state.stops where runs[stop.run.job] == stop.run { stops[stop.run.job] = stop }
    for job in state.jobs { if let stop = job.stop { carryOut(stop.event, stop.reason, of: job.id, at: now) } }
    orders = state.orders
    obeyOrders(at: now)
  }

  /// Applies new limits of queues and types.
  package mutating func setLimits(_ limits: [ResourceLimits], at now: Moment) { schedule.setLimits(limits, at: now) }

  // MARK: News

  /// Brings the schedule up to date.
  package mutating func apply(_ news: News, at now: Moment) {
    switch news {
    case .joined(let number, let host): join(number, host, at: now)
    case .buried(let number):
      revert(Array(runsOfHosts[number] ?? []).compactMap { runs[$0] }, at: now)
      leave(number, at: now)
      // A round may have given it more at the same time.
      next.gone.append(number)
    case .admitted(let jobs, let known):
      for job in jobs where !job.state.isFinal && !schedule.contains(job.id) && refused[job.id] == nil {
        admit(job, known: known, isBegun: job.attempt > 0, at: now)
      }
    case .ended(let ended): for one in ended { end(one, at: now) }
    case .ordered(let order): orders.append(order)
    }
  }

  /// Has the jobs of a fenced host wait again.
  package mutating func fence(_ host: Int, _ lost: [Run], at now: Moment) {
    revert(lost, at: now)
    leave(host, at: now)
  }

  private mutating func join(_ number: Int, _ host: FleetHost, at now: Moment) {
    turn(hosts.join(number, host), at: now)
    let waiting = stranded
    stranded = [:]
    for (id, reason) in waiting { revert(id, reason, at: now) }
  }

  private mutating func leave(_ number: Int, at now: Moment) { turn(hosts.leave(number), at: now) }

  private mutating func turn(_ turns: [HostSlots.Turn], at now: Moment) {
    for turn in turns { schedule.setRoom(turn.hasRoom, at: turn.need, now: now) }
  }

  /// - Parameters:
  ///   - known: the jobs that it names, as far as they are known.
  ///   - isBegun: true if it has had an attempt; it waits for nothing any more.
  ///   - isKnown: true if an earlier lead has had it, and found no circle.
  private mutating func admit(
    _ job: FleetJob, known: [String: NamedJob], isBegun: Bool, isKnown: Bool = false, at now: Moment
  ) {
    let specification = job.specification
    if job.attempt > 0 { lastAttempts[job.id] = job.attempt }
    if let unique = specification.unique, schedule.uniqueOwners[unique] != nil {
      return refuse(job, "another unfinished job has the unique key \"\(unique)\"")
    }
    var blockers: [NewJob.Blocker] = []
    if !isBegun {
      switch self.blockers(of: specification, known) {
      case .success(let found): blockers = found
      case .failure(let lack): return refuse(job, lack.reason)
      }
    }
    if schedule.closesCircle(job.name, blockers, batch: specification.batch) {
      if !isKnown { return refuse(job, "it waits for a job that waits for it") }
      // Its batch was empty when it came, and has members that wait for it.
      blockers.removeAll { if case .batch = $0.subject { true } else { false } }
    }
    schedule.add(
      NewJob(
        id: job.id, file: nil, specification: specification, name: job.name, isHeld: job.state == .held,
        retryTime: job.retryTime, blockers: blockers, age: max(0, now.wall - job.created),
        place: place(of: job, at: now)),
      at: now)
  }

  /// The name by which the schedule knows what a job needs.
  private mutating func place(of job: FleetJob, at now: Moment) -> String {
    let need = HostSlots.Need(type: job.specification.type, place: job.place)
    if let first = hosts.add(need) { turn([first], at: now) }
    return need.name
  }

  private mutating func refuse(_ job: FleetJob, _ reason: String) {
    refused[job.id] = job.name
    next.changes.append(JobChange(job.id, .state(.cancelled, .text(reason))))
  }

  /// The reason why a job can't wait for others any more.
  private struct Lack: Error { let reason: String }

  private func blockers(
    of job: JobSpecification, _ known: [String: NamedJob]
  ) -> Result<[NewJob.Blocker], Lack> {
    var blockers: [NewJob.Blocker] = []
    for (names, mayFail) in [(job.after, false), (job.afterAny, true)] {
      for name in names {
        guard let other = known[name] else {
          blockers.append(NewJob.Blocker(subject: .name(name), mayFail: mayFail))
          continue
        }
        // The ledger may know of an end whose news is still to come, and of a job that is.
        let state = schedule.state(of: other.id) ?? other.state
        if state.isFinal, !state.isFailure || mayFail { continue }
        if state.isFailure && state != .quarantined {
          return .failure(Lack(reason: FinishedJob.reasonForOthers(of: name, state)))
        }
        let isKnown = schedule.contains(other.id) || state.isFinal
        blockers.append(NewJob.Blocker(subject: isKnown ? .job(other.id) : .name(name), mayFail: mayFail))
      }
    }
    if let batch = job.afterBatch { blockers.append(NewJob.Blocker(subject: .batch(batch), mayFail: true)) }
    return .success(blockers)
  }

  private mutating func end(_ ended: EndedRun, at now: Moment) {
    let id = ended.run.job
    guard runs[id] == ended.run else { return }
    let stop = vacate(ended.run, at: now)
    let delay = ended.retryTime.map { max(0, $0 - now.wall) } ?? 0
    let lost = schedule.endAttempt(of: id, ended.event, delay: delay, at: now)
    if let state = schedule.state(of: id), state.isFinal {
      drop(id, at: now)
      orders.note(ended.run, endedAs: state)
    }
    cancel(lost, .end(of: id))
    // It ended before it was told to.
    if let stop { carryOut(stop.event, stop.reason, of: id, at: now) }
  }

  private mutating func cancel(_ jobs: [ManagedObjectID], _ reason: JobChange.Reason) {
    for id in jobs where schedule.cancel(id) { next.changes.append(JobChange(id, .state(.cancelled, reason))) }
  }

  private mutating func drop(_ id: ManagedObjectID, at now: Moment) {
    schedule.remove(id, at: now)
    lastAttempts[id] = nil
  }

  // MARK: Orders

  /// Answers the orders whose jobs are not just being ended.
  package mutating func obeyOrders(at now: Moment) {
    let taken = orders
    orders = []
    for order in taken { obey(order, at: now) }
  }

  private mutating func obey(_ placed: PlacedOrder, at now: Moment) {
    let content: OrderAnswer.Content
    switch placed.order {
    case .pause(let name, let isPaused):
      schedule.setPaused(isPaused, name, at: now)
      content = .done
    case .command(let command, let targets):
      // Their ends are on record after the next round.
      if targets.contains(where: { schedule.state(of: $0.job)?.isFinal == true || refused[$0.job] != nil }) {
        return orders.append(placed)
      }
      let rows = Dictionary(placed.jobs.map { ($0.id, $0) }) { first, _ in first }
      content = .outcomes(targets.map { obey(command, $0, row: rows[$0.job], at: now) })
    case .explain(let id):
      content = .explanation(schedule.state(of: id), schedule.obstacles(of: id, at: now))
    case .find(let selection):
      let (found, total) = schedule.find(selection)
      content = .found(found, total: total)
    }
    next.answers.append(OrderAnswer(host: placed.host, ticket: placed.ticket, content: content))
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
    next.changes.append(JobChange(row.id, .again(attempts: target.attempts)))
    return .done
  }

  /// Enters a job into the schedule once more; it waits for nothing.
  private mutating func enter(_ row: FleetJob, isHeld: Bool, at now: Moment) {
    if row.attempt > 0 { lastAttempts[row.id] = row.attempt }
    var specification = row.specification
    specification.notBefore = nil
    schedule.add(
      NewJob(
        id: row.id, file: nil, specification: specification, name: row.name, isHeld: isHeld,
        place: place(of: row, at: now)), at: now)
  }

  /// Tells a run to end; false if an earlier reason outweighs this one.
  private mutating func stop(_ id: ManagedObjectID, _ event: JobEvent, because reason: String?) -> Bool {
    guard let run = runs[id] else { return false }
    if let earlier = stops[id], earlier.event == .cancelled || earlier.event == event { return earlier.event == event }
    let stop = RunStop(run: run, event: event, reason: reason)
    stops[id] = stop
    next.stops.append(stop)
    return true
  }

  /// Does with a job that does not run what its attempt was told.
  private mutating func carryOut(_ event: JobEvent, _ reason: String?, of id: ManagedObjectID, at now: Moment) {
    guard let state = schedule.state(of: id), !state.isFinal else { return }
    if event != .held { return revert(id, reason ?? "cancelled", at: now) }
    if schedule.hold(id) { next.changes.append(JobChange(id, .state(.held, nil))) }
  }

  /// Cancels a job that does not run.
  private mutating func end(_ row: FleetJob, _ reason: String, at now: Moment) {
    if row.isPartial {
      if !schedule.contains(row.id) { enter(row, isHeld: true, at: now) }
      revert(row.id, reason, at: now)
    } else if schedule.contains(row.id) {
      cancel([row.id], .text(reason))
    } else {
      refused[row.id] = row.name
      next.changes.append(JobChange(row.id, .state(.cancelled, .text(reason))))
    }
  }

  /// Gives a job to a host that is to revert what its checkpoints have saved, and to cancel it: now, whatever its limits.
  private mutating func revert(_ id: ManagedObjectID, _ reason: String, at now: Moment) {
    guard let job = schedule.job(id), !job.state.isFinal, job.state != .running else { return }
    guard let host = hosts.next(meeting: schedule.place(of: job), mustBeFree: false), schedule.restart(id, at: now)
    else {
      stranded[id] = reason
      _ = schedule.hold(id)
      return next.changes.append(JobChange(id, .stop(.cancelled, reason)))
    }
    let run = assign(id, to: host, at: now)
    next.runs.append(run)
    let stop = RunStop(run: run, event: .cancelled, reason: reason)
    stops[id] = stop
    next.stops.append(stop)
  }

  // MARK: Runs

  private mutating func assign(_ id: ManagedObjectID, to host: Int, at now: Moment) -> Run {
    let run = Run(job: id, host: host, attempt: (lastAttempts[id] ?? 0) + 1)
    lastAttempts[id] = run.attempt
    note(run, at: now)
    return run
  }

  private mutating func note(_ run: Run, at now: Moment) {
    runs[run.job] = run
    runsOfHosts[run.host, default: []].insert(run.job)
    turn(hosts.use(run.host, 1), at: now)
  }

  /// Returns what the run was told.
  private mutating func vacate(_ run: Run, at now: Moment) -> RunStop? {
    runs[run.job] = nil
    runsOfHosts[run.host]?.remove(run.job)
    if runsOfHosts[run.host]?.isEmpty == true { runsOfHosts[run.host] = nil }
    turn(hosts.use(run.host, -1), at: now)
    return stops.removeValue(forKey: run.job)
  }

  private mutating func revert(_ lost: [Run], at now: Moment) {
    for run in lost where runs[run.job] == run {
      let stop = vacate(run, at: now)
      _ = schedule.endAttempt(of: run.job, .interrupted, at: now)
      if let stop { carryOut(stop.event, stop.reason, of: run.job, at: now) }
    }
  }

  // MARK: Rounds

  /// Moves the schedule on to a time.
  package mutating func advance(to now: Moment) { _ = schedule.advance(to: now) }

  /// The next time at which something becomes ready, on each clock.
  package var nextAlarm: (steady: Int64?, wall: Int64?) { schedule.alarms.next }

  /// Assigns jobs to free slots, and hands out what else is to be recorded.
  ///
  /// - Parameter limit: the most assignments.
  package mutating func nextRound(floor: Int64, limit: Int = 1_000, at now: Moment) -> LeadRound {
    var round = next
    round.floor = floor
    next = LeadRound(floor: 0)
    while round.runs.count < limit, let job = schedule.next(at: now) {
      guard let host = hosts.next(meeting: schedule.place(of: job)) else {
        // Can't be, as the schedule knows which needs have room; the job waits for the next round.
        _ = schedule.endAttempt(of: job.id, .interrupted, at: now)
        break
      }
      round.runs.append(assign(job.id, to: host, at: now))
    }
    return round
  }

  /// True if the next round has something to write, whatever the schedule says.
  package var hasStates: Bool { !next.isEmpty }

  /// Notes that a round is durable: those who wait for what was cancelled are unblocked, or cancelled too.
  package mutating func noteWritten(_ round: LeadRound, at now: Moment) {
    var ends: [ManagedObjectID: JobState] = [:]
    for change in round.changes {
      guard let state = change.end else { continue }
      let id = change.job
      ends[id] = state
      if let name = refused.removeValue(forKey: id) {
        schedule.resolve(name: name, as: id)
        cancel(schedule.unblock(waitingFor: id, as: state, at: now), .end(of: id))
      } else {
        let lost = schedule.finish(id, as: state, at: now)
        drop(id, at: now)
        cancel(lost, .end(of: id))
      }
    }
    orders.note(ends)
  }
}
