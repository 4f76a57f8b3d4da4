import Foundation
import Glibc
package import SystemSupport

/// A script of bash that does one request after the other, and undoes everything when this process ends, however that does.
///
/// It says that it is `ready`, first, and after each line that it has read and done; anything else is why it isn't.
package final class SupervisedScript: Sendable {
  package let child: ChildProcess
  private let requests: FileDescriptor
  private let answers: FileDescriptor

  /// Starts a script, and waits until it is ready.
  ///
  /// - Parameter wrapper: a program and its arguments that runs bash.
  package init(_ script: String, arguments: [String], wrapper: [String] = []) throws {
    let input = try FileDescriptor.pipe()
    let output = try FileDescriptor.pipe()
    let command = wrapper + ["/bin/bash", "-c", script, "script"] + arguments
    child = try ChildProcess.start(
      ChildLaunch(
        executable: command[0], arguments: Array(command.dropFirst()),
        environment: ["PATH": "/usr/bin:/bin:/usr/sbin:/sbin", "TZ": "UTC"],
        descriptors: [0: input.first.number, 1: output.second.number, 2: output.second.number]))
    // The other ends are closed here, or else nobody would notice that the child ends early.
    requests = FileDescriptor(owning: input.split { _, writer in writer.relinquish() })
    answers = FileDescriptor(owning: output.split { reader, _ in reader.relinquish() })
    try awaitReady()
  }

  /// Has a request done, and waits until it is.
  package func perform(_ request: String) throws {
    try requests.writeAll(Data((request + "\n").utf8))
    try awaitReady()
  }

  private static let limit = Duration.seconds(90)

  private func awaitReady() throws {
    var text = ""
    var bytes = [UInt8](repeating: 0, count: 4096)
    let limit = ContinuousClock.now.advanced(by: Self.limit)
    while true {
      var entry = pollfd(fd: answers.number, events: Int16(POLLIN), revents: 0)
      let left = Int32(max(0, ContinuousClock.now.duration(to: limit) / .milliseconds(1)))
      guard poll(&entry, 1, left) > 0 else { throw Failed(description: "it is not ready in time: \(text)") }
      let count = read(answers.number, &bytes, bytes.count)
      if count <= 0 { throw Failed(description: text) }
      text += String(decoding: bytes[..<count], as: UTF8.self)
      if text.split(separator: "\n").last == "ready" { return }
    }
  }

  /// What a script has said that did not get ready.
  struct Failed: Error, CustomStringConvertible { let description: String }
}
