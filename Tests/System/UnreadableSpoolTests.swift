import DaemonTesting
import Foundation
import SystemSupport
import TestSupport
import Testing

extension SystemTests {
  @Suite("A cur/ that can't be read or written to disk", .enabled(if: Tracer.canTrace))
  struct UnreadableSpool {
    private let root: DaemonRoot
    private var current: String { root.paths.spoolCurrent }

    init() throws { root = try DaemonRoot() }

    private func states() async throws -> String { try await root.sql("SELECT id, state FROM Job ORDER BY id") }

    @Test("A file waits in new/ while its namesake in cur/ can't be looked at, which is logged once, and runs later")
    func namesake() async throws {
      try root.declare("patient", ": > begun; while [ ! -e go ]; do sleep 0.05; done")
      let begun = root.paths.payload + "/begun"
      let daemon = try await DaemonProcess.ready(root)
      try root.drop(#"{"type": "patient", "id": "first"}"#, as: "same.json")
      try await daemon.wait { _ in FileManager.default.fileExists(atPath: begun) }
      let tracer = try await Tracer.attach(
        to: daemon, ["-P", current, "-e", "trace=newfstatat", "-e", "inject=newfstatat:error=EIO"])
      try root.drop(#"{"type": "noop", "id": "second"}"#, as: "same.json")
      let trouble =
        "the job file same.json can't be claimed from new/: fstatat \"\(current)/same.json\": Input/output error (EIO)"
      try await daemon.waitForLog(trouble)
      #expect(try root.newFiles == ["same.json"] && root.currentFiles == ["same.json"])
      #expect(try await daemon.request("GET", "/healthz").status == 200)
      try await tracer.leave()
      try root.payload("go", "")
      try await daemon.waitUntilSpoolIsEmpty()
      #expect(try await states() == "first|completed\nsecond|completed")
      // However often it was tried.
      #expect(daemon.logLines.count { $0.contains(trouble) } == 1)
      #expect(try root.failedFiles == [])
      #expect(try await daemon.stop() == .exited(code: 0))
    }

    @Test("A file of an earlier run that can't be read is left for the next start, as the log says, and others run")
    func unreadableFile() async throws {
      let left = current + "/left.json"
      try root.write(#"{"type": "noop", "id": "left"}"#, to: left)
      let daemon = try await DaemonProcess.ready(
        root, wrapper: Tracer.wrapper("trace=read", "inject=read:error=EIO", on: left))
      let trouble = "the job file left.json can't be recovered from cur/ before the next start"
      try await daemon.waitForLog("\(trouble): read \"\(left)\": Input/output error (EIO)")
      try root.drop(#"{"type": "noop", "id": "other"}"#, as: "other.json")
      try await daemon.wait { try $0.root.newFiles.isEmpty && $0.root.currentFiles == ["left.json"] }
      #expect(try await states() == "other|completed")
      #expect(try root.failedFiles == [])
      try await daemon.kill()
      let again = try await DaemonProcess.ready(root)
      try await again.waitUntilSpoolIsEmpty()
      #expect(try await states() == "left|completed\nother|completed")
      #expect(try await again.stop() == .exited(code: 0))
    }

    @Test("A submission that can't be written to disk is refused, and does not run at the next start")
    func unwritable() async throws {
      let daemon = try await DaemonProcess.ready(root)
      // Only the folder: the file is there with its name by then.
      let tracer = try await Tracer.attach(
        to: daemon, ["-P", current, "-e", "trace=fsync", "-e", "inject=fsync:error=EIO"])
      let refused = try await daemon.request("POST", "/v1/jobs", body: #"{"type": "noop", "id": "refused"}"#)
      #expect(refused.status == 500, "\(refused.body.serialized())")
      try await tracer.leave()
      #expect(try root.currentFiles == [])
      try await daemon.kill()
      let again = try await DaemonProcess.ready(root)
      _ = try await again.submit(#"{"type": "noop", "id": "witness"}"#)
      #expect(try await states() == "witness|completed")
      #expect(try await again.stop() == .exited(code: 0))
    }

    @Test("A daemon that can't list cur/ takes nothing from new/, says why and ends with 74")
    func unlistable() async throws {
      try root.drop(#"{"type": "noop"}"#, as: "job.json")
      let daemon = try DaemonProcess(
        root, wrapper: Tracer.wrapper("trace=getdents64", "inject=getdents64:error=EIO", on: current))
      #expect(try await daemon.waitForEnd() == .exited(code: 74))
      let reason = "readdir \"\(current)\": Input/output error (EIO)"
      try await root.changes.wait { daemon.logText.contains(reason) }
      #expect(try root.newFiles == ["job.json"])
    }
  }
}
