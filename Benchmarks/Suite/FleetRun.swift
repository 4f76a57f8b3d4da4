import Foundation
import JSONText
import PostgresTesting
import SystemSupport

/// Daemons of a fleet at work on a fresh database of a server on this machine.
struct FleetRun {
  let server: PostgresCluster
  let database: TestDatabase
  let daemons: [DaemonRun]

  /// Starts hosts, each in a folder of its own.
  ///
  /// - Parameters:
  ///   - database: a database that others have used; an empty one if nil.
  ///   - settings: further sections of the hosts' configuration.
  init(
    _ workplace: Workplace, _ server: PostgresCluster, hosts: Int, database: TestDatabase? = nil, settings: String = ""
  ) throws {
    self.server = server
    let database = try database ?? server.newDatabase()
    self.database = database
    daemons = try Self.start(hosts: hosts, workplace, at: database.url, settings: settings)
  }

  /// Starts hosts, each in a folder of its own, on the database at an address.
  static func start(hosts: Int, _ workplace: Workplace, at url: String, settings: String = "") throws -> [DaemonRun] {
    try (0..<hosts).map { number in
      try DaemonRun(
        workplace, folder: "h\(number)",
        configuration: "[Store]\nUrl=\(url)\n[Fleet]\nName=host\(number)\n" + settings)
    }
  }

  /// Writes jobs that do nothing to the folders tmp/ of all spools, and returns how many each has.
  func prepare(jobs count: Int) throws -> Int {
    let each = count / daemons.count
    for daemon in daemons { try daemon.prepare(Array(repeating: .object(["type": "noop"]), count: each)) }
    return each
  }

  /// Drops jobs that do nothing into all spools at once, and returns how many end in a second: all are durable then, and
  /// their files gone.
  func spoolRate(_ workplace: Workplace, jobs count: Int) async throws -> Double {
    let each = try prepare(jobs: count)
    let driver = Program(try await workplace.peer("drop_files"))
    try settle(workplace)
    let start = ContinuousClock.now
    try await withThrowingTaskGroup(of: Void.self) { group in
      for daemon in daemons { group.addTask { _ = try await driver.measure(daemon.spool, "\(each)") } }
      try await group.waitForAll()
    }
    return Double(each * daemons.count) / (start.duration(to: .now) / .seconds(1))
  }

  /// Brings what is behind us to disk, so that nobody pays for somebody else.
  func settle(_ workplace: Workplace) throws {
    try database.run("CHECKPOINT")
    workplace.syncDisks()
  }

  /// Both sides must have done the work.
  func check(completed count: Int) throws {
    try checkSpoolsAreEmpty()
    let found = try database.run("SELECT count(*) FROM bobbin.\"Job\" WHERE state = 'completed'") ?? ""
    guard found == "\(count)" else { throw BenchError("\(found) of \(count) jobs were completed") }
  }

  /// No job may be in another state than completed, and no file in a spool, neither waiting nor refused.
  func checkNothingIsLeft() throws {
    let others = try database.run("SELECT count(*) FROM bobbin.\"Job\" WHERE state <> 'completed'") ?? ""
    guard others == "0" else { throw BenchError("\(others) jobs were not completed") }
    try checkSpoolsAreEmpty()
  }

  private func checkSpoolsAreEmpty() throws {
    for daemon in daemons {
      for folder in ["new", "cur", "failed"] {
        let names = try FileManager.default.contentsOfDirectory(atPath: "\(daemon.spool)/\(folder)")
        guard names.isEmpty else { throw BenchError("\(names.count) files are left in \(daemon.spool)/\(folder)") }
      }
    }
  }

  func stop() async throws { for daemon in daemons { try await daemon.stop() } }

  /// The size of the tables that every job goes through, in bytes.
  func hotTableBytes() throws -> Double {
    let names = ["_run", "_inbox", "_session", "_beat", "_outcome", "_order"]
    let sizes = names.map { "pg_total_relation_size('bobbin.\($0)')" }.joined(separator: " + ")
    return Double(try database.run("SELECT \(sizes)") ?? "") ?? .nan
  }
}

extension PostgresCluster {
  /// The processor time of all processes of the server so far, in seconds.
  func processorTime() throws -> Double {
    let text = try String(contentsOfFile: folder + "/data/postmaster.pid", encoding: .utf8)
    guard let postmaster = text.split(separator: "\n").first.flatMap({ Int($0) }) else {
      throw BenchError("the server's file postmaster.pid can't be read")
    }
    // The postmaster counts the children that have ended.
    let own = try Self.ticks(of: postmaster, withEndedChildren: true)
    let children = try String(contentsOfFile: "/proc/\(postmaster)/task/\(postmaster)/children", encoding: .utf8)
    let living = children.split(separator: " ").compactMap { Int($0) }.reduce(0) { sum, child in
      // One that has just ended is counted above the next time.
      sum + ((try? Self.ticks(of: child, withEndedChildren: false)) ?? 0)
    }
    return Double(own + living) / Double(sysconf(Int32(_SC_CLK_TCK)))
  }

  private static func ticks(of process: Int, withEndedChildren: Bool) throws -> Int {
    let text = try String(contentsOfFile: "/proc/\(process)/stat", encoding: .utf8)
    // The name of the program, which comes second, may contain anything.
    let fields = text[(text.lastIndex(of: ")") ?? text.startIndex)...].split(separator: " ")
    guard fields.count > 15 else { throw BenchError("/proc tells nothing of process \(process)") }
    return fields[12..<(withEndedChildren ? 16 : 14)].reduce(0) { $0 + (Int($1) ?? 0) }
  }
}
