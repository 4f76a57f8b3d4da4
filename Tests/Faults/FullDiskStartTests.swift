import DaemonTesting
import Foundation
import SystemSupport
import TestSupport
import Testing

extension FaultTests {
  @Suite("A disk that is full when the daemon starts", .enabled(if: SkipReason.runsAsRoot()))
  struct FullDiskStarts {
    private static func isWaiting(_ notification: String) -> Bool {
      notification.hasPrefix("STATUS=waiting for room on the disk of the store: ")
    }

    enum Store: Sendable, CaseIterable { case none, used }

    @Test(
      "The daemon says so and stays, and takes jobs when there is room, with a store and without",
      .timeLimit(.minutes(10)), arguments: Store.allCases)
    func waits(store: Store) async throws {
      let (root, disk) = try await Self.fullRoot(store)
      let daemon = try DaemonProcess(root)
      try await daemon.waitForLog("the store can't be opened")
      try root.drop(#"{"type": "noop", "id": "meanwhile"}"#, as: "meanwhile.json")
      // Failed attempts are no news for the log.
      try await daemon.wait { $0.notifications.count(where: Self.isWaiting) >= 2 }
      #expect(daemon.logLines.count == 1, "\(daemon.logText)")
      #expect(daemon.notifications.contains { $0.hasPrefix("EXTEND_TIMEOUT_USEC=") })
      #expect(!daemon.notifications.contains("READY=1"))
      if store == .used {
        // It keeps the lock; without a store there may be no room for that either.
        let second = try await Tool.run("bobbind", ["--root", root.directory.path])
        #expect(second.code == 69, "\(second.errors)")
      }
      disk.free()
      try await daemon.wait { $0.notifications.contains("READY=1") }
      try await daemon.waitUntilSpoolIsEmpty()
      let jobs = try await root.sql("SELECT id, state FROM Job ORDER BY id")
      #expect(jobs == (store == .used ? "before|completed\n" : "") + "meanwhile|completed")
      let end = try await daemon.stop()
      #expect(end == .exited(code: 0), "\(daemon.logText)")
    }

    @Test("SIGTERM ends a daemon that waits for room at once")
    func stops() async throws {
      let (root, disk) = try await Self.fullRoot(.used)
      let daemon = try DaemonProcess(root)
      try await daemon.wait { $0.notifications.contains(where: Self.isWaiting) }
      let attempts = daemon.notifications.count(where: Self.isWaiting)
      let end = try await daemon.stop()
      #expect(end == .exited(code: 0), "\(daemon.logText)")
      // One may be under way.
      #expect(daemon.notifications.count(where: Self.isWaiting) <= attempts + 1)
      disk.free()
      let again = try await DaemonProcess.ready(root)
      let jobs = try await again.submit(#"{"type": "noop", "id": "after"}"#)
      #expect(jobs.first?["state"]?.string == "completed")
    }

    /// A root whose store has no room, and may have been used before.
    private static func fullRoot(_ store: Store) async throws -> (DaemonRoot, SmallDisk) {
      let root = try DaemonRoot()
      let disk = try SmallDisk(over: root.paths.state, megabytes: 4)
      if store == .used {
        let daemon = try await DaemonProcess.ready(root)
        _ = try await daemon.submit(#"{"type": "noop", "id": "before"}"#)
        _ = try await daemon.stop()
      }
      disk.fill()
      return (root, disk)
    }
  }
}
