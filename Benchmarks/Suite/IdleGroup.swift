import Foundation
import PostgresTesting

/// How often a daemon without work wakes up, and what hosts of a fleet without work ask of its database.
struct IdleGroup: BenchGroup {
  static let name = "idle"

  private let options: Options
  private let workplace: Workplace

  init(_ options: Options, _ workplace: Workplace) {
    self.options = options
    self.workplace = workplace
  }

  func run() async throws -> [Figure] {
    let daemon = try DaemonRun(workplace)
    _ = try await onThread { try daemon.send("POST", "/v1/jobs", wait: true, "{\"type\":\"noop\"}") }
    // libdispatch's manager lets pool threads go after some seconds.
    try await Task.sleep(for: .seconds(20))
    let before = try Self.switches(of: daemon.processID)
    try await Task.sleep(for: .seconds(10))
    let after = try Self.switches(of: daemon.processID)
    try await daemon.stop()
    return [
      figure("wakeups in 10 s", Double(Self.wakeups(from: before, to: after)), atMost: 0),
      figure("transactions of a fleet's host in 1 s", try await transactions(), atMost: 1.5),
    ]
  }

  private func figure(_ name: String, _ value: Double, atMost limit: Double) -> Figure {
    Figure(
      name: "idle." + name, unit: "", ours: [value], peer: [], peerName: "", measure: .ours, target: .atMost(limit))
  }

  /// The transactions that each of four hosts begins in a second, the lead among them.
  private func transactions() async throws -> Double {
    let server = try PostgresCluster(in: workplace.serverPath, isDurable: true)
    let fleet = try FleetRun(workplace, server, hosts: 4)
    _ = try await onThread { try fleet.daemons[0].send("POST", "/v1/jobs", wait: true, "{\"type\":\"noop\"}") }
    // What the jobs have left to do is done then, and the server has counted it.
    try await Task.sleep(for: .seconds(10))
    func count() throws -> Double {
      let counted = "SELECT xact_commit + xact_rollback FROM pg_stat_database WHERE datname = current_database()"
      return Double(try fleet.database.run(counted) ?? "") ?? .nan
    }
    let (before, start) = (try count(), ContinuousClock.now)
    try await Task.sleep(for: .seconds(options.isQuick ? 10 : 60))
    let (after, seconds) = (try count(), start.duration(to: .now) / .seconds(1))
    try await fleet.stop()
    return (after - before) / seconds / Double(fleet.daemons.count)
  }

  /// Voluntary and involuntary context switches of each thread so far.
  private static func switches(of process: Int32) throws -> [String: Int] {
    let folder = "/proc/\(process)/task"
    let threads = try FileManager.default.contentsOfDirectory(atPath: folder)
    return try Dictionary(
      uniqueKeysWithValues: threads.map { thread in
        let text = try String(contentsOfFile: "\(folder)/\(thread)/status", encoding: .utf8)
        let lines = text.split(separator: "\n").filter { $0.contains("ctxt_switches:") }
        return (thread, lines.reduce(0) { $0 + (Int($1.split(whereSeparator: \.isWhitespace).last ?? "") ?? 0) })
      })
  }

  /// The switches between two times; a thread that has ended in between did so by running once.
  private static func wakeups(from before: [String: Int], to after: [String: Int]) -> Int {
    let ended = before.keys.filter { after[$0] == nil }.count
    return ended + after.reduce(0) { $0 + $1.value - (before[$1.key] ?? 0) }
  }
}
