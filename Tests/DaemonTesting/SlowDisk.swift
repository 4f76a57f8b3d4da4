import Foundation
import Glibc
import SystemSupport
import TestSupport

/// A disk for a program under test that takes its time over certain files, until it is opened.
package final class SlowDisk: Sendable {
  private let folder: TemporaryDirectory
  private let part: String
  private let changes = Changes()
  private let watch: FolderWatch
  private var gate: String { folder.path("gate") }

  /// What a program must have in its environment to write to this disk.
  package var environment: [String: String] {
    ["LD_PRELOAD": folder.path("gate.so"), "GATE": gate, "GATE_PATH": part]
  }

  /// - Parameter part: what the paths of the files have in them whose first write waits.
  package init(writing part: String) async throws {
    folder = try TemporaryDirectory()
    self.part = part
    let changes = changes
    watch = try FolderWatch([folder.path]) { changes.note() }
    try await Preload.compile("gate.c", to: folder.path("gate.so"))
    let path = gate
    try systemCall("mkfifo", path) { mkfifo(path, 0o600) }
  }

  /// Waits until the program waits for this disk.
  package func waitForWrite() async throws {
    let mark = gate + ".reached"
    try await changes.wait { FileManager.default.fileExists(atPath: mark) }
  }

  /// Lets the write go on, when it is there.
  package func open() async throws {
    let path = gate
    try await onThread {
      let writer = try systemCall("open", path) { Glibc.open(path, O_WRONLY | O_CLOEXEC) }
      try FileDescriptor(owning: writer).close()
    }
  }
}

/// What stands before the C library in programs under test.
enum Preload {
  static func compile(_ source: String, to library: String) async throws {
    let path = RepositoryPaths.root.appending(path: "Tests/Preload/\(source)").path(percentEncoded: false)
    let tool = try await Tool.run(
      "/usr/bin/gcc", ["-shared", "-fPIC", "-O1", "-o", library, path, "-ldl", "-lpthread"])
    if tool.code != 0 { throw SystemError(.invalidArgument, call: "gcc", subject: tool.errors) }
  }
}
