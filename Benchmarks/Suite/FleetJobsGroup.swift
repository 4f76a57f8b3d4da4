import Foundation
import PostgresTesting

/// Small jobs through four daemons and the server that they share, on this machine, against one daemon on SQLite, queues
/// from PyPI, and plain C that does the same with the server.
struct FleetJobsGroup: BenchGroup {
  static let name = "fleet-jobs"

  private static let hosts = 4
  private static let jobsPerRequest = 1_000
  /// The jobs of a transaction of the C program.
  private static let peerBatch = 100
  private let options: Options
  private let workplace: Workplace
  private var count: Int { options.isQuick ? 4_000 : 20_000 }

  init(_ options: Options, _ workplace: Workplace) {
    self.options = options
    self.workplace = workplace
  }

  func run() async throws -> [Figure] {
    let server = try PostgresCluster(in: workplace.serverPath, isDurable: true)
    let peer = Program(try await workplace.peer("fleet_rows", "-I/usr/include/postgresql", "-lpq", "-lpthread"))
    let python = PythonQueues(count: options.isQuick ? 1_000 : 4_000)
    var (spool, single, post, singlePost): ([Double], [Double], [Double], [Double]) = ([], [], [], [])
    var (time, peerTime): ([Double], [Double]) = ([], [])
    var queues: [String: [Double]] = [:]
    for _ in 0..<options.pairs {
      single.append(try await singleRate { try await spoolRate(of: $0) })
      let fleet = try FleetRun(workplace, server, hosts: Self.hosts)
      let start = try server.processorTime()
      spool.append(try await fleet.spoolRate(workplace, jobs: count))
      time.append((try server.processorTime() - start) / Double(count) * 1e6)
      try fleet.check(completed: count)
      singlePost.append(try await singleRate { try await postRate(of: [$0]) })
      post.append(try await postRate(of: fleet.daemons))
      try fleet.check(completed: 2 * count)
      try await fleet.stop()
      peerTime.append(try await processorTime(of: peer, fleet))
      for name in python.names { queues[name, default: []].append(try await python.rate(name, server.newDatabase())) }
    }
    return [
      Figure(
        name: "fleet-jobs.spools", unit: "jobs/s", ours: spool, peer: single, peerName: "one daemon on SQLite",
        target: .atLeast(0.5)),
      Figure(
        name: "fleet-jobs.sockets", unit: "jobs/s", ours: post, peer: singlePost, peerName: "one daemon on SQLite",
        target: .atLeast(0.7)),
      Figure(
        name: "fleet-jobs.server's processor time", unit: "us/job", ours: time, peer: peerTime, peerName: "plain C",
        target: .atMost(1.3)),
    ]
      + python.names.map { name in
        Figure(
          name: "fleet-jobs.spools beside \(name)", unit: "jobs/s", ours: spool, peer: queues[name] ?? [],
          peerName: name,
          target: .atLeast(name == "procrastinate" ? 10 : 0.5))
      }
  }

  private func singleRate(_ body: (DaemonRun) async throws -> Double) async throws -> Double {
    let daemon = try DaemonRun(workplace)
    let rate = try await body(daemon)
    let status = try daemon.status()
    guard status["jobs"]?["completed"]?.integer == Int64(count) else {
      throw BenchError("the jobs were not all completed: \(status.serialized())")
    }
    try await daemon.stop()
    return rate
  }

  private func spoolRate(of daemon: DaemonRun) async throws -> Double {
    try daemon.prepare(Array(repeating: .object(["type": "noop"]), count: count))
    let driver = Program(try await workplace.peer("drop_files"))
    workplace.syncDisks()
    return Double(count) / (try await driver.measure(daemon.spool, "\(count)"))
  }

  /// Four clients, so that one's jobs are accepted while others' are on their way to the disk.
  private func postRate(of daemons: [DaemonRun]) async throws -> Double {
    let job = "{\"type\":\"noop\"}"
    let body = "{\"jobs\":[" + Array(repeating: job, count: Self.jobsPerRequest).joined(separator: ",") + "]}"
    let requests = count / Self.jobsPerRequest
    workplace.syncDisks()
    let start = ContinuousClock.now
    try await withThrowingTaskGroup(of: Void.self) { group in
      for client in 0..<4 {
        let daemon = daemons[client % daemons.count]
        group.addTask {
          for _ in stride(from: client, to: requests, by: 4) {
            try await onThread { _ = try daemon.send("POST", "/v1/jobs", wait: true, body) }
          }
        }
      }
      try await group.waitForAll()
    }
    return Double(requests * Self.jobsPerRequest) / (start.duration(to: .now) / .seconds(1))
  }

  /// The microseconds of the server's processor for a job of the C program, in the database of a fleet that has ended.
  private func processorTime(of peer: Program, _ fleet: FleetRun) async throws -> Double {
    try fleet.settle(workplace)
    let start = try fleet.server.processorTime()
    _ = try await peer.measure(fleet.database.url, "jobs", "\(count)", "\(Self.peerBatch)", "\(Self.hosts)")
    return (try fleet.server.processorTime() - start) / Double(count) * 1e6
  }
}

/// Queues from PyPI on PostgreSQL, each with one worker process, which `scripts/bench` installs.
struct PythonQueues {
  let names: [String]
  private let count: Int
  private let python: String

  init(count: Int) {
    self.count = count
    python = FileManager.default.currentDirectoryPath + "/.build/python-queues/bin/python"
    let isThere = FileManager.default.isExecutableFile(atPath: python)
    if !isThere { print("procrastinate and pgqueuer are left out: scripts/bench could not install them from PyPI") }
    names = isThere ? ["procrastinate", "pgqueuer"] : []
  }

  /// The jobs that a worker of a queue ends in a second.
  func rate(_ name: String, _ database: TestDatabase) async throws -> Double {
    Double(count)
      / (try await Program(python).measure("Benchmarks/Peers/python_queues.py", name, database.url, "\(count)"))
  }
}
