import ControlClient
import Foundation
import Glibc
package import JSONText
import Synchronization
package import SystemSupport
package import TestSupport

/// A real `bobbind` on a root, from its start to its end.
package final class DaemonProcess: Sendable {
  package let root: DaemonRoot
  package let child: ChildProcess
  private let isWrapped: Bool
  private let log: LogReader
  private let notify: NotifySocket
  private let ending = Mutex<Result<Termination, any Error>?>(nil)

  /// Starts the daemon and waits until it is ready.
  ///
  /// - Parameters:
  ///   - program: the name of a built daemon, or the path of another.
  ///   - wrapper: a program and its arguments that runs the daemon, such as `setpriv`.
  ///   - environment: what it gets beside what every daemon gets.
  ///   - descriptors: its numbers of descriptors of the test's, such as sockets.
  package static func ready(
    _ root: DaemonRoot, program: String = "bobbind", wrapper: [String] = [], environment: [String: String] = [:],
    descriptors: [Int32: Int32] = [:], seconds: Double = 60
  ) async throws -> DaemonProcess {
    let daemon = try DaemonProcess(
      root, program: program, wrapper: wrapper, environment: environment, descriptors: descriptors)
    try await daemon.wait(seconds: seconds) { $0.notifications.contains("READY=1") }
    return daemon
  }

  /// Starts the daemon.
  package init(
    _ root: DaemonRoot, program name: String = "bobbind", wrapper: [String] = [], arguments: [String]? = nil,
    environment: [String: String] = [:], descriptors: [Int32: Int32] = [:]
  ) throws {
    self.root = root
    isWrapped = !wrapper.isEmpty
    let changes = root.changes
    let notify = try NotifySocket(path: root.runtime.path("notify")) { changes.note() }
    self.notify = notify
    let program = try RepositoryPaths.program(name)
    let command = wrapper + [program] + (arguments ?? ["--root", root.directory.path])
    let started = try FileDescriptor.pipe().split { (reader, writer) throws in
      let child = try ChildProcess.start(
        ChildLaunch(
          executable: command[0], arguments: Array(command.dropFirst()),
          environment: ["NOTIFY_SOCKET": notify.path, "TZ": "UTC"].merging(environment) { _, given in given },
          descriptors: descriptors.merging([1: writer.number, 2: writer.number]) { $1 }))
      return (child, LogReader(reader) { changes.note() })
    }
    (child, log) = started
    Task { [weak self, child] in
      let result: Result<Termination, any Error>
      do { result = .success(try await child.termination()) } catch { result = .failure(error) }
      self?.ending.withLock { $0 = result }
      changes.note()
    }
  }

  deinit {
    // A test that has failed leaves its daemon running; one that has ended takes no signal.
    try? child.killGroup(SIGKILL)
  }

  package var logLines: [String] { log.lines }
  package var logText: String { log.text }
  package var notifications: [String] { notify.assignments }

  /// What the service manager was told last for people to see.
  package var managerStatus: String? {
    notifications.last { $0.hasPrefix("STATUS=") }.map { String($0.dropFirst("STATUS=".count)) }
  }

  /// How the daemon ended; nil while it runs.
  package var end: Termination.Status? {
    get throws { try ending.withLock { $0 }?.get().status }
  }

  /// The daemon ended while a test waited for something else.
  package struct Ended: Error, CustomStringConvertible {
    package let description: String
  }

  /// Waits for a condition, which is looked at whenever the spool, the log or the notifications have changed.
  package func wait(
    seconds: Double = 60, fileID: StaticString = #fileID, line: UInt = #line,
    until condition: @escaping @Sendable (DaemonProcess) throws -> Bool
  ) async throws {
    do {
      try await root.changes.wait(seconds: seconds, fileID: fileID, line: line) { [self] in
        if try condition(self) { return true }
        if let end = try end { throw Ended(description: "bobbind \(end) meanwhile; its log:\n\(logText)") }
        return false
      }
    } catch let error as TimeoutError {
      throw Ended(description: "\(error); bobbind's log:\n\(logText)")
    }
  }

  /// Waits for what nobody signals, such as what a server tells only if it is asked.
  package func poll(
    seconds: Double = 240, fileID: StaticString = #fileID, line: UInt = #line, until condition: () async throws -> Bool
  ) async throws {
    let limit = ContinuousClock.now + .seconds(seconds)
    while try await !condition() {
      if let end = try end { throw Ended(description: "bobbind \(end) meanwhile; its log:\n\(logText)") }
      if ContinuousClock.now > limit {
        throw Ended(description: "still waiting after \(seconds) s at \(fileID):\(line); bobbind's log:\n\(logText)")
      }
      try await Task.sleep(for: .milliseconds(20))
    }
  }

  /// Waits until everything that was dropped is durable or refused.
  package func waitUntilSpoolIsEmpty(
    seconds: Double = 60, fileID: StaticString = #fileID, line: UInt = #line
  ) async throws {
    try await wait(seconds: seconds, fileID: fileID, line: line) { try $0.root.isSpoolEmpty }
  }

  /// Waits until the store was written to so often from now on, or there is nothing left to do.
  package func waitForStoreWrites(
    _ count: Int, seconds: Double = 60, fileID: StaticString = #fileID, line: UInt = #line
  ) async throws {
    let changes = root.changes
    let state = try FolderWatch([root.paths.state]) { changes.note() }
    try await wait(seconds: seconds, fileID: fileID, line: line) {
      try state.counts.changed >= count || $0.root.isSpoolEmpty
    }
  }

  /// Has it read its configuration again, as the service manager does, and waits until it has.
  package func reload() async throws {
    let count = notifications.count { $0 == "READY=1" }
    try child.kill(SIGHUP)
    try await wait { $0.notifications.count { $0 == "READY=1" } > count }
  }

  /// Waits until the checkpoint of one job is on disk: each durable job is the end of a flush.
  package func waitForCheckpoint() async throws {
    while try await root.sql("SELECT count(cursor) FROM Job") != "1" { _ = try await submit(#"{"type": "noop"}"#) }
  }

  package func waitForLog(_ text: String, fileID: StaticString = #fileID, line: UInt = #line) async throws {
    try await wait(fileID: fileID, line: line) { $0.logText.contains(text) }
  }

  /// Waits for the daemon's end.
  package func waitForEnd(
    seconds: Double = 60, fileID: StaticString = #fileID, line: UInt = #line
  ) async throws -> Termination.Status {
    try await root.changes.wait(seconds: seconds, fileID: fileID, line: line) { [self] in try end != nil }
    if isWrapped { try await waitForLock(fileID: fileID, line: line) }
    // The pipe's last lines come before its end, but on another queue than the news of the end.
    return try end ?? .exited(code: -1)
  }

  /// A daemon that was killed together with its wrapper may be gone a moment later; then its lock is free.
  private func waitForLock(fileID: StaticString, line: UInt) async throws {
    let path = root.paths.state + "/lock"
    try await withTimeout(seconds: 60, fileID: fileID, line: line) {
      try await onThread {
        let lock: FileDescriptor
        do throws(SystemError) { lock = try FileDescriptor.open(path) } catch {
          // A disk that is gone keeps nobody's lock.
          if error.code.rawValue == EIO { return }
          throw error
        }
        guard flock(lock.number, LOCK_EX) == 0 else {
          throw SystemError(.init(rawValue: errno), call: "flock", subject: path)
        }
      }
    }
  }

  /// Sends SIGTERM and waits for the end.
  package func stop(fileID: StaticString = #fileID, line: UInt = #line) async throws -> Termination.Status {
    try child.kill(SIGTERM)
    return try await waitForEnd(fileID: fileID, line: line)
  }

  /// Kills the daemon at once and waits for the end.
  package func kill() async throws {
    try child.killGroup(SIGKILL)
    _ = try await waitForEnd()
  }

  /// A process that the daemon has started, by the name of its program; nil if there is none.
  package func child(named name: String) -> Int32? {
    // Processes come and go while they are listed.
    let processes = (try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? []
    for process in processes.compactMap({ Int32($0) }) {
      guard let status = try? String(contentsOfFile: "/proc/\(process)/stat", encoding: .utf8),
        let end = status.lastIndex(of: ")"), status.contains("(\(name))")
      else { continue }
      let fields = status[end...].split(separator: " ")
      if fields.count > 2, Int32(fields[2]) == child.processID { return process }
    }
    return nil
  }

  // MARK: The socket

  /// Sends a request; the reply's body must be JSON.
  package func request(
    _ method: String, _ path: String, query: [String: String] = [:], body: String? = nil, seconds: Int = 60
  ) async throws -> (status: Int, body: JSONValue) {
    let client = ControlClient(socketPath: root.paths.socket)
    let items = query.map { URLQueryItem(name: $0.key, value: $0.value) }
    let reply = try await onThread {
      try client.send(method, path, query: items, body: body.map { Data($0.utf8) }, timeout: .seconds(seconds))
    }
    return (reply.status, try JSONValue(parsing: Array(reply.body), dialect: .json))
  }

  package func get(_ path: String) async throws -> JSONValue { try await request("GET", path).body }

  /// Submits jobs over the socket, and waits until they are durable; returns the jobs as the daemon shows them.
  package func submit(_ text: String, seconds: Int = 60) async throws -> [JSONValue] {
    let reply = try await request("POST", "/v1/jobs", query: ["wait": "\(seconds)"], body: text, seconds: seconds + 10)
    guard reply.status == 200, let jobs = reply.body["jobs"]?.array else {
      throw Ended(description: "submitting: \(reply.status) \(reply.body.serialized()); the log:\n\(logText)")
    }
    return jobs
  }

  /// Runs bobbinctl for this daemon.
  package func tool(_ arguments: String...) async throws -> Tool { try await tool(arguments) }

  package func tool(_ arguments: [String]) async throws -> Tool {
    try await Tool.run("bobbinctl", ["--root", root.directory.path] + arguments)
  }
}
