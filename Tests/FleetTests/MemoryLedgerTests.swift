import Jobs
import ObjectGraph
import Testing

@testable import Fleet
@testable import FleetSimulation

/// The orders in which a flush and a takeover can meet, and what a slot's number is for.
@Suite("The ledger in memory")
struct MemoryLedgerTests {
  private let ledger = MemoryLedger()
  private let run: Run

  init() throws {
    ledger.now = 1_000
    for root in ["a", "b"] {
      let host = FleetHost(root: root, slots: 2, types: ["work"], places: [])
      guard case .joined = try ledger.perform(.join(host)) else { throw LedgerError.contradiction }
    }
    let id = ManagedObjectID(key: 1, entityIndex: 0, rootIndex: 0, coordinatorOrdinal: 0)
    run = Run(job: id, host: 1, attempt: 1)
    let job = FleetJob(id: id, name: "j", specification: JobSpecification(type: "work"), created: 0)
    _ = try ledger.perform(.admit([job], Self.receipt(1, 1, 1)))
    _ = try ledger.perform(.lead(after: 0, silence: Silence(3_500), Self.receipt(2, 2, 1)))
    _ = try ledger.perform(.round(LeadRound(floor: 0, runs: [run]), Self.receipt(2, 2, 2)))
    ledger.now = 10_000
  }

  private static func receipt(_ host: Int, _ slot: Int, _ number: Int64) -> Receipt {
    Receipt(host: host, slot: slot, number: number)
  }

  private var flush: LedgerRequest {
    .flush([EndedRun(run: run, event: .succeeded)], Self.receipt(1, 0, 1))
  }

  private var takeover: LedgerRequest { .fence(host: 1, silence: Silence(3_500), Self.receipt(2, 2, 3)) }

  private func effectCount() -> Int { ledger.effects.row(run.job, for: 0)?.count ?? 0 }

  @Test("After a takeover a flush writes nothing, and its host learns that it was fenced")
  func takeoverFirst() throws {
    guard case .tookOver(let lost) = try ledger.perform(takeover), lost == [run] else {
      Issue.record("the run was not found")
      return
    }
    #expect(throws: LedgerError.stale) { try ledger.perform(flush) }
    #expect(throws: LedgerError.fenced) { try ledger.perform(.outcome(of: Self.receipt(1, 0, 1))) }
    #expect(throws: LedgerError.fenced) { try ledger.perform(.beat(host: 1)) }
    #expect(effectCount() == 0)
  }

  @Test("A takeover waits for a flush that is under way, and then has no run to take over")
  func flushFirst() throws {
    ledger.endsBackends = { _ in false }
    let flush = ledger.begin(flush, from: 1)
    _ = ledger.step(flush)
    let takeover = ledger.begin(takeover, from: 2)
    for _ in 0..<4 { _ = ledger.step(takeover) }
    guard case .blocked = ledger.step(takeover) else {
      Issue.record("it does not wait")
      return
    }
    finish(flush)
    guard case .success(.tookOver(let lost)) = finish(takeover), lost.isEmpty else {
      Issue.record("it took over a run that had ended")
      return
    }
    #expect(effectCount() == 1)
  }

  @Test("A takeover ends the backend of a flush that never commits")
  func silentFlush() throws {
    let flush = ledger.begin(flush, from: 1)
    for _ in 0..<3 { _ = ledger.step(flush) }
    guard case .tookOver(let lost) = try ledger.perform(takeover), lost == [run] else {
      Issue.record("the run was not found")
      return
    }
    guard case .failure(.unknown) = finish(flush) else {
      Issue.record("the late commit was let through")
      return
    }
    #expect(effectCount() == 0)
  }

  @Test("A host that has beaten in time is not taken over, whatever the lead has seen")
  func beaten() throws {
    _ = try ledger.perform(.beat(host: 1))
    guard case .refused = try ledger.perform(takeover) else {
      Issue.record("a live host was taken over")
      return
    }
  }

  @Test("A slot that is replaced during a takeover does not survive it")
  func replacedSlot() throws {
    ledger.endsBackends = { _ in false }
    let replacement = ledger.begin(.replaceSlot(host: 1, old: 0, new: 3), from: 1)
    _ = ledger.step(replacement)
    let takeover = ledger.begin(takeover, from: 2)
    for _ in 0..<3 { _ = ledger.step(takeover) }
    guard case .blocked = ledger.step(takeover) else {
      Issue.record("it does not wait for the new slot")
      return
    }
    finish(replacement)
    finish(takeover)
    #expect(ledger.sessions.all(for: 0).allSatisfy { $0.key.host == 2 })
    #expect(throws: LedgerError.fenced) { try ledger.perform(.replaceSlot(host: 1, old: 3, new: 6)) }
  }

  @Test("What the server executes after its host has written the same again changes nothing")
  func lateTransaction() throws {
    let late = ledger.begin(flush, from: 1)
    guard case .outcome(isWritten: false) = try ledger.perform(.outcome(of: Self.receipt(1, 0, 1))) else {
      Issue.record("it counts as written")
      return
    }
    _ = try ledger.perform(flush)
    guard case .failure(.stale) = finish(late) else {
      Issue.record("it was written twice")
      return
    }
    #expect(effectCount() == 1)
  }

  @Test("The question for an outcome waits for a transaction that is under way")
  func outcome() throws {
    ledger.endsBackends = { _ in false }
    let flush = ledger.begin(flush, from: 1)
    _ = ledger.step(flush)
    let question = ledger.begin(.outcome(of: Self.receipt(1, 0, 1)), from: 1)
    guard case .blocked = ledger.step(question) else {
      Issue.record("it does not wait")
      return
    }
    finish(flush)
    guard case .success(.outcome(isWritten: true)) = finish(question) else {
      Issue.record("it tells what was true before")
      return
    }
  }

  @Test("Of two candidates one leads, and the other is refused")
  func candidates() throws {
    guard case .refused = try ledger.perform(.lead(after: 0, silence: Silence(3_500), Self.receipt(1, 2, 1))) else {
      Issue.record("two lead in one term")
      return
    }
    #expect(ledger.lead.row(0, for: 0)?.host == 2)
  }

  @discardableResult
  private func finish(_ transaction: MemoryLedger.Transaction) -> Result<LedgerReply, LedgerError> {
    for _ in 0..<20 { if case .ended(let result) = ledger.step(transaction) { return result } }
    return .failure(.unavailable)
  }
}
