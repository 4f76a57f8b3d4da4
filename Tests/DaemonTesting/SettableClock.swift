import Foundation
import SystemSupport
import TestSupport

/// A wall clock for programs under test, which can be set without touching that of the machine.
package final class SettableClock: Sendable {
  private let folder: TemporaryDirectory
  private var offset: String { folder.path("offset") }

  /// What a program must have in its environment to live by this clock.
  package var environment: [String: String] { ["LD_PRELOAD": folder.path("clock.so"), "CLOCK_OFFSET": offset] }

  /// Compiles what stands before the C library.
  package init() async throws {
    folder = try TemporaryDirectory()
    try await Preload.compile("clock.c", to: folder.path("clock.so"))
    try set(ahead: 0)
  }

  /// Sets the clock so many seconds before or behind that of the machine.
  package func set(ahead seconds: Int64) throws {
    let data = withUnsafeBytes(of: seconds) { Data($0) }
    guard FileManager.default.fileExists(atPath: offset) else { return try data.write(to: URL(filePath: offset)) }
    // In place: the file is mapped.
    let file = try FileHandle(forWritingTo: URL(filePath: offset))
    try file.write(contentsOf: data)
    try file.close()
  }
}
