import JobSchedule
import Jobs
import ObjectGraph
import Testing

@testable import Fleet
@testable import FleetSimulation

@Suite("A lead that only reads") struct LeadReadingTests {
  private let host = FleetHost(root: "a", slots: 1, types: ["work"], places: [])
  private let receipt = Receipt(host: 1, slot: 2, number: 1)
  private var now = Moment(steady: 1_000, wall: 1_000)
  private var lead = Lead(term: 1, times: FleetTimes(), agingStep: 60_000, limits: [])

  init() throws {
    let state = FleetState(hosts: [1: host], runs: [], jobs: [], known: [:], paused: [])
    _ = lead.handle(.loaded(state), at: now)
    // What came while it loaded.
    try answer(next(), with: [])
  }

  private mutating func next() -> LedgerRequest? { lead.next(at: now).request { [receipt] in receipt } }

  private mutating func answer(_ request: LedgerRequest?, with news: [(Int64, News)], timeline: Int64 = 1) throws {
    _ = try #require(request)
    now = Moment(steady: now.steady + 1, wall: now.wall + 1)
    let named = news.map { (number: $0.0, news: $0.1) }
    if case .readNews? = request { return _ = lead.handle(.readNews(named, timeline: timeline), at: now) }
    let horizon = TransactionHorizon(own: now.steady, oldest: now.steady, timeline: timeline)
    _ = lead.handle(.news(named, horizon), at: now)
  }

  private func admitted(_ key: Int64) -> News { .admitted([LeadDesk.job(key)], known: [:]) }

  @Test("writes nothing, and its next assignment deletes what it has read, at once")
  mutating func assignment() throws {
    lead.noteHint()
    let reading = next()
    guard case .readNews(_, besides: [])? = reading else {
      Issue.record("\(String(describing: reading))")
      return
    }
    try answer(reading, with: [(7, admitted(1))])
    guard case .round(let round, _)? = next() else {
      Issue.record("the job is not assigned")
      return
    }
    #expect(round.knownNews == [7] && round.runs.map(\.job) == [LeadDesk.id(1)])
    #expect(lead.knownNews.contains(7))
    try answer(.round(round, receipt), with: [])
    #expect(!lead.knownNews.contains(7))
    #expect(next() == nil)
  }

  @Test("does not read twice, and deletes with the next beat that finds it")
  mutating func beat() throws {
    for (number, key) in [(7, 1), (8, 2)] as [(Int64, Int64)] {
      lead.noteHint()
      try answer(next(), with: [(number, admitted(key))])
      if case .round(let round, _)? = next() { try answer(.round(round, receipt), with: []) }
    }
    // The host has one place: the second job waits, and nothing is to be written for it.
    #expect(lead.knownNews.contains(8))
    lead.noteHint()
    let reading = next()
    guard case .readNews(_, besides: [8])? = reading else {
      Issue.record("\(String(describing: reading))")
      return
    }
    try answer(reading, with: [])
    #expect(next() == nil)
    // The last of them is none that it knows, and leads nowhere: only when it lies there still, something is written for it.
    lead.noteNewsInInbox(last: 9)
    let again = next()
    guard case .readNews(_, besides: [8])? = again else {
      Issue.record("\(String(describing: again))")
      return
    }
    try answer(again, with: [])
    lead.noteNewsInInbox(last: 9)
    guard case .round(let round, let receipt)? = next() else {
      Issue.record("nothing is deleted")
      return
    }
    #expect(round.isEmpty && round.knownNews == [8])
    try answer(.round(round, receipt), with: [])
    lead.noteHint()
    try answer(next(), with: [(10, admitted(3))])
    lead.noteNewsInInbox(last: 10)
    guard case .round(let last, _)? = next() else {
      Issue.record("what was read is not deleted")
      return
    }
    #expect(last.knownNews == [10])
  }

  @Test("reads everything anew behind a failover, where others may have the numbers that it knows")
  mutating func failover() throws {
    lead.noteHint()
    try answer(next(), with: [(7, admitted(1))])
    if case .round(let round, _)? = next() { try answer(.round(round, receipt), with: []) }
    lead.noteHint()
    try answer(next(), with: [(8, admitted(2))])
    lead.noteHint()
    try answer(next(), with: [], timeline: 2)
    guard case .load? = next() else {
      Issue.record("it goes by numbers of another server")
      return
    }
  }

  @Test("does not let more than a hundred of them lie") mutating func many() throws {
    lead.noteHint()
    try answer(next(), with: (1...150).map { (Int64($0), admitted(Int64($0))) })
    now = Moment(steady: now.steady + 20, wall: now.wall)
    if case .round(let round, _)? = next() { try answer(.round(round, receipt), with: []) }
    lead.noteHint()
    try answer(next(), with: (151...250).map { (Int64($0), admitted(Int64($0))) })
    now = Moment(steady: now.steady + 20, wall: now.wall)
    lead.noteHint()
    guard case .round(let round, _)? = next() else {
      Issue.record("it reads only")
      return
    }
    #expect(round.knownNews.count == 100)
  }

  @Test("knows what it has read when the floor of its next readings rises") mutating func floor() throws {
    for (number, key) in [(7, 1), (8, 2), (9, 3), (10, 4)] as [(Int64, Int64)] {
      lead.noteHint()
      try answer(next(), with: [(number, admitted(key))])
      lead.noteNewsInInbox(last: nil)
      if case .round(let round, _)? = next() { try answer(.round(round, receipt), with: []) }
    }
    #expect(lead.newsFloor >= 7)
  }
}
