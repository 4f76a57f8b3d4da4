import JobSchedule
import Jobs
import ObjectGraph
import PostgresTesting
import Testing

@testable import Fleet
@testable import PostgresFleet

/// What operators do with hosts, in the tables.
@Suite("An operator's look at a fleet in PostgreSQL", .serialized, .enabled(if: PostgresCluster.isAvailable()))
struct HostRemovalTests {
  private let fixture: FleetFixture
  private let ledger: PostgresLedger
  private var numbers: [Int: [Int: Int64]] = [:]
  private let gone: Int
  private let other: Int

  init() throws {
    fixture = try FleetFixture()
    ledger = try fixture.ledger()
    var joined: [Int] = []
    for root in ["elm:/spool", "ash:/spool"] {
      let host = FleetHost(
        root: root, slots: 2, types: ["work"], places: FleetPlace.names(offered: ["gpu"], spool: root))
      guard case .joined(let number, _) = try ledger.perform(.join(host)) else { throw LedgerError.contradiction }
      joined.append(number)
    }
    (gone, other) = (joined[0], joined[1])
  }

  private mutating func receipt(_ host: Int, _ slot: Int) -> Receipt {
    numbers[host, default: [:]][slot, default: 0] += 1
    return Receipt(host: host, slot: slot, number: numbers[host]?[slot] ?? 1)
  }

  private func job(_ key: Int64, place: String?) -> FleetJob {
    var job = FleetJob(
      id: ManagedObjectID(key: key, entity: fixture.job, coordinatorOrdinal: FleetFixture.ordinal), name: "job\(key)",
      specification: JobSpecification(type: "work", id: "job\(key)"), place: place, created: 0)
    (job.spool, job.file) = ("elm:/spool", "\(key).json")
    return job
  }

  /// Four jobs of the host that will be gone: one runs anywhere, one only there, one there and at a place, one at a place.
  private mutating func fill() throws {
    let jobs = [
      job(1, place: nil), job(2, place: "elm:/spool"), job(3, place: "gpu at elm:/spool"), job(4, place: "gpu"),
    ]
    _ = try ledger.perform(.admit(jobs, receipt(gone, 1)))
    _ = try ledger.perform(.lead(after: 0, silence: Silence(3_500), receipt(other, 2)))
    _ = try ledger.perform(.load(receipt(other, 2)))
  }

  private func jobs() throws -> String {
    try fixture.database.output(#"SELECT _key, state, place, spool, failure, stopEvent FROM Job ORDER BY _key"#)
  }

  @Test("sees each host once, dead or alive, whether it is drained, and what jobs ask for")
  mutating func overview() throws {
    try fill()
    _ = try ledger.perform(.order(.pause(.host("elm:/spool"), true), ticket: 1, receipt(other, 1)))
    _ = try ledger.perform(
      .round(LeadRound(floor: 0, runs: [Run(job: job(4, place: nil).id, host: other, attempt: 1)]), receipt(other, 2)))
    _ = try ledger.perform(.bury(root: "elm:/spool"))
    try fixture.run("UPDATE _host SET ended = ended - interval '8 days'")
    _ = try ledger.perform(
      .join(FleetHost(root: "oak:/spool", slots: 1, types: [], places: ["oak:/spool"])))
    let overview = try ledger.overview()
    #expect(overview.lead == other && overview.hosts.map(\.root) == ["elm:/spool", "ash:/spool", "oak:/spool"])
    #expect(overview.hosts.map(\.isAlive) == [false, true, true])
    #expect(overview.hosts.map(\.isDrained) == [true, false, false])
    #expect(overview.hosts.map(\.runCount) == [0, 1, 0])
    #expect(overview.hosts[0].silence > 8 * 86_000_000 && overview.hosts[1].silence < 60_000)
    #expect(overview.jobs == [.available: 3, .running: 1] && overview.boundCount(of: "elm:/spool") == 2)
    let need = try #require(try ledger.need(of: job(3, place: nil).id))
    #expect(
      need.type == "work" && need.place == "gpu at elm:/spool" && need.hosts.map(\.root) == overview.hosts.map(\.root))
    #expect(try ledger.need(of: job(99, place: nil).id) == nil)
  }

  @Test("removes no host that is alive or unknown, and none that jobs are bound to without a word about these")
  mutating func refusals() throws {
    try fill()
    #expect(try ledger.remove("elm:/spool", jobs: .move) == .isAlive)
    #expect(try ledger.remove("fir:/spool", jobs: .move) == .unknown)
    _ = try ledger.perform(.bury(root: "elm:/spool"))
    let before = try jobs()
    #expect(try ledger.remove("elm:/spool", jobs: nil) == .hasJobs(2))
    #expect(try jobs() == before && ledger.knownHosts().count == 2)
  }

  @Test("has any host run the jobs of one that is gone, or cancels them, and the lead loads the ledger anew")
  mutating func removal() throws {
    for fate in HostRemoval.Fate.allCases {
      var test = try HostRemovalTests()
      try test.remove(fate)
    }
  }

  private mutating func remove(_ fate: HostRemoval.Fate) throws {
    try fill()
    _ = try ledger.perform(.order(.pause(.host("elm:/spool"), true), ticket: 1, receipt(other, 1)))
    _ = try ledger.perform(.bury(root: "elm:/spool"))
    try fixture.run(#"UPDATE "Job" SET cursor = 'half' WHERE _key = 3"#)
    #expect(try ledger.remove("elm:/spool", jobs: fate) == .removed(jobs: 2))
    let reason = "the host elm:/spool was removed, where its input lay"
    #expect(
      try jobs()
        == (fate == .move
          ? "1|available||||\n2|available||||\n3|available|gpu|||\n4|available|gpu|||"
          : "1|available||||\n2|cancelled||elm:/spool|\(reason)|\n3|available|gpu|||cancelled\n4|available|gpu|||"))
    #expect(try ledger.knownHosts().map(\.root) == ["ash:/spool"])
    #expect(try fixture.run("SELECT count(*) FROM _pause") == "0")
    // A lead, as it learns of it and goes on.
    var lead = Lead(term: 1, times: FleetTimes(), agingStep: 60_000, limits: [])
    var now = Moment(steady: 1_000, wall: 1_000)
    var loads = 0
    for _ in 0..<5 {
      lead.noteHint()
      guard let request = lead.next(at: now).request(under: { receipt(other, 2) }) else { break }
      if case .load = request { loads += 1 }
      _ = lead.handle(try ledger.perform(request), at: now)
      now = Moment(steady: now.steady + 20, wall: now.wall + 20)
    }
    #expect(loads == 1 && lead.assigner != nil)
    let running = try fixture.database.output("SELECT job FROM _run ORDER BY job")
    #expect(running.hasPrefix(fate == .move ? "1\n2" : "1\n3"), "\(running)")
  }

  @Test("tells other spools of their jobs that it cancels, and frees those that are over for whoever puts them back")
  mutating func others() throws {
    try fill()
    try fixture.run(#"UPDATE "Job" SET spool = 'ash:/spool' WHERE _key = 2"#)
    try fixture.run(#"UPDATE "Job" SET state = 'discarded' WHERE _key = 3"#)
    _ = try ledger.perform(.bury(root: "elm:/spool"))
    #expect(try ledger.remove("elm:/spool", jobs: .cancel) == .removed(jobs: 1))
    #expect(try fixture.database.output("SELECT spool, jobs FROM _outcome") == "ash:/spool|{2}")
    #expect(try fixture.database.output("SELECT state, place FROM Job WHERE _key = 3") == "discarded|gpu")
  }

  @Test("has the lead load anew when news say so")
  mutating func reload() throws {
    try fill()
    var lead = Lead(term: 1, times: FleetTimes(), agingStep: 60_000, limits: [])
    let now = Moment(steady: 1_000, wall: 1_000)
    guard let load = lead.next(at: now).request(under: { receipt(other, 2) }) else { return }
    _ = lead.handle(try ledger.perform(load), at: now)
    #expect(lead.assigner != nil)
    _ = lead.handle(.news([(1, .changed)], TransactionHorizon(own: 1, oldest: 1)), at: now)
    #expect(lead.assigner == nil)
    guard case .load? = lead.next(at: now).request(under: { receipt(other, 2) }) else {
      Issue.record("it does not load")
      return
    }
  }

  @Test("takes answers from the first open order on, and leaves others")
  mutating func answers() throws {
    try fill()
    for ticket: Int64 in 1...3 {
      _ = try ledger.perform(.order(.pause(.everything, true), ticket: ticket, receipt(other, 1)))
    }
    let answers = (1...3).map { OrderAnswer(host: other, ticket: $0, content: .done) }
    _ = try ledger.perform(.round(LeadRound(floor: 0, answers: answers), receipt(other, 2)))
    // They stay until they have arrived for certain.
    for _ in 0..<2 { #expect(try ledger.answers(to: other, from: 2).keys.sorted() == [2, 3]) }
    try ledger.forgetAnswers(to: other, [2, 3])
    #expect(try ledger.answers(to: other, from: 1).keys.sorted() == [1])
  }

  private func bury(at url: String) throws -> Bool {
    try FleetDatabase.bury("elm:/spool", url: url, by: LedgerRelease("1.0"), limit: .seconds(20))
  }

  @Test("buries a daemon whose root is locked by nobody else, and makes no ledger for that")
  mutating func burial() throws {
    try fill()
    _ = try ledger.perform(
      .round(LeadRound(floor: 0, runs: [Run(job: job(1, place: nil).id, host: gone, attempt: 1)]), receipt(other, 2)))
    #expect(try bury(at: fixture.database.url))
    #expect(try fixture.run("SELECT count(*) FROM _run") == "0")
    #expect(throws: LedgerError.fenced) { try ledger.perform(.beat(host: gone)) }
    #expect(try !bury(at: fixture.database.url))
    let empty = try PostgresCluster.makeDatabase()
    #expect(try !bury(at: empty.url))
    #expect(try empty.run("SELECT to_regclass('bobbin._host') IS NULL") == "t")
  }
}
