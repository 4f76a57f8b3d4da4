import Foundation
import Glibc
import SystemSupport
import TestSupport
import Testing

/// Command line programs of others, which make the tests' pictures and judge the helper's.
enum Tool {
  /// Runs a program of `/usr/bin` to its end and returns what it printed.
  @discardableResult
  static func run(_ name: String, _ arguments: String...) async throws -> String {
    try await run(name, arguments: arguments)
  }

  /// Runs a program of `/usr/bin` to its end and returns what it printed.
  @discardableResult
  static func run(_ name: String, arguments: [String]) async throws -> String {
    let output = try FileDescriptor.inMemory(named: name)
    let child = try ChildProcess.start(
      ChildLaunch(
        executable: "/usr/bin/\(name)", arguments: arguments,
        environment: ["LC_ALL": "C", "PATH": "/usr/bin:/bin", "VIPS_WARNING": "0"],
        descriptors: [1: output.number, 2: output.number]))
    let end = try await child.termination(killingAt: .after(.seconds(60)))
    try #require(lseek(output.number, 0, SEEK_SET) == 0)
    let text = String(decoding: try output.readAll(limit: 1 << 20), as: UTF8.self)
    try #require(end.termination.isSuccess, "\(name) \(arguments): \(text)")
    return text
  }

  /// The header of a picture file as `vipsheader -a` tells it: a value for each field.
  static func header(_ path: String) async throws -> [String: String] {
    let lines = try await run("vipsheader", "-a", path).split(separator: "\n")
    let pairs = lines.map { $0.split(separator: ":", maxSplits: 1).map { $0.trimmingCharacters(in: .whitespaces) } }
    return Dictionary(pairs.filter { $0.count == 2 }.map { ($0[0], $0[1]) }, uniquingKeysWith: { first, _ in first })
  }

  /// The SHA-256 of a file, by another program.
  static func sha256(_ path: String) async throws -> String { String(try await run("sha256sum", path).prefix(64)) }

  /// The mean of all samples of a picture, which decodes all of it.
  static func average(_ path: String) async throws -> Double {
    try #require(Double(try await run("vips", "avg", path).trimmingCharacters(in: .whitespacesAndNewlines)))
  }
}
