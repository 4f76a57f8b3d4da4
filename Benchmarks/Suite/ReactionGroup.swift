import Foundation
import Glibc
import JSONText

/// How soon an idle daemon reacts: from a file's rename to the start of its handler, and from a handler's end to the
/// answer that its outcome is on disk.
struct ReactionGroup: BenchGroup {
  static let name = "reaction"

  private let options: Options
  private let workplace: Workplace
  private var count: Int { options.isQuick ? 50 : 500 }

  init(_ options: Options, _ workplace: Workplace) {
    self.options = options
    self.workplace = workplace
  }

  func run() async throws -> [Figure] {
    let sync = try await Program(try await workplace.peer("sync_file")).measure(
      try workplace.emptyFolder("y") + "/file", "200")
    let daemon = try DaemonRun(workplace, configuration: "[Writer]\nFlushIntervalSec=1ms\n")
    var (starts, answers): ([Double], [Double]) = ([], [])
    for number in 0..<count {
      starts.append(try await react(daemon, number))
      answers.append(try await answer(daemon, number))
    }
    try await daemon.stop()
    let (sortedStarts, median) = (starts.sorted(), answers.median)
    return [
      Figure(
        name: "reaction.start median", unit: "ms", ours: [sortedStarts.median], peer: [], peerName: "",
        measure: .ours, target: .atMost(2)),
      Figure(
        name: "reaction.start p99", unit: "ms", ours: [sortedStarts[count * 99 / 100]], peer: [], peerName: "",
        measure: .ours, target: .atMost(10)),
      Figure(
        name: "reaction.durable median, less a sync", unit: "ms", ours: [median - sync * 1000], peer: [sync * 1000],
        peerName: "one fdatasync", measure: .ours, target: .atMost(5)),
    ]
  }

  /// Milliseconds from the rename of a job's file to the start that its record tells.
  private func react(_ daemon: DaemonRun, _ number: Int) async throws -> Double {
    let id = "start-\(number)"
    let file = "\(daemon.spool)/tmp/\(id).json"
    try Data("{\"type\":\"noop\",\"id\":\"\(id)\"}".utf8).write(to: URL(filePath: file))
    let renamed = Date()
    guard rename(file, "\(daemon.spool)/new/\(id).json") == 0 else { throw BenchError("rename: \(errno)") }
    // A job that waits for it, so that nothing is polled.
    let after = "{\"type\":\"noop\",\"id\":\"after-\(number)\",\"after\":\"\(id)\"}"
    _ = try await onThread { try daemon.send("POST", "/v1/jobs", wait: true, after) }
    return try await started(daemon, id).timeIntervalSince(renamed) * 1000
  }

  /// Milliseconds from the end of a job's handler to the answer.
  private func answer(_ daemon: DaemonRun, _ number: Int) async throws -> Double {
    let body = "{\"type\":\"noop\",\"id\":\"answer-\(number)\"}"
    _ = try await onThread { try daemon.send("POST", "/v1/jobs", wait: true, body) }
    let answered = Date()
    return answered.timeIntervalSince(try await time("finishedAt", daemon, "answer-\(number)")) * 1000
  }

  private func started(_ daemon: DaemonRun, _ id: String) async throws -> Date {
    try await time("startedAt", daemon, id)
  }

  /// A moment of a job's record, which the status interface would round.
  private func time(_ column: String, _ daemon: DaemonRun, _ id: String) async throws -> Date {
    let text = try await Program(try workplace.tool("sqlite3")).run(
      "-readonly", daemon.store, "SELECT printf('%.6f', \(column)) FROM Job WHERE id = '\(id)'")
    guard let seconds = Double(text.trimmingCharacters(in: .whitespacesAndNewlines)) else {
      throw BenchError("the job \(id) has no \(column): \(text)")
    }
    return Date(timeIntervalSinceReferenceDate: seconds)
  }
}
