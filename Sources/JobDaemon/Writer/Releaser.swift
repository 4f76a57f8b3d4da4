import Dispatch
import Foundation
import JobSchedule
import Jobs
import ObjectGraph
import Synchronization
import SystemSupport

/// Releases job files once all their jobs are durable: unlinks them, and answers those that wait.
final class Releaser: Sendable {
  /// Jobs whose files one thread unlinks at a time.
  private static let partSize = 64

  private let spool: Spool
  private let scheduler: Scheduler
  private let waiters: ReleaseWaiters
  private let log: DaemonLog
  private let queue = DispatchQueue(label: "release")
  private let removers = WorkQueues(label: "removals", count: 4)
  private let refuser: Refuser
  private let events: DaemonEvents
  private let counts: Mutex<[JobState: Int]>
  private let standbys: StandbyWait?

  /// - Parameters:
  ///   - standbys: what releases wait for behind that; nil without a fleet.
  ///   - counts: the jobs that became durable before, since the start of the process.
  init(
    spool: Spool, refuser: Refuser, scheduler: Scheduler, waiters: ReleaseWaiters, standbys: StandbyWait? = nil,
    events: DaemonEvents, log: DaemonLog, counts: [JobState: Int] = [:]
  ) {
    self.standbys = standbys
    self.counts = Mutex(counts)
    self.spool = spool
    self.scheduler = scheduler
    self.waiters = waiters
    self.refuser = refuser
    self.events = events
    self.log = log
  }

  /// Jobs that became durable since the start, by outcome.
  var finishedCounts: [JobState: Int] { counts.withLock { $0 } }

  /// Expects a file's jobs, or those that it repeats, to become durable, to release it then.
  func expect(_ admitted: AdmittedFile) {
    if admitted.isPart { return }
    tellOfRepetitions(admitted)
    // Jobs of its own release it.
    if admitted.isLive { return }
    if !admitted.jobs.isEmpty || !admitted.finished.isEmpty || !admitted.replacements.isEmpty { return }
    // A client that sends a repetition over the socket expects nothing in failed/, and may send many.
    if admitted.duplicatesOfLive.isEmpty || Submitter.isSent(admitted.file.name) {
      whenSafe { self.remove(admitted.file.name, admitted.earlierFailures) }
      return
    }
    // A file of nothing but repeated jobs is released or refused with the last of them.
    let countdown = Countdown(admitted.duplicatesOfLive.count)
    waiters.add(admitted.duplicatesOfLive, to: scheduler) { [self] in
      if countdown.reachesZero() { events.send(.doubtful(admitted.file.name)) }
    }
  }

  private func tellOfRepetitions(_ admitted: AdmittedFile) {
    // It was logged when the file was claimed; a client is told in its reply.
    if admitted.isTakenUp || Submitter.isSent(admitted.file.name) { return }
    if admitted.repeated.isEmpty && admitted.unknown.isEmpty && admitted.replacements.isEmpty { return }
    func list(_ names: [String]) -> String {
      names.prefix(5).map { displayName($0) }.joined(separator: ", ") + (names.count > 5 ? ", ..." : "")
    }
    let names = zip(admitted.ids, admitted.objectIDs)
    let repeated = names.filter { admitted.repeated.contains($0.1) }.map(\.0)
    if !repeated.isEmpty {
      log.notice("the job file \(admitted.file.name) repeats known jobs, which are not run again: \(list(repeated))")
    }
    if !admitted.replacements.isEmpty {
      let replaced = admitted.replacements.map { $0.specification.id ?? "" }
      log.notice("the job file \(admitted.file.name) replaces known jobs: \(list(replaced))")
    }
    let unknown = names.flatMap { admitted.unknown[$0.1] ?? [] }
    if !unknown.isEmpty {
      log.notice(
        "jobs of the file \(admitted.file.name) wait for jobs that nobody has submitted yet: \(list(unknown))")
    }
  }

  /// Releases durable jobs.
  func release(_ jobs: [FinishedJob]) {
    whenSafe {
      self.counts.withLock { counts in for job in jobs { counts[job.state, default: 0] += 1 } }
      self.removeFiles(of: jobs)
      self.scheduler.change { schedule, now in for job in jobs { schedule.remove(job.objectID, at: now) } }
      self.waiters.release(jobs.lazy.map(\.objectID))
      self.events.send(.released(jobs))
    }
  }

  /// Releases a file with whose last job it is over, as another file has replaced that.
  func releaseFile(of job: FinishedJob) { whenSafe { self.removeFileIfLast(job) } }

  /// Calls a body, on the queue, when nothing takes back any more what is durable by now.
  private func whenSafe(_ body: @escaping @Sendable () -> Void) {
    guard let standbys else { return queue.async(execute: body) }
    standbys.whenFollowed { [queue] in queue.async(execute: body) }
  }

  /// Unlinks the files whose jobs are all durable now.
  private func removeFiles(of jobs: [FinishedJob]) {
    if jobs.count <= Self.partSize { return jobs.forEach(removeFileIfLast) }
    // On a disk mounted with discard, unlinking a file waits for it; so several threads do.
    let removals = DispatchGroup()
    for start in stride(from: 0, to: jobs.count, by: Self.partSize) {
      removals.enter()
      removers.async {
        jobs[start..<min(start + Self.partSize, jobs.count)].forEach(self.removeFileIfLast)
        removals.leave()
      }
    }
    removals.wait()
  }

  private func removeFileIfLast(_ job: FinishedJob) {
    if let file = job.file, let failures = file.finish(job) { remove(file, failures) }
  }

  /// Notes that all jobs of a file were admitted, part by part; they may all be durable by now.
  func endAdmission(of file: LiveFile) {
    whenSafe { if let failures = file.endAdmission() { self.remove(file, failures) } }
  }

  private func remove(_ file: LiveFile, _ failures: [String]) {
    if file.isOfEarlierRun { events.send(.doubtful(file.name)) } else { remove(file.name, failures) }
  }

  /// Waits for the releases asked for so far.
  func drain() { queue.sync {} }

  private func remove(_ name: FileName, _ failures: [String]) {
    if !failures.isEmpty { return refuser.moveFailed(name, failures: failures) }
    do throws(SystemError) { try spool.release(name) } catch {
      log.error("the job file \(name) is finished, but can't be removed from cur/: \(error)")
    }
    events.send(.nameFree(name))
  }
}

/// Counts down to zero once, from any thread.
final class Countdown: Sendable {
  private let left: Mutex<Int>

  init(_ count: Int) { left = Mutex(count) }

  func reachesZero() -> Bool {
    left.withLock { left in
      left -= 1
      return left == 0
    }
  }
}

/// The clients that wait until a job is durable and its file released.
final class ReleaseWaiters: Sendable {
  /// Stands for one wait.
  struct Token: Sendable, Hashable { fileprivate let number: UInt64 }

  private struct Waiter {
    let token: Token
    let released: @Sendable () -> Void
    let held: (@Sendable () -> Void)?
    let stopped: (@Sendable () -> Void)?
  }

  private let waiters = Mutex<[ManagedObjectID: [Waiter]]>([:])
  private let isStopped = Atomic(false)
  private let lastNumber = Atomic<UInt64>(0)

  /// Calls back for each of the jobs when it is released; at once for those that are released already.
  ///
  /// - Parameters:
  ///   - whenHeld: called each time one of the jobs is held, until it is released.
  ///   - whenStopped: called when the daemon stops, at once if it has.
  @discardableResult
  func add(
    _ ids: [ManagedObjectID], to scheduler: Scheduler, whenHeld: (@Sendable () -> Void)? = nil,
    whenStopped: (@Sendable () -> Void)? = nil, _ call: @escaping @Sendable () -> Void
  ) -> Token {
    let token = Token(number: lastNumber.add(1, ordering: .relaxed).newValue)
    let waiter = Waiter(token: token, released: call, held: whenHeld, stopped: whenStopped)
    waiters.withLock { waiters in for id in ids { waiters[id, default: []].append(waiter) } }
    // Checked afterwards, so that a release in between is not missed.
    let released = scheduler.read { schedule, _ in ids.filter { !schedule.contains($0) } }
    if !released.isEmpty { release(released) }
    if isStopped.load(ordering: .sequentiallyConsistent) { whenStopped?() }
    return token
  }

  /// Tells those that wait that the daemon stops, and that nothing is released any more.
  func stop() {
    isStopped.store(true, ordering: .sequentiallyConsistent)
    let calls = waiters.withLock { waiters in
      let stopped = waiters.values.joined().map { ($0.token, $0.stopped) }
      return Dictionary(stopped) { first, _ in first }
    }
    for call in calls.values { call?() }
  }

  /// Ends a wait for these jobs.
  func remove(_ token: Token, of ids: [ManagedObjectID]) {
    waiters.withLock { waiters in
      for id in ids {
        guard var left = waiters[id] else { continue }
        left.removeAll { $0.token == token }
        waiters[id] = left.isEmpty ? nil : left
      }
    }
  }

  /// The number of waits, of all jobs together.
  var count: Int { waiters.withLock { $0.values.reduce(0) { $0 + $1.count } } }

  /// True if anything waits for one of the jobs.
  func contains(_ ids: some Sequence<ManagedObjectID>) -> Bool {
    waiters.withLock { waiters in !waiters.isEmpty && ids.contains { waiters[$0] != nil } }
  }

  /// Calls back those that wait for these jobs.
  func release(_ ids: some Sequence<ManagedObjectID>) {
    let calls = waiters.withLock { waiters in
      waiters.isEmpty ? [] : ids.flatMap { waiters.removeValue(forKey: $0) ?? [] }
    }
    for call in calls { call.released() }
  }

  /// Tells those that wait for a job that it is held.
  func tellHeld(_ id: ManagedObjectID) {
    let calls = waiters.withLock { waiters in waiters.isEmpty ? [] : waiters[id] ?? [] }
    for call in calls { call.held?() }
  }
}
