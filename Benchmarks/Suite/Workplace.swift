import Foundation
import Glibc
import SystemSupport

/// The folder that all measurements use, on the build folder's disk, and the programs that take part.
final class Workplace: Sendable {
  let path: String
  /// The folder of database servers, which remove what is theirs when they end, on the same disk.
  let serverPath: String
  private let programs: String

  init() throws {
    path = FileManager.default.currentDirectoryPath + "/.build/bench"
    serverPath = FileManager.default.currentDirectoryPath + "/.build/bench-servers"
    programs = try Executable.ownDirectory()
    if FileManager.default.fileExists(atPath: path) { try FileManager.default.removeItem(atPath: path) }
    for folder in [path, serverPath] {
      try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    }
  }

  deinit {
    // What could not be removed is removed at the start of the next run.
    try? FileManager.default.removeItem(atPath: path)
  }

  /// One of our own programs of this build.
  func program(_ name: String) -> String { programs + "/" + name }

  /// A program of the system.
  func tool(_ name: String) throws(BenchError) -> String {
    for folder in ["/usr/local/bin", "/usr/bin", "/bin"] where access("\(folder)/\(name)", X_OK) == 0 {
      return "\(folder)/\(name)"
    }
    throw BenchError("\(name) is missing; \"scripts/install-dependencies bench\" installs it")
  }

  /// An empty folder of that name.
  func emptyFolder(_ name: String) throws -> String {
    let folder = path + "/" + name
    if FileManager.default.fileExists(atPath: folder) { try FileManager.default.removeItem(atPath: folder) }
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    return folder
  }

  /// Compiles a plain C program of Benchmarks/Peers and returns its path.
  ///
  /// - Parameter flags: the compiler's for the program's libraries; SQLite's if there are none.
  func peer(_ name: String, _ flags: String...) async throws -> String {
    let output = "\(path)/\(name)"
    if FileManager.default.fileExists(atPath: output) { return output }
    _ = try await Program(try tool("cc")).run(
      ["-O2", "-o", output, "Benchmarks/Peers/\(name).c"] + (flags.isEmpty ? ["-lsqlite3"] : flags),
      environment: ["PATH": "/usr/bin:/bin"])
    return output
  }

  /// Brings everything that earlier runs have written to disk, so that nobody pays for somebody else.
  func syncDisks() { sync() }
}
