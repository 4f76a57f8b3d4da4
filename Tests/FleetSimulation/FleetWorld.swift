import Fleet
import Foundation
import JobSchedule
import Jobs
import ObjectGraph

/// A promise that was broken.
struct Violation: Error, CustomStringConvertible {
  let time: Int64
  let description: String
}

/// A fleet with a virtual clock: what its hosts and their ledger do is run step by step, and judged after each.
final class FleetWorld {
  enum Event {
    case step(Int)
    case start(Machine)
    case timer(Process, MemberTimer, Int64)
    case deliver(Process, MemberEvent)
    case execute(Call)
    case answer(Call, Result<LedgerReply, LedgerError>)
    case finish(Process, Run)
    case giveBack(Process, Run)
    case judgeDeath(host: Int, jobs: [Run], time: Int64)
  }

  private struct Entry: Comparable {
    let time: Int64
    let sequence: Int
    let event: Event

    static func < (left: Self, right: Self) -> Bool {
      left.time == right.time ? left.sequence < right.sequence : left.time < right.time
    }

    static func == (left: Self, right: Self) -> Bool { left.sequence == right.sequence }
  }

  let program: FleetProgram
  let ledger: MemoryLedger
  let times: FleetTimes
  let jobs: [Int: FleetProgram.Job]
  let machines: [Machine]
  /// The server's clock, in milliseconds. The hosts' wall clocks are of no account.

  private(set) var now: Int64 = 1_000_000
  var random: RandomSource
  let judge = Judge()
  private var queue = Heap<Entry>()
  private var sequence = 0
  private var awayUntil: Int64 = 0
  private var deafUntil: Int64 = 0
  /// The time at which the last fault ends.
  private(set) var lastTrouble: Int64 = 1_000_000
  /// The time at which the last attempt ended.
  private(set) var lastEnd: Int64 = 1_000_000
  /// The time of the last step, or of the last start of a process.
  var lastStart: Int64 = 0
  var lastTicket: Int64 = 0

  static let start: Int64 = 1_000_000
  /// The longest time until the jobs of a dead host are assigned to others: the silence; a beat that tells of it; if the
  /// lead has died, the jitter of a candidate, its election, a beat and the load; the takeover; and two rounds of the lead.
  /// Each request takes at most 6 ms here.
  static let takeoverLimit: Int64 = 3_500 + 50 + 2 * 10 + 8 * 6 + 12

  /// The same where a new lead reads jobs in parts, and takes in those in parts that had to wait, with a round behind each.
  var takeoverLimit: Int64 { Self.takeoverLimit + 2 * Int64(jobs.count / times.jobsAtOnce) * (2 * 6 + times.round) }
  /// The time from a failed attempt to the next one.
  static let retryDelay: Int64 = 300

  init(_ program: FleetProgram) {
    self.program = program
    var times = FleetTimes()
    times.writerPatience = 200
    times.slotLife = 7
    times.jobsAtOnce = program.jobsAtOnce
    self.times = times
    jobs = Dictionary(program.jobs.map { ($0.number, $0) }) { first, _ in first }
    machines = (0..<program.machines).map { Machine(number: $0) }
    random = RandomSource(seed: program.seed ^ 0xF1EE7)
    let failsOver = program.steps.contains { if case .failover = $0.action { true } else { false } }
    ledger = MemoryLedger(isReplicated: program.isReplicated, longestLoss: failsOver ? FleetProgram.longestLoss : 0)
    let pooledRoots = Set(program.pooledMachines.map { machines[$0].root })
    ledger.endsBackends = { !pooledRoots.contains($0) }
  }

  /// True if hosts on a machine are behind a pooler.
  private func isPooled(_ machine: Machine) -> Bool { program.pooledMachines.contains(machine.number) }

  /// The times of hosts on a machine.
  func times(of machine: Machine) -> FleetTimes { isPooled(machine) ? times.withoutHints : times }

  // MARK: The clock

  func enqueue(_ event: Event, at time: Int64) {
    sequence += 1
    queue.push(Entry(time: max(time, now), sequence: sequence, event: event))
  }

  /// Runs the program, until everything accepted is final.
  func run() throws {
    // Processes and machines know each other, and so do the ledger and what it has open.
    defer {
      for machine in machines { machine.process = nil }
      for transaction in ledger.open.values { ledger.abort(transaction) }
    }
    for machine in machines { enqueue(.start(machine), at: now) }
    for (index, step) in program.steps.enumerated() { enqueue(.step(index), at: Self.start + step.time) }
    var steps = 0
    var cleanups: Int64 = 0
    lastStart = Self.start + (program.steps.last?.time ?? 0)
    while let entry = queue.pop() {
      now = entry.time
      ledger.now = now
      try handle(entry.event)
      steps += 1
      if now <= max(lastTrouble, lastStart) + 700 { continue }
      // A host that was cut off ends when it comes back, and forgets what it was asked for last.
      if now > max(lastTrouble, lastStart) + 700 + 5_000 * cleanups {
        cleanups += 1
        undoWishes()
      }
      if steps % 16 == 0, now > max(lastTrouble, lastStart) + 2_000, isDone { break }
      if now > max(lastTrouble, lastStart) + 60_000 { try judge.complainOfUnfinished(self) }
    }
    try judge.judgeEnd(self)
  }

  private var isDone: Bool {
    machines.allSatisfy { $0.spool.isEmpty && $0.process?.member != nil }
      && ledger.runs.isEmpty && ledger.jobs.all(for: 0).allSatisfy(\.row.state.isFinal)
  }

  /// The time on a machine's steady clock, which begins somewhere and goes a little faster or slower than the server's.
  func steady(of machine: Machine) -> Int64 {
    let passed = now - Self.start
    return passed + Int64(machine.number) * 1_000_003 + passed * Int64(machine.number - 1) / 1_000
  }

  // MARK: Events

  private func handle(_ event: Event) throws {
    switch event {
    case .step(let index): try obey(program.steps[index].action)
    case .start(let machine): start(machine)
    case .timer(let process, let timer, let due):
      if wait(process, event) { return }
      guard process.timers[timer] == due else { return }
      process.timers[timer] = nil
      deliver(timer.event, to: process)
    case .deliver(let process, let happening):
      if wait(process, event) { return }
      deliver(happening, to: process)
    case .finish(let process, let run):
      if wait(process, event) { return }
      finish(run, process)
    case .giveBack(let process, let run):
      if wait(process, event) { return }
      giveBack(run, process)
    case .execute(let call): try execute(call)
    case .answer(let call, let result):
      if wait(call.process, event) { return }
      answer(call, result)
    case .judgeDeath(let host, let runs, let time): try judge.judgeDeath(of: host, runs, since: time, in: self)
    }
  }

  /// Puts an event off while its process is stopped; true also if the process is dead, and nothing happens to it.
  private func wait(_ process: Process, _ event: Event) -> Bool {
    if process.isDead { return true }
    if process.machine.stoppedUntil <= now { return false }
    enqueue(event, at: process.machine.stoppedUntil)
    return true
  }

  private func start(_ machine: Machine) {
    if let process = machine.process, !process.isDead { return }
    let process = Process(on: machine)
    machine.process = process
    join(process)
  }

  func join(_ process: Process) {
    let machine = process.machine
    let places: Set<String> = ["place\(machine.number)"]
    send(
      .join(FleetHost(root: machine.root, slots: program.slots, types: ["work"], places: places)), .beat,
      process)
  }

  func deliver(_ event: MemberEvent, to process: Process) {
    guard process.member != nil, !process.isDead else { return }
    let actions = process.member?.handle(event, at: steady(of: process.machine)) ?? []
    for action in actions { perform(action, process) }
  }

  private func perform(_ action: MemberAction, _ process: Process) {
    switch action {
    case .send(let request, let channel): send(request, channel, process)
    case .wake(let event, let delay):
      guard let timer = MemberTimer(event) else { return }
      let due = now + delay
      if let armed = process.timers[timer], armed <= due { return }
      process.timers[timer] = due
      enqueue(.timer(process, timer, due), at: due)
    case .start(let run):
      if process.member?.lease.phase(at: steady(of: process.machine)) != .alive {
        judge.note(.startWithoutLease, at: now)
      }
      process.waiting.append(run)
      enqueue(.giveBack(process, run), at: now + 1_000)
      work(process)
    case .report(let report): take(report, process)
    case .hint(let hosts, let hint):
      if now < deafUntil { return }
      for machine in machines {
        guard let other = machine.process, let number = other.member?.number, hosts.contains(number) else { continue }
        if other === process || !isPooled(machine) {
          enqueue(.deliver(other, .hinted(hint)), at: now + random.time(1..<4))
        }
      }
    case .end(let reason):
      if reason == .contradiction && !isSetBack { judge.note(.contradiction, at: now) }
      die(process)
      enqueue(.start(process.machine), at: now + 100)
    }
  }

  private func take(_ report: MemberReport, _ process: Process) {
    switch report {
    case .stopped(let stop):
      // One that is to be replaced is reverted, and held; now and then that fails, but not for ever.
      if stop.event == .interrupted, stop.run.attempt > 4 || !random.chance(20) { process.reverted.insert(stop.run) }
      process.stops[stop.run] = stop.event == .interrupted ? .held : stop.event
      enqueue(.finish(process, stop.run), at: now + random.time(1..<60))
    case .admitted(let ids): process.machine.spool.removeAll { ids.contains($0.id) }
    case .notAdmitted, .notPlaced, .notRemoved: judge.note(.refusal, at: now)
    case .leaseIsDoubtful:
      // Exclusive programs end when they are told to, or are killed.
      for run in process.begun where Self.isExclusive(run) && process.stops[run] == nil {
        process.stops[run] = .interrupted
        enqueue(.finish(process, run), at: now + random.time(1..<500))
      }
    // Its owner goes on with that.
    case .leads, .ended, .removed: break
    }
  }

  /// Has free workers begin what waits for them.
  private func work(_ process: Process) {
    while process.begun.count < program.slots, !process.waiting.isEmpty {
      let run = process.waiting.removeFirst()
      if Self.isExclusive(run), isRunning(run.job, elsewhereThan: process) { judge.note(.secondExclusive, at: now) }
      process.begun.insert(run)
      enqueue(.finish(process, run), at: now + (jobs[Int(run.job.key)]?.duration ?? 1))
    }
  }

  /// True of every second job: nothing of it may run on two hosts at a time.
  private static func isExclusive(_ run: Run) -> Bool { run.job.key % 2 == 1 }

  /// True if another host runs an attempt at a job, unless it is stopped, or has just been, and could not end it; a failover
  /// that loses runs has hosts unaware of each other for a beat.
  private func isRunning(_ job: ManagedObjectID, elsewhereThan process: Process) -> Bool {
    if isSetBack { return false }
    return machines.contains { machine in
      guard let other = machine.process, other !== process, !other.isDead else { return false }
      return machine.stoppedUntil <= now - 1_000 && other.begun.contains { $0.job == job }
    }
  }

  /// Gives a run back to the lead for which no worker has been free.
  private func giveBack(_ run: Run, _ process: Process) {
    guard let place = process.waiting.firstIndex(of: run) else { return }
    process.waiting.remove(at: place)
    process.ended.insert(run)
    deliver(.finished(EndedRun(run: run, event: .interrupted)), to: process)
  }

  private func finish(_ run: Run, _ process: Process) {
    // Told to end before it has begun.
    if process.waiting.contains(run) { return giveBack(run, process) }
    guard let job = jobs[Int(run.job.key)], let member = process.member, process.ended.insert(run).inserted else {
      return
    }
    process.begun.remove(run)
    lastEnd = now
    defer { work(process) }
    let event: JobEvent =
      process.stops[run] ?? (run.attempt > job.failures ? .succeeded : job.failures >= 10 ? .gaveUp : .failed)
    let moment = member.moment(at: steady(of: process.machine))
    let retryTime = event == .failed ? moment.wall + Self.retryDelay : nil
    // Half of the failed ones have saved something to continue from.
    let isReverted = event == .held ? process.reverted.contains(run) : event == .failed && random.chance(50)
    deliver(
      .finished(EndedRun(run: run, event: event, retryTime: retryTime, isReverted: isReverted)), to: process)
  }

  func die(_ process: Process) {
    process.isDead = true
    // Its connections close, and the server undoes what is open.
    for transaction in ledger.open.values where transaction.host == process.member?.number {
      if transaction.nextStatement > 0 { ledger.abort(transaction) }
    }
  }

  // MARK: Faults

  /// Notes that something is wrong until a time.
  func noteTrouble(until time: Int64) { lastTrouble = max(lastTrouble, time) }

  var isAway: Bool { now < awayUntil }

  /// Has the database be away, with all connections broken.
  func breakDatabase(for duration: Int64) {
    awayUntil = max(awayUntil, now + duration)
    for transaction in ledger.open.values { ledger.abort(transaction) }
  }

  /// Has all hints be lost.
  func deafen(for duration: Int64) { deafUntil = max(deafUntil, now + duration) }
}
