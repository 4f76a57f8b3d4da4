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
  ///
  /// - Parameters:
  ///   - folder: the name of its folder.
  ///   - configuration: what `bobbin.conf` says.
  init(_ workplace: Workplace, folder: String = "d", configuration: String = "") throws {
    root = try workplace.emptyFolder(folder)
    let models = root + "/etc/models"
    try FileManager.default.createDirectory(atPath: models, withIntermediateDirectories: true)
    try FileManager.default.copyItem(
      atPath: "Benchmarks/Suite/People.xcdatamodeld", toPath: models + "/People.xcdatamodeld")
    try Data(configuration.utf8).write(to: URL(filePath: root + "/etc/bobbin.conf"))
    child = try Program(workplace.program("bobbind")).start(["--root", root])
  }

  /// Starts a daemon on what an earlier one left.
  init(_ workplace: Workplace, after earlier: DaemonRun) throws {
    root = earlier.root
    child = try Program(workplace.program("bobbind")).start(["--root", root])
  }

  var processID: Int32 { child.processID }

  /// Sends a request, whose reply must be a good one.
  @discardableResult
  func send(
    _ method: String, _ path: String, wait: Bool = false, _ body: String? = nil, query: [String: String] = [:]
  ) throws -> JSONValue {
    var query = query.map { URLQueryItem(name: $0, value: $1) }
    if wait { query.append(URLQueryItem(name: "wait", value: "120")) }
    let reply = try ControlClient(socketPath: root + "/run/bobbin.sock").send(
      method, path, query: query, body: body.map { Data($0.utf8) }, timeout: .seconds(150))
    let value = try JSONValue(parsing: Array(reply.body), dialect: .json)
    guard (200..<300).contains(reply.status) else { throw BenchError("\(path): \(value.serialized())") }
    return value
  }

  /// Kills it at once.
  func kill() async throws {
    try child.kill(SIGKILL)
    _ = try await child.termination(killingAt: .after(.seconds(60)))
  }

  /// Writes job files job-0.json and so on to the spool's tmp/.
  func prepare(_ jobs: [JSONValue]) throws {
    for (index, job) in jobs.enumerated() {
      try Data(job.serialized().utf8).write(to: URL(filePath: "\(spool)/tmp/job-\(index).json"))
    }
  }

  func status() throws -> JSONValue {
    try send("GET", "/v1/status")
  }

  /// The largest resident set so far, or since ``resetPeakMemory()``, in bytes.
  func peakMemory() throws -> Int { try memory("VmHWM") }

  /// Has ``peakMemory()`` begin anew; see proc(5) on clear_refs.
  func resetPeakMemory() throws {
    let references = try FileDescriptor.open("/proc/\(child.processID)/clear_refs", .writing)
    try references.writeAll(Data("5".utf8))
  }

  /// The resident set, in bytes.
  func memory() throws -> Int { try memory("VmRSS") }

  private func memory(_ key: String) throws -> Int {
    let text = try String(contentsOfFile: "/proc/\(child.processID)/status", encoding: .utf8)
    let line = text.split(separator: "\n").first { $0.hasPrefix(key + ":") }
    guard let size = line?.split(whereSeparator: \.isWhitespace).dropFirst().first.flatMap({ Int($0) }) else {
      throw BenchError("/proc tells no \(key) of bobbind")
    }
    return size << 10
  }

  func stop() async throws {
    try child.kill(SIGTERM)
    let end = try await child.termination(killingAt: .after(.seconds(60))).termination
    guard end.isSuccess else { throw BenchError("bobbind \(end.status)") }
  }
}
