import Dispatch
import Fleet
import JobSchedule
import Synchronization
import SystemSupport

/// The wait until the standbys of a fleet's database have what it has answered, where its commits do not wait for them.
///
/// A failover could take back the outcome of jobs whose files are gone, and who waited for them was told. So a file stays in
/// `cur/` until the next beat has told how far the server's log is, and a later one that all standbys have as much on disk. A
/// standby that is away, or further behind, is waited for a minute in which the database answers. Documentation/Design/0088 tells
/// more.
final class StandbyWait: Sendable {
  /// The time in which the database answers and a standby is waited for, in milliseconds.
  static let limit: Int64 = 60_000
  /// The most of it that passes from one answered beat to the next; for the rest the database was away.
  private static let longestPause: Int64 = 1_000
  /// The time for which the end of the daemon waits: a beat or two.
  private static let patience = Duration.seconds(4)

  private struct Waiting {
    let since: Int64
    /// The place in the server's log that standbys have to have; nil until a beat has told it.
    var position: Int64?
    /// The time in which the database answered meanwhile, in milliseconds.
    var time: Int64 = 0
    /// Told whether they have it, or the daemon stops.
    let call: @Sendable (Bool) -> Void
  }

  private struct State {
    /// True until a beat has told that nothing has to be waited for.
    var isNeeded = true
    /// The number of standbys that are waited for: one that is away as well.
    var standbyCount = 0
    /// True while nothing waits as a standby was waited for in vain: until all have what the beat before told of.
    var hasGivenUp = false
    var lastPosition: Int64 = 0
    /// The time at which the last answered beat was sent.
    var lastBeat: Int64?
    var timeline: Int64?
    /// In the order in which they came, which is that of their places.
    var waiting: [Waiting] = []
    var isStopped = false
    /// True once the log was told that standbys are hidden.
    var isHiddenTold = false
  }

  private enum Trouble { case hidden, behind }

  private let log: DaemonLog
  private let state = Mutex(State())

  init(log: DaemonLog) { self.log = log }

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

  /// Waits for some seconds until all that wait now are called, and calls nobody any more; what they were to do is done by the
  /// next start.
  func end() async {
    let timer = OneShotTimer(queue: DispatchQueue(label: "standby"))
    timer.arm(after: Self.patience) { [weak self] in self?.stop() }
    _ = await waitUntilFollowed()
    timer.cancel()
    stop()
  }

  /// Calls nobody any more.
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
      let time = state.lastBeat.map { min(max(0, sent - $0), Self.longestPause) } ?? 0
      state.lastBeat = sent
      for index in state.waiting.indices {
        state.waiting[index].time += time
        if state.waiting[index].position == nil, state.waiting[index].since < sent {
          state.waiting[index].position = beat.log.position
        }
      }
      return note(beat, in: &state)
    }
    switch trouble {
    case .hidden:
      log.warning(
        "what follows the fleet's database may be a standby, and this host may not see how far that is: a failover could lose "
          + "finished jobs with their files; GRANT pg_read_all_stats to the role of [Store] Url")
    case .behind:
      log.warning(
        "a standby of the fleet's database is away, or more than a minute behind: until it has caught up, files of finished jobs "
          + "leave the spool without it, and a failover could lose these jobs")
    case nil: break
    }
    for waiting in calls { waiting.call(true) }
  }

  /// Takes those out who need not wait any longer.
  private func note(_ beat: Beat, in state: inout State) -> ([Waiting], Trouble?) {
    let log = beat.log
    // Behind a failover the standby is the primary, and others follow.
    if state.timeline != beat.server.timeline { (state.standbyCount, state.hasGivenUp) = (0, false) }
    state.timeline = beat.server.timeline
    let isHidden = log.isHidden && log.standbyCount > 0 && !beat.server.isReplicated
    if !log.isHidden { state.standbyCount = max(state.standbyCount, log.standbyCount) }
    // As far as one of them is away, nobody knows how far it is.
    let followedTo = log.standbyCount == state.standbyCount ? log.followedTo ?? 0 : 0
    if state.hasGivenUp, followedTo >= state.lastPosition { state.hasGivenUp = false }
    state.lastPosition = log.position
    var trouble: Trouble?
    if (state.waiting.first?.time ?? 0) >= Self.limit, (state.waiting.first?.position ?? .max) > followedTo {
      trouble = .behind
      state.hasGivenUp = true
      // One that is not back by then is none any more.
      state.standbyCount = log.standbyCount
    }
    state.isNeeded = state.standbyCount > 0 && !beat.server.isReplicated && !isHidden && !state.hasGivenUp
    if isHidden, !state.isHiddenTold { (state.isHiddenTold, trouble) = (true, .hidden) }
    let isNeeded = state.isNeeded
    let count = state.waiting.prefix { !isNeeded || ($0.position ?? .max) <= followedTo }.count
    defer { state.waiting.removeFirst(count) }
    return (Array(state.waiting.prefix(count)), trouble)
  }
}
