import Foundation

/// What those who follow events cost the jobs: small jobs beside 200 readers, and beside 500 clients that are slow or
/// broken, against the same jobs alone; and how long others wait for a reply, and how the memory grows, meanwhile.
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

  func run() async throws -> [Figure] {
    let program = Program(try await workplace.peer("follow_events"))
    var (alone, read, slow, waits): ([Double], [Double], [Double], [Double]) = ([], [], [], [])
    var (peak, growths): (Int, [Double]) = (0, [])
    for _ in 0..<options.pairs {
      let daemon = try DaemonRun(workplace, configuration: "[Status]\nMaxConnections=1000\n")
      let socket = daemon.root + "/run/bobbin.sock"
      // The first jobs also warm the daemon up.
      _ = try await rate(daemon)
      alone.append(try await rate(daemon))
      let readers = try program.start([socket, "200", "read"])
      read.append(try await rate(daemon))
      try readers.kill(SIGKILL)
      _ = try await readers.termination(killingAt: .after(.seconds(60)))
      let before = try daemon.peakMemory()
      let crowd = try program.start([socket, "500", "slow"])
      async let replies = onThread { try Self.replyTimes(daemon) }
      slow.append(try await rate(daemon))
      waits += try await replies
      try crowd.kill(SIGKILL)
      _ = try await crowd.termination(killingAt: .after(.seconds(60)))
      peak = max(peak, try daemon.peakMemory())
      growths.append(Double(try daemon.peakMemory() - before) / 1e6)
      try await daemon.stop()
    }
    waits.sort()
    let late = waits.isEmpty ? .nan : waits[min(waits.count - 1, waits.count * 99 / 100)]
    return [
      Figure(
        name: "events: jobs beside 200 readers", unit: "jobs/s", ours: read, peer: alone, peerName: "without readers",
        target: .atLeast(0.95)),
      Figure(
        name: "events: jobs beside 500 slow clients", unit: "jobs/s", ours: slow, peer: alone,
        peerName: "without clients", target: .atLeast(0.95), peakMemory: peak),
      Figure(
        name: "events: status beside 500 slow clients, p99", unit: "ms", ours: [late * 1_000], peer: [], peerName: "",
        measure: .ours, target: .atMost(100)),
      Figure(
        name: "events: memory for 500 slow clients", unit: "MB", ours: growths, peer: [], peerName: "", measure: .ours,
        target: .atMost(100)),
    ]
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
