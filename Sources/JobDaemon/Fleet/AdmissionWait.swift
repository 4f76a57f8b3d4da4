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
    /// The wait under way, and the first job of its request.
    var waiting: (job: ManagedObjectID, answer: @Sendable (Outcome) -> Void)?
    /// The first jobs of the requests that have no answer yet, whether somebody waits or not, and the names of all of theirs.
    var unanswered: [ManagedObjectID: Set<String>] = [:]
    var isAway = false
    var isClosed = false
  }

  /// The time after which nobody waits any more.
  private static let limit = Duration.seconds(60)

  private let state = Mutex(State())

  /// Has the member begin to write jobs, and waits for that, at most a minute and as long as the database is there.
  ///
  /// Jobs with which it has begun before, without an answer, are not written once more: their answer is waited for.
  ///
  /// - Parameter begin: called once the wait is prepared; tells if the jobs are new to it, and to be written.
  /// - Throws: ``StoreError/Code/unavailable`` if the database is away already, or the daemon stops, so that nothing was
  ///   written, ``RefusedByServer`` if it will never be, ``UnansweredAdmission`` if the jobs may be written later, and
  ///   ``AdmissionRace`` if an earlier request for some of them has its answer by now.
  func wait(for jobs: [FleetJob], _ begin: (_ areNew: Bool) -> Void) throws {
    guard let first = jobs.first?.id else { return }
    let names = Set(jobs.lazy.map(\.name))
    let answered = Latch()
    let result = Mutex(Outcome.unanswered)
    let earlier: ManagedObjectID? = try state.withLock { state in
      if state.isClosed { throw StoreError(.unavailable, "this daemon is stopping, and has left the fleet") }
      if state.isAway { throw StoreError(.unavailable, "the database of the fleet does not answer") }
      let earlier = state.unanswered.first { !$0.value.isDisjoint(with: names) }?.key
      // Until its answer is here, which may be while nobody waits.
      if earlier == nil { state.unanswered[first] = names }
      state.waiting = (
        earlier ?? first,
        { outcome in
          result.withLock { $0 = outcome }
          answered.open()
        }
      )
      return earlier
    }
    begin(earlier == nil)
    _ = answered.wait(for: Self.limit)
    switch result.withLock({ $0 }) {
    case .unanswered: throw UnansweredAdmission(ids: jobs.map(\.name))
    case _ where earlier != nil: throw AdmissionRace()
    case .written: return
    case .refused(let refusal): throw refusal
    }
  }

  /// Takes in the answer for these jobs, and ends the wait for them, which may be over already.
  func end(_ outcome: Outcome, of jobs: [ManagedObjectID]) {
    end(outcome) { state in
      if let first = jobs.first { state.unanswered[first] = nil }
      return jobs.first == state.waiting?.job
    }
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
