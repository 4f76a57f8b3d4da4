import DaemonTesting
import Foundation
import Glibc
import SystemSupport
import TestSupport
import Testing

extension SystemTests {
  @Suite("A store that fails")
  struct StoreFailures {
    @Test(
      "A full disk stops intake, says so, and is recovered from without help", .enabled(if: SkipReason.runsAsRoot()))
    func diskFull() async throws {
      let root = try DaemonRoot()
      let mount = try await Tool.run("/usr/bin/mount", ["-t", "tmpfs", "-o", "size=3m", "none", root.paths.state])
      try #require(mount.code == 0, "\(mount.errors)")
      do {
        try await fillAndFree(root)
        try await unmount(root)
      } catch {
        try await unmount(root)
        throw error
      }
    }

    @Test(
      "A store that another program keeps locked stops intake, is told apart from a full disk, and goes on without help"
    )
    func locked() async throws {
      let root = try DaemonRoot()
      let daemon = try await DaemonProcess.ready(root)
      let input = try FileDescriptor.pipe()
      let output = try FileDescriptor.pipe()
      let other = try ChildProcess.start(
        ChildLaunch(
          executable: "/usr/bin/sqlite3", arguments: [root.paths.store],
          descriptors: [0: input.first.number, 1: output.second.number]))
      defer { try? other.killGroup(SIGKILL) }
      try input.second.writeAll(Data(".timeout 20000\nBEGIN IMMEDIATE;\nSELECT 'locked';\n".utf8))
      var byte: UInt8 = 0
      try withUnsafeMutableBytes(of: &byte) { try #require(try output.first.read(into: $0) == 1) }
      try root.drop(#"{"type": "noop", "id": "first"}"#, as: "first.json")
      try await daemon.waitForLog("no job files are claimed until the store is free again")
      #expect(try await daemon.get("/v1/status")["state"]?.string == "store-busy")
      try await daemon.wait { daemon in
        daemon.managerStatus?.hasPrefix("taking no jobs: ") == true
      }
      let refused = try await daemon.request("POST", "/v1/jobs", body: #"{"type": "noop"}"#)
      #expect(refused.status == 503)
      #expect(refused.body["error"]?["code"]?.string == "store-busy")
      try input.second.writeAll(Data("ROLLBACK;\n.quit\n".utf8))
      try await daemon.waitUntilSpoolIsEmpty()
      #expect(try await root.sql("SELECT id, state FROM Job") == "first|completed")
      #expect(try await daemon.get("/v1/status")["state"]?.string == "running")
      try await daemon.wait { $0.managerStatus == "taking jobs" }
      #expect(try await daemon.stop() == .exited(code: 0))
    }

    @Test(
      "An import in one transaction that has no room costs nobody else theirs: it is cancelled, the daemon stops in order",
      .enabled(if: SkipReason.runsAsRoot())
    )
    func transactionWithoutRoom() async throws {
      let root = try DaemonRoot(DaemonRoot.quickFlushes)
      let disk = try SmallDisk(over: root.paths.state, megabytes: 6)
      // What is there already takes a good part of the disk, and lies in the log when the large one comes.
      try root.payload("some.csv", "job,number\n" + (0..<40_000).map { "some,\($0)\n" }.joined())
      try root.payload("much.csv", "job,number\n" + (0..<400_000).map { "much,\($0)\n" }.joined())
      let daemon = try await DaemonProcess.ready(root)
      _ = try await daemon.submit(TestModel.importJob("some", "some.csv"))
      try root.drop(
        """
        {"type": "import", "id": "much", "arguments": {"input": "much.csv", "entity": "Reading", "atomic": true}}
        """, as: "much.json")
      try await daemon.waitForLog("job much (")
      let small = try await daemon.submit(#"{"type": "noop", "id": "small"}"#)
      #expect(small.first?["state"]?.string == "completed")
      // Also by a process that is killed in the middle of it.
      try await daemon.waitForStoreWrites(50)
      try await daemon.kill()
      let again = try await DaemonProcess.ready(root)
      try await again.waitForLog("job much (")
      let cancel = try await again.tool("cancel", "much")
      #expect(cancel.code == 0, "\(cancel.output)\(cancel.errors)")
      try await again.waitUntilSpoolIsEmpty()
      #expect(try await again.stop() == .exited(code: 0))
      #expect(!again.logText.contains("can't be closed"), "\(again.logText)")
      #expect(
        try await root.sql("SELECT id, state FROM Job ORDER BY id") == "much|cancelled\nsmall|completed\nsome|completed"
      )
      withExtendedLifetime(disk) {}
    }

    @Test(
      "A start that has to wait for room tells of it once there is some, and since when",
      .enabled(if: SkipReason.runsAsRoot()))
    func fullAtStart() async throws {
      let root = try DaemonRoot(DaemonRoot.quickFlushes)
      try root.write("[Handler]\nType=tell\nExecStart=/bin/true\n", to: root.paths.handlers + "/tell.conf")
      try root.write("[Notify]\nType=tell\nOn=storage-full\n", to: root.paths.notifiers + "/ops.conf")
      let disk = try SmallDisk(over: root.paths.state, megabytes: 6)
      disk.fill()
      let before = Date()
      let daemon = try DaemonProcess(root)
      try await daemon.waitForLog("the store can't be opened; trying again")
      let waiting = Date()
      disk.free()
      try await daemon.waitForLog("job notice-ops-")
      let told = try await root.sql(
        "SELECT json_extract(arguments, '$.event'), json_extract(arguments, '$.since') FROM Job")
      let parts = told.split(separator: "|").map(String.init)
      try #require(parts.count == 2 && parts[0] == "storage-full", "\(told)")
      let since = try Date(
        parts[1], strategy: Date.ISO8601FormatStyle(includingFractionalSeconds: parts[1].contains(".")))
      #expect(before.addingTimeInterval(-1) <= since && since <= waiting, "\(since) \(before) \(waiting)")
      #expect(try await daemon.stop() == .exited(code: 0))
    }

    private func unmount(_ root: DaemonRoot) async throws {
      let unmount = try await Tool.run("/usr/bin/umount", ["-l", root.paths.state])
      #expect(unmount.code == 0, "\(unmount.errors)")
    }

    private func fillAndFree(_ root: DaemonRoot) async throws {
      let filler = root.paths.state + "/filler"
      let rows = (0..<5000).map { "full,\($0),\(String(repeating: "x", count: 40))\n" }.joined()
      try root.payload("rows.csv", "job,number,note\n" + rows)
      let daemon = try await DaemonProcess.ready(root)
      let first = try await daemon.submit(#"{"type": "noop", "id": "before"}"#)
      #expect(first.first?["durable"]?.bool == true)
      // What a long log takes would be given back, and be room again.
      _ = try await root.sql("PRAGMA wal_checkpoint(TRUNCATE)")
      fill(filler)
      try root.drop(TestModel.importJob("full", "rows.csv"), as: "full.json")
      try await daemon.waitForLog("no job files are claimed until there is room")
      let health = try await daemon.request("GET", "/healthz")
      #expect(health.status == 503)
      #expect(health.body["error"]?["code"]?.string == "failing")
      let status = try await daemon.get("/v1/status")
      #expect(status["state"]?.string == "storage-full")
      #expect(status["writer"]?["lastError"]?.string != nil)
      let refused = try await daemon.request("POST", "/v1/jobs", body: #"{"type": "noop"}"#)
      #expect(refused.status == 503)
      #expect(refused.body["error"]?["code"]?.string == "storage-full")
      try root.drop(#"{"type": "noop", "id": "meanwhile"}"#, as: "meanwhile.json")
      let waiting = try root.newFiles
      #expect(waiting == ["meanwhile.json"])
      try FileManager.default.removeItem(atPath: filler)
      try await daemon.waitUntilSpoolIsEmpty()
      let result = try await root.sql("SELECT id, state FROM Job ORDER BY id; SELECT count(*) FROM Reading")
      #expect(result == "before|completed\nfull|completed\nmeanwhile|completed\n5000")
      let healthy = try await daemon.request("GET", "/healthz")
      #expect(healthy.status == 200)
      let end = try await daemon.stop()
      #expect(end == .exited(code: 0))
    }

    /// Writes until nothing more fits.
    private func fill(_ path: String) {
      let file = open(path, O_CREAT | O_WRONLY, 0o600)
      let block = [UInt8](repeating: 0, count: 4096)
      while write(file, block, block.count) > 0 {}
      close(file)
    }

    @Test(
      "An I/O error of the store ends the daemon with 74, and the next start finds out what is on disk",
      .enabled(if: Tracer.canTrace), arguments: [2, 4, 7])
    func inputOutputError(occurrence: Int) async throws {
      let root = try DaemonRoot("[Writer]\nFlushIntervalSec=5ms\n")
      let count = 60
      let daemon = try await DaemonProcess.ready(root)
      let tracer = try await Tracer.attach(
        to: daemon, ["-e", "trace=fdatasync", "-e", "inject=fdatasync:error=EIO:when=\(occurrence)"])
      for number in 0..<count {
        try root.payload("\(number).csv", "job,number\nj\(number),\(number)\n")
        try root.drop(TestModel.importJob("j\(number)", "\(number).csv"), as: FileName("\(number).json"))
      }
      // One job alone in each flush, until the error comes.
      var extra = 0
      while try daemon.end == nil && extra < 200 {
        try root.drop(#"{"type": "noop", "id": "x\#(extra)"}"#, as: FileName("x\(extra).json"))
        extra += 1
        try await root.changes.wait { try daemon.end != nil || root.isSpoolEmpty }
      }
      let end = try await daemon.waitForEnd()
      #expect(end == .exited(code: 74), "\(daemon.logText)")
      try await tracer.waitForEnd()
      let again = try await DaemonProcess.ready(root)
      try await again.waitUntilSpoolIsEmpty()
      let result = try await root.sql(
        """
        SELECT count(*), count(DISTINCT id) FROM Job WHERE state = 'completed';
        SELECT count(*), count(DISTINCT number) FROM Reading; PRAGMA integrity_check
        """)
      #expect(result == "\(count + extra)|\(count + extra)\n\(count)|\(count)\nok")
    }
  }
}
