import Foundation
import JobSchedule
import ObjectGraph
import Synchronization

/// The daemon's side of all hot folders: where their jobs go, and what is known of them.
struct HotFolderJobs: Sendable {
  /// True if jobs are taken at all.
  let areTaken: @Sendable () -> Bool
  /// The record of a job by its ID; nil if there is none.
  let known: @Sendable (_ id: String) throws -> KnownJobs.Entry?
  /// True if the job is not on disk with its outcome yet.
  let isUnfinished: @Sendable (ManagedObjectID) -> Bool
  /// Admits a job file for a user; it is durable when this returns.
  let accept: @Sendable (_ data: Data, _ submitter: UInt32) throws -> Void
  /// Called when a folder has a problem, or none any more.
  let problemsDidChange: @Sendable () -> Void
  let log: DaemonLog
}

/// All hot folders of the daemon.
final class HotFolders: Sendable {
  private let jobs: HotFolderJobs
  private let memories: String
  /// By name.
  private let runners = Mutex<[String: HotFolderRunner]>([:])

  /// - Parameters:
  ///   - jobs: where jobs go.
  ///   - memories: the folder of what is remembered of each.
  init(_ jobs: HotFolderJobs, memories: String) {
    self.jobs = jobs
    self.memories = memories
  }

  /// Watches these folders instead of others; those that have not changed go on, and are looked through.
  func replace(_ folders: [HotFolder]) {
    let wanted = Dictionary(folders.map { ($0.name, $0) }) { first, _ in first }
    let ended = runners.withLock { runners in
      let ended = runners.filter { wanted[$0.key] != $0.value.folder }
      for name in ended.keys { runners[name] = nil }
      return ended
    }
    // Before their successors begin, which find by the IDs of jobs what they had submitted.
    for runner in ended.values { runner.stop() }
    for folder in folders {
      if let runner = runners.withLock({ $0[folder.name] }) {
        runner.start()
        continue
      }
      do {
        let runner = try HotFolderRunner(folder, jobs: jobs, memories: memories)
        runners.withLock { $0[folder.name] = runner }
        runner.start()
      } catch {
        jobs.log.error(
          "the hot folder \(folder.name) is not watched, as what is remembered of it can't be read: \(error)")
      }
    }
  }

  /// Stops all; returns when no work is under way any more.
  func stop() {
    let all = runners.withLock { runners in
      defer { runners = [:] }
      return runners
    }
    for runner in all.values { runner.stop() }
  }

  /// The names of folders whose files are not taken just now.
  var troubled: [String] { runners.withLock { $0.filter { $0.value.problem != nil }.keys.sorted() } }

  /// Notes jobs whose outcomes are on disk.
  func note(_ finished: [FinishedJob]) {
    for runner in runners.withLock({ Array($0.values) }) { runner.note(finished) }
  }
}
