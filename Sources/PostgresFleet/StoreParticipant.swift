import Fleet
import Jobs
import ObjectModel
package import PostgresStore
package import StoreInterface
import Synchronization
import SystemSupport

/// A host's part in each transaction of its store: the fence, the ends of the runs whose jobs it writes, and news of them.
///
/// The ends come out of the rows: a transaction that changes the state of a job ends its run. So a job's results, its
/// outcome and the end of its assignment can't be torn apart, and nobody has to pass a list beside them.
package final class StoreParticipant: TransactionCompanion {
  private struct State {
    var slot = LedgerStatements.firstStoreSlot
    /// The number of the last transaction that was written in the slot.
    var number: Int64 = 0
    var ended: [EndedRun] = []
    /// The ends that are on disk and not reported.
    var written: [EndedRun] = []
  }

  /// The transactions of one slot, before it is replaced: old versions of its row are left behind.
  private static let slotLife = FleetTimes().slotLife
  /// The time for finding out about a lost answer once the host is to end, after which it ends without.
  private static let searchLimit = Duration.seconds(10)

  package let sessionName: String
  private let host: Int
  private let spool: String
  private let job: Entity
  private let ledger: PostgresLedger
  private let recorded: @Sendable ([EndedRun]) -> Void
  private let state = Mutex(State())
  private let isEnding = Atomic(false)
  private let searches = Atomic<UInt64>(0)

  /// - Parameters:
  ///   - host: the number of the host.
  ///   - spool: the root of its spool.
  ///   - job: the entity Job.
  ///   - ledger: a connection for finding out about lost answers and replacing slots.
  ///   - recorded: called after each save that has ended runs.
  init(
    host: Int, spool: String, job: Entity, ledger: PostgresLedger, sessionName: String,
    recorded: @escaping @Sendable ([EndedRun]) -> Void
  ) {
    self.host = host
    self.spool = spool
    self.job = job
    self.ledger = ledger
    self.sessionName = sessionName
    self.recorded = recorded
  }

  private func receipt(_ state: State) -> Receipt { Receipt(host: host, slot: state.slot, number: state.number + 1) }

  package func opening() throws(StoreError) -> [Request] {
    try replaceOldSlot()
    let next = state.withLock { state in
      state.ended = []
      return receipt(state)
    }
    // Nobody executes a transaction of this slot late: whoever asks for its outcome waits for its backend.
    return [LedgerStatements.fence(next, orElse: .fenced)]
  }

  private func replaceOldSlot() throws(StoreError) {
    let state = state.withLock { $0 }
    if state.number < Self.slotLife { return }
    do throws(LedgerError) {
      _ = try ledger.perform(.replaceSlot(host: host, old: state.slot, new: state.slot - 1))
    } catch {
      // One that was replaced though the answer was lost is replaced once more, which changes nothing.
      throw error == .fenced ? fenced : StoreError(.unavailable, "the database of the fleet does not answer")
    }
    self.state.withLock { next in
      next.slot -= 1
      next.number = 0
    }
  }

  package func closing(_ changes: [ChangeSet]) -> [Request] {
    var ended: [EndedRun] = []
    var told: [(spool: String, job: ManagedObjectID)] = []
    if let slots {
      for change in changes.lazy.flatMap(\.changes) {
        guard let (run, row) = end(change, slots) else { continue }
        ended.append(run)
        if let spool = spoolToTell(of: run, row, slots) { told.append((spool, run.run.job)) }
      }
    }
    state.withLock { $0.ended = ended }
    if ended.isEmpty { return [] }
    let completed = ended.filter { $0.event == .succeeded }.map(\.run.job)
    return [IndexSearch.begin] + JobRows.keepStops(of: ended)
      + [LedgerStatements.endRuns(ended), LedgerStatements.tell(.ended, NewsText.text(of: ended))]
      + (told.isEmpty ? [] : [LedgerStatements.tellSpools(of: told)])
      + (completed.isEmpty ? [] : [InputRows.drop(of: completed)])
  }

  /// The end of a run and its job's new row, if a change is that of a job's state.
  private func end(_ change: RowChange, _ slots: Slots) -> (EndedRun, Row)? {
    guard change.kind == .update, change.id.rootIndex == job.index, let row = change.row,
      let state = JobState(rawValue: row.text(slots.state)),
      change.base.map({ isEnd(row, of: $0, slots) }) ?? true, let event = Self.event(of: state)
    else { return nil }
    let run = Run(job: change.id, host: host, attempt: Int(row.integer(slots.attempt)))
    let due = row.isNull(slots.due) ? nil : row.real(slots.due)
    let retry = event == .failed ? due.map(JobRows.milliseconds) : nil
    return (EndedRun(run: run, event: event, retryTime: retry, isReverted: row.isNull(slots.cursor)), row)
  }

  /// The spool that has to know that its job is over, or another one's that its job is held.
  ///
  /// The own spool knows its jobs' ends, but until it has released their files their records must stay.
  private func spoolToTell(of ended: EndedRun, _ row: Row, _ slots: Slots) -> String? {
    if ended.event == .failed || row.isNull(slots.spool) { return nil }
    let spool = row.text(slots.spool)
    return ended.event == .held && spool == self.spool ? nil : spool
  }

  /// True if an attempt has ended between two rows, also if it leaves the state as it was: then a failed one has another
  /// time, and a held one an attempt more.
  private func isEnd(_ row: Row, of base: Row, _ slots: Slots) -> Bool {
    if base.isNull(slots.state) || base.text(slots.state) != row.text(slots.state) { return true }
    switch JobState(rawValue: row.text(slots.state)) {
    case .held: return base.integer(slots.maxAttempts) != row.integer(slots.maxAttempts)
    case .retryable where !row.isNull(slots.due):
      return base.isNull(slots.due) || base.real(slots.due) != row.real(slots.due)
    default: return false
    }
  }

  /// The slots of what is read of a job.
  private typealias Slots = (
    state: Int, attempt: Int, maxAttempts: Int, due: Int, spool: Int, cursor: Int
  )

  private var slots: Slots? {
    guard let state = job.property(named: "state"), let attempt = job.property(named: "attempt"),
      let maxAttempts = job.property(named: "maxAttempts"), let due = job.property(named: "dueAt"),
      let spool = job.property(named: "spool"), let cursor = job.property(named: "cursor")
    else { return nil }
    return (state.slot, attempt.slot, maxAttempts.slot, due.slot, spool.slot, cursor.slot)
  }

  /// The event by which an attempt has ended in a state; nil if none has.
  private static func event(of state: JobState) -> JobEvent? {
    switch state {
    case .completed: .succeeded
    case .retryable: .failed
    case .discarded: .gaveUp
    case .cancelled: .cancelled
    case .quarantined: .quarantined
    case .held: .held
    case .available, .scheduled, .waiting, .running: nil
    }
  }

  package func isWritten(_ lost: StoreError) throws(StoreError) -> Bool {
    let receipt = receipt(state.withLock { $0 })
    let pause = Latch()
    var end: ContinuousClock.Instant?
    while true {
      do throws(LedgerError) {
        guard case .outcome(let isWritten) = try ledger.perform(.outcome(of: receipt)) else { throw .contradiction }
        return isWritten
      } catch {
        if error == .fenced { throw fenced }
        if error.isFinal { throw lost }
      }
      searches.add(1, ordering: .relaxed)
      if isEnding.load(ordering: .relaxed) {
        let limit = end ?? .now + Self.searchLimit
        if ContinuousClock.now >= limit { throw lost }
        end = limit
      }
      // The transaction can't go on before this is known, and nobody signals that the server is back.
      _ = pause.wait(for: .milliseconds(200))
    }
  }

  /// Gives searches for lost answers ten more seconds, as the host is to end: the database may be away for hours.
  package func limitSearches() { isEnding.store(true, ordering: .relaxed) }

  /// The number of times that the database was asked in vain about a lost answer.
  package var searchCount: UInt64 { searches.load(ordering: .relaxed) }

  package func noteWritten() {
    state.withLock { state in
      state.number += 1
      state.written += state.ended
      state.ended = []
    }
  }

  /// Reports the ends, not before: the lead may have written the jobs anew by now, and assigned them to this host, which would
  /// read its own record of them otherwise, and do once more what was replaced.
  package func noteSaved() {
    let ended = state.withLock { state in
      defer { state.written = [] }
      return state.written
    }
    if !ended.isEmpty { recorded(ended) }
  }

  private var fenced: StoreError { StoreError(.fenced, "other hosts of the fleet have this one's work") }
}
