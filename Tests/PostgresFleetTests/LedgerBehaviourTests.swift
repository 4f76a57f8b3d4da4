import Foundation
import JobSchedule
import Jobs
import ObjectGraph
import PostgresTesting
import Testing

@testable import Fleet
@testable import FleetSimulation

/// What each request does and refuses, alike in memory and on PostgreSQL.
@Suite("A ledger", .serialized)
struct LedgerBehaviourTests {
  @Test(
    "gives each host a number of its own, and buries who was alive under the same root", arguments: LedgerKind.available
  )
  func join(_ kind: LedgerKind) throws {
    let fixture = try LedgerFixture(kind)
    let (ledger, a, b) = (fixture.ledger, fixture.a, fixture.b)
    #expect(a < b)
    let runs = try fixture.assign([1, 2])
    guard case .joined(let again, _) = try ledger.perform(.join(LedgerFixture.host("a"))) else {
      Issue.record("it did not join")
      return
    }
    #expect(again > b)
    #expect(throws: LedgerError.fenced) { try ledger.perform(.beat(host: a)) }
    #expect(throws: LedgerError.stale) {
      try ledger.perform(.flush([EndedRun(run: runs[0], event: .succeeded)], fixture.receipt(a, 0)))
    }
    #expect(throws: LedgerError.fenced) { try ledger.perform(.outcome(of: fixture.receipt(a, 1))) }
    #expect(try fixture.runs(of: a).isEmpty)
    let news = try ledger.perform(.round(LeadRound(floor: 0), fixture.receipt(b, 2))).news ?? []
    #expect(news.count == 2)
    guard case .buried(a)? = news.first, case .joined(again, let host)? = news.last else {
      Issue.record("the lead is not told")
      return
    }
    #expect(host == LedgerFixture.host("a"))
    let state = try fixture.load(by: b)
    #expect(Set(state.hosts.keys) == [b, again])
    #expect(state.jobs.map(\.attempt) == [1, 1])
    #expect(state.jobs.allSatisfy { $0.state == .available })
  }

  @Test("answers a beat with how the fleet is", arguments: LedgerKind.available)
  func beat(_ kind: LedgerKind) throws {
    let fixture = try LedgerFixture(kind)
    let (ledger, a, b) = (fixture.ledger, fixture.a, fixture.b)
    var beat = try #require(try ledger.perform(.beat(host: a)).beat)
    #expect(beat.term == 0 && beat.lead == nil && beat.leadSilence == nil && beat.runCount == 0 && beat.news == nil)
    _ = try fixture.assign([1, 2, 3])
    try fixture.pass(900)
    beat = try #require(try ledger.perform(.beat(host: a)).beat)
    #expect(beat.term == 1 && beat.lead == b && beat.runCount == 3)
    #expect((900..<60_000).contains(beat.leadSilence ?? 0))
    #expect(beat.silences.isEmpty && beat.news == nil)
    _ = try ledger.perform(.order(.ask(.explain(fixture.id(9)), until: 9), ticket: 1, fixture.receipt(a, 1)))
    try fixture.pass(2_000)
    beat = try #require(try ledger.perform(.beat(host: b)).beat)
    let first = try #require(beat.news)
    #expect(beat.runCount == 0)
    #expect(beat.silences.map(\.host) == [a])
    #expect((2_000..<60_000).contains(beat.silences.first?.time ?? 0))
    #expect((0..<1_000).contains(beat.leadSilence ?? -1))
    _ = try ledger.perform(.order(.ask(.explain(fixture.id(9)), until: 9), ticket: 2, fixture.receipt(a, 2)))
    #expect(try #require(try ledger.perform(.beat(host: b)).beat?.news) > first)
    var floors = BeatFloors()
    floors.news = 1_000
    #expect(try ledger.perform(.beat(host: b, above: floors)).beat?.news == nil)
  }

  @Test("admits each name once, and tells the lead of it with the jobs that it names", arguments: LedgerKind.available)
  func admit(_ kind: LedgerKind) throws {
    let fixture = try LedgerFixture(kind)
    let (ledger, a, b) = (fixture.ledger, fixture.a, fixture.b)
    let moment = Date(timeIntervalSince1970: 1_900_000_000.125)
    var first = try fixture.job(1) {
      $0.queue = "slow"
      $0.priority = -7
      $0.notBefore = moment
      $0.unique = "u"
      $0.limit = JobLimit(key: "k", concurrent: 2, rate: .init(3, per: .seconds(1)))
      $0.batch = "batch"
    }
    first.file = "a.json"
    first.submitter = 1_000
    let second = try fixture.job(2) { $0.after = ["job1", "job7"] }
    let receipt = fixture.receipt(a, 1)
    #expect(try ledger.perform(.admit([first, second], receipt)).isWritten)
    #expect(throws: LedgerError.stale) { try ledger.perform(.admit([try fixture.job(3)], receipt)) }
    var repeated = try fixture.job(4)
    repeated = FleetJob(id: repeated.id, name: "job1", specification: repeated.specification, created: 0)
    #expect(try ledger.perform(.admit([repeated, try fixture.job(5)], fixture.receipt(a, 1))).isWritten)
    #expect(try ledger.perform(.admit([repeated], fixture.receipt(a, 1))).isWritten)
    _ = try ledger.perform(.lead(after: 0, silence: Silence(3_500), fixture.receipt(b, 2)))
    let news = try #require(try ledger.perform(.round(LeadRound(floor: 0), fixture.receipt(b, 2))).news)
    var admitted: [[Int64]] = []
    for case .admitted(let jobs, let known) in news {
      admitted.append(jobs.map(\.id.key))
      #expect(known.mapValues(\.id.key) == (jobs.count == 2 ? ["job1": 1] : [:]))
    }
    #expect(admitted == [[1, 2], [5]])
    let state = try fixture.load(by: b)
    #expect(state.jobs.map(\.name) == ["job1", "job2", "job5"])
    let loaded = try #require(state.jobs.first)
    #expect(loaded.specification.notBefore == moment && loaded.retryTime == nil)
    #expect(loaded.specification.queue == "slow" && loaded.specification.priority == -7)
    #expect(loaded.specification.limit == first.specification.limit && loaded.specification.unique == "u")
    #expect(loaded.specification.batch == "batch" && loaded.place == "home of a")
    #expect(loaded.file == "a.json" && loaded.submitter == 1_000)
    #expect(loaded.created > 0 && state.jobs[1].created == loaded.created)
    #expect(state.known.mapValues(\.id.key) == ["job1": 1])
  }

  @Test("replaces, edits and deletes jobs, and tells the lead of them as of new ones", arguments: LedgerKind.available)
  func rewrite(_ kind: LedgerKind) throws {
    let fixture = try LedgerFixture(kind)
    let (ledger, a, b) = (fixture.ledger, fixture.a, fixture.b)
    let jobs = try (1...3).map { key in try fixture.job(key) { $0.arguments = ["n": 0] } }
    _ = try ledger.perform(.admit(jobs, fixture.receipt(a, 1)))
    _ = try ledger.perform(.lead(after: 0, silence: Silence(3_500), fixture.receipt(b, 2)))
    _ = try ledger.perform(.round(LeadRound(floor: 0), fixture.receipt(b, 2)))
    let late = Date(timeIntervalSince1970: 1_900_000_000.125)
    var new = JobSpecification(type: "other", queue: "slow", priority: 9, maxAttempts: 4)
    new.arguments = ["key": "value"]
    (new.after, new.batch, new.notBefore) = (["job2"], "b", late)
    (new.replacements, new.earlierAttempts, new.ownMaxAttempts) = (["file"], 3, 4)
    let order = Order.replace([
      JobReplacement(job: fixture.id(1), specification: new, place: "there", attemptKey: 77)
    ])
    let edit = Order.edit(ArgumentChange(job: fixture.id(2), arguments: ["n": 1], seen: ["n": 0], place: nil))
    for (ticket, one) in [order, edit].enumerated() {
      _ = try ledger.perform(.order(one, ticket: Int64(ticket), fixture.receipt(a, 1)))
    }
    let news = try #require(try ledger.perform(.round(LeadRound(floor: 0), fixture.receipt(b, 2))).news)
    var orders: [Order] = []
    for case .ordered(let placed) in news {
      orders.append(placed.order)
      if placed.order == edit { #expect(placed.jobs.map(\.specification.arguments) == [["n": 0]]) }
    }
    #expect(orders == [order, edit])

    guard case .replace(let replacements)? = orders.first, case .edit(let change)? = orders.last else { return }
    var round = LeadRound(floor: 0)
    round.changes = [
      JobChange(fixture.id(1), .replaced(try #require(replacements.first), isHeld: false)),
      JobChange(fixture.id(2), .edited(change)), JobChange(fixture.id(3), .state(.cancelled, .text("enough"))),
    ]
    let told = try #require(try ledger.perform(.round(round, fixture.receipt(b, 2))).news)
    var admitted: [FleetJob] = []
    for case .admitted(let jobs, let known) in told {
      admitted += jobs
      if jobs.first?.id == fixture.id(1) { #expect(known.mapValues(\.id) == ["job2": fixture.id(2)]) }
    }
    #expect(admitted.map(\.id) == [fixture.id(1), fixture.id(2)])
    let replaced = try #require(admitted.first)
    #expect(replaced.specification.type == "other" && replaced.specification.queue == "slow")
    #expect(replaced.specification.priority == 9 && replaced.specification.batch == "b")
    #expect(replaced.specification.notBefore == late && replaced.specification.after == ["job2"])
    #expect(replaced.specification.replacements == ["file"] && !replaced.isBegun && replaced.place == "there")
    #expect(replaced.state == .available && replaced.name == "job1")
    #expect(admitted.last?.place == nil)
    // The next edit comes with what this one has left, also for a lead that has just begun.
    _ = try ledger.perform(.order(edit, ticket: 2, fixture.receipt(a, 1)))
    let left = try fixture.load(by: b).orders.filter { $0.ticket == 2 }.flatMap(\.jobs).map(\.specification.arguments)
    #expect(left == [["n": 1]])

    var last = LeadRound(floor: 0)
    last.changes = [JobChange(fixture.id(3), .deleted(name: "job3")), JobChange(fixture.id(2), .deleted(name: "job2"))]
    _ = try ledger.perform(.round(last, fixture.receipt(b, 2)))
    // What is unfinished stays.
    #expect(try Set(fixture.load(by: b).jobs.map(\.name)) == ["job1", "job2"])
    var again = try fixture.job(9)
    again = FleetJob(id: again.id, name: "job3", specification: again.specification, created: 0)
    _ = try ledger.perform(.admit([again], fixture.receipt(a, 1)))
    // A job whose spool's host has not acted on its end stays too, which memory does not know.
    let names = try fixture.load(by: b).jobs.map(\.name).sorted()
    #expect(names == ["job1", "job2"] + (jobs[2].spool == nil ? ["job3"] : []))
  }

  @Test(
    "keeps what is paused, and passes orders on to the lead with the rows of their jobs",
    arguments: LedgerKind.available)
  func order(_ kind: LedgerKind) throws {
    let fixture = try LedgerFixture(kind)
    let (ledger, a, b) = (fixture.ledger, fixture.a, fixture.b)
    _ = try ledger.perform(.admit([try fixture.job(3), try fixture.job(4)], fixture.receipt(a, 1)))
    _ = try ledger.perform(.lead(after: 0, silence: Silence(3_500), fixture.receipt(b, 2)))
    let targets = [3, 4, 99].map { Order.Target(fixture.id($0), attempts: Int($0)) }
    let orders: [Order] = [
      .pause(.queue("q"), true), .pause(.everything, true), .pause(.queue("q"), true), .pause(.everything, false),
      .command(.cancel(reason: "\"enough\""), targets), .command(.setPriority(-3), targets),
      .ask(.explain(fixture.id(4)), until: 7),
      .ask(.find(Self.selection(.newest(offset: 1, limit: 2))), until: 7),
      .ask(.find(Self.selection(.following(8, limit: 2))), until: 7),
    ]
    for (ticket, order) in orders.enumerated() {
      #expect(try ledger.perform(.order(order, ticket: Int64(ticket), fixture.receipt(a, 1))).isWritten)
    }
    let news = try #require(try ledger.perform(.round(LeadRound(floor: 0), fixture.receipt(b, 2))).news)
    let ordered = news.compactMap { if case .ordered(let order) = $0 { order } else { nil } }
    #expect(ordered.map(\.order) == orders)
    #expect(ordered.map(\.host) == orders.map { _ in a })
    #expect(ordered.map { $0.jobs.map(\.id.key) } == [[], [], [], [], [3, 4], [3, 4], [], [], []])
    #expect(try fixture.load(by: b).paused == [.queue("q")])
  }

  @Test(
    "tells of an order that it can't read, in its news and when a lead loads them",
    .enabled(if: PostgresCluster.isAvailable()))
  func unreadable() throws {
    let fixture = try LedgerFixture(.postgres)
    let (ledger, a, b) = (fixture.ledger, fixture.a, fixture.b)
    _ = try fixture.assign([1])
    for ticket: Int64 in 1...2 {
      _ = try ledger.perform(.order(.pause(.queue("q\(ticket)"), true), ticket: ticket, fixture.receipt(a, 1)))
    }
    try fixture.spoilOrder(1)
    let news = try ledger.perform(.round(LeadRound(floor: 0), fixture.receipt(b, 2))).news ?? []
    let told = news.compactMap { if case .ordered(let order) = $0 { order } else { nil } }
    for orders in [told, try fixture.load(by: b).orders] {
      #expect(orders.map(\.ticket) == [1, 2])
      #expect(orders.map(\.order) == [.unreadable, .pause(.queue("q2"), true)])
    }
  }

  private static func selection(_ page: Schedule.Page) -> Order.Selection {
    Order.Selection(queue: "q", type: nil, batch: "b", states: [.held], page: page)
  }

  @Test("keeps orders until they are answered, also for the next lead", arguments: LedgerKind.available)
  func unanswered(_ kind: LedgerKind) throws {
    let fixture = try LedgerFixture(kind)
    let (ledger, a, b) = (fixture.ledger, fixture.a, fixture.b)
    _ = try fixture.assign([1])
    for ticket: Int64 in 1...3 {
      _ = try ledger.perform(.order(.ask(.explain(fixture.id(1)), until: 9), ticket: ticket, fixture.receipt(a, 1)))
    }
    var round = LeadRound(floor: 0)
    _ = try ledger.perform(.round(round, fixture.receipt(b, 2)))
    round.answers = [OrderAnswer(host: a, ticket: 2, content: .explanation(.running, []))]
    _ = try ledger.perform(.round(round, fixture.receipt(b, 2)))
    #expect(try fixture.load(by: b).orders.map(\.ticket) == [1, 3])
    _ = try ledger.perform(.bury(root: "a"))
    #expect(try fixture.load(by: b).orders.isEmpty)
  }

  @Test("has a run that is to end say so, until it has, and its job afterwards", arguments: LedgerKind.available)
  func stop(_ kind: LedgerKind) throws {
    let fixture = try LedgerFixture(kind)
    let (ledger, a, b) = (fixture.ledger, fixture.a, fixture.b)
    let runs = try fixture.assign([1, 2])
    let stops = [
      RunStop(run: runs[0], event: .cancelled, reason: "enough"), RunStop(run: runs[1], event: .held, reason: nil),
    ]
    let late = RunStop(run: Run(job: fixture.id(1), host: a, attempt: 7), event: .held, reason: nil)
    _ = try ledger.perform(.round(LeadRound(floor: 0, stops: stops + [late]), fixture.receipt(b, 2)))
    guard case .runs(_, let told, _) = try ledger.perform(.readRuns(host: a)) else { throw LedgerError.contradiction }
    #expect(told == stops)
    #expect(try ledger.perform(.beat(host: a)).beat?.stopCount == 2)
    _ = try ledger.perform(.flush([EndedRun(run: runs[1], event: .held)], fixture.receipt(a, 0)))
    #expect(try fixture.load(by: b).stops == [stops[0]])
    _ = try ledger.perform(.bury(root: "a"))
    let jobs = try fixture.load(by: b).jobs
    #expect(jobs.map { $0.stop?.event } == [.cancelled, nil] && jobs[0].stop?.reason == "enough")
    #expect(jobs.map(\.state) == [.available, .held])
  }

  @Test("records ends of runs that are there, all or none", arguments: LedgerKind.available)
  func flush(_ kind: LedgerKind) throws {
    let fixture = try LedgerFixture(kind)
    let (ledger, a, b) = (fixture.ledger, fixture.a, fixture.b)
    let runs = try fixture.assign([1, 2, 3, 4, 5])
    #expect(try fixture.runs(of: a) == runs)
    let stranger = EndedRun(run: Run(job: fixture.id(2), host: a, attempt: 2), event: .succeeded)
    let first = fixture.receipt(a, 0)
    #expect(throws: LedgerError.contradiction) {
      try ledger.perform(.flush([EndedRun(run: runs[0], event: .succeeded), stranger], first))
    }
    #expect(try fixture.runs(of: a).count == 5)
    let ended = [
      EndedRun(run: runs[0], event: .succeeded), EndedRun(run: runs[1], event: .failed, retryTime: 1_800_000_000_123),
      EndedRun(run: runs[2], event: .gaveUp), EndedRun(run: runs[3], event: .interrupted),
    ]
    #expect(try ledger.perform(.flush(ended, first)).isWritten)
    #expect(try fixture.runs(of: a) == [runs[4]])
    #expect(throws: LedgerError.contradiction) {
      try ledger.perform(.flush([EndedRun(run: runs[0], event: .succeeded)], fixture.receipt(a, 0)))
    }
    let news = try #require(try ledger.perform(.round(LeadRound(floor: 0), fixture.receipt(b, 2))).news)
    guard case .ended(let told)? = news.first, news.count == 1 else {
      Issue.record("the lead is not told")
      return
    }
    #expect(told.map(\.run) == ended.map(\.run) && told.map(\.event) == ended.map(\.event))
    #expect(told.map(\.retryTime) == ended.map(\.retryTime))
    let state = try fixture.load(by: b)
    #expect(state.jobs.map(\.id.key) == [2, 4, 5])
    #expect(state.jobs.map(\.state) == [.retryable, .available, .available])
    #expect(state.jobs.map(\.attempt) == [1, 1, 0])
    #expect(state.jobs.map(\.retryTime) == [1_800_000_000_123, nil, nil])
    #expect(state.runs == [runs[4]])
  }

  @Test("replaces a slot once, and none of a host that was fenced", arguments: LedgerKind.available)
  func replaceSlot(_ kind: LedgerKind) throws {
    let fixture = try LedgerFixture(kind)
    let (ledger, a, b) = (fixture.ledger, fixture.a, fixture.b)
    let old = fixture.receipt(a, 0)
    for _ in 0..<2 { #expect(try ledger.perform(.replaceSlot(host: a, old: 0, new: 3)).isWritten) }
    #expect(throws: LedgerError.stale) { try ledger.perform(.flush([], old)) }
    #expect(throws: LedgerError.fenced) { try ledger.perform(.outcome(of: old)) }
    #expect(try ledger.perform(.flush([], fixture.receipt(a, 3))).isWritten)
    // A repetition that comes late does not set the number back.
    #expect(try ledger.perform(.replaceSlot(host: a, old: 0, new: 3)).isWritten)
    #expect(try ledger.perform(.outcome(of: Receipt(host: a, slot: 3, number: 1))).isOutcomeWritten == true)
    _ = try ledger.perform(.lead(after: 0, silence: Silence(3_500), fixture.receipt(b, 2)))
    try fixture.pass(4_000)
    #expect(try ledger.perform(.fence(host: a, silence: Silence(3_500), fixture.receipt(b, 2))).lost == [])
    #expect(throws: LedgerError.fenced) { try ledger.perform(.replaceSlot(host: a, old: 3, new: 6)) }
  }

  @Test("tells whether a transaction was written", arguments: LedgerKind.available)
  func outcome(_ kind: LedgerKind) throws {
    let fixture = try LedgerFixture(kind)
    let (ledger, a) = (fixture.ledger, fixture.a)
    let (first, second) = (fixture.receipt(a, 0), fixture.receipt(a, 0))
    #expect(try ledger.perform(.outcome(of: first)).isOutcomeWritten == false)
    #expect(try ledger.perform(.flush([], first)).isWritten)
    #expect(try ledger.perform(.outcome(of: first)).isOutcomeWritten == true)
    #expect(try ledger.perform(.outcome(of: second)).isOutcomeWritten == false)
    #expect(throws: LedgerError.stale) { try ledger.perform(.flush([], first)) }
    let third = fixture.receipt(a, 0)
    #expect(throws: LedgerError.stale) { try ledger.perform(.flush([], third)) }
    #expect(try ledger.perform(.flush([], second)).isWritten)
    #expect(try ledger.perform(.outcome(of: first)).isOutcomeWritten == true)
  }

  @Test("lets one host lead a term, and takes over a lead that is silent", arguments: LedgerKind.available)
  func lead(_ kind: LedgerKind) throws {
    let fixture = try LedgerFixture(kind)
    let (ledger, a, b) = (fixture.ledger, fixture.a, fixture.b)
    let candidate = fixture.receipt(a, 2)
    #expect(try ledger.perform(.lead(after: 1, silence: Silence(3_500), candidate)).isRefused)
    guard case .leads(term: 1) = try ledger.perform(.lead(after: 0, silence: Silence(3_500), fixture.receipt(b, 2)))
    else {
      Issue.record("nobody leads")
      return
    }
    for term: Int64 in [0, 1] {
      #expect(try ledger.perform(.lead(after: term, silence: Silence(3_500), candidate)).isRefused)
    }
    #expect(try ledger.perform(.lead(after: 1, silence: Silence(0), fixture.receipt(b, 2))).isRefused)
    let run = Run(job: fixture.id(1), host: b, attempt: 1)
    _ = try ledger.perform(.admit([try fixture.job(1)], fixture.receipt(a, 1)))
    // A refused request has used no number.
    let next = Receipt(host: b, slot: 2, number: 2)
    #expect(try ledger.perform(.round(LeadRound(floor: 0, runs: [run]), next)).news?.count == 3)
    try fixture.pass(4_000)
    _ = try ledger.perform(.beat(host: a))
    guard case .leads(term: 2) = try ledger.perform(.lead(after: 1, silence: Silence(3_500), candidate)) else {
      Issue.record("a silent lead stays")
      return
    }
    #expect(throws: LedgerError.fenced) { try ledger.perform(.beat(host: b)) }
    #expect(throws: LedgerError.stale) {
      try ledger.perform(.round(LeadRound(floor: 0), Receipt(host: b, slot: 2, number: 3)))
    }
    #expect(try fixture.runs(of: b).isEmpty)
    let beat = try #require(try ledger.perform(.beat(host: a)).beat)
    #expect(beat.term == 2 && beat.lead == a)
    let state = try fixture.load(by: a)
    #expect(Array(state.hosts.keys) == [a] && state.jobs.map(\.attempt) == [1])
  }

  @Test("ends a host that leaves, and not another one that has joined under its root", arguments: LedgerKind.available)
  func leave(_ kind: LedgerKind) throws {
    let fixture = try LedgerFixture(kind)
    let (ledger, a, b) = (fixture.ledger, fixture.a, fixture.b)
    guard
      case .joined(let successor, _) = try ledger.perform(
        .join(FleetHost(root: "a", slots: 1, types: [], places: ["a"])))
    else {
      throw LedgerError.contradiction
    }
    #expect(try ledger.perform(.bury(root: "a", host: a)).isWritten)
    #expect(try ledger.perform(.beat(host: successor)).beat != nil)
    #expect(try ledger.perform(.bury(root: "a", host: successor)).isWritten)
    #expect(throws: LedgerError.fenced) { try ledger.perform(.beat(host: successor)) }
    #expect(try ledger.perform(.beat(host: b)).beat != nil)
  }

  @Test("lets anybody lead after a lead that was buried", arguments: LedgerKind.available)
  func buriedLead(_ kind: LedgerKind) throws {
    let fixture = try LedgerFixture(kind)
    let (ledger, a, b) = (fixture.ledger, fixture.a, fixture.b)
    _ = try ledger.perform(.lead(after: 0, silence: Silence(3_500), fixture.receipt(b, 2)))
    #expect(try ledger.perform(.bury(root: "b")).isWritten)
    #expect(try ledger.perform(.bury(root: "nobody")).isWritten)
    let beat = try #require(try ledger.perform(.beat(host: a)).beat)
    #expect(beat.lead == b && beat.leadSilence == nil)
    guard case .leads(term: 2) = try ledger.perform(.lead(after: 1, silence: Silence(3_500), fixture.receipt(a, 2)))
    else {
      Issue.record("nobody leads")
      return
    }
  }

  @Test("writes a round whole or not at all", arguments: LedgerKind.available)
  func round(_ kind: LedgerKind) throws {
    let fixture = try LedgerFixture(kind)
    let (ledger, a, b) = (fixture.ledger, fixture.a, fixture.b)
    let runs = try fixture.assign([1, 2, 3])
    let taken = Run(job: fixture.id(3), host: b, attempt: 2)
    let receipt = fixture.receipt(b, 2)
    var round = LeadRound(floor: 0, runs: [taken], changes: [JobChange(fixture.id(2), .state(.held, nil))])
    #expect(throws: LedgerError.contradiction) { try ledger.perform(.round(round, receipt)) }
    round = LeadRound(floor: 0, changes: [JobChange(fixture.id(99), .state(.held, nil))])
    #expect(throws: LedgerError.contradiction) { try ledger.perform(.round(round, receipt)) }
    _ = try ledger.perform(
      .flush([EndedRun(run: runs[0], event: .failed, retryTime: 5_000)], fixture.receipt(a, 0)))
    _ = try ledger.perform(.admit([try fixture.job(4), try fixture.job(5)], fixture.receipt(a, 1)))
    round = LeadRound(
      floor: 0, runs: [Run(job: fixture.id(4), host: b, attempt: 1)],
      changes: [
        JobChange(fixture.id(1), .state(.held, nil)), JobChange(fixture.id(1), .state(.available, nil)),
        JobChange(fixture.id(5), .state(.cancelled, .text("enough"))),
      ], gone: [a])
    #expect(try ledger.perform(.round(round, receipt)).news?.count == 2)
    let state = try fixture.load(by: b)
    #expect(state.runs == round.runs)
    #expect(state.jobs.map(\.id.key) == [1, 2, 3, 4])
    #expect(state.jobs.map(\.attempt) == [1, 1, 1, 0])
    #expect(state.jobs.map(\.state) == [.retryable, .available, .available, .available])
  }

  @Test("gives news once, and none below the floor", arguments: LedgerKind.available)
  func floor(_ kind: LedgerKind) throws {
    let fixture = try LedgerFixture(kind)
    let (ledger, a, b) = (fixture.ledger, fixture.a, fixture.b)
    _ = try fixture.assign([1])
    let order = { (ticket: Int64) in
      try ledger.perform(.order(.pause(.everything, true), ticket: ticket, fixture.receipt(a, 1)))
    }
    for ticket: Int64 in [2, 3] { _ = try order(ticket) }
    guard case .news(let news, _) = try ledger.perform(.round(LeadRound(floor: 0), fixture.receipt(b, 2))) else {
      return
    }
    #expect(news.count == 2 && news[0].number < news[1].number)
    let none = try ledger.perform(.round(LeadRound(floor: 0), fixture.receipt(b, 2)))
    #expect(none.news?.isEmpty == true)
    _ = try order(4)
    _ = try order(5)
    let floor = news[1].number + 1
    let above = try ledger.perform(.round(LeadRound(floor: floor), fixture.receipt(b, 2)))
    #expect(above.news?.count == 1)
    // A new lead has them in its tables.
    _ = try fixture.load(by: b)
    let after = try ledger.perform(.round(LeadRound(floor: 0), fixture.receipt(b, 2)))
    #expect(after.news?.isEmpty == true)
  }

  @Test("fences a host that is silent, and none that has beaten", arguments: LedgerKind.available)
  func fence(_ kind: LedgerKind) throws {
    let fixture = try LedgerFixture(kind)
    let (ledger, a, b) = (fixture.ledger, fixture.a, fixture.b)
    let runs = try fixture.assign([1, 2])
    let receipt = fixture.receipt(b, 2)
    #expect(try ledger.perform(.fence(host: a, silence: Silence(3_500), receipt)).isRefused)
    try fixture.pass(4_000)
    _ = try ledger.perform(.beat(host: a))
    #expect(try ledger.perform(.fence(host: a, silence: Silence(3_500), receipt)).isRefused)
    #expect(try fixture.runs(of: a) == runs)
    try fixture.pass(4_000)
    // It has beaten since that silence was told of.
    #expect(try ledger.perform(.fence(host: a, silence: Silence(3_500, until: 1), receipt)).isRefused)
    #expect(try ledger.perform(.fence(host: a, silence: Silence(3_500), receipt)).lost == runs)
    let next = fixture.receipt(b, 2)
    #expect(try ledger.perform(.fence(host: a, silence: Silence(3_500), next)).isRefused)
    #expect(throws: LedgerError.fenced) { try ledger.perform(.beat(host: a)) }
    #expect(throws: LedgerError.stale) { try ledger.perform(.admit([try fixture.job(9)], fixture.receipt(a, 1))) }
    guard case .loaded(let state) = try ledger.perform(.load(next)) else { return }
    #expect(state.runs.isEmpty && Array(state.hosts.keys) == [b] && state.jobs.map(\.attempt) == [1, 1])
  }
}
