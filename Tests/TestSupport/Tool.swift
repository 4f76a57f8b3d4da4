import Foundation
import Glibc
import SystemSupport

/// A program run to its end.
package struct Tool {
  package let code: Int32
  package let output: String
  package let errors: String

  /// Runs a program; one without a slash is this package's own.
  ///
  /// - Parameter environment: what it gets beside a time zone and a path.
  package static func run(
    _ program: String, _ arguments: [String] = [], input: String = "", environment: [String: String] = [:],
    seconds: Int = 60
  ) async throws -> Tool {
    let path = try RepositoryPaths.program(program)
    let output = try FileDescriptor.inMemory(named: "output")
    let errors = try FileDescriptor.inMemory(named: "errors")
    let source = try FileDescriptor.inMemory(named: "input")
    try source.writeAll(Data(input.utf8))
    _ = lseek(source.number, 0, SEEK_SET)
    let child = try ChildProcess.start(
      ChildLaunch(
        executable: path, arguments: arguments,
        environment: ["TZ": "UTC", "PATH": "/usr/bin:/bin:/usr/sbin"].merging(environment) { _, given in given },
        descriptors: [0: source.number, 1: output.number, 2: errors.number]))
    let (end, wasKilled) = try await child.termination(killingAt: .after(.seconds(seconds)))
    if wasKilled { throw SystemError(.timedOut, call: program, subject: "its \(seconds) seconds") }
    guard case .exited(let code) = end.status else { throw Died(program: program, status: end.status) }
    return Tool(code: code, output: try text(of: output), errors: try text(of: errors))
  }

  /// A signal ended a program.
  struct Died: Error, CustomStringConvertible {
    let program: String
    let status: Termination.Status
    var description: String { "\(program) was \(status)" }
  }

  private static func text(of descriptor: borrowing FileDescriptor) throws -> String {
    _ = lseek(descriptor.number, 0, SEEK_SET)
    return String(decoding: try descriptor.readAll(limit: 1 << 28), as: UTF8.self)
  }
}
