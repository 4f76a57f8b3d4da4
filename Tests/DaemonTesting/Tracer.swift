import Foundation
import Glibc
import SystemSupport
import TestSupport

/// An `strace` on a daemon, which makes its system calls fail.
package final class Tracer: Sendable {
  private let child: ChildProcess
  private let log: LogReader

  private init(_ child: ChildProcess, _ log: LogReader) {
    self.child = child
    self.log = log
  }

  deinit {
    // It ends with the daemon, unless a test has failed.
    try? child.killGroup(SIGKILL)
  }

  /// Whether there is an `strace` here that may trace; says so if not.
  package static let canTrace = SkipReason("needs strace and the right to trace").unless(
    FileManager.default.isExecutableFile(atPath: "/usr/bin/strace")
      && (try? String(contentsOfFile: "/proc/sys/kernel/yama/ptrace_scope", encoding: .utf8)).map { $0 != "3\n" }
        ?? true
  )

  /// What runs a daemon under `strace` from its beginning; it is killed with the daemon.
  ///
  /// - Parameter path: the only file or folder whose calls are traced; nil for all.
  package static func wrapper(_ expressions: String..., on path: String? = nil) -> [String] {
    let options = (path.map { ["-P", $0] } ?? []) + expressions.flatMap { ["-e", $0] }
    return ["/usr/bin/strace", "-f", "-qq", "-o", "/dev/null"] + options + ["--"]
  }

  /// Returns when all threads of the daemon are traced.
  package static func attach(to daemon: DaemonProcess, _ arguments: [String]) async throws -> Tracer {
    let changes = daemon.root.changes
    let tracer = try FileDescriptor.pipe().split { (reader, writer) throws in
      let child = try ChildProcess.start(
        ChildLaunch(
          executable: "/usr/bin/strace",
          arguments: ["-f", "-p", "\(daemon.child.processID)", "-o", "/dev/null"] + arguments,
          descriptors: [2: writer.number]))
      return Tracer(child, LogReader(reader) { changes.note() })
    }
    try await daemon.wait { _ in tracer.log.text.contains("attached") }
    return tracer
  }

  /// Ends it, and lets the daemon go on without it.
  package func leave() async throws {
    try child.killGroup(SIGKILL)
    _ = try await child.termination()
  }

  package func waitForEnd() async throws { _ = try await child.termination(by: .after(.seconds(30))) }
}
