import Dispatch
import Foundation
import Jobs
import Synchronization
import SystemSupport

/// Removes job files from the spool once all their jobs are on disk, and answers those who wait.
final class Releaser: Sendable {
  /// Jobs whose files one thread removes at a time.
  private static let partSize = 64

  private let spool: Spool
  private let liveJobs: LiveJobs
  private let log: DaemonLog
  private let queue = DispatchQueue(label: "release")
  private let counts = Mutex<(completed: Int, discarded: Int)>((0, 0))
  /// Who wants to know when a name in `cur/` is free.
  private let waiting = Mutex<[FileName: [@Sendable () -> Void]]>([:])

  init(spool: Spool, liveJobs: LiveJobs, log: DaemonLog) {
    self.spool = spool
    self.liveJobs = liveJobs
    self.log = log
  }

  /// Jobs that became durable since the start, by outcome.
  var finishedCounts: (completed: Int, discarded: Int) { counts.withLock { $0 } }

  /// Takes over a file: it is released when its jobs, or those that it repeats, are durable.
  func expect(_ admitted: Admission.Admitted) {
    // Jobs of its own release it.
    if !admitted.ready.isEmpty { return }
    let failures = admitted.earlierFailures
    if admitted.duplicatesOfLive.isEmpty {
      queue.async { self.remove(admitted.file.name, failures) }
      return
    }
    // A file of nothing but repeated jobs goes with the last of them.
    let countdown = Countdown(admitted.duplicatesOfLive.count)
    for id in admitted.duplicatesOfLive {
      liveJobs.whenReleased(id) { [self] in
        if countdown.reachesZero() { queue.async { self.remove(admitted.file.name, failures) } }
      }
    }
  }

  /// Calls back when no file of that name is at work any more.
  func whenFree(_ name: FileName, _ call: @escaping @Sendable () -> Void) {
    waiting.withLock { $0[name, default: []].append(call) }
    // It may have been released in between.
    if (try? spool.current.contains(name)) == false { tellFree(name) }
  }

  private func tellFree(_ name: FileName) {
    let calls = waiting.withLock { $0.removeValue(forKey: name) ?? [] }
    for call in calls { call() }
  }

  /// Releases jobs whose outcome is on disk.
  func release(_ jobs: [LiveJob]) {
    queue.async {
      self.counts.withLock { counts in
        for job in jobs {
          if job.currentState == .completed { counts.completed += 1 } else { counts.discarded += 1 }
        }
      }
      // On a disk that is told of free blocks at once, removing a file waits for it; so several do.
      let parts = (jobs.count + Self.partSize - 1) / Self.partSize
      DispatchQueue.concurrentPerform(iterations: parts) { part in
        let start = part * Self.partSize
        for job in jobs[start..<min(start + Self.partSize, jobs.count)] { self.removeFileIfLast(job) }
      }
      self.liveJobs.remove(jobs)
    }
  }

  /// Removes a job's file if all its jobs are on disk now.
  private func removeFileIfLast(_ job: LiveJob) {
    let failure = job.currentState == .discarded ? job.failure.map { "\(job.id): \($0)" } : nil
    if let failures = job.file.finishJob(job.sequence, failure: failure) { remove(job.file.name, failures) }
  }

  /// Waits for what has been asked so far.
  func drain() { queue.sync {} }

  private func remove(_ name: FileName, _ failures: [String]) {
    do {
      if failures.isEmpty {
        try spool.release(name)
      } else {
        try spool.refuse(name, in: spool.current, reason: failures.joined(separator: "\n"))
      }
    } catch {
      log.error("the job file \(name) is done, but can't be removed from cur/: \(error)")
    }
    tellFree(name)
  }
}

/// Counts down to zero once, from any thread.
private final class Countdown: Sendable {
  private let left: Mutex<Int>

  init(_ count: Int) { left = Mutex(count) }

  func reachesZero() -> Bool {
    left.withLock { left in
      left -= 1
      return left == 0
    }
  }
}
