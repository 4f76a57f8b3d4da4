package import JobSchedule
import Jobs
import ObjectGraph

/// The schedule of the whole fleet, and who runs what: the lead's value, made of the ledger and kept up to date by news.
package struct Assigner: Sendable {
  private struct Host: Sendable {
    let host: FleetHost
    var used = 0

    var free: Int { max(0, host.slots - used) }
  }

  /// The demands of a job on its host; the schedule knows them by one name.
  private struct Need: Sendable {
    let type: String
    let place: String?

    func isMet(by host: FleetHost) -> Bool {
      host.types.contains(type) && (place.map(host.places.contains) ?? true)
    }
  }

  package private(set) var schedule: Schedule
  private var hosts: [Int: Host] = [:]
  /// The hosts in the order in which they are offered jobs.
  private var order: [Int] = []
  private var cursor = 0
  private var runs: [ManagedObjectID: Run] = [:]
  private var runsOfHosts: [Int: Set<ManagedObjectID>] = [:]
  private var needs: [String: Need] = [:]
  /// The free slots of hosts that meet each need.
  private var freeSlots: [String: Int] = [:]
  /// The last attempts of unfinished jobs that have had one.
  private var lastAttempts: [ManagedObjectID: Int] = [:]
  /// States to be recorded in the next round.
  private var states: [(job: ManagedObjectID, state: JobState)] = []
  /// Refused jobs, which never entered the schedule, by their names.
  private var refused: [ManagedObjectID: String] = [:]
  private var gone: [Int] = []

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
    for job in Self.membersFirst(state.jobs) {
      let run = assigned[job.id]
      admit(job, known: state.known, isBegun: run != nil || job.attempt > 0, isKnown: true, at: now)
      guard let run else { continue }
      lastAttempts[job.id] = run.attempt
      if hosts[run.host] == nil {
        if !gone.contains(run.host) { gone.append(run.host) }
      } else if schedule.restart(job.id, at: now) {
        note(run, at: now)
      }
    }
  }

  /// The jobs with those that wait for a batch after its members, else in their order: members may have come later.
  private static func membersFirst(_ jobs: [FleetJob]) -> [FleetJob] {
    var late = jobs.filter { $0.specification.afterBatch != nil }
    if late.isEmpty { return jobs }
    var sorted = jobs.filter { $0.specification.afterBatch == nil }
    while !late.isEmpty {
      let batches = Set(late.compactMap(\.specification.batch))
      let free = late.filter { !batches.contains($0.specification.afterBatch ?? "") }
      // A circle is opened somewhere.
      sorted += free.isEmpty ? late : free
      late = free.isEmpty ? [] : late.filter { batches.contains($0.specification.afterBatch ?? "") }
    }
    return sorted
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
      gone.append(number)
    case .admitted(let jobs, let known):
      for job in jobs where !schedule.contains(job.id) && refused[job.id] == nil {
        admit(job, known: known, isBegun: job.attempt > 0, at: now)
      }
    case .ended(let ended): for one in ended { end(one, at: now) }
    case .ordered(let order): obey(order, at: now)
    }
  }

  /// Has the jobs of a fenced host wait again.
  package mutating func fence(_ host: Int, _ lost: [Run], at now: Moment) {
    revert(lost, at: now)
    leave(host, at: now)
  }

  private mutating func join(_ number: Int, _ host: FleetHost, at now: Moment) {
    if hosts[number] != nil { return }
    hosts[number] = Host(host: host)
    order.append(number)
    for (name, need) in needs where need.isMet(by: host) { changeFree(name, by: host.slots, at: now) }
  }

  private mutating func leave(_ number: Int, at now: Moment) {
    guard let host = hosts.removeValue(forKey: number) else { return }
    order.removeAll { $0 == number }
    for (name, need) in needs where need.isMet(by: host.host) { changeFree(name, by: -host.free, at: now) }
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
    if let unique = specification.unique, schedule.uniqueOwners[unique] != nil { return refuse(job) }
    guard var blockers = isBegun ? [] : blockers(of: specification, known) else { return refuse(job) }
    if schedule.closesCircle(job.name, blockers, batch: specification.batch) {
      if !isKnown { return refuse(job) }
      // Its batch was empty when it came, and has members that wait for it.
      blockers.removeAll { if case .batch = $0.subject { true } else { false } }
    }
    let place = name(of: Need(type: specification.type, place: job.place), at: now)
    schedule.add(
      NewJob(
        id: job.id, file: nil, specification: specification, name: job.name, isHeld: job.state == .held,
        retryTime: job.retryTime, blockers: blockers, age: max(0, now.wall - job.created), place: place), at: now)
  }

  private mutating func refuse(_ job: FleetJob) {
    refused[job.id] = job.name
    states.append((job.id, .cancelled))
  }

  /// The blockers of a new job; nil if one of them has failed.
  private func blockers(of job: JobSpecification, _ known: [String: NamedJob]) -> [NewJob.Blocker]? {
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
        if state.isFailure && state != .quarantined { return nil }
        let isKnown = schedule.contains(other.id) || state.isFinal
        blockers.append(NewJob.Blocker(subject: isKnown ? .job(other.id) : .name(name), mayFail: mayFail))
      }
    }
    if let batch = job.afterBatch { blockers.append(NewJob.Blocker(subject: .batch(batch), mayFail: true)) }
    return blockers
  }

  private mutating func end(_ ended: EndedRun, at now: Moment) {
    let id = ended.run.job
    guard runs[id] == ended.run else { return }
    vacate(ended.run, at: now)
    let delay = ended.retryTime.map { max(0, $0 - now.wall) } ?? 0
    let lost = schedule.endAttempt(of: id, ended.event, delay: delay, at: now)
    if schedule.state(of: id)?.isFinal == true { drop(id, at: now) }
    cancel(lost)
  }

  private mutating func obey(_ order: Order, at now: Moment) {
    switch order {
    case .pause(let name, let isPaused): schedule.setPaused(isPaused, name, at: now)
    case .cancel(let id): cancel([id])
    case .hold(let id, true): if schedule.hold(id) { states.append((id, .held)) }
    case .hold(let id, false): if schedule.resume(id, at: now) { states.append((id, .available)) }
    }
  }

  private mutating func cancel(_ jobs: [ManagedObjectID]) {
    for id in jobs where schedule.cancel(id) { states.append((id, .cancelled)) }
  }

  private mutating func drop(_ id: ManagedObjectID, at now: Moment) {
    schedule.remove(id, at: now)
    lastAttempts[id] = nil
  }

  // MARK: Runs

  private mutating func note(_ run: Run, at now: Moment) {
    runs[run.job] = run
    runsOfHosts[run.host, default: []].insert(run.job)
    use(run.host, 1, at: now)
  }

  private mutating func vacate(_ run: Run, at now: Moment) {
    runs[run.job] = nil
    runsOfHosts[run.host]?.remove(run.job)
    if runsOfHosts[run.host]?.isEmpty == true { runsOfHosts[run.host] = nil }
    use(run.host, -1, at: now)
  }

  private mutating func use(_ number: Int, _ step: Int, at now: Moment) {
    guard let host = hosts[number] else { return }
    hosts[number]?.used += step
    let change = (hosts[number]?.free ?? 0) - host.free
    if change == 0 { return }
    for (name, need) in needs where need.isMet(by: host.host) { changeFree(name, by: change, at: now) }
  }

  private mutating func changeFree(_ need: String, by step: Int, at now: Moment) {
    let before = freeSlots[need] ?? 0
    freeSlots[need] = before + step
    if (before > 0) != (before + step > 0) { schedule.setRoom(before + step > 0, at: need, now: now) }
  }

  private mutating func revert(_ lost: [Run], at now: Moment) {
    for run in lost where runs[run.job] == run {
      vacate(run, at: now)
      _ = schedule.endAttempt(of: run.job, .interrupted, at: now)
    }
  }

  /// The name by which the schedule knows a need.
  private mutating func name(of need: Need, at now: Moment) -> String {
    let name = need.place.map { "\(need.type) at \($0)" } ?? need.type
    if needs[name] == nil {
      needs[name] = need
      let free = hosts.values.reduce(0) { $0 + (need.isMet(by: $1.host) ? $1.free : 0) }
      freeSlots[name] = free
      schedule.setRoom(free > 0, at: name, now: now)
    }
    return name
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
    var round = LeadRound(floor: floor)
    (round.states, states) = (states, [])
    (round.gone, gone) = (gone, [])
    while round.runs.count < limit, let job = schedule.next(at: now) {
      guard let host = host(for: job) else {
        // Can't be, as the schedule knows which needs have room; the job waits for the next round.
        _ = schedule.endAttempt(of: job.id, .interrupted, at: now)
        break
      }
      let run = Run(job: job.id, host: host, attempt: (lastAttempts[job.id] ?? 0) + 1)
      lastAttempts[job.id] = run.attempt
      note(run, at: now)
      round.runs.append(run)
    }
    return round
  }

  /// True if the next round has something to write, whatever the schedule says.
  package var hasStates: Bool { !states.isEmpty || !gone.isEmpty }

  /// Notes that a round is durable: those who wait for what was cancelled are unblocked, or cancelled too.
  package mutating func noteWritten(_ round: LeadRound, at now: Moment) {
    for (id, state) in round.states where state.isFinal {
      if let name = refused.removeValue(forKey: id) {
        schedule.resolve(name: name, as: id)
        cancel(schedule.unblock(waitingFor: id, as: state, at: now))
      } else {
        let lost = schedule.finish(id, as: state, at: now)
        drop(id, at: now)
        cancel(lost)
      }
    }
  }

  /// The next host with a free slot that meets a job's need, in turn.
  private mutating func host(for job: ScheduledJob) -> Int? {
    guard let need = schedule.place(of: job).flatMap({ needs[$0] }) else { return nil }
    for step in 1...max(1, order.count) where !order.isEmpty {
      let index = (cursor + step) % order.count
      if let host = hosts[order[index]], host.free > 0, need.isMet(by: host.host) {
        cursor = index
        return order[index]
      }
    }
    return nil
  }
}
