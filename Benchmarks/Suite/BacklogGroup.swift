import Foundation

/// How fast jobs are finished while very many others wait, against the same while few do.
struct BacklogGroup: BenchGroup {
  static let name = "backlog"

  private static let jobsPerRequest = 2_000
  private let options: Options
  private let workplace: Workplace
  private var many: Int { options.isQuick ? 100_000 : 1_000_000 }
  private var finished: Int { options.isQuick ? 4_000 : 20_000 }

  init(_ options: Options, _ workplace: Workplace) {
    self.options = options
    self.workplace = workplace
  }

  func run() async throws -> [Figure] {
    var (ours, few): ([Double], [Double]) = ([], [])
    var peak = 0
    for _ in 0..<options.pairs {
      let full = try await rate(waiting: many)
      let empty = try await rate(waiting: 1_000)
      ours.append(full.rate)
      few.append(empty.rate)
      peak = max(peak, full.memory)
    }
    return [
      Figure(
        name: "backlog.rate", unit: "jobs/s", ours: ours, peer: few, peerName: "1,000 waiting", target: .atLeast(0.8),
        peakMemory: peak),
      Figure(
        name: "backlog.memory", unit: "MB", ours: [Double(peak) / 1e6], peer: [], peerName: "", measure: .ours,
        target: .atMost(300)),
    ]
  }

  private func rate(waiting: Int) async throws -> (rate: Double, memory: Int) {
    let daemon = try DaemonRun(workplace)
    try daemon.send("POST", "/v1/pause", "{\"queue\":\"waiting\"}")
    var left = waiting
    while left > 0 {
      let count = min(left, Self.jobsPerRequest)
      let job = "{\"type\":\"noop\",\"queue\":\"waiting\"}"
      try daemon.send(
        "POST", "/v1/jobs", "{\"jobs\":[" + Array(repeating: job, count: count).joined(separator: ",") + "]}")
      left -= count
    }
    try daemon.send("POST", "/v1/flush")
    try daemon.prepare(Array(repeating: .object(["type": "noop"]), count: finished))
    workplace.syncDisks()
    let before = try daemon.status()["jobs"]?["available"]?.integer
    let seconds = try await Program(try await workplace.peer("drop_files")).measure(daemon.spool, "\(finished)")
    let status = try daemon.status()
    guard status["jobs"]?["completed"]?.integer == Int64(finished), before == Int64(waiting) else {
      throw BenchError("the jobs were not all completed: \(status.serialized())")
    }
    let memory = try daemon.peakMemory()
    try await daemon.kill()
    return (Double(finished) / seconds, memory)
  }
}
