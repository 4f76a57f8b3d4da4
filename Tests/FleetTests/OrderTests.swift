import Foundation
import JobSchedule
import Jobs
import ObjectGraph
import Testing

@testable import Fleet
@testable import FleetSimulation

/// Orders that any host takes, what the lead makes of them, and what it tells the hosts.
@Suite("An order to a fleet")
struct OrderTests {
  /// A lead at host 2, which is asked and answered by hand, and a host 1 with two slots.
  fileprivate final class Desk {
    let ledger = MemoryLedger()
    private var lead: Lead
    private var numbers: [Int: Int64] = [:]
    private var orderNumbers: Int64 = 0

    init(_ jobs: [FleetJob]) throws {
      ledger.now = 1_000_000
      lead = Lead(term: 1, times: FleetTimes(), agingStep: 60_000, limits: [])
      for root in ["a", "b"] {
        let host = FleetHost(root: root, slots: 2, types: ["work"], places: [root])
        _ = try ledger.perform(.join(host))
      }
      _ = try ledger.perform(.admit(jobs, receipt(1, 1)))
      _ = try ledger.perform(.lead(after: 0, silence: 3_500, receipt(2, 2)))
      try settle()
    }

    func receipt(_ host: Int, _ slot: Int) -> Receipt {
      let key = host * 10 + slot
      numbers[key, default: 0] += 1
      return Receipt(host: host, slot: slot, number: numbers[key] ?? 1)
    }

    private var now: Moment { Moment(steady: ledger.now, wall: ledger.now) }

    /// Has the lead make rounds until there is nothing left to do.
    func settle() throws { for _ in 0..<20 { try step() } }

    /// Has the lead make one request.
    func step() throws {
      lead.noteHint()
      ledger.now += 20
      guard case .request(let make) = lead.next(at: now) else { return }
      _ = lead.handle(try ledger.perform(make(receipt(2, 2))), at: now)
    }

    /// Another lead takes its place, and reads everything.
    func replaceLead() throws {
      lead = Lead(term: 2, times: FleetTimes(), agingStep: 60_000, limits: [])
      try settle()
    }

    func place(_ order: Order, by host: Int = 1) throws -> Int64 {
      orderNumbers += 1
      _ = try ledger.perform(.order(order, ticket: orderNumbers, receipt(host, 1)))
      return orderNumbers
    }

    func answer(_ ticket: Int64, to host: Int = 1) -> OrderAnswer.Content? {
      ledger.answers.row(.init(host: host, ticket: ticket), for: 0)?.content
    }

    func ask(_ order: Order, by host: Int = 1) throws -> OrderAnswer.Content? {
      let ticket = try place(order, by: host)
      try settle()
      return answer(ticket, to: host)
    }

    func ask(_ command: JobCommand, _ job: Int64, by host: Int = 1) throws -> OrderAnswer.Outcome? {
      let targets = [Order.Target(id(job), attempts: 2)]
      guard case .outcomes(let outcomes)? = try ask(.command(command, targets), by: host) else { return nil }
      return outcomes.first
    }

    func job(_ key: Int64) -> FleetJob? { ledger.jobs.row(id(key), for: 0) }
    func run(_ key: Int64) -> Run? { ledger.runs.row(id(key), for: 0) }
    func stop(_ key: Int64) -> RunStop? { ledger.stops.row(id(key), for: 0) }

    func end(_ key: Int64, _ event: JobEvent) throws {
      try tellEnd(key, event)
      try settle()
    }

    func tellEnd(_ key: Int64, _ event: JobEvent) throws {
      let run = try #require(self.run(key))
      let retry = event == .failed ? ledger.now + 60_000 : nil
      _ = try ledger.perform(.flush([EndedRun(run: run, event: event, retryTime: retry)], receipt(run.host, 0)))
    }
  }

  private static func id(_ key: Int64) -> ManagedObjectID {
    ManagedObjectID(key: key, entityIndex: 0, rootIndex: 0, coordinatorOrdinal: 0)
  }

  private static func job(_ key: Int64, place: String? = nil, _ change: (inout JobSpecification) -> Void = { _ in })
    -> FleetJob
  {
    var specification = JobSpecification(type: "work", id: "job\(key)", queue: "q")
    change(&specification)
    return FleetJob(id: id(key), name: "job\(key)", specification: specification, place: place, created: 0)
  }

  /// Jobs that wait until queue r is resumed, and one that runs.
  private func desk() throws -> Desk {
    let late = Date(timeIntervalSince1970: 4_000_000_000)
    return try Desk([Self.job(1), Self.job(2) { $0.notBefore = late }, Self.job(3) { $0.after = ["job1"] }])
  }

  @Test("to cancel what waits is carried out by the lead, and those that depend on it go with it")
  func cancelWaiting() throws {
    let desk = try Desk([
      Self.job(1) { $0.notBefore = Date(timeIntervalSince1970: 4_000_000_000) }, Self.job(2) { $0.after = ["job1"] },
    ])
    #expect(try desk.ask(.cancel(reason: "enough"), 1) == .done)
    #expect(desk.job(1)?.state == .cancelled && desk.job(2)?.state == .cancelled)
    #expect(try desk.ask(.cancel(reason: "enough"), 1) == .impossible(.cancelled))
    #expect(try desk.ask(.hold, 99) == .unknown)
  }

  @Test("to cancel or hold what runs is told to the host that runs it", arguments: [JobEvent.cancelled, .held])
  func stopRunning(_ event: JobEvent) throws {
    let desk = try desk()
    let run = try #require(desk.run(1))
    #expect(try desk.ask(event == .held ? .hold : .cancel(reason: "enough"), 1) == .done)
    #expect(desk.stop(1) == RunStop(run: run, event: event, reason: event == .held ? nil : "enough"))
    #expect(desk.job(1)?.state == .available)
    let clock = FleetClock(serverTime: 0, receivedAt: 0)
    var member = FleetMember(number: run.host, joinSentAt: 0, clock: clock, times: FleetTimes(), agingStep: 1)
    let reply = try desk.ledger.perform(.readRuns(host: run.host))
    let actions =
      member.handle(.hinted(.runs), at: 10) + member.handle(.answered(.runs, .success(reply), sentAt: 0), at: 10)
    let told = actions.compactMap { if case .stop(let stop) = $0 { stop.event } else { nil } }
    #expect(told == [event])
    try desk.end(1, event)
    #expect(desk.job(1)?.state == JobState.running.after(event))
    #expect(desk.job(3)?.state == (event == .held ? .available : .cancelled))
  }

  @Test("that waits for the end of one job leaves another alone that is completed meanwhile", arguments: 0..<25)
  func waiting(steps: Int) throws {
    let late = Date(timeIntervalSince1970: 4_000_000_000)
    let desk = try Desk([Self.job(1), Self.job(2) { $0.notBefore = late }, Self.job(3) { $0.after = ["job2"] }])
    let targets = { (keys: [Int64]) in keys.map { Order.Target(Self.id($0), attempts: 2) } }
    _ = try desk.place(.command(.cancel(reason: "enough"), targets([2])))
    for _ in 0..<steps % 5 { try desk.step() }
    let ticket = try desk.place(.command(.cancel(reason: "enough"), targets([3, 1])))
    for _ in 0..<steps / 5 { try desk.step() }
    try desk.tellEnd(1, .succeeded)
    try desk.settle()
    #expect(desk.job(1)?.state == .completed && desk.job(3)?.state == .cancelled)
    #expect(desk.answer(ticket) != nil)
  }

  @Test("to a run that has ended otherwise is carried out for its job")
  func lateStop() throws {
    let desk = try desk()
    #expect(try desk.ask(.cancel(reason: "enough"), 1) == .done)
    try desk.end(1, .failed)
    // A host reverts what its checkpoints may have left, and ends it.
    #expect(desk.stop(1)?.run == desk.run(1) && desk.run(1)?.attempt == 2)
    try desk.end(1, .cancelled)
    #expect(desk.job(1)?.state == .cancelled && desk.job(3)?.state == .cancelled)
  }

  @Test("to a run whose host dies is carried out by another, also if the lead dies with it", arguments: [false, true])
  func deadHost(isLeadReplaced: Bool) throws {
    let desk = try Desk([Self.job(1)])
    let first = try #require(desk.run(1))
    #expect(try desk.ask(.cancel(reason: "enough"), 1) == .done)
    _ = try desk.ledger.perform(.bury(root: first.host == 1 ? "a" : "b"))
    if first.host == 2 { return }
    if isLeadReplaced { try desk.replaceLead() } else { try desk.settle() }
    #expect(desk.run(1)?.host == 2 && desk.stop(1)?.run == desk.run(1))
    try desk.end(1, .cancelled)
    #expect(desk.job(1)?.state == .cancelled)
  }

  @Test("that the lead has taken and not answered is obeyed by the next one")
  func deadLead() throws {
    let desk = try desk()
    let ticket = try desk.place(.command(.hold, [Order.Target(Self.id(2), attempts: 1)]))
    // The round that reads the news is the last of this lead.
    _ = try desk.ledger.perform(.round(LeadRound(floor: 0), desk.receipt(2, 2)))
    #expect(desk.answer(ticket) == nil)
    try desk.replaceLead()
    #expect(desk.answer(ticket) == .outcomes([.done]))
    #expect(desk.job(2)?.state == .held)
  }

  private static func replacement(
    of key: Int64, by file: String = "new", _ change: (inout JobSpecification) -> Void = { _ in }
  ) -> JobReplacement {
    var specification = job(key).specification
    specification.replacements = [file]
    change(&specification)
    return JobReplacement(job: id(key), specification: specification, place: nil, attemptKey: 1)
  }

  @Test(
    "to replace a job that waits puts the new one in its place, for which others go on to wait",
    arguments: [false, true])
  func replaceWaiting(isLeadReplaced: Bool) throws {
    let late = Date(timeIntervalSince1970: 4_000_000_000)
    let desk = try Desk([
      Self.job(1) { ($0.notBefore, $0.batch) = (late, "b") }, Self.job(2) { $0.after = ["job1"] },
      Self.job(3) { $0.afterBatch = "b" },
    ])
    let new = Self.replacement(of: 1) { ($0.priority, $0.batch) = (7, "b") }
    #expect(try desk.ask(.replace([new])) == .outcomes([.done]))
    if isLeadReplaced { try desk.replaceLead() }
    #expect(desk.job(1)?.specification.priority == 7 && desk.run(1)?.attempt == 1)
    #expect(desk.run(2) == nil && desk.run(3) == nil)
    // The same file once more changes nothing.
    #expect(try desk.ask(.replace([new])) == .outcomes([.done]))
    #expect(desk.stop(1) == nil)
    try desk.end(1, .succeeded)
    #expect(desk.run(2) != nil && desk.run(3) != nil)
  }

  @Test(
    "to replace a job that runs has its host revert it first, also if it dies meanwhile", arguments: [false, true])
  func replaceRunning(isHostDead: Bool) throws {
    let desk = try Desk([Self.job(1), Self.job(2) { $0.after = ["job1"] }])
    let first = try #require(desk.run(1))
    let ticket = try desk.place(.replace([Self.replacement(of: 1) { $0.priority = 7 }]))
    try desk.settle()
    #expect(desk.stop(1)?.event == .interrupted && desk.stop(1)?.run == first && desk.answer(ticket) == nil)
    if isHostDead && first.host == 1 {
      _ = try desk.ledger.perform(.join(FleetHost(root: "a", slots: 2, types: ["work"], places: ["a"])))
      try desk.settle()
      // What it has left is reverted elsewhere; only then the new one begins.
      #expect(desk.stop(1)?.run == desk.run(1) && desk.run(1)?.attempt == 2)
      #expect(desk.job(1)?.specification.priority == 0)
    }
    try desk.end(1, .held)
    #expect(desk.job(1)?.specification.priority == 7 && desk.job(1)?.state == .available)
    #expect(desk.stop(1)?.run != desk.run(1) && desk.run(2) == nil)
    try desk.end(1, .succeeded)
    #expect(desk.job(1)?.state == .completed && desk.run(2) != nil)
  }

  @Test("to replace a job that is over runs it again, behind what its file names, and before what names it")
  func replaceOver() throws {
    let desk = try Desk([Self.job(1), Self.job(2)])
    try desk.end(1, .succeeded)
    let ticket = try desk.place(.replace([Self.replacement(of: 1) { $0.after = ["job2"] }]))
    // The file has another job, which waits for the one that is replaced.
    _ = try desk.ledger.perform(.admit([Self.job(3) { $0.after = ["job1"] }], desk.receipt(1, 1)))
    try desk.settle()
    #expect(desk.answer(ticket) == .outcomes([.done]))
    #expect(desk.job(1)?.state == .available && desk.run(1) == nil && desk.run(3) == nil)
    // Its attempts go on, but it has not begun: the next lead has it wait as well.
    try desk.replaceLead()
    #expect(desk.run(1) == nil && desk.run(3) == nil)
    try desk.end(2, .succeeded)
    #expect(desk.run(1)?.attempt == 2 && desk.run(3) == nil)
    try desk.end(1, .succeeded)
    #expect(desk.run(3) != nil)
  }

  @Test("to replace that the lead has taken and not obeyed is obeyed by the next one")
  func replaceByNextLead() throws {
    let desk = try Desk([Self.job(1)])
    let ticket = try desk.place(.replace([Self.replacement(of: 1) { $0.priority = 7 }]))
    try desk.settle()
    try desk.replaceLead()
    #expect(desk.stop(1)?.event == .interrupted && desk.answer(ticket) == nil)
    try desk.end(1, .held)
    #expect(desk.answer(ticket) == .outcomes([.done]) && desk.run(1)?.attempt == 2)
    #expect(desk.job(1)?.state == .available && desk.job(1)?.specification.priority == 7)
  }

  @Test("to replace what is held leaves it held")
  func replaceHeld() throws {
    let desk = try desk()
    #expect(try desk.ask(.hold, 2) == .done)
    #expect(try desk.ask(.replace([Self.replacement(of: 2)])) == .outcomes([.done]))
    #expect(desk.job(2)?.state == .held && desk.run(2) == nil)
    #expect(try desk.ask(.release, 2) == .done)
    #expect(desk.run(2) != nil)
  }

  @Test("to replace a quarantined job reverts it first, wherever its place is")
  func replaceQuarantined() throws {
    var job = Self.job(1, place: "a")
    (job.state, job.isPartial, job.attempt) = (.quarantined, true, 3)
    let desk = try Desk([job])
    let ticket = try desk.place(.replace([Self.replacement(of: 1)]))
    try desk.settle()
    #expect(desk.run(1) == Run(job: Self.id(1), host: 1, attempt: 4) && desk.stop(1)?.event == .interrupted)
    try desk.end(1, .held)
    #expect(desk.answer(ticket) == .outcomes([.done]))
    #expect(desk.run(1)?.attempt == 5 && desk.stop(1)?.run != desk.run(1))
  }

  @Test("to edit gives a job that does not run other arguments and another place, and it waits as before")
  func edit() throws {
    let desk = try desk()
    let change = { (key: Int64) in Order.edit(ArgumentChange(job: Self.id(key), arguments: "{}", place: "b")) }
    #expect(try desk.ask(change(3)) == .outcomes([.done]))
    #expect(try desk.ask(change(1)) == .outcomes([.impossible(.running)]))
    #expect(try desk.ask(change(9)) == .outcomes([.unknown]))
    #expect(desk.job(3)?.place == "b" && desk.run(3) == nil)
    try desk.end(1, .succeeded)
    #expect(desk.run(3)?.host == 2)
    #expect(try desk.ask(change(1)) == .outcomes([.impossible(.completed)]))
  }

  @Test("to delete removes what is over, unless something needs it")
  func delete() throws {
    let late = Date(timeIntervalSince1970: 4_000_000_000)
    let desk = try Desk([Self.job(1), Self.job(2) { ($0.after, $0.notBefore) = (["job1"], late) }])
    #expect(try desk.ask(.delete, 1) == .impossible(.running))
    try desk.end(1, .succeeded)
    #expect(try desk.ask(.delete, 1) == .needed(.completed, by: Self.id(2)))
    #expect(try desk.ask(.cancel(reason: "enough"), 2) == .done)
    #expect(try desk.ask(.delete, 1) == .done)
    #expect(desk.job(1) == nil && desk.job(2) != nil)
    #expect(try desk.ask(.delete, 1) == .unknown)
  }

  @Test("to retry puts a final job back, once, with a new number for its attempt")
  func retry() throws {
    let desk = try desk()
    #expect(try desk.ask(.retry, 1) == .impossible(.running))
    try desk.end(1, .gaveUp)
    #expect(desk.job(3)?.state == .cancelled)
    #expect(try desk.ask(.redrive, 1) == .impossible(.discarded))
    #expect(try desk.ask(.retry, 1) == .done)
    #expect(desk.run(1)?.attempt == 2)
    try desk.end(1, .quarantined)
    #expect(try desk.ask(.retry, 1) == .impossible(.quarantined))
    #expect(try desk.ask(.redrive, 1) == .done)
    try desk.end(1, .failed)
    // It need not wait for its next attempt.
    #expect(desk.run(1) == nil)
    #expect(try desk.ask(.retry, 1) == .done)
    #expect(desk.run(1)?.attempt == 4)
  }

  @Test("to retry right behind one to cancel is obeyed when the cancellation is on record")
  func cancelAndRetry() throws {
    let desk = try desk()
    let target = [Order.Target(Self.id(2), attempts: 1)]
    let tickets = try [
      desk.place(.command(.cancel(reason: "enough"), target)), desk.place(.command(.retry, target)),
    ]
    try desk.settle()
    #expect(tickets.map { desk.answer($0) } == [.outcomes([.done]), .outcomes([.done])])
    #expect(desk.run(2)?.attempt == 1)
  }

  @Test("to retry is refused while another job has its unique key")
  func uniqueKey() throws {
    let desk = try Desk([Self.job(1) { $0.unique = "u" }])
    try desk.end(1, .gaveUp)
    _ = try desk.ledger.perform(.admit([Self.job(2) { $0.unique = "u" }], desk.receipt(1, 1)))
    try desk.settle()
    #expect(try desk.ask(.retry, 1) == .keyTaken(.discarded, owner: Self.id(2)))
  }

  @Test("to cancel what checkpoints have saved waits for a host that can revert it")
  func partial() throws {
    var job = Self.job(1, place: "c")
    (job.state, job.isPartial, job.attempt) = (.quarantined, true, 3)
    let desk = try Desk([job])
    #expect(try desk.ask(.cancel(reason: "enough"), 1) == .done)
    #expect(desk.run(1) == nil && desk.job(1)?.stop?.event == .cancelled)
    #expect(try desk.ask(.retry, 1) == .impossible(.held))
    _ = try desk.ledger.perform(.join(FleetHost(root: "c", slots: 1, types: ["work"], places: ["c"])))
    try desk.settle()
    #expect(desk.run(1) == Run(job: Self.id(1), host: 3, attempt: 4))
    #expect(desk.stop(1)?.reason == "enough")
  }

  @Test("to cancel a quarantined job is carried out by the next lead, if the first one dies before")
  func partialAndDeadLead() throws {
    var job = Self.job(1, place: "c")
    (job.state, job.isPartial, job.attempt) = (.quarantined, true, 3)
    let desk = try Desk([job])
    #expect(try desk.ask(.cancel(reason: "enough"), 1) == .done)
    try desk.replaceLead()
    _ = try desk.ledger.perform(.join(FleetHost(root: "c", slots: 1, types: ["work"], places: ["c"])))
    try desk.settle()
    #expect(desk.stop(1)?.run == Run(job: Self.id(1), host: 3, attempt: 4))
    // Its run is known to the next one as well, and given to another host when this one dies.
    try desk.replaceLead()
    _ = try desk.ledger.perform(.bury(root: "c"))
    _ = try desk.ledger.perform(.join(FleetHost(root: "d", slots: 1, types: ["work"], places: ["c"])))
    try desk.settle()
    #expect(desk.stop(1)?.run == Run(job: Self.id(1), host: 4, attempt: 5))
    try desk.end(1, .cancelled)
    #expect(desk.job(1)?.state == .cancelled && desk.run(1) == nil)
  }

  @Test("to cancel a quarantined job leaves its unique key to the job that has it now")
  func partialWithKey() throws {
    var job = Self.job(1) { $0.unique = "u" }
    (job.state, job.isPartial, job.attempt) = (.quarantined, true, 3)
    let late = Date(timeIntervalSince1970: 4_000_000_000)
    let desk = try Desk([job, Self.job(2) { ($0.unique, $0.notBefore) = ("u", late) }])
    #expect(try desk.ask(.cancel(reason: "enough"), 1) == .done)
    try desk.end(1, .cancelled)
    _ = try desk.ledger.perform(.admit([Self.job(3) { $0.unique = "u" }], desk.receipt(1, 1)))
    try desk.settle()
    #expect(desk.job(2)?.state == .available && desk.job(3)?.state == .cancelled)
  }

  @Test("to end a run is carried out by a lead that finds the run's host gone")
  func runOfGoneHost() throws {
    var assigner = Assigner(
      FleetState(
        hosts: [2: FleetHost(root: "b", slots: 1, types: ["work"], places: [])],
        runs: [Run(job: Self.id(1), host: 1, attempt: 1)],
        stops: [RunStop(run: Run(job: Self.id(1), host: 1, attempt: 1), event: .cancelled, reason: "enough")],
        jobs: [Self.job(1)], known: [:], paused: []), agingStep: 60_000, at: Moment(steady: 0, wall: 0))
    let round = assigner.nextRound(floor: 0, at: Moment(steady: 0, wall: 0))
    let run = Run(job: Self.id(1), host: 2, attempt: 2)
    #expect(round.gone == [1] && round.runs == [run])
    #expect(round.stops == [RunStop(run: run, event: .cancelled, reason: "enough")])
  }

  @Test("to cancel a job that was given up leaves it that end, also if its host dies while it reverts the job")
  func givenUp() throws {
    var job = Self.job(1)
    (job.isPartial, job.attempt, job.stop) = (true, 3, (.gaveUp, "too often"))
    let desk = try Desk([job])
    #expect(desk.stop(1)?.event == .gaveUp && desk.stop(1)?.reason == "too often")
    #expect(try desk.ask(.hold, 1) == .impossible(.running))
    #expect(try desk.ask(.cancel(reason: "enough"), 1) == .done)
    let run = try #require(desk.run(1))
    if run.host == 1 {
      _ = try desk.ledger.perform(.bury(root: "a"))
      try desk.settle()
      #expect(desk.run(1)?.host == 2)
    }
    #expect(desk.stop(1)?.event == .gaveUp)
  }

  @Test("to raise a priority brings a job before others")
  func priority() throws {
    let desk = try Desk((1...6).map { Self.job($0) })
    #expect((1...4).allSatisfy { desk.run($0) != nil } && desk.run(6) == nil)
    #expect(try desk.ask(.setPriority(50), 6) == .done)
    #expect(desk.job(6)?.specification.priority == 50)
    try desk.end(1, .succeeded)
    let numbers = [6, 5].map { desk.run($0).flatMap { desk.ledger.runNumbers[$0] } ?? .max }
    #expect(numbers[0] < numbers[1], "a job may wait where another has just ended, behind the one in its place")
  }

  @Test(
    "to drain a host gives it nothing more until it is undrained, also under the next lead", arguments: [false, true])
  func drain(isLeadReplaced: Bool) throws {
    let desk = try Desk([Self.job(1, place: "a"), Self.job(2, place: "a")])
    #expect(desk.run(1)?.host == 1 && desk.run(2)?.host == 1)
    #expect(try desk.ask(.pause(.host("a"), true)) == .done)
    if isLeadReplaced { try desk.replaceLead() }
    try desk.end(1, .failed)
    try desk.end(2, .succeeded)
    _ = try desk.ledger.perform(.admit([Self.job(3, place: "a"), Self.job(4)], desk.receipt(1, 1)))
    try desk.settle()
    // The host comes back, and is still drained.
    _ = try desk.ledger.perform(.join(FleetHost(root: "a", slots: 2, types: ["work"], places: ["a"])))
    try desk.settle()
    #expect(desk.run(3) == nil && desk.run(4)?.host == 2)
    #expect(try desk.ask(.cancel(reason: "enough"), 1, by: 2) == .done)
    #expect(desk.job(1)?.state == .cancelled || desk.run(1) == nil)
    #expect(try desk.ask(.pause(.host("a"), false), by: 2) == .done)
    #expect(desk.run(3)?.host == 3)
  }

  @Test("may ask for the queues and types, which are those of all hosts")
  func resources() throws {
    let desk = try desk()
    _ = try desk.ask(.pause(.queue("q"), true))
    guard case .resources(let views)? = try desk.ask(.ask(.resources, until: desk.ledger.now + 10_000)) else {
      Issue.record("the lead does not tell them")
      return
    }
    let queue = try #require(views.first { $0.name == .queue("q") })
    #expect(queue.isPaused && queue.running == 1 && queue.counts == [.running: 1, .scheduled: 1, .waiting: 1])
    #expect(views.allSatisfy { $0.name.kindAndName != nil })
  }

  @Test("may be a question: why a job does not run, and which jobs are in a state")
  func questions() throws {
    let desk = try desk()
    func ask(_ question: Order.Question) throws -> OrderAnswer.Content? {
      try desk.ask(.ask(question, until: desk.ledger.now + 10_000))
    }
    #expect(try ask(.explain(Self.id(3))) == .explanation(.waiting, [.job(Self.id(1))]))
    #expect(try ask(.explain(Self.id(1))) == .explanation(.running, []))
    #expect(try ask(.explain(Self.id(99))) == .explanation(nil, []))
    let all = Order.Selection(
      queue: "q", type: nil, batch: nil, states: [.running, .waiting], page: .newest(offset: 0, limit: 1))
    #expect(try ask(.find(all)) == .found([.init(job: Self.id(3), state: .waiting)], total: 2))
  }

  @Test("that is a question is not answered late, by this lead or the next", arguments: [false, true])
  func lateQuestion(isLeadReplaced: Bool) throws {
    let desk = try desk()
    let ticket = try desk.place(.ask(.explain(Self.id(3)), until: desk.ledger.now + 15))
    desk.ledger.now += 20
    if isLeadReplaced { try desk.replaceLead() } else { try desk.settle() }
    #expect(desk.answer(ticket) == .late)
  }

  @Test("that nobody understands is answered with that")
  func unreadable() throws {
    #expect(try desk().ask(.unreadable) == .unreadable)
  }

  @Test("to explain or to list leaves the lead most of its time, however many there are")
  func manyQuestions() {
    let start = Moment(steady: 100, wall: 100)
    var schedule = Schedule(agingStep: 60_000)
    for key: Int64 in 1...10_000 {
      let specification = JobSpecification(type: "work", id: "job\(key)", queue: "q")
      schedule.add(
        NewJob(id: Self.id(key), file: nil, specification: specification, name: "job\(key)", isHeld: true), at: start)
    }
    var questions = OrderDesk()
    for ticket: Int64 in 1...5 {
      questions.receive(
        PlacedOrder(host: 1, ticket: ticket, order: .ask(.explain(Self.id(ticket)), until: 1_000), jobs: []))
    }
    let counts = (Int64(0)..<8).map { passed in
      questions.answers(from: schedule, at: Moment(steady: 100 + passed, wall: 100 + passed)).count
    }
    #expect(counts == [1, 0, 1, 0, 1, 0, 1, 0])
    #expect(questions.nextTime == 108)
  }
}

extension OrderTests.Desk {
  fileprivate func id(_ key: Int64) -> ManagedObjectID {
    ManagedObjectID(key: key, entityIndex: 0, rootIndex: 0, coordinatorOrdinal: 0)
  }
}
