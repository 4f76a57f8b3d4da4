import Foundation

/// What those who follow events cost the jobs: small jobs beside 200 readers, and beside 500 clients that are slow or
/// broken, against the same jobs alone before and after; and how long others wait for a reply, and how the memory
/// grows, meanwhile.
struct EventsGroup: BenchGroup {
  static let name = "events"

  private static let jobsPerRequest = 1_000
  private let options: Options
  private let workplace: Workplace
  private var requests: Int { options.isQuick ? 10 : 60 }

  init(_ options: Options, _ workplace: Workplace) {
    self.options = options
    self.workplace = workplace
  }

  /// A measurement of jobs, beside clients or alone.
  private struct Phase {
    let rate: Double
    /// The seconds that replies took meanwhile.
    let waits: [Double]
    /// The resident memory behind the jobs, with the clients still there, less that before these came, in bytes.
    let growth: Int
    let peakMemory: Int
  }

  func run() async throws -> [Figure] {
    var (read, readPeers, slow, slowPeers): ([Double], [Double], [Double], [Double]) = ([], [], [], [])
    var (waits, growths): ([Double], [Double]) = ([], [])
    var peak = 0
    var before = try await phase().rate
    for _ in 0..<options.pairs {
      read.append(try await phase(beside: "200", "read").rate)
      let between = try await phase().rate
      let crowded = try await phase(beside: "500", "slow")
      let after = try await phase().rate
      readPeers.append((before + between) / 2)
      slow.append(crowded.rate)
      slowPeers.append((between + after) / 2)
      waits += crowded.waits
      growths.append(Double(crowded.growth) / 1e6)
      peak = max(peak, crowded.peakMemory)
      before = after
    }
    waits.sort()
    let late = waits.isEmpty ? .nan : waits[min(waits.count - 1, waits.count * 99 / 100)]
    return [
      Figure(
        name: "events: jobs beside 200 readers", unit: "jobs/s", ours: read, peer: readPeers,
        peerName: "without readers", target: .atLeast(0.95)),
      Figure(
        name: "events: jobs beside 500 slow clients", unit: "jobs/s", ours: slow, peer: slowPeers,
        peerName: "without clients", target: .atLeast(0.95), peakMemory: peak),
      Figure(
        name: "events: status beside 500 slow clients, p99", unit: "ms", ours: [late * 1_000], peer: [], peerName: "",
        measure: .ours, target: .atMost(100)),
      Figure(
        name: "events: memory for 500 slow clients", unit: "MB", ours: growths, peer: [], peerName: "", measure: .ours,
        target: .atMost(100)),
    ]
  }

  /// Measures jobs on a fresh daemon: one that had readers follows jobs for another minute, and its store has grown.
  ///
  /// - Parameter clients: the number and the kind of those who follow events meanwhile; none if it is left out.
  private func phase(beside clients: String...) async throws -> Phase {
    let program = Program(try await workplace.peer("follow_events"))
    let daemon = try DaemonRun(workplace, configuration: "[Status]\nMaxConnections=1000\n")
    // The first jobs warm the daemon up.
    _ = try await rate(daemon)
    let memory = try daemon.memory()
    let crowd = clients.isEmpty ? nil : try program.start([daemon.root + "/run/bobbin.sock"] + clients)
    async let replies = onThread { try Self.replyTimes(daemon) }
    let jobs = try await rate(daemon)
    let phase = Phase(
      rate: jobs, waits: try await replies, growth: try daemon.memory() - memory, peakMemory: try daemon.peakMemory())
    try crowd?.kill(SIGKILL)
    _ = try await crowd?.termination(killingAt: .after(.seconds(60)))
    try await daemon.stop()
    return phase
  }

  /// The jobs that are durable in a second, sent a thousand at a time by two clients.
  private func rate(_ daemon: DaemonRun) async throws -> Double {
    let job = "{\"type\":\"noop\"}"
    let body = "{\"jobs\":[" + Array(repeating: job, count: Self.jobsPerRequest).joined(separator: ",") + "]}"
    workplace.syncDisks()
    let start = ContinuousClock.now
    try await withThrowingTaskGroup(of: Void.self) { group in
      for client in 0..<2 {
        group.addTask {
          for _ in stride(from: client, to: requests, by: 2) {
            try await onThread { _ = try daemon.send("POST", "/v1/jobs", wait: true, body) }
          }
        }
      }
      try await group.waitForAll()
    }
    return Double(requests * Self.jobsPerRequest) / (start.duration(to: .now) / .seconds(1))
  }

  /// The seconds that each of some requests takes, one after the other.
  private static func replyTimes(_ daemon: DaemonRun) throws -> [Double] {
    try (0..<200).map { _ in
      let start = ContinuousClock.now
      _ = try daemon.status()
      return start.duration(to: .now) / .seconds(1)
    }
  }
}
