import Dispatch
import Foundation
import Jobs
import ObjectGraph
import PostgresTesting
import Synchronization
import SystemSupport
import TestSupport
import Testing

@testable import Fleet
@testable import PostgresFleet
@testable import PostgresStore

/// Whole hosts in one process, which share jobs on a real database.
@Suite("Hosts of a fleet on PostgreSQL", .enabled(if: PostgresCluster.isAvailable()), .serialized)
struct MemberDriverTests {
  @Test("run each job once, and what a stopped one had is done elsewhere", arguments: [true, false])
  func stoppedHost(stopsLead: Bool) throws {
    let fixture = try FleetFixture()
    let board = Board()
    try fixture.run(
      """
      CREATE FUNCTION tell() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN NOTIFY hosts; RETURN NEW; END'; \
      CREATE TRIGGER tell AFTER UPDATE ON _host FOR EACH ROW EXECUTE FUNCTION tell()
      """)
    let hosts = try ["a", "b", "c"].map { try TestHost($0, fixture, board) }
    for host in hosts { host.start() }
    try board.wait(for: "all hosts") { $0.numbers.count == hosts.count }
    let count = 300
    let jobs = try hosts[0].jobs(count)
    hosts[0].driver.handle(.admit(jobs))
    try board.wait(for: "a third of the jobs") { $0.durable.count >= count / 3 }
    let lead = try #require(try fixture.run("SELECT host FROM _lead").flatMap { Int($0) })
    let stopped = try #require(hosts.first { ($0.number == lead) == stopsLead })
    stopped.queue.suspend()
    try board.wait(for: "all jobs") { $0.durable.count == count }
    #expect(try fixture.run(#"SELECT count(*) || ' ' || count(DISTINCT "title") FROM "Image""#) == "\(count) \(count)")
    #expect(try fixture.run(#"SELECT count(*) FROM "Job" WHERE "state" = 'completed'"#) == "\(count)")
    #expect(try fixture.run("SELECT count(*) FROM _run") == "0")
    let number = try #require(stopped.number)
    // If it had nothing to do at that moment, the jobs may all be done before anybody misses it.
    try TestDatabase.wait(
      for: "EXISTS (SELECT FROM bobbin._host WHERE number = \(number) AND ended IS NOT NULL)", at: fixture.database.url,
      channel: "hosts", seconds: 30)
    stopped.queue.resume()
    try board.wait(for: "the stopped host's end") { $0.ends[stopped.name] == .fenced }
    for host in hosts { host.driver.stop() }
  }

  @Test("wait for a database that is away when they start, and end with nothing lost when it kills their sessions")
  func brokenSessions() throws {
    let fixture = try FleetFixture()
    let board = Board()
    let host = try TestHost("a", fixture, board)
    try fixture.database.run(
      "ALTER ROLE postgres IN DATABASE \(fixture.database.name) SET default_transaction_read_only = on")
    host.start()
    try board.wait(for: "a failed attempt to join") { $0.failures > 0 }
    try fixture.database.run(
      "BEGIN READ WRITE; ALTER ROLE postgres IN DATABASE \(fixture.database.name) RESET default_transaction_read_only; COMMIT"
    )
    let jobs = try host.jobs(200)
    host.driver.handle(.admit(jobs))
    for part in 1...4 {
      try board.wait(for: "some jobs") { $0.durable.count >= part * 40 }
      // Those of other tests have databases of their own.
      try fixture.run(
        """
        SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() \
        AND application_name LIKE 'bobbin-%'
        """)
    }
    try board.wait(for: "all jobs") { $0.durable.count == 200 }
    #expect(try fixture.run(#"SELECT count(*) || ' ' || count(DISTINCT "title") FROM "Image""#) == "200 200")
    #expect(try fixture.run("SELECT count(*) FROM _host") == "1")
    #expect(board.ends.isEmpty)
    host.driver.stop()
  }

  @Test("are told what the server refuses for good, and go on without")
  func refusals() throws {
    let fixture = try FleetFixture()
    let board = Board()
    let host = try TestHost("a", fixture, board)
    host.start()
    let jobs = try host.jobs(3)
    let bad = FleetJob(
      id: try #require(try host.jobs(1).first).id, name: "no\u{0}name", specification: jobs[0].specification, created: 0
    )
    host.driver.handle(.admit([bad]))
    host.driver.handle(.order(.pause(.queue("no\u{0}queue"), true), ticket: 1))
    host.driver.handle(.admit(jobs))
    try board.wait(for: "all that can be stored") { $0.durable.count == 3 && $0.refusals.count == 2 }
    #expect(board.refusals.allSatisfy { $0.contains("U+0000") })
    #expect(board.refusals.contains { $0.contains("writing the new job") })
    #expect(board.ends.isEmpty)
    host.driver.stop()
  }

  @Test("end where the server refuses what the lead has to write, and say what it was")
  func refusedRound() throws {
    let fixture = try FleetFixture()
    let board = Board()
    let host = try TestHost("a", fixture, board)
    host.start()
    try board.wait(for: "the number") { $0.numbers["a"] != nil }
    try fixture.run("ALTER TABLE _run ADD CONSTRAINT later CHECK (attempt > 1)")
    host.driver.handle(.admit(try host.jobs(1)))
    try board.wait(for: "the end") { $0.ends["a"] != nil }
    guard case .refused(let reason)? = board.ends["a"] else {
      Issue.record("it ended as \(board.ends)")
      return
    }
    #expect(reason.contains("1 assignments"), "\(reason)")
  }

  @Test("end at once where the ledger has got a format that their release does not know, and say so")
  func otherFormat() throws {
    let fixture = try FleetFixture()
    let board = Board()
    let host = try TestHost("a", fixture, board)
    try fixture.run("UPDATE _metadata SET value = '99' WHERE key = 'fleet'")
    host.start()
    try board.wait(for: "the end") { $0.ends["a"] != nil }
    guard case .refused(let reason)? = board.ends["a"] else {
      Issue.record("it ended as \(board.ends)")
      return
    }
    #expect(reason.contains("joining the fleet: the ledger of the fleet has format 99"), "\(reason)")
    #expect(try fixture.run("SELECT count(*) FROM _host") == "0")
  }
}

/// What the hosts of a test have reported.
private final class Board: Sendable {
  struct Notes {
    var durable: Set<Int64> = []
    var numbers: [String: Int] = [:]
    var ends: [String: MemberEnd] = [:]
    var failures = 0
    var refusals: [String] = []
  }

  private let notes = Mutex(Notes())
  private let changed = DispatchSemaphore(value: 0)

  var ends: [String: MemberEnd] { notes.withLock { $0.ends } }
  var refusals: [String] { notes.withLock { $0.refusals } }
  func number(of host: String) -> Int? { notes.withLock { $0.numbers[host] } }

  func note(_ change: (inout Notes) -> Void) {
    notes.withLock { change(&$0) }
    changed.signal()
  }

  func wait(for what: String, _ isTrue: (Notes) -> Bool) throws {
    let deadline = DispatchTime.now() + 60
    while !notes.withLock({ isTrue($0) }) {
      if changed.wait(timeout: deadline) != .success { throw NotInTime(what: what) }
    }
  }
}

/// A host whose handlers take some milliseconds, and whose effects are rows of a store.
private final class TestHost: Sendable {
  let name: String
  let queue: DispatchQueue
  let driver: MemberDriver
  private let store: PostgresStore
  private let board: Board
  private let job: Entity

  var number: Int? { board.number(of: name) }

  init(_ name: String, _ fixture: FleetFixture, _ board: Board) throws {
    let store = try PostgresStore(fixture.database.url, model: fixture.model, coordinatorOrdinal: FleetFixture.ordinal)
    let image = try #require(fixture.model.entitiesByName["Image"])
    let title = try #require(image.property(named: "title")).slot
    let (fleet, queue) = (fixture.fleet, DispatchQueue(label: "host \(name)"))
    let box = Box()
    let work = DispatchQueue(label: "work of \(name)")
    let finish = { @Sendable [job = fixture.job] (runs: [Run]) in
      do { try TestHost.finish(runs, store, image, title, job) } catch {
        board.note { $0.failures += 1 }
        return false
      }
      return true
    }
    driver = MemberDriver(
      fleet, host: FleetHost(root: name, slots: 5, types: ["work"], places: []), agingStep: 60_000, queue: queue,
      log: { _ in board.note { $0.failures += 1 } },
      report: { report in
        switch report {
        case .joined(let number):
          guard let driver = box.own.withLock({ $0 }) else { return }
          do { store.accompanyTransactions(by: try driver.participant(number)) } catch {
            return board.note { $0.failures += 1 }
          }
          board.note { $0.numbers[name] = number }
        case .assigned(let runs): TestHost.work(runs, on: work, finish, board)
        case .end(let reason): board.note { $0.ends[name] = reason }
        case .member(.notAdmitted(_, let reason)), .member(.notPlaced(_, let reason)):
          board.note { $0.refusals.append(reason) }
        case .member(.notRemoved(let reason)): board.note { $0.refusals.append(reason) }
        case .member, .recorded, .beaten, .missed, .hinted: break
        }
      })
    self.name = name
    self.queue = queue
    self.store = store
    self.board = board
    job = fixture.job
    box.own.withLock { [driver] in $0 = driver }
  }

  func start() { driver.start() }

  /// Works for some milliseconds, and then tries until the ends are on disk.
  private static func work(
    _ runs: [Run], on queue: DispatchQueue, _ finish: @escaping @Sendable ([Run]) -> Bool, _ board: Board
  ) {
    queue.asyncAfter(deadline: .now() + .milliseconds(10)) {
      if !finish(runs) { return work(runs, on: queue, finish, board) }
      board.note { $0.durable.formUnion(runs.map(\.job.key)) }
    }
  }

  /// Saves effects and outcomes of attempts together, as the daemon's writer does.
  private static func finish(
    _ runs: [Run], _ store: PostgresStore, _ image: Entity, _ title: Int, _ job: Entity
  ) throws {
    let state = try #require(job.property(named: "state")).slot
    let attempt = try #require(job.property(named: "attempt")).slot
    let stored = try store.read { reader in try reader.rows(for: runs.map(\.job)) }
    let keys = try store.reserveKeys(KeyReservation(root: image, count: runs.count))
    var changes: [RowChange] = []
    for ((run, key), old) in zip(zip(runs, keys), stored) {
      var effect = Row(RowLayout(image))
      effect.setText("job\(run.job.key)", title)
      let id = ManagedObjectID(key: key, entity: image, coordinatorOrdinal: FleetFixture.ordinal)
      changes.append(RowChange(.insert, id, row: effect, base: nil))
      guard let base = old?.row else { continue }
      var outcome = base
      outcome.setText(JobState.completed.rawValue, state)
      outcome.setInteger(Int64(run.attempt), attempt)
      changes.append(RowChange(.update, run.job, row: outcome, base: base))
    }
    let result = try store.save(StoreSaveRequest([ChangeSet(changes)]))
    if !result.conflicts.isEmpty { throw StoreError(.busy, "a job has changed meanwhile") }
    store.noteSaved()
  }

  func jobs(_ count: Int) throws -> [FleetJob] {
    let keys = try store.reserveKeys(KeyReservation(root: job, count: count))
    return keys.map { key in
      FleetJob(
        id: ManagedObjectID(key: key, entity: job, coordinatorOrdinal: FleetFixture.ordinal), name: "job\(key)",
        specification: JobSpecification(type: "work", id: "job\(key)"), created: 0)
    }
  }

  /// The driver, which its own reports need.
  private final class Box: Sendable {
    let own = Mutex<MemberDriver?>(nil)
  }
}
