import Foundation
import Jobs
import ObjectGraph
import SystemSupport

extension DaemonCore {
  /// Removes what attempts left behind when an earlier run of the daemon was killed, before their jobs are run again.
  ///
  /// The programs themselves died with that daemon, but not what they had started; and half-written files would lie about
  /// for ever if the job were cancelled now.
  ///
  /// - Parameter killProcesses: kills the processes of such attempts, and returns how many there were.
  func removeLeftovers(killProcesses: () throws -> Int) throws {
    let payload = paths.payload
    let cutShort = try ManagedObjectContext(parent: main, name: "leftovers").performAndWait { [log, handlers] context in
      let jobs = try context.fetch(
        FetchRequest<Job>(.isIn(.keyPath(["state"]), [.value(.string(JobState.running.rawValue))], [])))
      for job in jobs {
        guard let handler = handlers[job.type] as? any OwnHandler else { continue }
        do {
          let arguments = try JobSpecification(record: job).arguments
          try handler.removeLeftovers(
            of: arguments, submitter: UInt32(exactly: job.submitter) ?? .max, payloadDirectory: payload)
        } catch {
          log.notice("what an attempt at the job \(displayName(job.id)) may have left can't be removed: \(error)")
        }
      }
      return jobs.count
    }
    // Without an attempt that was cut short no process was at work.
    if cutShort == 0 { return }
    let count = try killProcesses()
    if count > 0 { log.warning("killed \(count) processes that jobs of an earlier run had left behind") }
  }
}
