import Foundation

/// How long a daemon that was killed needs until it works again, with many unfinished jobs.
struct RestartGroup: BenchGroup {
  static let name = "restart"

  private let options: Options
  private let workplace: Workplace
  private var count: Int { options.isQuick ? 1_000 : 10_000 }

  init(_ options: Options, _ workplace: Workplace) {
    self.options = options
    self.workplace = workplace
  }

  func run() async throws -> [Figure] {
    var (known, unknown): ([Double], [Double]) = ([], [])
    for _ in 0..<options.pairs {
      known.append(try await restart(flushed: true))
      unknown.append(try await restart(flushed: false))
    }
    return [
      Figure(
        name: "restart, jobs in the store", unit: "s", ours: known, peer: [], peerName: "", measure: .ours,
        target: .atMost(1)),
      Figure(
        name: "restart, jobs in files only", unit: "s", ours: unknown, peer: [], peerName: "", measure: .ours,
        target: .atMost(1)),
    ]
  }

  /// Seconds from the start of the program until a job that was unfinished is durable.
  private func restart(flushed: Bool) async throws -> Double {
    let interval = flushed ? "5ms" : "1h"
    let settings = "[Writer]\nFlushIntervalSec=\(interval)\nHighWaterObjects=10000000\n"
    let daemon = try DaemonRun(workplace, configuration: settings)
    try daemon.send("POST", "/v1/pause", "{\"queue\":\"q\"}")
    try daemon.send("POST", "/v1/flush")
    try daemon.prepare(Array(repeating: .object(["type": "noop", "queue": "q"]), count: count))
    try await dropAll(daemon)
    if flushed { try daemon.send("POST", "/v1/flush") }
    try await daemon.kill()
    let start = ContinuousClock.now
    let again = try DaemonRun(workplace, after: daemon)
    // The jobs of the earlier run are known when one that comes after them has run.
    _ = try await onThread { try again.send("POST", "/v1/jobs", wait: true, "{\"type\":\"noop\"}") }
    let seconds = start.duration(to: .now) / .seconds(1)
    let left = try again.status()["jobs"]?["available"]?.integer
    guard left == Int64(count) else { throw BenchError("\(left ?? -1) jobs are available after the restart") }
    try await again.kill()
    return seconds
  }

  /// Renames the files into new/ and waits until all are accepted.
  private func dropAll(_ daemon: DaemonRun) async throws {
    for number in 0..<count {
      let (from, to) = ("\(daemon.spool)/tmp/job-\(number).json", "\(daemon.spool)/new/job-\(number).json")
      guard rename(from, to) == 0 else { throw BenchError("rename: \(errno)") }
    }
    // Files are taken in the order of their coming or of their names, and this one's is the last in both.
    let last = "{\"type\":\"noop\",\"id\":\"zz\"}"
    try Data(last.utf8).write(to: URL(filePath: "\(daemon.spool)/tmp/zz.json"))
    guard rename("\(daemon.spool)/tmp/zz.json", "\(daemon.spool)/new/zz.json") == 0 else {
      throw BenchError("rename: \(errno)")
    }
    for _ in 0..<1_000 {
      let available = try daemon.status()["jobs"]?["available"]?.integer ?? 0
      if available == Int64(count) { return }
      // Not measured, so it may look now and then.
      try await Task.sleep(for: .milliseconds(20))
    }
    throw BenchError("the files are not accepted")
  }
}
