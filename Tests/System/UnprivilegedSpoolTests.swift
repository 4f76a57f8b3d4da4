import DaemonTesting
import Foundation
import Glibc
import SystemSupport
import TestSupport
import Testing

extension SystemTests {
  @Suite("The spool of a daemon without root's rights", .enabled(if: SkipReason.runsAsRoot()))
  struct UnprivilegedSpool {
    private static let identity = ["/usr/bin/setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
    private let root: DaemonRoot

    init() throws { root = try DaemonRoot() }

    private func start(_ options: [String] = []) async throws -> DaemonProcess {
      let tool = try await Tool.run("/usr/bin/chown", ["-R", "65534:65534", root.directory.path])
      try #require(tool.code == 0, "\(tool.errors)")
      return try await DaemonProcess.ready(root, wrapper: Self.identity + options)
    }

    @Test("With CAP_LEASE it leaves a stranger's file alone that is being written, and passes the capability to nobody")
    func lease() async throws {
      let daemon = try await start(["--inh-caps=+lease", "--ambient-caps=+lease"])
      let status = try String(contentsOfFile: "/proc/\(daemon.child.processID)/status", encoding: .utf8)
      #expect(status.contains("CapEff:\t0000000010000000"))
      #expect(status.contains("CapAmb:\t0000000000000000"))
      let file = try FileDescriptor.open(root.paths.spoolNew + "/open.json", .creating, mode: 0o644)
      try file.writeAll(Data("{".utf8))
      try root.drop(#"{"type": "noop", "id": "good"}"#, as: "good.json")
      try await daemon.wait { try $0.root.newFiles == ["open.json"] && $0.root.currentFiles.isEmpty }
      try file.writeAll(Data(#""type": "noop", "id": "open"}"#.utf8))
      try file.close()
      try await daemon.waitUntilSpoolIsEmpty()
      #expect(try await root.sql("SELECT id, state FROM Job ORDER BY id") == "good|completed\nopen|completed")
      #expect(!daemon.logText.contains("CAP_LEASE"))
      #expect(try await daemon.stop() == .exited(code: 0))
    }

    @Test("Without CAP_LEASE it says once what it can't know")
    func withoutLease() async throws {
      // Found by the first look through the folder, and not by the news of a rename.
      #expect(try await start().stop() == .exited(code: 0))
      for name in ["one", "two"] { try root.drop(#"{"type": "noop"}"#, as: FileName(name)) }
      let daemon = try await DaemonProcess.ready(root, wrapper: Self.identity)
      try await daemon.waitUntilSpoolIsEmpty()
      #expect(try await daemon.stop() == .exited(code: 0))
      #expect(daemon.logLines.count { $0.contains("without CAP_LEASE a file") } == 1)
    }

    @Test("While failed/ can't be written refused files wait in cur/, block nobody, and go there when it can")
    func unwritableFailed() async throws {
      let daemon = try await start()
      try #require(chown(root.paths.spoolFailed, 0, 0) == 0 && chmod(root.paths.spoolFailed, 0o755) == 0)
      for name in ["bad1", "bad2"] { try root.drop("", as: FileName(name)) }
      try root.drop(#"{"type": "noop", "id": "good"}"#, as: "good")
      try await daemon.wait { try $0.root.newFiles.isEmpty && $0.root.currentFiles == ["bad1", "bad2"] }
      #expect(try await root.sql("SELECT id, state FROM Job") == "good|completed")
      #expect(daemon.logLines.count { $0.contains("failed/ can't take the job file") } == 1)
      try #require(chown(root.paths.spoolFailed, 65534, 65534) == 0)
      try await daemon.waitUntilSpoolIsEmpty()
      #expect(try root.failedFiles == ["bad1", "bad1.reason", "bad2", "bad2.reason"])
      #expect(try await daemon.stop() == .exited(code: 0))
    }
  }
}
