import Dispatch
import Foundation
import PostgresTesting
import Synchronization

/// Databases that have the tests of single hosts run on PostgreSQL, where each daemon is a fleet of one: what users of one host
/// are promised holds there as well.
enum FleetOfOne {
  /// True if the environment asks for it.
  static let isWanted = ProcessInfo.processInfo.environment["BOBBIN_TEST_FLEET"] != nil
  /// By the path of their root: a root may be opened once more.
  private static let databases = Mutex<[String: TestDatabase]>([:])

  /// Makes a root's database, and returns its address.
  static func makeDatabase(of root: String) throws -> String {
    let database = try PostgresCluster.makeDatabase()
    databases.withLock { $0[root] = database }
    return database.url
  }

  /// The results of statements, which semicolons divide; nil if the root has no database.
  static func sql(_ text: String, of root: String) throws -> String? {
    guard let database = databases.withLock({ $0[root] }) else { return nil }
    return try text.split(separator: ";").map { try database.output(String($0)) }.joined(separator: "\n")
  }

  /// Has whoever waits for changes look again and again: no folder changes with a database.
  static func clock(for changes: Changes) -> (any DispatchSourceTimer)? {
    guard isWanted else { return nil }
    let clock = DispatchSource.makeTimerSource()
    clock.schedule(deadline: .now(), repeating: .milliseconds(250))
    clock.setEventHandler { [changes] in changes.note() }
    clock.activate()
    return clock
  }
}
