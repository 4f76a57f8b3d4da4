import Foundation
import Glibc
import SystemSupport

/// A program that is run to its end, or until it says that it is ready.
struct Program {
  private let path: String

  init(_ path: String) { self.path = path }

  /// Runs it to its end and returns what it printed.
  @discardableResult
  func run(_ arguments: String..., environment: [String: String] = [:]) async throws -> String {
    try await run(arguments, environment: environment)
  }

  func run(_ arguments: [String], environment: [String: String] = [:]) async throws -> String {
    let output = try FileDescriptor.inMemory(named: "output")
    let child = try ChildProcess.start(
      ChildLaunch(
        executable: path, arguments: arguments, environment: environment,
        descriptors: [1: output.number, 2: output.number]))
    let end = try await child.termination(killingAt: .after(.seconds(600))).termination
    var text = Data()
    var buffer = [UInt8](repeating: 0, count: 65_536)
    while true {
      let offset = Int64(text.count)
      let count = try buffer.withUnsafeMutableBytes { try output.read(into: $0, at: offset) }
      if count == 0 { break }
      text += buffer[..<count]
    }
    let shown = String(decoding: text, as: UTF8.self)
    guard end.isSuccess else { throw BenchError("\(path) \(end.status): \(shown)") }
    return shown
  }

  /// Runs a program that prints the seconds that it took.
  func measure(_ arguments: String...) async throws -> Double {
    let text = try await run(arguments)
    guard let seconds = Double(text.trimmingCharacters(in: .whitespacesAndNewlines)) else {
      throw BenchError("\(path) printed \"\(text)\" instead of a number")
    }
    return seconds
  }

  /// Starts it and waits until a line with "ready" comes from it.
  func start(_ arguments: [String]) throws -> ChildProcess {
    let pipe = try FileDescriptor.pipe()
    let child = try ChildProcess.start(
      ChildLaunch(
        executable: path, arguments: arguments, descriptors: [1: pipe.second.number, 2: pipe.second.number]))
    var seen = ""
    var buffer = [UInt8](repeating: 0, count: 4096)
    while !seen.contains("ready") {
      var request = pollfd(fd: pipe.first.number, events: Int16(POLLIN), revents: 0)
      guard poll(&request, 1, 30_000) == 1 else { throw BenchError("\(path) did not start: \(seen)") }
      let count = try buffer.withUnsafeMutableBytes { try pipe.first.read(into: $0) }
      if count == 0 { throw BenchError("\(path) ended: \(seen)") }
      seen += String(decoding: buffer[..<count], as: UTF8.self)
    }
    return child
  }
}
