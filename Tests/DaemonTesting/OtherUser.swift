import Foundation
import Glibc
import SystemSupport
package import TestSupport

/// Another user of the machine, as whom a test runs programs. Needs root.
package struct OtherUser: Sendable {
  package let user: UInt32
  package let group: UInt32

  package init(user: UInt32, group: UInt32) {
    self.user = user
    self.group = group
  }

  /// Somebody whom nobody has given any right.
  package static let stranger = OtherUser(user: 4009, group: 4009)
  /// Two members of the group of those who may submit, for a daemon that runs by ``memberGroupWrapper(_:)``.
  package static let member = OtherUser(user: 4001, group: memberGroup)
  package static let otherMember = OtherUser(user: 4002, group: memberGroup)
  /// A member of the group `operators` of such a daemon.
  package static let controller = OtherUser(user: 4003, group: controlGroup)

  private static let memberGroup: UInt32 = 4711
  private static let controlGroup: UInt32 = 4712

  /// Runs a daemon where there are the groups `bobbin` and `operators`, whatever groups the machine has.
  package static func memberGroupWrapper(_ root: DaemonRoot) throws -> [String] {
    let file = root.runtime.path("group")
    try Data("root:x:0:\nbobbin:x:\(memberGroup):\noperators:x:\(controlGroup):\n".utf8).write(to: URL(filePath: file))
    let script = "mount --bind \"$0\" /etc/group && exec \"$@\""
    return SeparateMounts.wrapper + ["/bin/sh", "-c", script, file]
  }

  /// The program and its arguments that run another program as this user, and as a member of no other group.
  package var wrapper: [String] {
    ["/usr/bin/setpriv", "--reuid=\(user)", "--regid=\(group)", "--clear-groups"]
  }

  /// Runs a program to its end.
  package func run(_ program: String, _ arguments: [String], seconds: Int = 60) async throws -> Tool {
    try await Tool.run(wrapper[0], wrapper.dropFirst() + [program] + arguments, seconds: seconds)
  }

  /// The status of the reply to a request, and 0 without one.
  package func request(_ daemon: DaemonProcess, _ path: String, _ arguments: [String] = []) async throws -> Int {
    let curl = ["-s", "-o", "/dev/null", "-w", "%{http_code}", "--unix-socket", daemon.root.paths.socket]
    return Int(try await run("/usr/bin/curl", curl + arguments + ["http://localhost" + path]).output) ?? 0
  }
}

/// Many connections of one user to a daemon, which read nothing; they are open while this object lives.
package final class SocketCrowd: Sendable {
  private let child: ChildProcess
  private let input: FileDescriptor

  /// Opens them, and sends the same on each; those that are cut are opened again.
  package init(of user: OtherUser, to daemon: DaemonProcess, count: Int, saying text: String = "") throws {
    let program = try RepositoryPaths.executable("socket-crowd").path(percentEncoded: false)
    let source = try FileDescriptor.pipe()
    let (child, isThere) = try FileDescriptor.pipe().split { (reader, writer) throws in
      let child = try ChildProcess.start(
        ChildLaunch(
          executable: user.wrapper[0],
          arguments: user.wrapper.dropFirst() + [program, daemon.root.paths.socket, "\(count)", text],
          descriptors: [0: source.first.number, 1: writer.number]))
      try writer.close()
      var byte: UInt8 = 0
      return (child, try withUnsafeMutableBytes(of: &byte) { try reader.read(into: $0) == 1 })
    }
    self.child = child
    input = try source.second.duplicate()
    if !isThere { throw SystemError(.timedOut, call: "socket-crowd") }
  }

  deinit { try? child.killGroup(SIGKILL) }

  /// Closes all at once, and waits until that is done.
  package func leave() async throws {
    try child.killGroup(SIGKILL)
    _ = try await child.termination()
  }
}
