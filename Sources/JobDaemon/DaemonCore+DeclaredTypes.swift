import Foundation
import Jobs
import ObjectGraph
import SystemSupport

extension DaemonCore {
  /// The same for every run of a daemon on this state folder, however its path is spelled.
  private var processMark: String { URL(fileURLWithPath: paths.state).resolvingSymlinksInPath().path }

  /// Makes handlers of the types that files declare, in place of those of earlier ones.
  func declare(_ types: [DeclaredType]) {
    handlers.setDeclared(types.map { ProcessHandler($0, coordinator: coordinator, mark: processMark) })
  }

  /// Ends what programs have left that an earlier run of the daemon started, before their jobs are run again.
  ///
  /// The programs themselves died with that daemon, but not what they had started.
  func endLeftoverProcesses() throws {
    // Without an attempt that was cut short there was no program at work.
    let cutShort = try ManagedObjectContext(parent: main, name: "leftovers").performAndWait { context in
      try context.count(
        for: FetchRequest<Job>(.isIn(.keyPath(["state"]), [.value(.string(JobState.running.rawValue))], [])))
    }
    if cutShort == 0 { return }
    let processes = MarkedProcesses(variable: ProcessLaunch.markVariable, value: processMark)
    let count = try processes.kill(by: .after(.seconds(5)))
    if count > 0 { log.warning("killed \(count) processes that jobs of an earlier run had left behind") }
  }
}
