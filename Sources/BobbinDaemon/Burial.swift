import Configuration
import Foundation
import PostgresFleet
import SystemSupport

/// The end of a daemon, told to its fleet by whoever comes after it: others have its jobs at once, instead of after the
/// 3.5 seconds in which they notice its silence.
///
/// The service manager has it done whenever the service has stopped. It never fails, and does not keep anybody waiting.
struct Burial: Sendable {
  private let paths: Paths
  private let configurationFile: String
  private let journal: Journal

  /// The time after which a database that does not answer is given up.
  private static let limit = Duration.seconds(3)

  init(_ paths: Paths, configurationFile: String?, journal: Journal) {
    self.paths = paths
    self.configurationFile = configurationFile ?? paths.configurationFile
    self.journal = journal
  }

  /// Buries the daemon of the root, if it is dead.
  func run() {
    // Whoever stopped in order has given back what it had, as systemd tells by SERVICE_RESULT=.
    if ProcessInfo.processInfo.environment["SERVICE_RESULT"] == "success" { return }
    let over = Latch()
    // Connecting may take longer than anybody should wait, and what is left then ends with the process.
    Thread.detachNewThread {
      do { try bury() } catch is ConfigurationError {
        // The daemon has told of it; whether there is a fleet is not known.
      } catch {
        journal.log(
          .notice, "the fleet was not told of the daemon's end; the other hosts notice it in 4 seconds: \(error)")
      }
      over.open()
    }
    if !over.wait(for: Self.limit) {
      journal.log(
        .notice, "the database of the fleet does not answer; the other hosts notice the daemon's end by themselves")
    }
  }

  private func bury() throws {
    let configuration = try Configuration.load(paths, mainFile: configurationFile)
    let url = configuration.store.url
    if url.isEmpty { return }
    let lock: FileLock
    do throws(SystemError) { lock = try FileLock(path: paths.state + "/lock") } catch {
      // A daemon is alive there.
      if error.code == .wouldBlock { return }
      throw error
    }
    let isBuried = try FleetDatabase.bury(
      configuration.fleet.spoolName(paths), url: url, by: LedgerRelease(Release.version), limit: Self.limit)
    withExtendedLifetime(lock) {}
    if isBuried { journal.log(.notice, "the other hosts of the fleet have the jobs of the daemon, which is dead") }
  }
}
