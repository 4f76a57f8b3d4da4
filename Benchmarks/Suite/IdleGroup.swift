import Foundation

/// How often a daemon without work wakes up.
struct IdleGroup: BenchGroup {
  static let name = "idle"

  private let options: Options
  private let workplace: Workplace

  init(_ options: Options, _ workplace: Workplace) {
    self.options = options
    self.workplace = workplace
  }

  func run() async throws -> [Figure] {
    let daemon = try DaemonRun(workplace)
    _ = try await onThread { try daemon.send("POST", "/v1/jobs", wait: true, "{\"type\":\"noop\"}") }
    // libdispatch's manager lets pool threads go after some seconds.
    try await Task.sleep(for: .seconds(20))
    let before = try Self.switches(of: daemon.processID)
    try await Task.sleep(for: .seconds(10))
    let after = try Self.switches(of: daemon.processID)
    try await daemon.stop()
    return [
      Figure(
        name: "idle.wakeups in 10 s", unit: "", ours: [Double(after - before)], peer: [], peerName: "",
        measure: .ours, target: .atMost(0))
    ]
  }

  /// Voluntary and involuntary context switches of all threads so far.
  private static func switches(of process: Int32) throws -> Int {
    let folder = "/proc/\(process)/task"
    return try FileManager.default.contentsOfDirectory(atPath: folder).reduce(0) { sum, thread in
      let text = try String(contentsOfFile: "\(folder)/\(thread)/status", encoding: .utf8)
      let lines = text.split(separator: "\n").filter { $0.contains("ctxt_switches:") }
      return sum + lines.reduce(0) { $0 + (Int($1.split(whereSeparator: \.isWhitespace).last ?? "") ?? 0) }
    }
  }
}
