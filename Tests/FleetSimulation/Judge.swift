import Fleet
import JobSchedule
import Jobs
import ObjectGraph

/// Holds a fleet to its promises.
final class Judge {
  /// Something that must not happen, whatever the faults.
  enum Impossibility: String {
    case contradiction = "a host was told that the ledger contradicts it"
    case refusal = "the ledger refuses for good what a host asked for"
    case secondExclusive = "a host begins an exclusive job that still runs on another one"
    case startWithoutLease = "a host starts an attempt though its lease is over"
  }

  /// The milliseconds by which hosts may be wrong about the server's time, whose clocks differ by a thousandth.
  private static let clockError: Int64 = 30

  private var accepted: [FleetJob] = []
  /// The jobs that were final when they were removed.
  private(set) var removed: Set<ManagedObjectID> = []
  private var noted: (time: Int64, what: Impossibility)?
  private var alive: Set<Int> = []
  private var term: Int64 = 0
  private struct Assignment: Hashable {
    let run: Run
    /// The host that leads, or thinks so.
    let lead: Int
  }

  /// The times at which assignments were first sent, for the rates.
  private var sent: [Assignment: Int64] = [:]
  /// The attempts that each host has ended so far: no more jobs may wait on it than that.
  private var ends: [Int: Int] = [:]
  private var rateStarts: [String: [Int64]] = [:]
  /// The time at which runs last ended: the lead needs a moment to give others their places.
  private var lastEnd: Int64 = 0
  /// What leads have said to be paused or resumed, hosts that are drained as well.
  private var obeyed: [Resource.Name: Bool] = [:]

  func noteAccepted(_ jobs: [FleetJob]) { accepted += jobs }

  func note(_ what: Impossibility, at time: Int64) { noted = (time, what) }

  func noteSent(_ request: LedgerRequest, at time: Int64) {
    guard case .round(let round, let receipt) = request else { return }
    for run in round.runs {
      let assignment = Assignment(run: run, lead: receipt.host)
      if sent[assignment] == nil { sent[assignment] = time }
    }
  }

  private func fail(_ world: FleetWorld, _ text: String) -> Violation {
    Violation(time: world.now - FleetWorld.start, description: text)
  }

  /// Goes by what a standby knows; returns what was accepted and is nowhere any more.
  func noteFailover(_ world: FleetWorld) -> [FleetJob] {
    term = world.ledger.lead.row(0, for: 0)?.term ?? 0
    alive = Set(world.ledger.hosts.all(for: 0).lazy.filter(\.row.isAlive).map(\.key))
    if !world.program.isReplicated { (sent, rateStarts, obeyed) = ([:], [:], [:]) }
    // What a standby knows nothing of, not even that it was there, somebody submits again once it is missed.
    removed = removed.filter { world.ledger.removed.row($0, for: 0) != nil }
    let spooled = Set(world.machines.flatMap(\.spool).map(\.id))
    return accepted.filter { job in
      !spooled.contains(job.id) && !removed.contains(job.id) && world.ledger.jobs.row(job.id, for: 0) == nil
    }
  }

  // MARK: After each commit

  /// Judges what a transaction has done.
  func judge(_ call: Call, _ reply: LedgerReply, in world: FleetWorld) throws {
    if let noted { throw fail(world, noted.what.rawValue) }
    if case .refused = reply { return }
    switch call.request {
    case .flush(let ended, _):
      lastEnd = world.now
      try judgeEffects(ended, world)
    case .round(let round, let receipt): try judgeRound(round, receipt, world)
    case .remove(let jobs, let receipt): try judgeRemoval(jobs, reply, receipt, world)
    case .join, .bury, .replaceSlot: try judgeSessions(world)
    case .fence(_, let silence, _): try judgeTakeover(for: silence, world)
    case .lead(_, let silence, _):
      try judgeTakeover(for: silence, world)
      guard case .leads(let term) = reply, term > self.term else { throw fail(world, "the term did not grow") }
      self.term = term
    default: break
    }
  }

  private func judgeEffects(_ ended: [EndedRun], _ world: FleetWorld) throws {
    for one in ended { ends[one.run.host, default: 0] += 1 }
    for one in ended where one.event == .succeeded {
      let runs = world.ledger.effects.row(one.run.job, for: 0) ?? []
      if runs.count > 1 { throw fail(world, "the effects of job \(one.run.job.key) were committed by \(runs)") }
    }
  }

  private func judgeRound(_ round: LeadRound, _ receipt: Receipt, _ world: FleetWorld) throws {
    try judgeAnswers(round, world)
    let ledger = world.ledger
    for job in round.deleted where ledger.jobs.row(job.id, for: 0) == nil { removed.insert(job.id) }
    let pauses = pauses(in: round, world)
    defer { for (name, isPaused) in pauses { obeyed[name] = isPaused } }
    if round.runs.isEmpty { return }
    guard ledger.lead.row(0, for: 0)?.host == receipt.host else {
      throw fail(world, "host \(receipt.host) assigned jobs though it does not lead any more")
    }
    var used: [Int: Int] = [:]
    var running: [String: Int] = [:]
    for (_, run) in ledger.runs.all(for: 0) {
      used[run.host, default: 0] += 1
      if let limit = ledger.jobs.row(run.job, for: 0)?.specification.limit { running[limit.key, default: 0] += 1 }
    }
    for run in round.runs { used[run.host, default: 0] -= 1 }
    let stopped = Set(round.stops.map(\.run))
    // One that is only to be reverted has no limits.
    for run in round.runs {
      used[run.host, default: 0] += 1
      if stopped.contains(run) { continue }
      guard let job = ledger.jobs.row(run.job, for: 0) else { throw fail(world, "an unknown job was assigned") }
      if job.state.isFinal { throw fail(world, "job \(run.job.key) was assigned though it is \(job.state)") }
      if let due = job.due, due > world.now + Self.clockError {
        throw fail(world, "job \(run.job.key) was assigned \(due - world.now) ms before its time")
      }
      try judgeReadiness(of: job, at: run.host, besides: pauses, world)
      if run.attempt <= job.attempt { throw fail(world, "attempt \(run.attempt) of job \(run.job.key) came twice") }
      let mayWait = job.place == nil && job.specification.limit == nil
      if used[run.host, default: 0] > world.program.slots + (mayWait ? ends[run.host, default: 0] : 0) {
        throw fail(world, "host \(run.host) has too many runs")
      }
      if let host = ledger.hosts.row(run.host, for: 0)?.host, let place = job.place, !host.places.contains(place) {
        throw fail(world, "job \(run.job.key) was assigned to a host that does not offer \(place)")
      }
      guard let limit = job.specification.limit else { continue }
      if let concurrent = limit.concurrent, running[limit.key, default: 0] > concurrent {
        throw fail(world, "\(running[limit.key, default: 0]) jobs with the key \(limit.key) run")
      }
      if let rate = limit.rate, let time = sent[Assignment(run: run, lead: receipt.host)] {
        rateStarts[limit.key, default: []].append(time)
        // The lead's clock goes a little faster or slower.
        let period = rate.period.milliseconds * 499 / 500
        let recent = rateStarts[limit.key, default: []].filter { $0 > time - period && $0 <= time }
        if recent.count > rate.count { throw fail(world, "\(recent.count) jobs started within \(rate.period)") }
      }
    }
  }

  /// The pauses that a round obeys.
  private func pauses(in round: LeadRound, _ world: FleetWorld) -> [Resource.Name: Bool] {
    var pauses: [Resource.Name: Bool] = [:]
    for answer in round.answers {
      let key = MemoryLedger.OrderKey(host: answer.host, ticket: answer.ticket)
      if case .pause(let name, let isPaused)? = world.ledger.orders.row(key, for: 0)?.order { pauses[name] = isPaused }
    }
    return pauses
  }

  /// Judges that nothing keeps a job from running that the lead knows: a pause, other jobs, or who has its unique key.
  private func judgeReadiness(
    of job: FleetJob, at host: Int, besides fresh: [Resource.Name: Bool], _ world: FleetWorld
  ) throws {
    let ledger = world.ledger
    var names: [Resource.Name] = [.queue(job.specification.queue)]
    if let root = ledger.hosts.row(host, for: 0)?.host.root { names.append(.host(root)) }
    // One that is paused again by an order which the lead has not read yet was resumed before.
    for name in names where obeyed[name] == true && fresh[name] == nil && ledger.paused.row(name, for: 0) == true {
      throw fail(world, "job \(job.name) was assigned though \(name) is paused")
    }
    // Jobs that were put back when others had run already because of their ends.
    let putBack = world.program.rewrittenJobs.union(world.program.retriedJobs)
    if let unique = job.specification.unique {
      let rivals = ledger.jobs.all(for: 0).map(\.row).filter { other in
        other.id != job.id && other.specification.unique == unique && !other.state.isFinal
          && ledger.runs.row(other.id, for: 0) != nil
      }
      if let rival = rivals.first { throw fail(world, "\(job.name) and \(rival.name) run with one unique key") }
    }
    if job.isBegun { return }
    for name in job.names where !putBack.contains(name) {
      let needed = ledger.jobs.all(for: 0).map(\.row).first { $0.name == name }
      if needed == nil, accepted.contains(where: { $0.name == name && removed.contains($0.id) }) { continue }
      let mayFail = job.specification.afterAny.contains(name)
      if let needed, mayFail ? needed.state.isFinal : needed.state == .completed { continue }
      throw fail(
        world,
        "job \(job.name) was assigned though it waits for \(name), which is \(needed.map { "\($0.state)" } ?? "unknown")"
      )
    }
  }

  /// Judges that no order counts as obeyed whose job was removed before.
  private func judgeAnswers(_ round: LeadRound, _ world: FleetWorld) throws {
    for answer in round.answers {
      guard case .outcomes(let outcomes) = answer.content else { continue }
      let key = MemoryLedger.OrderKey(host: answer.host, ticket: answer.ticket)
      let order = world.ledger.orders.row(key, for: 0)?.order
      if case .command(.delete, _)? = order { continue }
      for (job, outcome) in zip(order?.jobs ?? [], outcomes) {
        if outcome == .done, world.ledger.jobs.row(job, for: 0) == nil {
          throw fail(world, "an order for job \(job.key) counts as obeyed, which was removed")
        }
      }
    }
  }

  /// Judges a removal.
  private func judgeRemoval(_ jobs: [FinalJob], _ reply: LedgerReply, _ receipt: Receipt, _ world: FleetWorld) throws {
    let ledger = world.ledger
    guard ledger.lead.row(0, for: 0)?.host == receipt.host else {
      throw fail(world, "host \(receipt.host) removed jobs though it does not lead any more")
    }
    let gone = jobs.filter { ledger.jobs.row($0.id, for: 0) == nil && !removed.contains($0.id) }
    guard case .removed(gone.count) = reply else { throw fail(world, "other jobs were removed than it is said") }
    for job in gone {
      if ledger.runs.row(job.id, for: 0) != nil { throw fail(world, "\(job.name) was removed while it ran") }
      removed.insert(job.id)
    }
  }

  private func judgeSessions(_ world: FleetWorld) throws {
    for (key, _) in world.ledger.sessions.all(for: 0) where world.ledger.hosts.row(key.host, for: 0)?.isAlive != true {
      throw fail(world, "host \(key.host) was taken over, and can still write by its slot \(key.slot)")
    }
    alive = Set(world.ledger.hosts.all(for: 0).lazy.filter(\.row.isAlive).map(\.key))
  }

  /// Judges a takeover because of silence: the host must have stopped by itself, and for a reason of its own.
  private func judgeTakeover(for silence: Silence, _ world: FleetWorld) throws {
    let before = alive
    try judgeSessions(world)
    for host in before.subtracting(alive) {
      guard let machine = world.machines.first(where: { $0.process?.member?.number == host }),
        let process = machine.process, !process.isDead
      else { continue }
      let phase = process.member?.lease.phase(at: world.steady(of: machine))
      if phase == .alive, !world.isSetBack {
        throw fail(world, "host \(host) was fenced while its lease said that it may work")
      }
      if machine.lastExcuse < (silence.end ?? world.now) - world.times.fence - 1_000 {
        throw fail(world, "host \(host) was fenced though nothing was wrong with it")
      }
    }
  }

  // MARK: Later

  /// Judges how soon the work of a dead host went on, where nothing else was wrong meanwhile.
  func judgeDeath(of host: Int, _ lost: [Run], since time: Int64, in world: FleetWorld) throws {
    let isAnybodyThere = world.machines.contains { $0.process.map { !$0.isDead && $0.member != nil } ?? false }
    if world.lastTrouble > time || !isAnybodyThere { return }
    let ledger = world.ledger
    let runs = ledger.runs.all(for: 0).map(\.row)
    if runs.contains(where: { $0.host == host }) {
      throw fail(world, "host \(host) has been dead for \(world.takeoverLimit) ms, and still has runs")
    }
    let free = world.machines.contains { machine in
      guard let process = machine.process, !process.isDead, let number = process.member?.number else { return false }
      return runs.count { $0.host == number } < world.program.slots
    }
    // Whoever does not know the new lead yet hints to the old one: an end is heard of with a beat then.
    for run in lost where free && world.now > lastEnd + FleetTimes().beat + 40 {
      guard let job = ledger.jobs.row(run.job, for: 0), job.state == .available, job.attempt <= run.attempt,
        job.place == nil, job.specification.limit == nil, ledger.paused.isEmpty,
        // One that is replaced is admitted anew first.
        !runs.contains(where: { $0.job == run.job }), !world.program.rewrittenJobs.contains(job.name)
      else { continue }
      throw fail(world, "job \(run.job.key) has waited for \(world.takeoverLimit) ms since its host died")
    }
  }

  /// Compares the lead's schedule with one that is made of the ledger, where all news have arrived.
  func compare(_ world: FleetWorld) throws {
    let ledger = world.ledger
    guard ledger.open.isEmpty, !world.isAway, !world.isSetBack,
      let machine = world.machines.first(where: { $0.process?.member?.lead?.assigner != nil }),
      let process = machine.process, !process.isDead, let member = process.member, member.isLeadIdle,
      ledger.lead.row(0, for: 0)?.host == member.number,
      ledger.inbox.all(for: 0).allSatisfy({ member.lead?.knownNews.contains($0.key) == true }),
      var lived = member.lead?.assigner,
      !lived.hasStates,
      // A new lead has what could not be reverted tried again without a pause.
      !lived.isLoading, lived.nextReversions.isEmpty
    else { return }
    let now = member.moment(at: world.steady(of: machine))
    var made = Assigner(ledger.committedState, agingStep: 60_000, at: now)
    lived.advance(to: now)
    made.advance(to: now)
    let putBack = world.program.rewrittenJobs.union(world.program.retriedJobs)
    for (id, job) in ledger.jobs.all(for: 0) {
      let states = [lived.schedule.state(of: id), made.schedule.state(of: id)].map { state -> JobState? in
        // Both wait for a time, by one clock or the other.
        state == .retryable ? .scheduled : state
      }
      // A batch may have got members after a job that waits for it became ready, and one that it waited for may have been
      // put back: a new lead waits for them too.
      let specification = job.specification
      let isBehindRetried = (specification.after + specification.afterAny).contains(where: putBack.contains)
      if states[1] == .waiting, specification.afterBatch != nil || isBehindRetried { continue }
      // Waiting so may close a circle, which it opens at a batch, and what failed before a job was retried cancels it again.
      if states[1] == .available, specification.afterBatch != nil, !putBack.isEmpty { continue }
      if states[1] == nil, world.program.retriedJobs.contains(job.name) { continue }
      // It becomes due at this moment, by one clock or the other.
      if let due = job.due, abs(due - world.now) <= Self.clockError { continue }
      if states[0] != states[1] {
        throw fail(
          world,
          "job \(job.name) is \(states[0].map { "\($0)" } ?? "unknown") to the lead, and to a new one "
            + (states[1].map { "\($0)" } ?? "unknown"))
      }
    }
    let views = [lived, made].map { assigner in
      assigner.schedule.resourceViews.filter { $0.running > 0 || $0.isPaused }
        .map { "\($0.name): \($0.running) run\($0.isPaused ? ", paused" : "")" }.sorted()
    }
    if views[0] != views[1] { throw fail(world, "the lead says \(views[0]), a new one \(views[1])") }
  }

  /// Judges what is left when everything should be final.
  func judgeEnd(_ world: FleetWorld) throws {
    if let noted { throw fail(world, noted.what.rawValue) }
    for job in accepted {
      guard let known = world.ledger.jobs.row(job.id, for: 0) else {
        let effects = world.ledger.effects.row(job.id, for: 0)?.count ?? 0
        if removed.contains(job.id), effects < 2 { continue }
        throw fail(world, "\(job.name) was accepted, and is lost")
      }
      let effects = world.ledger.effects.row(job.id, for: 0)?.count ?? 0
      if effects != (known.state == .completed ? 1 : 0) {
        throw fail(world, "\(job.name) is \(known.state), and its effects were committed \(effects) times")
      }
    }
  }

  /// Throws what is unfinished after a long time without faults.
  func complainOfUnfinished(_ world: FleetWorld) throws {
    let assigner = world.machines.lazy.compactMap { $0.process?.member?.lead?.assigner }.first
    let jobs = world.ledger.jobs.all(for: 0).map(\.row).filter { !$0.state.isFinal }.map { job in
      let known = assigner?.schedule.state(of: job.id).map { "\($0)" } ?? "unknown"
      return "\(job.name) \(job.state)\(job.stop?.reason.map { " (\($0))" } ?? ""), to the lead \(known)"
    }.sorted()
    let waiting = world.machines.flatMap(\.spool).map(\.name)
    throw fail(
      world,
      "nothing is wrong any more, and these are not finished: \(jobs); not admitted: \(waiting); "
        + "runs: \(world.ledger.runs.all(for: 0).map(\.row))")
  }
}

extension FleetJob {
  /// The time before which it must not be assigned, if there is one.
  fileprivate var due: Int64? { isBegun ? retryTime : specification.notBefore?.milliseconds }
}
