import Foundation
import JSONText

/// Small jobs dropped as files, until all are durable and the spool is empty, against the least C that could do it, and
/// against a queue that syncs each job.
struct SpoolGroup: BenchGroup {
  static let name = "spool"

  private let options: Options
  private let workplace: Workplace
  private var count: Int { options.isQuick ? 2000 : 20_000 }

  init(_ options: Options, _ workplace: Workplace) {
    self.options = options
    self.workplace = workplace
  }

  func run() async throws -> [Figure] {
    let driver = Program(try await workplace.peer("drop_files"))
    var (ours, peer, queue): ([Double], [Double], [Double]) = ([], [], [])
    var peak = 0
    for _ in 0..<options.pairs {
      let daemon = try DaemonRun(workplace)
      try daemon.prepare(jobs)
      workplace.syncDisks()
      ours.append(Double(count) / (try await driver.measure(daemon.spool, "\(count)")))
      let status = try daemon.status()
      guard status["jobs"]?["completed"]?.integer == Int64(count), let flushes = status["writer"]?["flushes"]?.integer
      else { throw BenchError("the jobs were not all completed: \(status.serialized())") }
      peak = max(peak, try daemon.peakMemory())
      try await daemon.stop()
      peer.append(
        Double(min(count, 10_000)) / (try await runPeer(driver, jobsPerCommit: max(1, count / Int(max(1, flushes))))))
      queue.append(Double(count) / (try await runBeanstalk()))
    }
    return [
      Figure(
        name: "spool.jobs", unit: "jobs/s", ours: ours, peer: peer, peerName: "plain C", target: .atLeast(1.1),
        peakMemory: peak),
      Figure(
        name: "spool.jobs beside beanstalkd", unit: "jobs/s", ours: ours, peer: queue, peerName: "beanstalkd -f 0"),
    ]
  }

  private var jobs: [JSONValue] { Array(repeating: .object(["type": "noop"]), count: count) }

  /// The peer commits in groups of the size that the daemon's flushes had.
  private func runPeer(_ driver: Program, jobsPerCommit: Int) async throws -> Double {
    // It watches one folder and looks for nothing that it missed, and the kernel keeps 16,384 events.
    let count = min(count, 10_000)
    let spool = try workplace.emptyFolder("p")
    for folder in ["tmp", "new", "cur"] {
      try FileManager.default.createDirectory(atPath: "\(spool)/\(folder)", withIntermediateDirectories: true)
    }
    for (index, job) in jobs.prefix(count).enumerated() {
      try Data(job.serialized().utf8).write(to: URL(filePath: "\(spool)/tmp/job-\(index).json"))
    }
    let program = Program(try await workplace.peer("run_spool"))
    workplace.syncDisks()
    let child = try program.start([spool + "/peer.sqlite", spool, "\(count)", "\(jobsPerCommit)"])
    let seconds = try await driver.measure(spool, "\(count)")
    let end = try await child.termination(killingAt: .after(.seconds(60))).termination
    guard end.isSuccess else { throw BenchError("the spool's peer \(end.status)") }
    return seconds
  }

  /// The same number of jobs put, reserved and deleted, each write on disk before its answer.
  private func runBeanstalk() async throws -> Double {
    let folder = try workplace.emptyFolder("b")
    let client = try await workplace.peer("beanstalk")
    workplace.syncDisks()
    return try await Program(client).measure(try workplace.tool("beanstalkd"), folder, "\(count)")
  }
}
