import Dispatch
import Foundation
import JobSchedule
import ObjectGraph
import StatusReplies
import Synchronization
import SystemSupport

/// The daemon's side of all hot folders: where their jobs go, and what is known of them.
struct HotFolderJobs: Sendable {
  /// True if jobs are taken at all.
  let areTaken: @Sendable () -> Bool
  /// The record of a job by its ID; nil if there is none.
  let known: @Sendable (_ id: String) throws -> KnownJobs.Entry?
  /// True if the job is not on disk with its outcome yet.
  let isUnfinished: @Sendable (ManagedObjectID) -> Bool
  /// Admits a job file for a user; it is durable when this returns. False if another host has its job already.
  let accept: @Sendable (_ data: Data, _ submitter: UInt32) throws -> Bool
  /// Called when a folder has a problem, or none any more.
  let problemsDidChange: @Sendable () -> Void
  let log: DaemonLog

  /// True if what was refused may be taken later, also if it is taken already.
  static func willPass(_ error: any Error) -> Bool {
    (error as? SystemError)?.isLasting == false || error is StoreError || error is UnansweredAdmission
  }
}

/// All hot folders of the daemon.
final class HotFolders: Sendable {
  private let jobs: HotFolderJobs
  private let memories: String
  /// By name.
  private let runners = Mutex<[String: HotFolderRunner]>([:])
  /// Those that could not begin.
  private let unwatched = Mutex<[FoldersReply.Folder]>([])
  /// Tells of file systems that come upon a folder, while there are folders.
  private let mounts = Mutex<MountWatch?>(nil)
  private let queue = DispatchQueue(label: "mounts")

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
    for runner in ended.values {
      runner.stop()
      runner.finish()
    }
    unwatched.withLock { $0 = [] }
    if folders.isEmpty { mounts.withLock { $0 = nil } } else { watchMounts() }
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
        let problem = "it is not watched, as what is remembered of it can't be read: \(error)"
        jobs.log.error(
          "the hot folder \(folder.name): \(problem)", as: .folderTroubled, fields: [("BOBBIN_FOLDER", folder.name)])
        var overview = folder.overview(.unreadable)
        overview.problem = problem
        unwatched.withLock { $0.append(overview) }
        jobs.problemsDidChange()
      }
    }
  }

  /// Looks at all folders again when something is mounted or unmounted, which raises no event in them.
  private func watchMounts() {
    mounts.withLock { mounts in
      if mounts != nil { return }
      do throws(SystemError) {
        mounts = try MountWatch(queue: queue) { [weak self] error in
          guard let self else { return }
          if let error { warnOfMounts(error) }
          for runner in runners.withLock({ Array($0.values) }) { runner.noteMounts() }
        }
      } catch {
        warnOfMounts(error)
      }
    }
  }

  private func warnOfMounts(_ error: SystemError) {
    jobs.log.warning("what is mounted upon hot folders is not noticed: \(error)")
  }

  /// Stops all; returns when no work is under way any more. Ends of jobs are still noted.
  func stop() { for runner in runners.withLock({ $0.values.map(\.self) }) { runner.stop() } }

  /// Finishes the files of jobs that have ended since the stop, or just before: what is not remembered of files that stay
  /// would be known only as long as their jobs have records.
  func finish() {
    let all = runners.withLock { runners in
      defer { runners = [:] }
      return runners
    }
    for runner in all.values { runner.finish() }
  }

  /// All folders as people see them, by name.
  var overview: [FoldersReply.Folder] {
    let watched = runners.withLock { Array($0.values) }.map(\.overview)
    return (watched + unwatched.withLock { $0 }).sorted { $0.name < $1.name }
  }

  /// The names of folders whose files are not taken just now.
  var troubled: [String] { overview.filter { $0.problem != nil }.map(\.name) }

  /// Notes jobs whose outcomes are on disk.
  func note(_ finished: [FinishedJob]) {
    for runner in runners.withLock({ Array($0.values) }) { runner.note(finished) }
  }
}
