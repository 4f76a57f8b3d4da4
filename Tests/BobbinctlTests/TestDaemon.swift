import Foundation
import Glibc
import HTTPService
import Synchronization
import SystemSupport
import TestSupport
import Testing

/// A real server on a real socket under a fresh root that answers as a test wishes, and the built bobbinctl to ask it.
final class TestDaemon: Sendable {
  /// What a run of bobbinctl left.
  struct Run {
    let code: Int32
    let output: String
    let errors: String

    var lines: [String] { output.split(separator: "\n", omittingEmptySubsequences: false).dropLast().map(String.init) }
  }

  /// Where the tests run bobbinctl.
  static let workingDirectory = FileManager.default.currentDirectoryPath

  let root: TemporaryDirectory
  private let listener: UnixListener
  private let server: HTTPServer
  private let seen: SeenRequests

  init(handler: @escaping HTTPHandler) throws {
    root = try TemporaryDirectory()
    let seen = SeenRequests()
    self.seen = seen
    try FileManager.default.createDirectory(atPath: root.path("run"), withIntermediateDirectories: false)
    listener = try UnixListener(path: root.path("run/bobbin.sock"), mode: 0o600)
    server = try HTTPServer(listener: listener.descriptor) { request in
      seen.add(request)
      return handler(request)
    }
    try server.start()
  }

  /// A daemon that answers everything in the same way.
  convenience init(_ reply: String, status: Int = 200) throws {
    try self.init { _ in .now(.json(data: Data(reply.utf8), status: status)) }
  }

  /// Each request's method, path and query, in the order they came.
  var requests: [String] { seen.all.map(\.line) }
  var bodies: [String] { seen.all.map(\.body) }

  func file(_ name: String, _ text: String) throws -> String {
    try Data(text.utf8).write(to: URL(filePath: root.path(name)))
    return root.path(name)
  }

  func run(_ arguments: String..., input: String? = nil) async throws -> Run {
    try await Self.run(["--root", root.path] + arguments, input: input)
  }

  /// Runs the built program to its end, with standard output on `terminal` if there is one.
  static func run(
    _ arguments: [String], input: String? = nil, terminal: PseudoTerminal? = nil,
    environment: [String: String] = [:]
  ) async throws -> Run {
    let output = try FileDescriptor.inMemory(named: "output")
    let errors = try FileDescriptor.inMemory(named: "errors")
    let source = try FileDescriptor.inMemory(named: "input")
    try source.writeAll(Data((input ?? "").utf8))
    try #require(lseek(source.number, 0, SEEK_SET) == 0)
    let base = ["TZ": "UTC", "TERM": "xterm"]
    let child = try ChildProcess.start(
      ChildLaunch(
        executable: try RepositoryPaths.executable("bobbinctl").path(percentEncoded: false), arguments: arguments,
        environment: base.merging(environment) { $1 },
        descriptors: [
          0: source.number, 1: terminal?.userSide ?? output.number, 2: terminal?.userSide ?? errors.number,
        ]))
    let end = try await child.termination(killingAt: .after(.seconds(60)))
    guard case .exited(let code) = end.termination.status else {
      throw SystemError(.timedOut, call: "bobbinctl", subject: "\(end.termination.status)")
    }
    return Run(code: code, output: try text(of: output), errors: try text(of: errors))
  }

  private static func text(of descriptor: borrowing FileDescriptor) throws -> String {
    try #require(lseek(descriptor.number, 0, SEEK_SET) == 0)
    return String(decoding: try descriptor.readAll(limit: 1 << 24), as: UTF8.self)
  }
}
