package import JobSchedule
import Jobs
package import ObjectGraph

/// The schedule of the whole fleet, and who runs what: the lead's value, made of the ledger and kept up to date by news.
package struct Assigner: Sendable {
  package internal(set) var schedule: Schedule
  var hosts: HostSlots
  var runs = RunBook()
  var desk = OrderDesk()
  /// Jobs that are to end and of which something is left that only a host can revert, while there is none that could, or a
  /// while after one could not.
  var stranded: [ManagedObjectID: Ending] = [:]
  /// Jobs whose runs were begun to revert what earlier ones have saved.
  var reverting: Set<ManagedObjectID> = []
  /// The jobs that are still to be taken in; nil when all are.
  var loading: Loading?
  /// The round that is being made.
  var next = LeadRound(floor: 0)
  /// Jobs that are being cancelled and are not in the schedule, by their names.
  var refused: [ManagedObjectID: String] = [:]
  /// Jobs that have other specifications or arguments, and are to be admitted anew with these when news of them come.
  var rewritten: Set<ManagedObjectID> = []
  /// Jobs that are held only until they are replaced.
  var heldForReplacement: Set<ManagedObjectID> = []
  /// The times on the steady clock before which jobs are not reverted once more that a host could not revert.
  package internal(set) var nextReversions: [ManagedObjectID: Int64] = [:]
  /// The event by which a run or a job is told to end, and the reason.
  typealias Ending = (event: JobEvent, reason: String?)

  /// The milliseconds until a host is to revert a job once more that one could not revert.
  private static let reversionPause: Int64 = 10_000

  // MARK: Making it

  /// Makes the schedule anew.
  ///
  /// - Parameter limits: the configured limits of queues and types.
  package init(_ state: FleetState, agingStep: Int64, limits: [ResourceLimits] = [], at now: Moment) {
    let starts = Dictionary(
      state.starts.map { ($0.name, Array(repeating: now.steady - $0.age, count: $0.count)) }, uniquingKeysWith: +)
    schedule = Schedule(agingStep: agingStep)
    schedule.recall(starts)
    schedule.setLimits(limits, at: now)
    hosts = HostSlots(limited: ResourceLimits.names(limits))
    for name in state.paused { setPaused(true, name, at: now) }
    for (number, host) in state.hosts.sorted(by: { $0.key < $1.key }) { join(number, host, at: now) }
    for order in state.orders { desk.receive(order) }
    loading = Loading(state.rest)
    let runs = Dictionary(uniqueKeysWithValues: state.runs.map { ($0.job, $0) })
    let stops = Dictionary(uniqueKeysWithValues: state.stops.map { ($0.run.job, $0) })
    for job in state.jobs { if let run = runs[job.id] { take(job, run: run, stop: stops[job.id], at: now) } }
    load(state.jobs.filter { runs[$0.id] == nil }, at: now)
    if state.rest.isEmpty {
      finishReading(known: state.known, orders: state.orders)
      takeLatecomers(limit: .max, at: now)
    }
  }

  /// Takes in a job that is on record, with its run, if it has one, and does with it what both were told.
  mutating func take(
    _ job: FleetJob, run: Run? = nil, stop: RunStop? = nil, known: [String: NamedJob] = [:], isKnown: Bool = true,
    at now: Moment
  ) {
    let id = job.id
    if job.state.isFinal {
      // In quarantine, and cancelled: what it has saved is being reverted.
      enter(job, isHeld: true, at: now)
    } else {
      admit(job, known: known, isBegun: run != nil || job.isBegun, isKnown: isKnown, at: now)
    }
    if let run {
      runs.note(attempt: run.attempt, of: id)
      if !hosts.contains(run.host) {
        if !next.gone.contains(run.host) { next.gone.append(run.host) }
      } else if schedule.restart(id, at: now) {
        begin(run, at: now)
      }
    }
    let isHeldForReplacement =
      job.state == .held ? job.stop?.reason == JobReplacement.reason : stop?.event == .interrupted
    if isHeldForReplacement { heldForReplacement.insert(id) }
    if let stop { if runs[id] == run { runs.tell(stop) } else { carryOut((stop.event, stop.reason), of: id, at: now) } }
    if let stop = job.stop { carryOut(stop, of: id, at: now) }
  }

  /// Applies new limits of queues and types; false if others have limits than before, so that it has to be made anew.
  package mutating func setLimits(_ limits: [ResourceLimits], at now: Moment) -> Bool {
    schedule.setLimits(limits, at: now)
    return ResourceLimits.names(limits) == hosts.limited
  }

  // MARK: News

  /// Brings the schedule up to date.
  package mutating func apply(_ news: News, at now: Moment) {
    switch news {
    case .joined(let number, let host): join(number, host, at: now)
    case .buried(let number):
      fence(number, hosts.runs(of: number), at: now)
      // A round may have given it more at the same time.
      next.gone.append(number)
    case .admitted(let jobs, let known):
      for job in jobs {
        let isRewritten = rewritten.remove(job.id) != nil
        if job.state.isFinal || isUnrecorded(job.id) || !isRewritten && schedule.contains(job.id) { continue }
        if loading?.putOff(job, isKnown: false, known: known) == true { continue }
        admit(job, known: known, isBegun: job.isBegun, at: now)
      }
    case .ended(let ended): for one in ended { end(one, at: now) }
    case .ordered(let order): desk.receive(order)
    case .changed: break
    }
  }

  /// Has the jobs of a fenced host wait again.
  package mutating func fence(_ host: Int, _ lost: [Run], at now: Moment) {
    // First, so that nothing is given to it once more.
    hosts.leave(host, telling: &schedule, at: now)
    // What it was to be given next, to revert it, is not on record yet.
    let unwritten = next.runs.filter { $0.host == host }
    next.runs.removeAll { $0.host == host }
    next.stops.removeAll { unwritten.contains($0.run) }
    revert(lost + unwritten, at: now)
  }

  private mutating func join(_ number: Int, _ host: FleetHost, at now: Moment) {
    hosts.join(number, host, telling: &schedule, at: now)
    revertStranded(at: now)
  }

  mutating func revertStranded(at now: Moment) {
    let waiting = stranded
    stranded = [:]
    for (id, ending) in waiting { revert(id, ending, at: now) }
  }

  /// Enters a job, or puts another specification in the place of the one that it had.
  ///
  /// - Parameters:
  ///   - known: the jobs that it names, as far as they are known.
  ///   - isBegun: true if it has had an attempt; it waits for nothing any more.
  ///   - isKnown: true if an earlier lead has had it, and found no circle.
  private mutating func admit(
    _ job: FleetJob, known: [String: NamedJob], isBegun: Bool, isKnown: Bool = false, at now: Moment
  ) {
    let specification = job.specification
    runs.note(job)
    if let unique = specification.unique, schedule.uniqueOwners[unique] ?? job.id != job.id {
      return refuse(job, "another unfinished job has the unique key \"\(unique)\"")
    }
    var blockers: [NewJob.Blocker] = []
    if !isBegun {
      do throws(Lack) { blockers = try schedule.blockers(of: specification) { known[$0].map(desk.asToBe) } } catch {
        return refuse(job, error.reason)
      }
    }
    let old = schedule.job(job.id)
    func closesCircle() -> Bool {
      schedule.closesCircle(job.name, blockers, batch: specification.batch, of: old?.id)
    }
    if closesCircle() {
      // Its batch was empty when it came, and has members that wait for it.
      if isKnown { blockers.removeAll { if case .batch = $0.subject { true } else { false } } }
      // Else all in the circle would wait for ever.
      if !isKnown || closesCircle() { return refuse(job, "it waits for a job that waits for it") }
    }
    let oldPlace = old.flatMap(schedule.place)
    _ = schedule.replace(
      with: NewJob(
        id: job.id, file: nil, specification: specification, name: job.name, isHeld: job.state == .held,
        retryTime: job.retryTime, blockers: blockers, readyTime: job.created,
        place: hosts.addNeed(of: job, telling: &schedule, at: now)),
      at: now)
    hosts.remove(oldPlace, telling: &schedule, at: now)
  }

  private mutating func refuse(_ job: FleetJob, _ reason: String) {
    if schedule.contains(job.id) { return cancel([job.id], .text(reason)) }
    refused[job.id] = job.name
    next.changes.append(JobChange(job.id, .state(.cancelled, .text(reason))))
  }

  private mutating func end(_ ended: EndedRun, at now: Moment) {
    let id = ended.run.job
    guard runs[id] == ended.run else { return }
    let hasToRevert = reverting.contains(id) || runs.stop(of: id)?.event == .interrupted
    let stop = vacate(ended.run, hasWorked: ended.event != .interrupted, at: now)
    let delay = ended.retryTime.map { max(0, $0 - now.wall) } ?? 0
    let lost = schedule.endAttempt(of: id, ended.event, delay: delay, at: now)
    let state = schedule.state(of: id)
    desk.note(ended, as: state)
    if let state, state.isFinal { loading?.note(id, as: state) }
    if hasToRevert, ended.event == .held, !ended.isReverted {
      nextReversions[id] = now.steady + Self.reversionPause
    }
    if state?.isFinal == true { drop(id, at: now) }
    cancel(lost, .end(of: id))
    // It ended before it was told to.
    if let stop { carryOut((stop.event, stop.reason), of: id, at: now) }
  }

  mutating func cancel(_ jobs: [ManagedObjectID], _ reason: JobChange.Reason) {
    // What a job with another specification waits for is seen when it is admitted anew.
    let isEnd = if case .end = reason { true } else { false }
    let ending = isEnd ? jobs.filter { !rewritten.contains($0) } : jobs
    for id in ending where schedule.cancel(id) { next.changes.append(JobChange(id, .state(.cancelled, reason))) }
  }

  private mutating func drop(_ id: ManagedObjectID, at now: Moment) {
    hosts.remove(schedule.job(id).flatMap(schedule.place), telling: &schedule, at: now)
    schedule.remove(id, at: now)
    runs.forget(id)
    heldForReplacement.remove(id)
    nextReversions[id] = nil
  }

  // MARK: Runs

  mutating func assign(_ id: ManagedObjectID, to host: Int, at now: Moment) -> Run {
    let run = runs.nextRun(of: id, on: host)
    begin(run, at: now)
    return run
  }

  private mutating func begin(_ run: Run, at now: Moment) {
    runs.begin(run)
    hosts.begin(run, telling: &schedule, at: now)
  }

  /// Returns what the run was told.
  private mutating func vacate(_ run: Run, hasWorked: Bool, at now: Moment) -> RunStop? {
    hosts.end(run, hasWorked: hasWorked, telling: &schedule, at: now)
    reverting.remove(run.job)
    return runs.end(run)
  }

  private mutating func revert(_ lost: [Run], at now: Moment) {
    for run in lost where runs[run.job] == run {
      let stop = vacate(run, hasWorked: false, at: now)
      _ = schedule.endAttempt(of: run.job, .interrupted, at: now)
      desk.note(EndedRun(run: run, event: .interrupted), as: .available)
      if let stop { carryOut((stop.event, stop.reason), of: run.job, at: now) }
    }
  }

  // MARK: Rounds

  /// Moves the schedule on to a time.
  package mutating func advance(to now: Moment) { _ = schedule.advance(to: now) }

  /// The next time at which something becomes ready, on each clock.
  package var nextAlarm: (steady: Int64?, wall: Int64?) {
    let (steady, wall) = schedule.alarms.next
    return ([steady, desk.nextTime, nextReversions.values.min()].compactMap(\.self).min(), wall)
  }

  /// Assigns jobs to hosts that have room, so many at most, and hands out what else is to be recorded.
  package mutating func nextRound(floor: Int64, limit: Int = 1_000, at now: Moment) -> LeadRound {
    var round = next
    round.floor = floor
    next = LeadRound(floor: 0)
    hosts.beginRound(telling: &schedule, at: now)
    while round.runs.count < limit, let job = schedule.next(at: now) {
      guard let host = hosts.next(meeting: schedule.place(of: job)) else {
        // Can't be, as the schedule knows which needs have room; the job waits for the next round.
        _ = schedule.endAttempt(of: job.id, .interrupted, at: now)
        break
      }
      round.start(assign(job.id, to: host, at: now), counting: schedule.rates(of: job.id))
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
      loading?.note(id, as: state)
      if let name = refused.removeValue(forKey: id) {
        runs.forget(id)
        schedule.resolve(name: name, as: id)
        cancel(schedule.unblock(waitingFor: id, as: state, at: now), .end(of: id))
      } else {
        let lost = schedule.finish(id, as: state, at: now)
        drop(id, at: now)
        cancel(lost, .end(of: id))
      }
    }
    desk.note(ends)
  }

  /// The jobs that are not in the schedule, and that neither a job in it nor an order names.
  func unneeded(_ jobs: [FinalJob]) -> [FinalJob] {
    jobs.filter { job in
      !schedule.contains(job.id) && !runs.names(job.name) && !desk.names(job.id) && !rewritten.contains(job.id)
    }
  }
}
