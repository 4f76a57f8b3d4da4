import Fleet
import Foundation
import JobSchedule
import Jobs
import ObjectGraph

/// What the steps of a program do.
extension FleetWorld {
  func obey(_ action: FleetProgram.Action) throws {
    switch action {
    case .submit(let number, let jobs):
      let machine = machines[number]
      let files = jobs.map { fleetJob($0) }
      machine.spool += files
      judge.noteAccepted(files)
      deliver(.admit(files), to: machine)
    case .order(_, .delete(let job)) where !removableJobs.contains { $0.id == Self.id(job) }: break
    case .order(let number, let wish): give(wish, to: machines[number])
    case .kill(let number, let restart): kill(machines[number], restart: restart)
    case .killLead(let restart):
      guard let machine = machines.first(where: { $0.process?.member?.lead != nil && $0.process?.isDead == false })
      else { return }
      kill(machine, restart: restart)
    case .stop(let number, let duration):
      let machine = machines[number]
      machine.stoppedUntil = max(machine.stoppedUntil, now + duration)
      excuse(machine, for: duration)
    case .cut(let number, let duration):
      let machine = machines[number]
      machine.cutUntil = max(machine.cutUntil, now + duration)
      excuse(machine, for: duration)
    case .outage(let duration):
      breakDatabase(for: duration)
      noteTrouble(until: now + duration + 2_000)
    case .failover(let loss): failOver(losing: loss)
    case .deafness(let duration):
      deafen(for: duration)
      noteTrouble(until: now + duration)
    case .disturb(let number, let channel, let kind, let count):
      machines[number].disturbances.append((channel, kind, count))
      excuse(machines[number], for: 3_000)
    case .foreignTransaction(let duration): ledger.beginForeign(until: now + duration)
    case .remove: removeFinalJobs()
    case .compare: try judge.compare(self)
    }
  }

  /// True if a host may not know yet that the ledger was set back.
  var isSetBack: Bool { machines.contains { $0.process.map { $0.isSetBack && !$0.isDead } ?? false } }

  /// Has a standby take the server's place. What it does not know is dropped again.
  private func failOver(losing loss: Int64) {
    let duration = random.time(50..<1_500)
    breakDatabase(for: duration)
    ledger.failover(losing: loss)
    for machine in machines { excuse(machine, for: duration + 4_000) }
    if !program.isReplicated { for machine in machines { machine.process?.isSetBack = true } }
    let lost = judge.noteFailover(self)
    machines[0].spool += lost
    if !lost.isEmpty { deliver(.admit(lost), to: machines[0]) }
  }

  /// Has the lead remove final jobs.
  private func removeFinalJobs() {
    let machine = machines.first { $0.process.map { !$0.isDead && $0.member?.lead?.assigner != nil } ?? false }
    if let machine { deliver(.remove(removableJobs), to: machine) }
  }

  /// The final jobs whose files are not to be admitted again, and which no job names that the lead does not know yet: it could
  /// not tell these from jobs that are still to come.
  private var removableJobs: [FinalJob] {
    let unread = ledger.inbox.all(for: 0).flatMap { _, news -> [ManagedObjectID] in
      if case .admitted(let jobs, _) = news { jobs.map(\.id) } else { [] }
    }
    let isKnown = { (id: ManagedObjectID) in self.ledger.jobs.row(id, for: 0) != nil && !unread.contains(id) }
    let unknown = jobs.values.filter { !isKnown(Self.id($0.number)) && !judge.removed.contains(Self.id($0.number)) }
    let needed = Set(unknown.flatMap(\.after).map { Self.id($0) })
    let waiting = Set(machines.flatMap(\.spool).map(\.id))
    let final = ledger.jobs.all(for: 0).map(\.row).filter { job in
      job.state.isFinal && !needed.contains(job.id) && !waiting.contains(job.id)
    }
    return final.map { FinalJob(id: $0.id, name: $0.name) }.sorted { $0.id.key < $1.id.key }
  }

  /// Ends pauses and holds, so that everything can be finished.
  func undoWishes() {
    for case .order(let machine, let wish) in program.steps.map(\.action) {
      switch wish {
      case .pause(let queue, true): give(.pause(queue: queue, false), to: machines[machine])
      case .drain(let other, true): give(.drain(machine: other, false), to: machines[machine])
      case .hold(let job, true): give(.hold(job: job, false), to: machines[machine])
      // The order may be gone with its host, or with what a standby did not know; whoever has the file gives it again.
      case .replace(let job, _):
        let row = ledger.jobs.row(Self.id(job), for: 0)
        if row?.state == .held, row?.stop?.reason == JobReplacement.reason { give(wish, to: machines[machine]) }
      default: break
      }
    }
  }

  private func give(_ wish: FleetProgram.Wish, to machine: Machine) {
    lastTicket += 1
    deliver(.order(order(wish), ticket: lastTicket), to: machine)
  }

  private func excuse(_ machine: Machine, for duration: Int64) {
    machine.lastExcuse = max(machine.lastExcuse, now + duration)
    noteTrouble(until: now + duration)
  }

  private func deliver(_ event: MemberEvent, to machine: Machine) {
    // A process that has not joined yet looks into its spool when it has.
    if let process = machine.process, process.member != nil { enqueue(.deliver(process, event), at: now) }
  }

  private func kill(_ machine: Machine, restart: Int64) {
    guard let process = machine.process, !process.isDead else { return }
    // Silence counts only for those who have had the database themselves: all the others, from this moment on.
    let isQuiet = now > lastTrouble + (lastTrouble == Self.start ? 100 : 2 * times.fence)
    excuse(machine, for: 0)
    die(process)
    machine.stoppedUntil = 0
    enqueue(.start(machine), at: now + restart)
    lastStart = max(lastStart, now + restart)
    guard isQuiet, let number = process.member?.number else { return }
    let runs = ledger.runs.all(for: 0).map(\.row).filter { $0.host == number }
    enqueue(.judgeDeath(host: number, jobs: runs, time: now), at: now + takeoverLimit)
  }

  // MARK: Jobs

  private static func id(_ job: Int) -> ManagedObjectID {
    ManagedObjectID(key: Int64(job), entityIndex: 0, rootIndex: 0, coordinatorOrdinal: 0)
  }

  private func order(_ wish: FleetProgram.Wish) -> Order {
    switch wish {
    case .pause(let queue, let isPaused): .pause(.queue("queue\(queue)"), isPaused)
    case .drain(let other, let isDrained): .pause(.host(machines[other].root), isDrained)
    case .cancel(let job): command(.cancel(reason: "a wish"), job)
    case .hold(let job, let isHeld): command(isHeld ? .hold : .release, job)
    case .retry(let job): command(.retry, job)
    case .priority(let job, let priority): command(.setPriority(priority), job)
    case .delete(let job): command(.delete, job)
    case .replace(let job, let priority): replacement(of: job, priority: priority)
    }
  }

  private func replacement(of number: Int, priority: Int) -> Order {
    var job = jobs[number] ?? FleetProgram.Job(number: number)
    job.priority = priority
    // What it names may be gone by then.
    if program.removesJobs { job.after = [] }
    let new = fleetJob(job)
    var specification = new.specification
    specification.replacements = ["file \(lastTicket)"]
    return .replace([
      JobReplacement(job: new.id, specification: specification, place: new.place, attemptKey: lastTicket)
    ])
  }

  private func command(_ command: JobCommand, _ job: Int) -> Order {
    .command(command, [Order.Target(Self.id(job), attempts: 3)])
  }

  private func fleetJob(_ job: FleetProgram.Job) -> FleetJob {
    var specification = JobSpecification(type: "work", queue: "queue\(job.queue)", priority: job.priority)
    if let period = job.ratePeriod {
      specification.limit = JobLimit(key: "rate\(period)", rate: JobLimit.Rate(2, per: .seconds(period)))
    } else if let limit = job.limit {
      specification.limit = JobLimit(key: "limit\(limit)", concurrent: limit + 1)
    }
    specification.unique = job.unique.map { "unique\($0)" }
    // A shorter program may lack some of them.
    let after = job.after.filter { jobs[$0] != nil }.map { "job\($0)" }
    if job.mayFail { specification.afterAny = after } else { specification.after = after }
    specification.batch = job.batch.map { "batch\($0)" }
    specification.afterBatch = job.afterBatch.map { "batch\($0)" }
    if job.delay > 0 { specification.notBefore = Date(timeIntervalSince1970: Double(now + job.delay) / 1000) }
    return FleetJob(
      id: Self.id(job.number), name: "job\(job.number)", specification: specification,
      place: job.place.flatMap { $0 < machines.count ? "place\($0)" : nil }, created: now)
  }
}
