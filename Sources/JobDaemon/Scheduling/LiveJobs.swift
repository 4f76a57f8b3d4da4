import Jobs
import Synchronization

/// The jobs between acceptance and release, and those who wait for them.
final class LiveJobs: Sendable {
  /// Jobs beyond which files stay in `new/`, and bytes of their files.
  static let jobLimit = 20_000
  static let byteLimit = 64 << 20

  private struct State {
    var jobs: [String: LiveJob] = [:]
    var bytes = 0
    var waiters: [String: [@Sendable () -> Void]] = [:]
    var nextSequence: UInt64 = 0
    /// Calls to make when there is room again.
    var whenRoom: [@Sendable () -> Void] = []
  }

  private let state = Mutex(State())

  subscript(id id: String) -> LiveJob? { state.withLock { $0.jobs[id] } }

  var count: Int { state.withLock { $0.jobs.count } }

  func nextSequence() -> UInt64 {
    state.withLock { state in
      state.nextSequence += 1
      return state.nextSequence
    }
  }

  func insert(_ jobs: [LiveJob]) {
    state.withLock { state in
      for job in jobs {
        state.jobs[job.id] = job
        state.bytes += job.byteCount
      }
    }
  }

  /// Forgets durable jobs and tells those who wait for them.
  func remove(_ jobs: [LiveJob]) {
    let calls = state.withLock { state in
      var calls: [@Sendable () -> Void] = []
      for job in jobs {
        if state.jobs.removeValue(forKey: job.id) != nil { state.bytes -= job.byteCount }
        calls += state.waiters.removeValue(forKey: job.id) ?? []
      }
      if state.jobs.count < Self.jobLimit / 2 && state.bytes < Self.byteLimit / 2 {
        calls += state.whenRoom
        state.whenRoom = []
      }
      return calls
    }
    for call in calls { call() }
  }

  /// Calls back when the job is durable and released; at once if it is not live.
  func whenReleased(_ id: String, _ call: @escaping @Sendable () -> Void) {
    let isLive = state.withLock { state in
      guard state.jobs[id] != nil else { return false }
      state.waiters[id, default: []].append(call)
      return true
    }
    if !isLive { call() }
  }

  /// Whether anybody waits for one of the jobs.
  func isAwaited(_ jobs: [LiveJob]) -> Bool {
    state.withLock { state in !state.waiters.isEmpty && jobs.contains { state.waiters[$0.id] != nil } }
  }

  /// Whether no more jobs may be taken in.
  var isFull: Bool { state.withLock { $0.jobs.count >= Self.jobLimit || $0.bytes >= Self.byteLimit } }

  /// Returns whether more jobs may be taken in; if not, calls back when half of them are gone.
  func hasRoom(else call: @escaping @Sendable () -> Void) -> Bool {
    state.withLock { state in
      if state.jobs.count < Self.jobLimit && state.bytes < Self.byteLimit { return true }
      state.whenRoom.append(call)
      return false
    }
  }

  /// How many jobs are in each state.
  func counts() -> [JobState: Int] {
    let jobs = state.withLock { Array($0.jobs.values) }
    return jobs.reduce(into: [:]) { $0[$1.currentState, default: 0] += 1 }
  }
}
