import ControlClient
import Foundation
import JSONText
import SystemSupport

/// A release build of `bobbind` at work on a fresh folder.
struct DaemonRun {
  let root: String
  private let child: ChildProcess

  var spool: String { root + "/spool" }
  var store: String { root + "/state/bobbin.sqlite" }

  /// Starts a daemon that knows the suite's model.
  init(_ workplace: Workplace) throws {
    root = try workplace.emptyFolder("d")
    let models = root + "/etc/models"
    try FileManager.default.createDirectory(atPath: models, withIntermediateDirectories: true)
    try FileManager.default.copyItem(
      atPath: "Benchmarks/Suite/People.xcdatamodeld", toPath: models + "/People.xcdatamodeld")
    child = try Program(workplace.program("bobbind")).start(["--root", root])
  }

  /// Writes job files job-0.json and so on to the spool's tmp/.
  func prepare(_ jobs: [JSONValue]) throws {
    for (index, job) in jobs.enumerated() {
      try Data(job.serialized().utf8).write(to: URL(filePath: "\(spool)/tmp/job-\(index).json"))
    }
  }

  func status() throws -> JSONValue {
    let reply = try ControlClient(socketPath: root + "/run/bobbin.sock").send("GET", "/v1/status")
    return try JSONValue(parsing: Array(reply.body), dialect: .json)
  }

  /// The largest resident set so far, in bytes.
  func peakMemory() throws -> Int {
    let text = try String(contentsOfFile: "/proc/\(child.processID)/status", encoding: .utf8)
    let line = text.split(separator: "\n").first { $0.hasPrefix("VmHWM:") }
    guard let size = line?.split(whereSeparator: \.isWhitespace).dropFirst().first.flatMap({ Int($0) }) else {
      throw BenchError("/proc tells no VmHWM of bobbind")
    }
    return size << 10
  }

  func stop() async throws {
    try child.kill(SIGTERM)
    let end = try await child.termination(killingAt: .after(.seconds(60))).termination
    guard end.isSuccess else { throw BenchError("bobbind \(end.status)") }
  }
}
