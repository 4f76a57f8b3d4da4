import Fleet
import ObjectGraph
import Synchronization
import SystemSupport

/// The wait until the member has written jobs to the ledger, one at a time: only while the database is there.
final class AdmissionWait: Sendable {
  enum Outcome: Sendable {
    case written
    case refused(RefusedByServer)
    /// Nobody waits for the answer any more; the member goes on until the jobs are written or it is fenced.
    case unanswered
  }

  private struct State {
    /// The wait under way, and its first job.
    var waiting: (job: ManagedObjectID, answer: @Sendable (Outcome) -> Void)?
    var isAway = false
    var isClosed = false
  }

  /// The time after which nobody waits any more.
  private static let limit = Duration.seconds(60)

  private let state = Mutex(State())

  /// Has the member begin to write jobs, and waits for that, at most a minute and as long as the database is there.
  ///
  /// - Throws: ``StoreError/Code/unavailable`` if the database is away already, or the daemon stops, so that nothing was
  ///   written, ``RefusedByServer`` if it will never be, and ``UnansweredAdmission`` if the jobs may be written later.
  func wait(for jobs: [FleetJob], _ begin: () -> Void) throws {
    guard let first = jobs.first?.id else { return }
    let answered = Latch()
    let result = Mutex(Outcome.unanswered)
    let obstacle: String? = state.withLock { state in
      if state.isClosed { return "this daemon is stopping, and has left the fleet" }
      if state.isAway { return "the database of the fleet does not answer" }
      state.waiting = (
        first,
        { outcome in
          result.withLock { $0 = outcome }
          answered.open()
        }
      )
      return nil
    }
    if let obstacle { throw StoreError(.unavailable, obstacle) }
    begin()
    _ = answered.wait(for: Self.limit)
    switch result.withLock({ $0 }) {
    case .written: return
    case .refused(let refusal): throw refusal
    case .unanswered: throw UnansweredAdmission(ids: jobs.map(\.name))
    }
  }

  /// Ends the wait for these jobs; it may be over already.
  func end(_ outcome: Outcome, of jobs: [ManagedObjectID]) {
    end(outcome) { state in jobs.first == state.waiting?.job }
  }

  /// Ends the wait under way as the database is away, and refuses others until it is back.
  func setAway(_ isAway: Bool) {
    end(.unanswered) { state in
      state.isAway = isAway
      return isAway
    }
  }

  /// Ends the wait under way, and refuses others for good.
  func close() {
    end(.unanswered) { state in
      state.isClosed = true
      return true
    }
  }

  private func end(_ outcome: Outcome, if isMeant: (inout State) -> Bool) {
    let waiting = state.withLock { state in isMeant(&state) ? state.waiting.take() : nil }
    waiting?.answer(outcome)
  }
}
