import Foundation
import JSONText
import Jobs
import ObjectGraph
import SystemSupport

extension DaemonCore {
  /// A mark that is the same for every run of a daemon on this state folder, however its path is spelled.
  private var processMark: String { URL(fileURLWithPath: paths.state).resolvingSymlinksInPath().path }

  /// Replaces the handlers of declared types.
  func declare(_ types: [DeclaredType]) {
    handlers.setDeclared(types.map { ProcessHandler($0, coordinator: coordinator, mark: processMark) })
  }

  /// Removes what attempts cut short by the end of an earlier run have left, before their jobs run again.
  ///
  /// The programs themselves died with that daemon, but not the processes that they had started; and half-written files
  /// would stay for ever if the job were cancelled now.
  func removeLeftovers() throws {
    let payload = paths.payload
    let cutShort = try ManagedObjectContext(parent: main, name: "leftovers").performAndWait { [log, handlers] context in
      let jobs = try context.fetch(
        FetchRequest<Job>(.isIn(.keyPath(["state"]), [.value(.string(JobState.running.rawValue))], [])))
      for job in jobs {
        guard let handler = handlers[job.type] as? any LeftoverRemoving else { continue }
        do {
          let arguments = try JobSpecification(record: job).arguments
          try handler.removeLeftovers(
            of: arguments, submitter: UInt32(exactly: job.submitter) ?? .max, payloadDirectory: payload)
        } catch {
          log.notice("leftovers of an attempt at the job \(displayName(job.id)) can't be removed: \(error)")
        }
      }
      return jobs.count
    }
    // Without an attempt that was cut short, no program was running.
    if cutShort == 0 { return }
    let processes = MarkedProcesses(variable: ProcessLaunch.markVariable, value: processMark)
    let count = try processes.kill(by: .after(.seconds(5)))
    if count > 0 { log.warning("killed \(count) processes that jobs of an earlier run had left behind") }
  }
}

/// A handler whose attempts make files that a kill leaves half written.
protocol LeftoverRemoving: OwnHandler {
  /// Removes what an attempt at a job with these arguments may have left; none is running.
  func removeLeftovers(of arguments: JSONValue, submitter: UInt32, payloadDirectory: String) throws
}
