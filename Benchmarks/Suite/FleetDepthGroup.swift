import Foundation
import PostgresTesting

/// What a fleet's rate and its tables become with very many jobs that wait or are over, and while somebody keeps an old
/// snapshot open, so that nothing that was deleted can be removed.
struct FleetDepthGroup: BenchGroup {
  static let name = "fleet-depth"

  private static let hosts = 4
  private static let rounds = 3
  /// None of the jobs that are over is removed, which would be work of its own.
  private static let settings = "[Retention]\nCompletedCount=1000000000\n"
  private let options: Options
  private let workplace: Workplace
  private var many: Int { options.isQuick ? 100_000 : 1_000_000 }
  private var count: Int { options.isQuick ? 4_000 : 20_000 }
  /// The time with a snapshot open.
  private var time: Duration { options.isQuick ? .seconds(10) : options.isLong ? .seconds(600) : .seconds(60) }

  init(_ options: Options, _ workplace: Workplace) {
    self.options = options
    self.workplace = workplace
  }

  func run() async throws -> [Figure] {
    let server = try PostgresCluster(in: workplace.serverPath, isDurable: true)
    let deep = try await filledDatabase(server)
    var (full, empty, loads): ([Double], [Double], [Double]) = ([], [], [])
    for pair in 0..<options.pairs {
      let (rates, load) = try await deepRates(server, deep, pair: pair)
      full += rates
      loads.append(load)
      let fleet = try FleetRun(workplace, server, hosts: Self.hosts, settings: Self.settings)
      empty += try await self.rates(fleet)
      try fleet.check(completed: Self.rounds * count)
      try await fleet.stop()
    }
    return [
      Figure(
        name: "fleet-depth.rate, as many over as waiting", unit: "jobs/s", ours: full, peer: empty,
        peerName: "empty tables", target: .atLeast(0.9)),
      Figure(
        name: "fleet-depth.first job with \(many) waiting", unit: "s", ours: loads, peer: [], peerName: "",
        measure: .ours,
        target: .atMost(3)),
    ] + (try await besideSnapshot(server))
  }

  /// A database with jobs that are over, and as many that wait in a queue that is paused.
  private func filledDatabase(_ server: PostgresCluster) async throws -> TestDatabase {
    let fleet = try FleetRun(workplace, server, hosts: 1, settings: Self.settings)
    try fleet.daemons[0].send("POST", "/v1/pause", "{\"queue\":\"waiting\"}")
    try await fleet.stop()
    for (state, queue, first) in [("completed", "default", 1), ("available", "waiting", many + 1)] {
      try fleet.database.run(
        """
        INSERT INTO bobbin."Job" (_key, _version, id, type, queue, priority, state, attempt, "maxAttempts", arguments, \
        submitter, "createdAt", crashes, spool) SELECT g, 1, 'filler-' || g, 'noop', '\(queue)', 0, '\(state)', 0, 3, '{}', \
        0, 800000000 + g * 0.001, 0, 'gone:/spool' FROM generate_series(\(first), \(first + many - 1)) AS g
        """)
    }
    try fleet.database.run("VACUUM ANALYZE")
    return fleet.database
  }

  /// The rates of small jobs, one after the other: a single one takes some seconds and differs by a third from the next.
  private func rates(_ fleet: FleetRun) async throws -> [Double] {
    var rates: [Double] = []
    for _ in 0..<Self.rounds { rates.append(try await fleet.spoolRate(workplace, jobs: count)) }
    return rates
  }

  /// The rates of small jobs, and the time from the start of the hosts until the first one was done.
  private func deepRates(_ server: PostgresCluster, _ database: TestDatabase, pair: Int) async throws -> (
    rates: [Double], load: Double
  ) {
    let start = ContinuousClock.now
    let fleet = try FleetRun(workplace, server, hosts: Self.hosts, database: database, settings: Self.settings)
    _ = try await onThread { try fleet.daemons[0].send("POST", "/v1/jobs", wait: true, "{\"type\":\"noop\"}") }
    let load = start.duration(to: .now) / .seconds(1)
    // The lead works while it reads all jobs, which takes some seconds once; it answers questions when it has them.
    try await onThread {
      var refusals: [String] = []
      while refusals.count < 6 {
        do { return _ = try fleet.daemons[0].send("GET", "/v1/queues") } catch { refusals.append("\(error)") }
      }
      throw BenchError("the lead has not read all jobs after a minute: \(refusals)")
    }
    let rates = try await rates(fleet)
    try fleet.check(completed: many + (pair + 1) * (1 + Self.rounds * count))
    try await fleet.stop()
    return (rates, load)
  }

  private func besideSnapshot(_ server: PostgresCluster) async throws -> [Figure] {
    let fleet = try FleetRun(workplace, server, hosts: Self.hosts, settings: Self.settings)
    var (beside, sizes): ([Double], [Double]) = ([], [])
    let before = try await rates(fleet)
    let holder = try fleet.database.hold(
      "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM bobbin._run")
    let end = ContinuousClock.now + time
    while ContinuousClock.now < end {
      beside.append(try await fleet.spoolRate(workplace, jobs: count))
      sizes.append(try fleet.hotTableBytes() / 1e6)
    }
    let old = "backend_xmin IS NOT NULL AND xact_start < now() - interval '\(time / .seconds(1)) s'"
    guard try fleet.database.run("SELECT count(*) FROM pg_stat_activity WHERE \(old)") == "1" else {
      throw BenchError("the snapshot was not open all the time")
    }
    holder.release()
    try fleet.check(completed: (Self.rounds + beside.count) * count)
    try await fleet.stop()
    let jobs = Double(beside.count * count)
    let last = Array(beside.suffix(3))
    return [
      Figure(
        name: "fleet-depth.rate beside an old snapshot", unit: "jobs/s", ours: last,
        peer: last.map { _ in before.median }, peerName: "before", target: .atLeast(0.8)),
      Figure(
        name: "fleet-depth.hot tables beside it", unit: "MB", ours: Array(sizes.suffix(1)), peer: [], peerName: "",
        measure: .ours),
      Figure(
        name: "fleet-depth.hot tables, for each job since", unit: "B", ours: [(sizes.last ?? .nan) * 1e6 / jobs],
        peer: [], peerName: "", measure: .ours, target: .atMost(400)),
    ]
  }
}
