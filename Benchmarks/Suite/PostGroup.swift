import Foundation

/// Small jobs sent over the socket a thousand at a time, until all are durable, against plain C that writes their rows.
struct PostGroup: BenchGroup {
  static let name = "post"

  private static let jobsPerRequest = 1_000
  private let options: Options
  private let workplace: Workplace
  private var requests: Int { options.isQuick ? 4 : 40 }

  init(_ options: Options, _ workplace: Workplace) {
    self.options = options
    self.workplace = workplace
  }

  func run() async throws -> [Figure] {
    let body =
      "{\"jobs\":[" + Array(repeating: "{\"type\":\"noop\"}", count: Self.jobsPerRequest).joined(separator: ",") + "]}"
    let peer = Program(try await workplace.peer("write_jobs"))
    let count = requests * Self.jobsPerRequest
    var (ours, theirs): ([Double], [Double]) = ([], [])
    var peak = 0
    for _ in 0..<options.pairs {
      let daemon = try DaemonRun(workplace)
      workplace.syncDisks()
      let start = ContinuousClock.now
      try await withThrowingTaskGroup(of: Void.self) { group in
        // Four clients, so that one's jobs are accepted while others' are on their way to the disk.
        for client in 0..<4 {
          group.addTask {
            for _ in stride(from: client, to: requests, by: 4) {
              try await onThread { _ = try daemon.send("POST", "/v1/jobs", wait: true, body) }
            }
          }
        }
        try await group.waitForAll()
      }
      ours.append(Double(count) / (start.duration(to: .now) / .seconds(1)))
      let status = try daemon.status()
      guard status["jobs"]?["completed"]?.integer == Int64(count) else {
        throw BenchError("the jobs were not all completed: \(status.serialized())")
      }
      peak = max(peak, try daemon.peakMemory())
      try await daemon.stop()
      let store = try workplace.emptyFolder("p") + "/peer.sqlite"
      workplace.syncDisks()
      theirs.append(Double(count) / (try await peer.measure(store, "\(count)", "\(Self.jobsPerRequest)")))
    }
    return [
      Figure(
        name: "post.jobs", unit: "jobs/s", ours: ours, peer: theirs, peerName: "plain C", target: .atLeast(0.5),
        peakMemory: peak)
    ]
  }
}

/// Runs what blocks on a thread of its own.
func onThread<Result: Sendable>(_ body: @escaping @Sendable () throws -> Result) async throws -> Result {
  try await withCheckedThrowingContinuation { continuation in
    Thread.detachNewThread { continuation.resume(with: Swift.Result { try body() }) }
  }
}
