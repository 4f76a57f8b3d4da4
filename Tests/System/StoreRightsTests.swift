import DaemonTesting
import Foundation
import Glibc
import SystemSupport
import TestSupport
import Testing

extension SystemTests {
  @Suite("The store belongs to the daemon's user", .enabled(if: SkipReason.runsAsRoot()))
  struct StoreRights {
    private static let daemon = OtherUser(user: 65534, group: 65534)
    private let root: DaemonRoot

    init() throws {
      root = try DaemonRoot()
      try #require(chmod(root.directory.path, 0o755) == 0)
    }

    private func start() async throws -> DaemonProcess {
      let tool = try await Tool.run("/usr/bin/chown", ["-R", "65534:65534", root.directory.path])
      try #require(tool.code == 0, "\(tool.errors)")
      return try await DaemonProcess.ready(root, wrapper: Self.daemon.wrapper)
    }

    @Test(
      "and neither a stranger nor a member of the daemon's group can read it, or open what could be locked",
      arguments: [OtherUser.stranger, OtherUser(user: 4001, group: 65534)])
    func others(other: OtherUser) async throws {
      // As an earlier release, or an operator, has left it.
      try #require(chmod(root.paths.state, 0o755) == 0)
      let daemon = try await start()
      #expect(daemon.logText.contains("was open to other users (mode 0755)"))
      _ = try await daemon.submit(#"{"type": "noop", "id": "secret"}"#)
      for file in ["", "-wal", "-shm"] {
        let read = try await other.run("/usr/bin/head", ["-c1", root.paths.store + file])
        #expect(read.code != 0 && read.errors.contains("Permission denied"), "\(file): \(read.errors)")
      }
      let query = try await other.run("/usr/bin/sqlite3", ["-readonly", root.paths.store, "SELECT id FROM Job"])
      #expect(query.code != 0 && !query.output.contains("secret"))
      // The daemon's lock, too.
      let lock = try await other.run(
        "/usr/bin/flock", ["--shared", "--nonblock", root.paths.state + "/lock", "/bin/true"])
      #expect(lock.code != 0)
      #expect(try await daemon.stop() == .exited(code: 0))
      #expect(try await start().stop() == .exited(code: 0))
    }

    @Test("with each of its files, by whatever rights an earlier release has made them")
    func tightened() async throws {
      #expect(try await start().stop() == .exited(code: 0))
      let values = root.paths.state + "/bobbin_files"
      try #require(chmod(root.paths.store, 0o644) == 0 && chmod(values, 0o755) == 0)
      let daemon = try await start()
      _ = try await daemon.submit(#"{"type": "noop"}"#)
      let state = try Directory(path: root.paths.state)
      for name in try state.entries() {
        let status = try state.status(of: name)
        #expect(status.mode & 0o077 == 0, "\(name)")
      }
      #expect(try state.status().mode == 0o700)
      // What jobs write and where they are dropped has the rights that are promised.
      #expect(try Directory(path: root.paths.spoolCurrent).status().mode & 0o777 == 0o755)
      #expect(try await daemon.stop() == .exited(code: 0))
    }

    @Test(
      "and if a file of it is removed, nothing is acknowledged any more, and the daemon ends with 74",
      arguments: ["", "-wal"])
    func removed(file: String) async throws {
      let daemon = try await start()
      _ = try await daemon.submit(#"{"type": "noop", "id": "before"}"#)
      try FileManager.default.removeItem(atPath: root.paths.store + file)
      try root.drop(#"{"type": "noop", "id": "after"}"#, as: "after.json")
      #expect(try await daemon.waitForEnd() == .exited(code: 74))
      #expect(daemon.logText.contains("removed or replaced"), "\(daemon.logText)")
      // Its job is not over for anybody.
      #expect(try root.currentFiles == ["after.json"])
      if !file.isEmpty { return }
      let again = try DaemonProcess(root, wrapper: Self.daemon.wrapper)
      #expect(try await again.waitForEnd() == .exited(code: 78))
      #expect(again.logText.contains("the store is missing but its journal is there"), "\(again.logText)")
    }
  }
}
