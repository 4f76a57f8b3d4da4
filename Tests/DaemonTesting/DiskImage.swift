import Foundation
import Glibc
import SystemSupport
package import TestSupport

/// A file system of its own in a file, which can lose its power. Needs root.
package final class DiskImage: Sendable {
  package enum Kind: String, Sendable, CaseIterable { case ext4, xfs }

  /// Where it is mounted.
  package let directory: TemporaryDirectory
  private let folder: TemporaryDirectory
  private var image: String { folder.path("image") }

  /// Whether such file systems can be made here.
  package static func isPossible(_ kind: Kind) -> Bool {
    SkipReason("needs root, loop devices and mkfs.\(kind)").unless(
      Credentials.effectiveUser == 0 && FileManager.default.fileExists(atPath: "/dev/loop-control")
        && FileManager.default.isExecutableFile(atPath: "/usr/sbin/mkfs.\(kind)"))
  }

  /// Makes a file system and mounts it.
  package init(_ kind: Kind) async throws {
    directory = try TemporaryDirectory()
    folder = try TemporaryDirectory()
    try Data().write(to: URL(filePath: image))
    // xfs can't be smaller; the file has holes.
    let size = kind == .xfs ? 320 : 64
    guard truncate(image, size << 20) == 0 else { throw SystemError(.init(rawValue: errno), call: "truncate") }
    try await Self.run("/usr/sbin/mkfs.\(kind)", ["-q", image])
    // Other processes copy all mounts for themselves. Those of a shared place are unmounted with it; else the device would
    // stay in use, and the next mount find the file system that has lost its power.
    try await Self.run("/usr/bin/mount", ["--bind", "--make-shared", directory.path, directory.path])
    try await mount()
  }

  deinit {
    // A test that has failed leaves it mounted. Lazily, as a daemon may be at work there.
    while umount2(directory.path, Int32(MNT_DETACH)) == 0 {}
  }

  package func mount() async throws { try await Self.run("/usr/bin/mount", ["-o", "loop", image, directory.path]) }

  /// Unmounts it once nobody uses it; whoever was killed lets go of it in a moment.
  package func unmount() async throws {
    for _ in 0..<600 {
      if umount2(directory.path, 0) == 0 { return }
      guard errno == EBUSY else { break }
      // The kernel tells nobody of the last descriptor's end.
      try await Task.sleep(for: .milliseconds(50))
    }
    throw SystemError(.init(rawValue: errno), call: "umount", subject: directory.path)
  }

  /// Cuts the power: what was not synced is gone, and every further access fails.
  package func cut() throws {
    let number = open(directory.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard number >= 0 else { throw SystemError(.init(rawValue: errno), call: "open", subject: directory.path) }
    defer { close(number) }
    // FS_IOC_SHUTDOWN; flag 2 flushes no journal.
    var flag: UInt32 = 2
    guard ioctl(number, 0x8004_587d, &flag) == 0 else {
      throw SystemError(.init(rawValue: errno), call: "ioctl", subject: directory.path)
    }
  }

  private static func run(_ program: String, _ arguments: [String]) async throws {
    let tool = try await Tool.run(program, arguments)
    if tool.code != 0 { throw SystemError(.invalidArgument, call: program, subject: tool.errors + tool.output) }
  }
}
