import DaemonTesting
import Glibc
import SystemSupport

/// A program that runs beside a test, and says on its output where it can be reached.
final class TalkingProgram: Sendable {
  /// It ended without saying what was waited for.
  struct Silence: Error, CustomStringConvertible {
    let description: String
  }

  private let executable: String
  private let child: ChildProcess
  private let log: LogReader
  private let changes = Changes()

  init(_ executable: String, _ arguments: [String]) throws {
    self.executable = executable
    let changes = changes
    (child, log) = try FileDescriptor.pipe().split { (reader, writer) throws in
      let child = try ChildProcess.start(
        ChildLaunch(
          executable: executable, arguments: arguments, environment: ["PATH": "/usr/bin:/bin", "HOME": "/tmp"],
          descriptors: [1: writer.number, 2: writer.number]))
      return (child, LogReader(reader) { changes.note() })
    }
  }

  deinit { end() }

  /// Ends it with all that it has started.
  func end() {
    // One that has ended takes no signal.
    try? child.killGroup(SIGKILL)
  }

  /// Waits until its output matches, and returns the first group of the match; throws ``Silence`` if it ends before.
  func find(_ pattern: Regex<(Substring, Substring)>) async throws -> String {
    nonisolated(unsafe) let pattern = pattern  // A regex is a value, which nobody changes.
    let log = log
    try await changes.wait(seconds: 30) { log.isAtEnd || log.text.contains(pattern) }
    if let match = log.text.firstMatch(of: pattern) { return String(match.1) }
    throw Silence(description: "\(executable) ended, and said: \(log.text)")
  }
}

/// The page of a daemon, at an address that a browser can open.
struct PageAddress {
  /// Passes connections on to the daemon's socket, as browsers know no Unix sockets.
  static let forwarder = "/usr/bin/socat"

  private let program: TalkingProgram
  let base: String

  init(of root: DaemonRoot) async throws {
    program = try TalkingProgram(
      Self.forwarder, ["-d", "-d", "TCP-LISTEN:0,bind=127.0.0.1,fork", "UNIX-CONNECT:\(root.paths.socket)"])
    base = "http://127.0.0.1:\(try await program.find(/listening on .*:(\d+)/))/"
  }

  func view(_ path: String) -> String { base + "#/" + path }
}
