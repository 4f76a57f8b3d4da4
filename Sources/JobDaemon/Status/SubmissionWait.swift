import Dispatch
import HTTPService
import JobSchedule
import Jobs
import ObjectGraph
import Synchronization
import SystemSupport

/// Waits until all jobs of a submission are durable, until some are held and those left wait for others, or until a timeout;
/// then calls back once.
final class SubmissionWait: Sendable {
  private struct State {
    var left: Int
    var isOver = false
    /// True if one of the jobs was held, so that those left may never end.
    var sawHeld = false
    /// The index of a job that could still end by itself when last checked.
    var active = 0
    /// True while a question to the lead of a fleet is to be asked.
    var isToAsk = false
    /// The token of the wait for the jobs' ends.
    var token: ReleaseWaiters.Token?
  }

  private static let queue = DispatchQueue(label: "ends of waits")
  /// The queue on which the lead of a fleet is asked about held jobs, which blocks.
  private static let questions = DispatchQueue(label: "waits for held jobs")
  /// The most jobs about which the lead is asked in one question.
  private static let mostAtOnce = 1_000
  /// The time after which the lead is asked again that has not answered.
  private static let patience = Duration.seconds(10)
  private let timer = OneShotTimer(queue: SubmissionWait.queue)
  private let retry = OneShotTimer(queue: SubmissionWait.queue)

  private let ids: [ManagedObjectID]
  private let daemon: Daemon
  private let completion: @Sendable (_ isOver: Bool) -> Void
  private let state: Mutex<State>

  init(_ ids: [ManagedObjectID], _ daemon: Daemon, completion: @escaping @Sendable (_ isOver: Bool) -> Void) {
    self.ids = ids
    self.daemon = daemon
    self.completion = completion
    state = Mutex(State(left: ids.count))
  }

  /// - Parameters:
  ///   - files: the files that were submitted; what they replace is waited for once that is done.
  ///   - namesKnown: true if some of the jobs were known, and may be held.
  func begin(limit: Duration, for files: [AdmittedFile], namesKnown: Bool) {
    timer.arm(after: limit) { [weak self] in self?.end(isOver: false) }
    guard let replacing = files.lazy.compactMap(\.replacing).first else { return watch(namesKnown) }
    replacing.end.whenSet { self.watch(namesKnown) }
  }

  private func watch(_ namesKnown: Bool) {
    // The callbacks hold this object until the last job is released, or the wait has ended.
    let token = daemon.waiters.add(
      ids, to: daemon.scheduler, whenHeld: { self.endIfStuck() }, whenStopped: { self.end(isOver: false) }
    ) { self.countDown() }
    let isOver = state.withLock { state in
      if !state.isOver { state.token = token }
      return state.isOver
    }
    if isOver { forget(token) }
    // Jobs that were final before this wait would otherwise be flushed only when the timer is due.
    let isComputed = daemon.scheduler.read { [ids] schedule, _ in
      ids.contains { schedule.state(of: $0)?.isFinal == true }
    }
    if isComputed { daemon.flusher.flushSoon() }
    // This host knows which jobs of a fleet were known, but not their states.
    let mayBeHeld =
      daemon.membership != nil
      ? namesKnown : daemon.scheduler.read { [ids] schedule, _ in ids.contains { schedule.state(of: $0) == .held } }
    if mayBeHeld { endIfStuck() }
  }

  private func countDown() {
    let (isLast, sawHeld) = state.withLock { state in
      state.left -= 1
      return (state.left == 0, state.sawHeld)
    }
    if isLast { end(isOver: true) } else if sawHeld { endIfStuck() }
  }

  /// Ends the wait if none of the jobs can end by itself.
  private func endIfStuck() {
    if daemon.membership == nil {
      state.withLock { $0.sawHeld = true }
      let mustEnd = daemon.scheduler.read { schedule, _ in isStuck { ids in ids.map { schedule.state(of: $0) } } }
      if mustEnd { end(isOver: false) }
      return
    }
    let isNew = state.withLock { state in
      state.sawHeld = true
      defer { state.isToAsk = true }
      return !state.isToAsk && !state.isOver
    }
    guard isNew else { return }
    Task(executorPreference: WorkQueues.tasks, priority: .medium) { [self] in
      // The lead has the news of a hold before it is asked: one of this host is on disk then.
      await daemon.merger.mergeAndWait()
      _ = await daemon.flusher.flush()
      Self.questions.async { self.askLead() }
    }
  }

  /// Ends the wait by what the lead knows.
  private func askLead() {
    // What comes from now on may not be in the answers.
    state.withLock { $0.isToAsk = false }
    do {
      let mustEnd = try isStuck { ids in
        if state.withLock({ $0.isOver }) { throw CancellationError() }
        let states = try daemon.engine.unfinished.states(of: ids)
        return daemon.scheduler.read { schedule, _ in
          // One that is over is told here soon.
          ids.map { schedule.contains($0) ? states[$0] ?? .running : nil }
        }
      }
      if mustEnd { end(isOver: false) }
    } catch is CancellationError {
      return
    } catch {
      daemon.log.debug("whether jobs that a client waits for are held is asked again: \(error)")
      retry.arm(after: Self.patience) { [weak self] in self?.endIfStuck() }
    }
  }

  /// Looks for a job that can still end by itself, from where one was found last; true if there is none, but a held one.
  ///
  /// - Parameter states: the states of some jobs; nil for those that are over.
  private func isStuck(_ states: ([ManagedObjectID]) throws -> [JobState?]) rethrows -> Bool {
    let start = state.withLock { $0.active }
    var (offset, count, isHeld) = (0, 1, false)
    while offset < ids.count {
      let indices = (offset..<min(offset + count, ids.count)).map { ($0 + start) % ids.count }
      for (index, state) in zip(indices, try states(indices.map { ids[$0] })) {
        switch state {
        case nil, .waiting: continue
        case .held: isHeld = true
        default:
          self.state.withLock { $0.active = index }
          return false
        }
      }
      (offset, count) = (offset + count, min(2 * count, Self.mostAtOnce))
    }
    return isHeld
  }

  /// Ends the wait without calling back: the client has gone.
  func abandon() { _ = finish() }

  private func end(isOver: Bool) {
    if finish() { completion(isOver) }
  }

  /// Returns true once.
  private func finish() -> Bool {
    let (isFirst, token) = state.withLock { state in
      defer { (state.isOver, state.token) = (true, nil) }
      return (!state.isOver, state.token)
    }
    timer.cancel()
    retry.cancel()
    forget(token)
    return isFirst
  }

  private func forget(_ token: ReleaseWaiters.Token?) {
    if let token { daemon.waiters.remove(token, of: ids) }
  }
}

extension Daemon {
  /// Answers the clients that wait for jobs with how these are now; for a daemon that was stopped.
  ///
  /// They would not know otherwise that their jobs were accepted, and submit them again.
  ///
  /// - Parameter limit: the longest time to wait for the clients, which blocks the thread.
  package func answerWaiters(within limit: Duration) {
    waiters.stop()
    if lastReplies.wait(timeout: DispatchTime(after: limit)) == .timedOut {
      log.notice("clients that waited for jobs have not read their replies")
    }
  }
}

/// The clients that wait for jobs, limited so that connections are left for those who would resume the jobs.
final class WaitingClients: Sendable {
  private struct State {
    var others = 0
    var owners = 0
    var byAccount: [HTTPClient.Account: Int] = [:]
  }

  private let state = Mutex(State())

  /// Counts a client that is about to wait; nil if too many are waiting.
  ///
  /// - Parameters:
  ///   - account: what the client is counted by; the owner's are counted separately, so that nobody else uses up their
  ///     places.
  ///   - limits: the limits of connections in all, and of each user.
  func enter(_ account: HTTPClient.Account, isOwner: Bool, of limits: (all: Int, perUser: Int)) -> Place? {
    let isCounted = state.withLock { state in
      if isOwner {
        guard state.owners < Self.share(of: limits.all) else { return false }
        state.owners += 1
        return true
      }
      let count = state.byAccount[account] ?? 0
      guard state.others < Self.share(of: limits.all), count < Self.share(of: limits.perUser) else { return false }
      state.others += 1
      state.byAccount[account] = count + 1
      return true
    }
    return isCounted ? Place { [self] in leave(account, isOwner: isOwner) } : nil
  }

  private func leave(_ account: HTTPClient.Account, isOwner: Bool) {
    state.withLock { state in
      if isOwner { return state.owners -= 1 }
      state.others -= 1
      let count = (state.byAccount[account] ?? 1) - 1
      state.byAccount[account] = count > 0 ? count : nil
    }
  }

  private static func share(of connections: Int) -> Int { max(1, connections * 3 / 4) }

  /// The place of one waiting client, until it is left or dropped.
  final class Place: Sendable {
    private let end: Mutex<(@Sendable () -> Void)?>

    fileprivate init(_ end: @escaping @Sendable () -> Void) { self.end = Mutex(end) }

    deinit { leave() }

    /// Makes room for another client; later calls do nothing.
    func leave() { end.withLock { $0.take() }?() }
  }
}
