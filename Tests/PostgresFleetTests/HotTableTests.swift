import Foundation
import JobSchedule
import Jobs
import ObjectGraph
import PostgresTesting
import Testing

@testable import Fleet
@testable import PostgresFleet
@testable import PostgresStore

/// The tables that every job goes through, while somebody keeps an old snapshot open, so that no row can be removed.
@Suite("The hot tables of a ledger", .enabled(if: PostgresCluster.isAvailable()))
struct HotTableTests {
  /// The time with the snapshot open.
  private static let seconds =
    ProcessInfo.processInfo.environment["BOBBIN_SNAPSHOT_SECONDS"].flatMap { Double($0) } ?? 6

  @Test("Outcomes that are known are not read again, and those above the floor of this spool alone are read")
  func outcomes() throws {
    let fixture = try FleetFixture()
    let ledger = try fixture.ledger()
    guard case .joined(let host, _) = try ledger.perform(.join(LedgerFixture.host("a"))) else {
      throw LedgerError.contradiction
    }
    #expect(try ledger.perform(.beat(host: host)).beat?.outcome == nil)
    try fixture.run(
      "INSERT INTO _outcome (spool, jobs) VALUES ('a', '{1, 2}'), ('a', '{3}'), ('b', '{4}'), ('a', '{5}')")
    func read(above floor: Int64, besides known: [Int64]) throws -> [[Int64]] {
      try ledger.outcomes(of: "a", above: floor, besides: known).0.map { [$0.number] + $0.jobs.map(\.key) }
    }
    #expect(try read(above: 0, besides: []) == [[1, 1, 2], [2, 3], [4, 5]])
    #expect(try read(above: 0, besides: [1, 4]) == [[2, 3]])
    #expect(try read(above: 2, besides: [2]) == [[4, 5]])
    try fixture.run("INSERT INTO _outcome (spool, jobs) VALUES ('b', '{6}')")
    var floors = BeatFloors()
    #expect(try ledger.perform(.beat(host: host, above: floors)).beat?.outcome == 4)
    floors.outcomes = 4
    #expect(try ledger.perform(.beat(host: host, above: floors)).beat?.outcome == nil)
  }

  /// A host that leads, and does all jobs itself.
  private final class Host {
    private static let tables = ["_run", "_inbox", "_session", "_beat", "_outcome", "_start"]
    /// The transactions of one slot, fewer than in a fleet, so that many are replaced in a short time.
    private static let slotLife: Int64 = 100
    private static let batch: Int64 = 50
    private static let spool = "b:/spool"

    private let fixture: FleetFixture
    private let ledger: PostgresLedger
    private let flusher: Connection
    private let number: Int
    private var slots: [Int: (slot: Int, number: Int64)] = [:]
    private var news = NewsFloor(patience: 60_000)
    private var outcomeNews = NewsFloor(patience: 60_000)
    private var floors = BeatFloors()
    private(set) var jobCount: Int64 = 0
    private var roundCount = 0

    init() throws {
      fixture = try FleetFixture()
      ledger = try fixture.ledger()
      flusher = try fixture.connection(named: "flusher")
      guard case .joined(let number, _) = try ledger.perform(.join(LedgerFixture.host("a"))) else {
        throw LedgerError.contradiction
      }
      self.number = number
      _ = try ledger.perform(.lead(after: 0, silence: Silence(3_500), try receipt(2)))
      _ = try ledger.perform(.load(try receipt(2)))
    }

    private func receipt(_ role: Int) throws -> Receipt {
      var (slot, count) = slots[role] ?? (role, 0)
      if count == Self.slotLife {
        _ = try ledger.perform(.replaceSlot(host: number, old: slot, new: slot + 3))
        (slot, count) = (slot + 3, 0)
      }
      slots[role] = (slot, count + 1)
      return Receipt(host: number, slot: slot, number: count + 1)
    }

    /// Admits, assigns, reads and ends some jobs, and beats now and then.
    private func work() throws {
      let jobs = (jobCount + 1...jobCount + Self.batch).map { key in
        var job = FleetJob(
          id: ManagedObjectID(key: key, entity: fixture.job, coordinatorOrdinal: FleetFixture.ordinal),
          name: "job\(key)", specification: JobSpecification(type: "work"), created: 0)
        (job.spool, job.file) = (Self.spool, "\(key).json")
        return job
      }
      jobCount += Self.batch
      _ = try ledger.perform(.admit(jobs, try receipt(1)))
      var round = LeadRound(
        floor: news.number, runs: jobs.map { Run(job: $0.id, host: number, attempt: 1) })
      round.starts = [.queue("default"): (count: jobs.count, period: 100)]
      roundCount += 1
      // As often as a lead does it with some hundred rounds a second.
      round.forgetsStarts = roundCount % 400 == 0
      let now = Int64(DispatchTime.now().uptimeNanoseconds / 1_000_000)
      guard case .news(let told, let horizon) = try ledger.perform(.round(round, try receipt(2))) else { return }
      news.note(told.lazy.map(\.number), horizon, at: now)
      guard case .runs(let runs, _, let last) = try ledger.perform(.readRuns(host: number, after: floors.runs)) else {
        return
      }
      (floors.runs, floors.news) = (last, news.number)
      #expect(runs.count == jobs.count)
      _ = try ledger.perform(.flush(runs.map { EndedRun(run: $0, event: .succeeded) }, try receipt(0)))
      try tell(Self.spool, of: jobs)
      if jobCount % (20 * Self.batch) == 0 { _ = try ledger.perform(.beat(host: number, above: floors)) }
    }

    /// Tells a spool of the ends of its jobs, as a flush does, and reads and forgets that, as its host does.
    private func tell(_ spool: String, of jobs: [FleetJob]) throws {
      try flusher.pipeline([LedgerStatements.tellSpools(of: jobs.map { (spool, $0.id) })])
      let (outcomes, horizon) = try ledger.outcomes(of: spool, above: outcomeNews.number, besides: [])
      #expect(Set(outcomes.flatMap(\.jobs)) == Set(jobs.map(\.id)))
      try ledger.forget(outcomes)
      let now = Int64(DispatchTime.now().uptimeNanoseconds / 1_000_000)
      outcomeNews.note(outcomes.lazy.map(\.number), horizon, at: now)
    }

    /// Works for a time; returns the blocks of the tables that were looked at for each job.
    func work(for seconds: Double, vacuuming isVacuuming: Bool = false) throws -> Double {
      let (start, first) = (try blocks(), jobCount)
      let end = ContinuousClock.now + .seconds(seconds)
      while ContinuousClock.now < end {
        try work()
        if isVacuuming, jobCount % (50 * Self.batch) == 0 { try vacuum() }
      }
      return (try blocks() - start) / Double(jobCount - first)
    }

    func vacuum() throws { for table in Self.tables { try fixture.database.run("VACUUM bobbin.\(table)") } }

    /// Waits until the server has ended a connection that was closed.
    func waitForEnd(ofConnection name: String) throws {
      let deadline = ContinuousClock.now + .seconds(60)
      while try sum(
        "count(*) FROM pg_stat_activity WHERE datname = current_database() AND application_name LIKE '%\(name)%'") > 0
      {
        try #require(ContinuousClock.now < deadline)
      }
    }

    func size() throws -> Double {
      try sum(Self.tables.map { "pg_total_relation_size('\($0)')" }.joined(separator: " + "))
    }

    private func blocks() throws -> Double {
      // Or else a connection tells what it has read a second later.
      let tell = Request("SELECT pg_stat_force_next_flush()")
      try ledger.apart { (transaction) throws(StoreError) in _ = try transaction.connection.pipeline([tell]) }
      try flusher.pipeline([tell])
      let names = Self.tables.map { "'\($0)'" }.joined(separator: ", ")
      return try sum(
        """
        sum(heap_blks_read + heap_blks_hit + idx_blks_read + idx_blks_hit) FROM pg_statio_user_tables \
        WHERE schemaname = 'bobbin' AND relname IN (\(names))
        """)
    }

    private func sum(_ sql: String) throws -> Double { try #require(Double(try fixture.run("SELECT \(sql)") ?? "")) }

    /// Keeps a snapshot of now open as long as the connection is.
    func snapshot() throws -> Connection {
      let holder = try fixture.connection(named: "holder")
      try holder.control("SET idle_in_transaction_session_timeout = 0")
      try holder.control("BEGIN ISOLATION LEVEL REPEATABLE READ")
      try holder.pipeline([Request("SELECT count(*) FROM _run")])
      return holder
    }
  }

  @Test("grow by what each job leaves while a snapshot is open, cost no more to read, and are used again afterwards")
  func besideSnapshot() throws {
    let host = try Host()
    let holder = try host.snapshot()
    let (before, first) = (try host.size(), host.jobCount)
    let early = try host.work(for: Self.seconds / 2)
    let late = try host.work(for: Self.seconds / 2)
    let grown = try host.size()
    #expect((grown - before) / Double(host.jobCount - first) < 400, "bytes for each job")
    #expect(late < 1.5 * early, "blocks read for each job, in the second half of the time and in the first")
    holder.close()
    try host.waitForEnd(ofConnection: "holder")
    try host.vacuum()
    _ = try host.work(for: Self.seconds / 3, vacuuming: true)
    #expect(try host.size() <= grown, "nothing that the snapshot kept is used again")
  }
}
