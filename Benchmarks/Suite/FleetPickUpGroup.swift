import Dispatch
import Foundation
import PostgresTesting
import SystemSupport

/// How soon another host begins a job that was dropped on one, while all are at rest: from the rename of its file to the
/// start that its record tells.
///
/// Two commits lie between, that of the job and that of its assignment; the promise allows for three.
struct FleetPickUpGroup: BenchGroup {
  static let name = "fleet-pickup"

  private let options: Options
  private let workplace: Workplace
  private var count: Int { options.isQuick ? 50 : 500 }

  init(_ options: Options, _ workplace: Workplace) {
    self.options = options
    self.workplace = workplace
  }

  func run() async throws -> [Figure] {
    let server = try PostgresCluster(in: workplace.serverPath, isDurable: true)
    let peer = Program(try await workplace.peer("fleet_rows", "-I/usr/include/postgresql", "-lpq", "-lpthread"))
    // They are given jobs in turn, two for each that is looked at.
    let fleet = try FleetRun(workplace, server, hosts: 3)
    var commits: [Double] = []
    var renamed: [String: Date] = [:]
    for number in 0..<count {
      if number % (count / 10) == 0 {
        commits.append(try await peer.measure(fleet.database.url, "commits", "20") * 1000)
      }
      let id = "probe-\(number)"
      renamed[id] = try await drop(id, on: fleet.daemons[0])
    }
    let rows = try TestDatabase.rows(
      "SELECT id, \"startedAt\" FROM bobbin.\"Job\" WHERE id LIKE 'probe-%' AND host NOT LIKE 'host0:%'",
      fleet.database.url)
    let delays = rows.compactMap { row -> Double? in
      guard let id = row[0], let time = row[1].flatMap(Double.init), let renamed = renamed[id] else { return nil }
      return Date(timeIntervalSinceReferenceDate: time).timeIntervalSince(renamed) * 1000
    }.sorted()
    try await fleet.stop()
    guard delays.count > count / 2 else { throw BenchError("only \(delays.count) of \(count) jobs ran elsewhere") }
    let commit = 3 * commits.median
    return [
      figure("median, less 3 commits", delays.median - commit, commit, target: 3),
      figure("p99, less 3 commits", delays[delays.count * 99 / 100] - commit, commit, target: 20),
    ]
  }

  private func figure(_ name: String, _ ours: Double, _ commits: Double, target: Double) -> Figure {
    Figure(
      name: "fleet-pickup." + name, unit: "ms", ours: [ours], peer: [commits], peerName: "3 commits", measure: .ours,
      target: .atMost(target))
  }

  /// Drops a job, and waits until its file has gone, of which the kernel tells: nobody asks the daemons for anything meanwhile.
  ///
  /// - Returns: the moment of the rename.
  private func drop(_ id: String, on daemon: DaemonRun) async throws -> Date {
    let name = FileName("\(id).json")
    let gone = Latch()
    let watcher = try DirectoryWatcher(
      Directory(path: daemon.spool + "/cur"), queue: DispatchQueue(label: "files"), tellsDeletion: true
    ) { if $0.contains(.deleted(name)) { gone.open() } }
    defer { watcher.stop() }
    let file = "\(daemon.spool)/tmp/\(name)"
    try Data("{\"type\":\"noop\",\"id\":\"\(id)\"}".utf8).write(to: URL(filePath: file))
    let renamed = Date()
    guard rename(file, "\(daemon.spool)/new/\(name)") == 0 else { throw BenchError("rename: \(errno)") }
    guard try await onThread({ gone.wait(for: .seconds(60)) }) else { throw BenchError("\(name) is not run") }
    return renamed
  }
}
