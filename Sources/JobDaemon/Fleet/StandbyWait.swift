import Fleet
import JobSchedule
import Synchronization

/// The wait until the standbys of a fleet's database have what it has answered, where its commits do not wait for them.
///
/// A failover could take back the outcome of jobs whose files are gone, and who waited for them was told. So a file stays in `cur/` until the next beat has told how
/// far the server's log is, and a later one that all standbys have as much on disk. A standby that is away, or further behind, is
/// waited for a minute in which the database answers. Documentation/Design/0088 tells more.
final class StandbyWait: Sendable {
  /// The answered beats for which a standby is waited for: a minute.
  static let limit = 86

  private struct Waiting {
    let since: Int64
    /// The place in the server's log that standbys have to have; nil until a beat has told it.
    var position: Int64?
    var beats = 0
    /// Told whether they have it, or the daemon stops.
    let call: @Sendable (Bool) -> Void
  }

  private struct State {
    /// True until a beat has told that nothing has to be waited for.
    var isNeeded = true
    /// True once a standby has followed.
    var isFollowed = false
    /// In the order in which they came, which is that of their places.
    var waiting: [Waiting] = []
    var isStopped = false
    /// The trouble that the log was told of last.
    var told: Trouble?
  }

  private enum Trouble: Equatable { case hidden, behind }

  private let log: DaemonLog
  private let state = Mutex(State())

  init(log: DaemonLog) { self.log = log }

  /// True if a call may have to wait.
  var isNeeded: Bool { state.withLock(\.isNeeded) }

  /// Calls back when the standbys have what the database has answered by now; at once if there is nothing to wait for, and never
  /// after a stop.
  func whenFollowed(_ call: @escaping @Sendable () -> Void) { add { if $0 { call() } } }

  /// Waits until the standbys have what the database has answered by now; false if the daemon stops before.
  func waitUntilFollowed() async -> Bool {
    await withCheckedContinuation { continuation in add { continuation.resume(returning: $0) } }
  }

  private func add(_ call: @escaping @Sendable (Bool) -> Void) {
    let outcome = state.withLock { state -> Bool? in
      if !state.isNeeded { return true }
      if state.isStopped { return false }
      state.waiting.append(Waiting(since: Moment.now().steady, call: call))
      return nil
    }
    if let outcome { call(outcome) }
  }

  /// Forgets those that wait: what they were to do is done by the next start.
  func stop() {
    let waiting = state.withLock { state in
      state.isStopped = true
      defer { state.waiting = [] }
      return state.waiting
    }
    for one in waiting { one.call(false) }
  }

  /// Notes a beat that was answered.
  ///
  /// - Parameter sent: the time at which it was sent, on the steady clock.
  func note(_ beat: Beat, sentAt sent: Int64) {
    let (calls, trouble) = state.withLock { state -> ([Waiting], Trouble?) in
      let log = beat.log
      if log.isFollowed { state.isFollowed = true }
      let isHidden = log.isFollowed && log.isHidden
      state.isNeeded = state.isFollowed && !beat.server.isReplicated && !isHidden
      var trouble: Trouble? = isHidden && !beat.server.isReplicated ? .hidden : nil
      for index in state.waiting.indices {
        state.waiting[index].beats += 1
        if state.waiting[index].position == nil, state.waiting[index].since < sent {
          state.waiting[index].position = log.position
        }
      }
      let count = state.waiting.prefix { waiting in
        if !state.isNeeded { return true }
        if let position = waiting.position, let other = log.followedTo, other >= position { return true }
        if waiting.beats < Self.limit { return false }
        trouble = .behind
        return true
      }.count
      // One that is gone is waited for no more until it is back.
      if trouble == .behind, !log.isFollowed { state.isFollowed = false }
      defer { state.waiting.removeFirst(count) }
      // Told again when it has been over.
      let isOver = trouble == nil && (state.told == .hidden || count > 0)
      let news = trouble == state.told ? nil : trouble
      if trouble != nil || isOver { state.told = trouble }
      return (Array(state.waiting.prefix(count)), news)
    }
    switch trouble {
    case .hidden:
      log.warning(
        "a standby follows the fleet's database, and this host may not see how far it is: a failover could lose finished jobs "
          + "with their files; GRANT pg_read_all_stats to the role of [Store] Url")
    case .behind:
      log.warning(
        "the standby of the fleet's database is away, or more than a minute behind: files of finished jobs leave the spool without "
          + "it, and a failover could lose these jobs")
    case nil: break
    }
    for waiting in calls { waiting.call(true) }
  }
}
