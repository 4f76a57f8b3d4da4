package import Configuration
import Jobs
package import ObjectGraph
import SystemSupport

/// A store from a backup that was put beside a spool that had gone on.
package enum RestoredStore {
  /// Records that are changed at a time.
  private static let chunkSize = 2_000
  /// The name in place of that of a job's file, which may be any in `cur/`: no job file has it, and a job without any is one
  /// that was put back.
  static let noFile = ".restored"

  /// Parts the unfinished jobs from their files, at the first start after a restore, which the manifest of the
  /// backup tells.
  ///
  /// A file in `cur/` may have the name that another one had at the time of the backup, and would go with the job of that.
  /// Each file is looked at anew instead: it repeats jobs that the store knows, or is admitted.
  package static func adopt(
    _ paths: Paths, _ coordinator: PersistentStoreCoordinator, log: DaemonLog
  ) throws {
    let folder = try Directory(path: paths.state)
    let manifest = FileName(Paths.backupManifest)
    guard try folder.contains(manifest) else { return }
    try ManagedObjectContext(coordinator: coordinator, name: "restored").performAndWait { context in
      let ids = try context.fetchIDs(FetchRequest<Job>(states: JobState.unfinished))
      for start in stride(from: 0, to: ids.count, by: chunkSize) {
        let part = ids[start..<min(start + chunkSize, ids.count)]
        for job in try context.fetch(FetchRequest<Job>(objectIDs: part)) { job.file = noFile }
        try context.save()
        context.reset()
      }
    }
    // Only now: a start that is cut short does it again.
    try folder.unlink(manifest)
    try folder.synchronize()
    log.notice("the store was restored from a backup; the job files in cur/ are looked at anew")
  }
}
