import Foundation
import PostgresTesting

/// What an outage of the database costs a fleet: how fast, and in how much memory, it works off what came into its
/// spools meanwhile; and how soon a job is done behind a failover to a standby.
///
/// The server is killed while the hosts rest, and jobs are dropped while it is away. The rate counts from the moment
/// when it takes connections again, so that the hosts' own return to it is part of it. The memory is the largest
/// resident set from the kill to the last job, of the host that has grown most, less that which it had when it was idle
/// before its first job. It may grow by what the writer may hold: twice `[Writer] HighWaterBytes`, beyond which workers
/// and intake wait.
struct FleetOutageGroup: BenchGroup {
  static let name = "fleet-outage"

  private static let hosts = 4
  /// The default, written down because the target for memory goes by it.
  private static let highWaterMebibytes = 64
  private let options: Options
  private let workplace: Workplace
  private var count: Int { options.isQuick ? 2_000 : 20_000 }
  /// The time without a server; the driver of the spools waits two minutes for the first job.
  private var absence: Duration { .seconds(options.isQuick ? 5 : 60) }
  /// The time from the kill of a primary until its standby is promoted: someone has to notice first.
  private var hesitation: Duration { .seconds(options.isQuick ? 2 : 10) }

  init(_ options: Options, _ workplace: Workplace) {
    self.options = options
    self.workplace = workplace
  }

  func run() async throws -> [Figure] {
    let outage = try await outageFigures()
    return outage + (try await failoverFigures())
  }

  // MARK: The outage of the only server

  private func outageFigures() async throws -> [Figure] {
    let server = try PostgresCluster(in: workplace.serverPath, isDurable: true)
    let settings = "[Writer]\nHighWaterBytes=\(Self.highWaterMebibytes)M\n"
    var (behind, normal): ([Double], [Double]) = ([], [])
    var (peak, growth) = (0, 0)
    for _ in 0..<options.pairs {
      let fleet = try FleetRun(workplace, server, hosts: Self.hosts, settings: settings)
      let idle = try fleet.daemons.map { try $0.memory() }
      // The first jobs warm the hosts up.
      _ = try await fleet.spoolRate(workplace, jobs: count)
      normal.append(try await fleet.spoolRate(workplace, jobs: count))
      behind.append(try await rateBehindOutage(of: server, fleet))
      let peaks = try fleet.daemons.map { try $0.peakMemory() }
      try fleet.check(completed: 3 * count)
      try fleet.checkNothingIsLeft()
      try await fleet.stop()
      peak = max(peak, peaks.max() ?? 0)
      growth = max(growth, zip(peaks, idle).map { $0 - $1 }.max() ?? 0)
    }
    return [
      Figure(
        name: "fleet-outage.rate behind it", unit: "jobs/s", ours: behind, peer: normal, peerName: "without one",
        target: .atLeast(0.8), peakMemory: peak),
      Figure(
        name: "fleet-outage.memory beyond that of an idle host", unit: "MB", ours: [Double(growth) / 1e6], peer: [],
        peerName: "", measure: .ours, target: .atMost(Double(2 * Self.highWaterMebibytes << 20) / 1e6)),
    ]
  }

  /// The jobs that end in a second once the server is back, with all their files dropped while it was away.
  private func rateBehindOutage(of server: PostgresCluster, _ fleet: FleetRun) async throws -> Double {
    let driver = Program(try await workplace.peer("drop_files"))
    let each = try fleet.prepare(jobs: count)
    try fleet.settle(workplace)
    try await server.kill()
    for daemon in fleet.daemons { try daemon.resetPeakMemory() }
    let back = try await withThrowingTaskGroup(of: Void.self) { group in
      for daemon in fleet.daemons { group.addTask { _ = try await driver.measure(daemon.spool, "\(each)") } }
      try await Task.sleep(for: absence)
      let back = try await server.startAgain()
      try await group.waitForAll()
      return back
    }
    return Double(each * fleet.daemons.count) / Date().timeIntervalSince(back)
  }

  // MARK: Failover

  /// A round for each pair, in which the servers change places; the old primary is made anew behind it.
  ///
  /// Commits wait for the standby. One that was promoted has none for now, and was told before that commits do not wait
  /// there, which is what a manager of such servers does with the promotion.
  private func failoverFigures() async throws -> [Figure] {
    let servers = try ReplicatedCluster()
    try Self.setWaiting(false, on: 1, of: servers)
    let url = servers.url(of: "postgres")
    let daemons = try FleetRun.start(hosts: Self.hosts, workplace, at: url)
    var (next, last): ([Double], [Double]) = ([], [])
    var jobs = 0
    for round in 0..<options.pairs {
      let (primary, standby) = (round % 2, 1 - round % 2)
      jobs += try await awaitReplication(daemons)
      let times = try await failOver(from: primary, to: standby, of: servers, daemons)
      jobs += times.count
      next.append(times.min() ?? .nan)
      last.append(times.max() ?? .nan)
      try await onThread {
        try servers.rebuild(primary)
        try Self.setWaiting(true, on: standby, of: servers)
      }
    }
    let found = try TestDatabase.run("SELECT count(*) FROM bobbin.\"Job\" WHERE state = 'completed'", url) ?? ""
    guard found == "\(jobs)" else { throw BenchError("\(found) of \(jobs) jobs were completed") }
    for daemon in daemons { try await daemon.stop() }
    return [
      figure("from promotion to the next job", next, target: .atMost(3)),
      figure("from promotion to the next job, slowest round", [next.max() ?? .nan], target: .atMost(3)),
      figure("from promotion to the last of a job on each host", last),
    ]
  }

  private func figure(_ name: String, _ seconds: [Double], target: Figure.Target? = nil) -> Figure {
    Figure(
      name: "fleet-outage.failover: " + name, unit: "s", ours: seconds, peer: [], peerName: "", measure: .ours,
      target: target)
  }

  /// Kills the primary, drops a job on each host, and promotes the standby a while later.
  ///
  /// - Returns: the seconds from when the promotion was answered until each of these jobs was durable and its file
  ///   gone, in order; 0 if it was sooner.
  private func failOver(
    from primary: Int, to standby: Int, of servers: ReplicatedCluster, _ daemons: [DaemonRun]
  ) async throws -> [Double] {
    let driver = Program(try await workplace.peer("drop_files"))
    for daemon in daemons { try daemon.prepare([.object(["type": "noop"])]) }
    try await onThread { try servers.kill(primary) }
    return try await withThrowingTaskGroup(of: ContinuousClock.Instant.self) { group in
      for daemon in daemons {
        group.addTask {
          _ = try await driver.measure(daemon.spool, "1")
          return ContinuousClock.now
        }
      }
      try await Task.sleep(for: hesitation)
      try await onThread { try servers.promote(standby) }
      let promoted = ContinuousClock.now
      var times: [Double] = []
      for try await end in group { times.append(max(0, promoted.duration(to: end) / .seconds(1))) }
      return times
    }
  }

  /// Has each host do jobs until it says that outcomes are on both servers, as it learns with its next beat: one that
  /// does not know it starts anew behind a failover.
  ///
  /// - Returns: the number of jobs.
  private func awaitReplication(_ daemons: [DaemonRun]) async throws -> Int {
    var jobs = 0
    for daemon in daemons {
      var isReplicated = false
      while !isReplicated {
        // Not measured, so it may ask now and then.
        if jobs > 0 { try await Task.sleep(for: .milliseconds(50)) }
        let reply = try await onThread { try daemon.send("POST", "/v1/jobs", wait: true, "{\"type\":\"noop\"}") }
        jobs += 1
        isReplicated = reply["durability"]?.string == "replicated"
        guard jobs < 1_000 else { throw BenchError("the hosts do not see that commits wait for the standby") }
      }
    }
    return jobs
  }

  /// Says whether commits on a server, also one that is still a standby, are to wait for a standby of its own.
  private static func setWaiting(_ waits: Bool, on server: Int, of servers: ReplicatedCluster) throws {
    let url = ReplicatedCluster.url(of: "postgres", socketFolders: [servers.socketFolder(server)])
      .replacing("read-write", with: "any")
    try TestDatabase.run("ALTER SYSTEM SET synchronous_standby_names = '\(waits ? "*" : "")'", url)
    try TestDatabase.run("SELECT pg_reload_conf()", url)
  }
}
