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
  @Test("to cancel what waits is carried out by the lead, and those that depend on it go with it")
  func cancelWaiting() throws {
    let desk = try LeadDesk([
      LeadDesk.job(1) { $0.notBefore = Date(timeIntervalSince1970: 4_000_000_000) },
      LeadDesk.job(2) { $0.after = ["job1"] },
    ])
    #expect(try desk.ask(.cancel(reason: "enough"), 1) == .done)
    #expect(desk.job(1)?.state == .cancelled && desk.job(2)?.state == .cancelled)
    #expect(try desk.ask(.cancel(reason: "enough"), 1) == .impossible(.cancelled))
    #expect(try desk.ask(.hold, 99) == .unknown)
  }

  @Test("to cancel or hold what runs is told to the host that runs it", arguments: [JobEvent.cancelled, .held])
  func stopRunning(_ event: JobEvent) throws {
    let desk = try LeadDesk.withThreeJobs()
    let run = try #require(desk.run(1))
    #expect(try desk.ask(event == .held ? .hold : .cancel(reason: "enough"), 1) == .done)
    #expect(desk.stop(1) == RunStop(run: run, event: event, reason: event == .held ? nil : "enough"))
    #expect(desk.job(1)?.state == .available)
    let clock = FleetClock(serverTime: 0, receivedAt: 0)
    var member = FleetMember(number: run.host, joinSentAt: 0, clock: clock, times: FleetTimes(), agingStep: 1)
    let reply = try desk.ledger.perform(.readRuns(host: run.host))
    let actions =
      member.handle(.hinted(.runs), at: 10) + member.handle(.answered(.runs, .success(reply), sentAt: 0), at: 10)
    let told = actions.compactMap { if case .report(.stopped(let stop)) = $0 { stop.event } else { nil } }
    #expect(told == [event])
    try desk.end(1, event)
    #expect(desk.job(1)?.state == JobState.running.after(event))
    #expect(desk.job(3)?.state == (event == .held ? .available : .cancelled))
  }

  @Test("that waits for the end of one job leaves another alone that is completed meanwhile", arguments: 0..<25)
  func waiting(steps: Int) throws {
    let late = Date(timeIntervalSince1970: 4_000_000_000)
    let desk = try LeadDesk([
      LeadDesk.job(1), LeadDesk.job(2) { $0.notBefore = late }, LeadDesk.job(3) { $0.after = ["job2"] },
    ])
    let targets = { (keys: [Int64]) in keys.map { Order.Target(LeadDesk.id($0), attempts: 2) } }
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
    let desk = try LeadDesk.withThreeJobs()
    #expect(try desk.ask(.cancel(reason: "enough"), 1) == .done)
    try desk.end(1, .failed)
    // A host reverts what its checkpoints may have left, and ends it.
    #expect(desk.stop(1)?.run == desk.run(1) && desk.run(1)?.attempt == 2)
    try desk.end(1, .cancelled)
    #expect(desk.job(1)?.state == .cancelled && desk.job(3)?.state == .cancelled)
  }

  @Test("to a run whose host dies is carried out by another, also if the lead dies with it", arguments: [false, true])
  func deadHost(isLeadReplaced: Bool) throws {
    let desk = try LeadDesk.withJobElsewhere()
    #expect(try desk.ask(.cancel(reason: "enough"), 1) == .done)
    _ = try desk.ledger.perform(.bury(root: "a"))
    if isLeadReplaced { try desk.replaceLead() } else { try desk.settle() }
    #expect(desk.run(1)?.host == 2 && desk.stop(1)?.run == desk.run(1))
    try desk.end(1, .cancelled)
    #expect(desk.job(1)?.state == .cancelled)
  }

  @Test("that the lead has taken and not answered is obeyed by the next one")
  func deadLead() throws {
    let desk = try LeadDesk.withThreeJobs()
    let ticket = try desk.place(.command(.hold, [Order.Target(LeadDesk.id(2), attempts: 1)]))
    // The round that reads the news is the last of this lead.
    _ = try desk.ledger.perform(.round(LeadRound(floor: 0), desk.receipt(2, 2)))
    #expect(desk.answer(ticket) == nil)
    try desk.replaceLead()
    #expect(desk.answer(ticket) == .outcomes([.done]))
    #expect(desk.job(2)?.state == .held)
  }

  @Test("to retry puts a final job back, once, with a new number for its attempt")
  func retry() throws {
    let desk = try LeadDesk.withThreeJobs()
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

  @Test("to retry what was cancelled because another failed has it wait for nothing, also for the next lead")
  func retryDependent() throws {
    let late = Date(timeIntervalSince1970: 4_000_000_000)
    let desk = try LeadDesk([
      LeadDesk.job(1), LeadDesk.job(2) { ($0.after, $0.queue) = (["job1"], "paused") },
      LeadDesk.job(3) { ($0.afterBatch, $0.queue) = ("b", "paused") },
      LeadDesk.job(4) { ($0.batch, $0.notBefore) = ("b", late) },
    ])
    _ = try desk.ask(.pause(.queue("paused"), true))
    try desk.end(1, .gaveUp)
    #expect(try desk.ask(.cancel(reason: "enough"), 3) == .done)
    for job: Int64 in [2, 3] {
      #expect(desk.job(job)?.state == .cancelled)
      #expect(try desk.ask(.retry, job) == .done)
    }
    try desk.replaceLead()
    #expect(desk.job(2)?.state == .available && desk.job(3)?.state == .available)
    _ = try desk.ask(.pause(.queue("paused"), false))
    #expect(desk.run(2)?.attempt == 1 && desk.run(3)?.attempt == 1)
  }

  @Test("to retry right behind one to cancel is obeyed when the cancellation is on record")
  func cancelAndRetry() throws {
    let desk = try LeadDesk.withThreeJobs()
    let target = [Order.Target(LeadDesk.id(2), attempts: 1)]
    let tickets = try [
      desk.place(.command(.cancel(reason: "enough"), target)), desk.place(.command(.retry, target)),
    ]
    try desk.settle()
    #expect(tickets.map { desk.answer($0) } == [.outcomes([.done]), .outcomes([.done])])
    #expect(desk.run(2)?.attempt == 1)
  }

  @Test("to retry is refused while another job has its unique key")
  func uniqueKey() throws {
    let desk = try LeadDesk([LeadDesk.job(1) { $0.unique = "u" }])
    try desk.end(1, .gaveUp)
    _ = try desk.ledger.perform(.admit([LeadDesk.job(2) { $0.unique = "u" }], desk.receipt(1, 1)))
    try desk.settle()
    #expect(try desk.ask(.retry, 1) == .keyTaken(.discarded, owner: LeadDesk.id(2)))
  }

  @Test("to cancel what checkpoints have saved waits for a host that can revert it")
  func partial() throws {
    var job = LeadDesk.job(1, place: "c")
    (job.state, job.isPartial, job.attempt) = (.quarantined, true, 3)
    let desk = try LeadDesk([job])
    #expect(try desk.ask(.cancel(reason: "enough"), 1) == .done)
    #expect(desk.run(1) == nil && desk.job(1)?.stop?.event == .cancelled)
    #expect(try desk.ask(.retry, 1) == .impossible(.held))
    _ = try desk.ledger.perform(.join(FleetHost(root: "c", slots: 1, types: ["work"], places: ["c"])))
    try desk.settle()
    #expect(desk.run(1) == Run(job: LeadDesk.id(1), host: 3, attempt: 4))
    #expect(desk.stop(1)?.reason == "enough")
  }

  @Test("to cancel a quarantined job is carried out by the next lead, if the first one dies before")
  func partialAndDeadLead() throws {
    var job = LeadDesk.job(1, place: "c")
    (job.state, job.isPartial, job.attempt) = (.quarantined, true, 3)
    let desk = try LeadDesk([job])
    #expect(try desk.ask(.cancel(reason: "enough"), 1) == .done)
    try desk.replaceLead()
    _ = try desk.ledger.perform(.join(FleetHost(root: "c", slots: 1, types: ["work"], places: ["c"])))
    try desk.settle()
    #expect(desk.stop(1)?.run == Run(job: LeadDesk.id(1), host: 3, attempt: 4))
    // Its run is known to the next one as well, and given to another host when this one dies.
    try desk.replaceLead()
    _ = try desk.ledger.perform(.bury(root: "c"))
    _ = try desk.ledger.perform(.join(FleetHost(root: "d", slots: 1, types: ["work"], places: ["c"])))
    try desk.settle()
    #expect(desk.stop(1)?.run == Run(job: LeadDesk.id(1), host: 4, attempt: 5))
    try desk.end(1, .cancelled)
    #expect(desk.job(1)?.state == .cancelled && desk.run(1) == nil)
  }

  @Test("to cancel a quarantined job leaves its unique key to the job that has it now")
  func partialWithKey() throws {
    var job = LeadDesk.job(1) { $0.unique = "u" }
    (job.state, job.isPartial, job.attempt) = (.quarantined, true, 3)
    let late = Date(timeIntervalSince1970: 4_000_000_000)
    let desk = try LeadDesk([job, LeadDesk.job(2) { ($0.unique, $0.notBefore) = ("u", late) }])
    #expect(try desk.ask(.cancel(reason: "enough"), 1) == .done)
    try desk.end(1, .cancelled)
    _ = try desk.ledger.perform(.admit([LeadDesk.job(3) { $0.unique = "u" }], desk.receipt(1, 1)))
    try desk.settle()
    #expect(desk.job(2)?.state == .available && desk.job(3)?.state == .cancelled)
  }

  @Test("to end a run is carried out by a lead that finds the run's host gone")
  func runOfGoneHost() throws {
    var assigner = Assigner(
      FleetState(
        hosts: [2: FleetHost(root: "b", slots: 1, types: ["work"], places: [])],
        runs: [Run(job: LeadDesk.id(1), host: 1, attempt: 1)],
        stops: [RunStop(run: Run(job: LeadDesk.id(1), host: 1, attempt: 1), event: .cancelled, reason: "enough")],
        jobs: [LeadDesk.job(1)], known: [:], paused: []), agingStep: 60_000, at: Moment(steady: 0, wall: 0))
    let round = assigner.nextRound(floor: 0, at: Moment(steady: 0, wall: 0))
    let run = Run(job: LeadDesk.id(1), host: 2, attempt: 2)
    #expect(round.gone == [1] && round.runs == [run])
    #expect(round.stops == [RunStop(run: run, event: .cancelled, reason: "enough")])
  }

  @Test("to cancel a job that was given up leaves it that end, also if its host dies while it reverts the job")
  func givenUp() throws {
    var job = LeadDesk.job(1)
    (job.isPartial, job.attempt, job.stop) = (true, 3, (.gaveUp, "too often"))
    let desk = try LeadDesk([job])
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
    let desk = try LeadDesk((1...6).map { LeadDesk.job($0) })
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
    let desk = try LeadDesk([LeadDesk.job(1, place: "a"), LeadDesk.job(2, place: "a")])
    #expect(desk.run(1)?.host == 1 && desk.run(2)?.host == 1)
    #expect(try desk.ask(.pause(.host("a"), true)) == .done)
    if isLeadReplaced { try desk.replaceLead() }
    try desk.end(1, .failed)
    try desk.end(2, .succeeded)
    _ = try desk.ledger.perform(.admit([LeadDesk.job(3, place: "a"), LeadDesk.job(4)], desk.receipt(1, 1)))
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
    let desk = try LeadDesk.withThreeJobs()
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
    let desk = try LeadDesk.withThreeJobs()
    func ask(_ question: Order.Question) throws -> OrderAnswer.Content? {
      try desk.ask(.ask(question, until: desk.ledger.now + 10_000))
    }
    #expect(try ask(.explain(LeadDesk.id(3))) == .explanation(.waiting, [.job(LeadDesk.id(1))]))
    #expect(try ask(.explain(LeadDesk.id(1))) == .explanation(.running, []))
    #expect(try ask(.explain(LeadDesk.id(99))) == .explanation(nil, []))
    let some = [3, 99, 1].map { LeadDesk.id($0) }
    #expect(
      try ask(.states(some))
        == .found([.init(job: some[0], state: .waiting), .init(job: some[2], state: .running)], total: 2))
    let all = Order.Selection(
      queue: "q", type: nil, batch: nil, states: [.running, .waiting], page: .newest(offset: 0, limit: 1))
    #expect(try ask(.find(all)) == .found([.init(job: LeadDesk.id(3), state: .waiting)], total: 2))
  }

  @Test("that is a question is not answered late, by this lead or the next", arguments: [false, true])
  func lateQuestion(isLeadReplaced: Bool) throws {
    let desk = try LeadDesk.withThreeJobs()
    let ticket = try desk.place(.ask(.explain(LeadDesk.id(3)), until: desk.ledger.now + 15))
    desk.ledger.now += 20
    if isLeadReplaced { try desk.replaceLead() } else { try desk.settle() }
    #expect(desk.answer(ticket) == .late)
  }

  @Test("that nobody understands is answered with that")
  func unreadable() throws {
    #expect(try LeadDesk.withThreeJobs().ask(.unreadable) == .unreadable)
  }

  @Test("to explain or to list leaves the lead most of its time, however many there are")
  func manyQuestions() {
    let start = Moment(steady: 100, wall: 100)
    var schedule = Schedule(agingStep: 60_000)
    for key: Int64 in 1...10_000 {
      let specification = JobSpecification(type: "work", id: "job\(key)", queue: "q")
      schedule.add(
        NewJob(id: LeadDesk.id(key), file: nil, specification: specification, name: "job\(key)", isHeld: true),
        at: start)
    }
    var questions = OrderDesk()
    for ticket: Int64 in 1...5 {
      questions.receive(
        PlacedOrder(host: 1, ticket: ticket, order: .ask(.explain(LeadDesk.id(ticket)), until: 1_000), jobs: []))
    }
    let counts = (Int64(0)..<8).map { passed in
      questions.answers(from: schedule, at: Moment(steady: 100 + passed, wall: 100 + passed)).count
    }
    #expect(counts == [1, 0, 1, 0, 1, 0, 1, 0])
    #expect(questions.nextTime == 108)
  }
}
