import Dispatch
import Jobs
import ObjectGraph
import PostgresTesting
import Synchronization
import Testing

@testable import Fleet
@testable import PostgresFleet
@testable import PostgresStore

/// The orders in which a flush and a takeover can meet on real connections, one of them paused between two statements.
@Suite("A takeover on PostgreSQL", .enabled(if: PostgresCluster.isAvailable()))
struct FenceTests {
  private let fixture: FleetFixture
  private let lead: PostgresLedger
  private let run: Run

  init() throws {
    fixture = try FleetFixture()
    lead = try fixture.ledger("lead", of: 2)
    for root in ["a", "b"] {
      _ = try lead.perform(.join(FleetHost(root: root, slots: 2, types: ["work"], places: [])))
    }
    let id = ManagedObjectID(key: 1, entity: fixture.job, coordinatorOrdinal: FleetFixture.ordinal)
    run = Run(job: id, host: 1, attempt: 1)
    let job = FleetJob(id: id, name: "j", specification: JobSpecification(type: "work"), created: 0)
    _ = try lead.perform(.admit([job], Receipt(host: 1, slot: 1, number: 1)))
    _ = try lead.perform(.lead(after: 0, silence: Silence(3_500), Receipt(host: 2, slot: 2, number: 1)))
    _ = try lead.perform(.round(LeadRound(floor: 0, runs: [run]), Receipt(host: 2, slot: 2, number: 2)))
    try fixture.run("UPDATE _beat SET seen = seen - interval '10 s' WHERE host = 1")
  }

  @Test("What goes by what another server knew is refused, with nothing written, and what goes by this one is not")
  func otherServer() throws {
    let timeline = try #require(
      Int64(try fixture.run("SELECT timeline_id FROM pg_control_checkpoint()") ?? ""))
    func round(_ number: Int64, by timeline: Int64) -> LedgerRequest {
      .round(
        LeadRound(floor: 0, stops: [RunStop(run: run, event: .held, reason: nil)]),
        Receipt(host: 2, slot: 2, number: number, timeline: timeline))
    }
    #expect(throws: LedgerError.setBack) { try lead.perform(round(3, by: timeline + 1)) }
    #expect(try fixture.run("SELECT count(*) FROM _run WHERE stop IS NOT NULL") == "0")
    _ = try lead.perform(round(3, by: timeline))
    #expect(try fixture.run("SELECT count(*) FROM _run WHERE stop IS NOT NULL") == "1")
  }

  private var ended: [EndedRun] { [EndedRun(run: run, event: .succeeded)] }
  private var receipt: Receipt { Receipt(host: 1, slot: 0, number: 1) }
  private var takeover: LedgerRequest { .fence(host: 1, silence: Silence(3_500), Receipt(host: 2, slot: 2, number: 3)) }

  /// The statements of a flush, one by one.
  private var flush: [Request] {
    [LedgerStatements.fence(receipt), LedgerStatements.endRuns(ended), JobRows.record(ended)]
  }

  /// The state of the job and the version of its row.
  private func state() throws -> String? { try fixture.run(#"SELECT "state" || _version FROM "Job" WHERE _key = 1"#) }

  /// Makes a request on another thread while a body runs, and returns its answer.
  private func during(
    _ request: LedgerRequest, on ledger: PostgresLedger, _ body: () throws -> Void
  ) throws -> Result<LedgerReply, LedgerError> {
    let answer = Mutex<Result<LedgerReply, LedgerError>?>(nil)
    let done = DispatchSemaphore(value: 0)
    DispatchQueue.global().async {
      let result = Result { () throws(LedgerError) in try ledger.perform(request) }
      answer.withLock { $0 = result }
      done.signal()
    }
    try body()
    guard done.wait(timeout: .now() + 30) == .success, let result = answer.withLock({ $0 }) else {
      throw NotInTime(what: "a request has no answer")
    }
    return result
  }

  @Test("comes first: the flush finds no session, and writes nothing")
  func takeoverFirst() throws {
    let host = try fixture.ledger("flush", of: 1)
    #expect(try lead.perform(takeover).lost == [run])
    #expect(throws: LedgerError.stale) { try host.perform(.flush(ended, receipt)) }
    #expect(throws: LedgerError.fenced) { try host.perform(.outcome(of: receipt)) }
    #expect(try state() == "available2")
  }

  @Test("waits for a flush that is under way, and then has no run to take over", arguments: 1...3)
  func flushFirst(statements: Int) throws {
    // Behind a pooler nobody could end its backend.
    let flushing = try fixture.connection(named: "pooled")
    try flushing.control("BEGIN")
    for statement in flush[..<statements] { try flushing.pipeline([statement]) }
    let session = try fixture.session("lead", of: 2)
    let answer = try during(takeover, on: lead) {
      try fixture.database.awaitLock(of: session)
      for statement in flush[statements...] { try flushing.pipeline([statement]) }
      try flushing.control("COMMIT")
    }
    #expect(try answer.get().lost == [])
    #expect(try state() == "completed2")
  }

  @Test("ends a backend that is silent in an open transaction, and has its jobs")
  func silentFlush() throws {
    let flushing = try fixture.connection(named: try fixture.session("flush", of: 1))
    try flushing.control("BEGIN")
    for statement in flush { try flushing.pipeline([statement]) }
    #expect(try lead.perform(takeover).lost == [run])
    #expect(throws: StoreError.self) { try flushing.commit() }
    #expect(!flushing.isUsable)
    #expect(try state() == "available2")
  }

  @Test("ends nobody else's backend")
  func strangers() throws {
    let own = try fixture.connection(named: try fixture.session("flush", of: 2))
    let longer = try fixture.connection(named: try fixture.session("flush", of: 11))
    let other = try fixture.connection(named: "bobbin-00000000/1/flush")
    #expect(try lead.perform(takeover).lost == [run])
    for connection in [own, longer, other] {
      #expect(try connection.pipeline([Request("SELECT 1")])[0].integer(0, 0) == 1)
    }
  }

  @Test("is not survived by a slot that is made meanwhile")
  func replacedSlot() throws {
    let replacing = try fixture.connection(named: "pooled")
    try replacing.control("BEGIN")
    for statement in LedgerStatements.replaceSlot(1, old: 0, new: 3) { try replacing.pipeline([statement]) }
    let session = try fixture.session("lead", of: 2)
    let answer = try during(takeover, on: lead) {
      try fixture.database.awaitLock(of: session)
      try replacing.control("COMMIT")
    }
    #expect(try answer.get().lost == [run])
    #expect(try fixture.run("SELECT count(*) FROM _session WHERE host = 1") == "0")
    #expect(throws: LedgerError.stale) {
      try lead.perform(.flush(ended, Receipt(host: 1, slot: 3, number: 1)))
    }
    #expect(throws: LedgerError.fenced) { try lead.perform(.replaceSlot(host: 1, old: 3, new: 6)) }
  }

  @Test("is refused by a beat that is under way, and keeps one that comes later out")
  func beats() throws {
    let beating = try fixture.connection(named: "pooled")
    try beating.control("BEGIN")
    try beating.pipeline(LedgerStatements.beat(1, above: BeatFloors()))
    let session = try fixture.session("lead", of: 2)
    let answer = try during(takeover, on: lead) {
      try fixture.database.awaitLock(of: session)
      try beating.control("COMMIT")
    }
    #expect(try answer.get().isRefused)
    try fixture.run("UPDATE _beat SET seen = seen - interval '10 s' WHERE host = 1")
    #expect(try lead.perform(takeover).lost == [run])
    #expect(throws: LedgerError.fenced) { try lead.perform(.beat(host: 1)) }
  }

  @Test(
    "makes up for the attempt, however many were given back before, until the job was lost too often",
    arguments: [(losses: 0, attempts: 2), (losses: 98, attempts: 2), (losses: 99, attempts: 1)])
  func losses(losses: Int, attempts: Int) throws {
    try fixture.run("UPDATE _run SET attempt = 500")
    if losses > 0 { try fixture.run("INSERT INTO _loss VALUES (1, \(losses))") }
    #expect(try lead.perform(takeover).lost?.count == 1)
    #expect(try fixture.run(#"SELECT "maxAttempts" FROM "Job" WHERE _key = 1"#) == "\(attempts)")
    #expect(try fixture.run("SELECT count FROM _loss WHERE job = 1") == "\(losses + 1)")
  }

  @Test("does not wait until a clock that was set back has caught up")
  func clockSetBack() throws {
    try fixture.run("UPDATE _beat SET seen = now() + interval '1 hour' WHERE host = 1")
    _ = try lead.perform(.beat(host: 1))
    try fixture.run("UPDATE _beat SET seen = seen - interval '4 s' WHERE host = 1")
    #expect(try lead.perform(takeover).lost == [run])
  }

  @Test("makes the question for an outcome wait for a transaction that is under way, and then tell it")
  func outcome() throws {
    let flushing = try fixture.connection(named: "pooled")
    try flushing.control("BEGIN")
    for statement in flush { try flushing.pipeline([statement]) }
    let asking = try fixture.ledger("asking", of: 1)
    let session = try fixture.session("asking", of: 1)
    let answer = try during(.outcome(of: receipt), on: asking) {
      try fixture.database.awaitLock(of: session)
      try flushing.control("COMMIT")
    }
    #expect(try answer.get().isOutcomeWritten == true)
  }

  @Test("of one and the same flush executes only the first, however late the other comes")
  func lateTransaction() throws {
    let late = try fixture.connection(named: "pooled")
    try late.control("BEGIN")
    #expect(try lead.perform(.outcome(of: receipt)).isOutcomeWritten == false)
    #expect(try lead.perform(.flush(ended, receipt)).isWritten)
    let error = #expect(throws: StoreError.self) { try late.pipeline(flush) }
    #expect(error?.code == .stale)
    late.rollBack()
    #expect(try fixture.run("SELECT count(*) FROM _inbox WHERE kind = 'ended'") == "1")
  }
}
