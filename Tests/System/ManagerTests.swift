import DaemonTesting
import Foundation
import Glibc
import SystemSupport
import TestSupport
import Testing

extension SystemTests {
  @Suite("The daemon and its service manager")
  struct Manager {
    private static let noop = #"{"type": "noop"}"#

    @Test(
      "The watchdog is fed while all goes on, and not while the writer hangs, which the log says",
      .enabled(if: Tracer.canTrace))
    func watchdog() async throws {
      let root = try DaemonRoot()
      let daemon = try await DaemonProcess.ready(root, environment: ["WATCHDOG_USEC": "2000000"])
      let feedings: @Sendable (DaemonProcess) -> Int = { $0.notifications.count { $0 == "WATCHDOG=1" } }
      try await daemon.wait { feedings($0) >= 5 }
      #expect(!daemon.logText.contains("watchdog"))
      // A disk that does not answer.
      let tracer = try await Tracer.attach(
        to: daemon, ["-e", "trace=fdatasync,fsync", "-e", "inject=fdatasync,fsync:delay_enter=600000000"])
      try root.drop(Self.noop, as: "late.json")
      try await daemon.waitForLog("the writer makes no progress")
      let before = feedings(daemon)
      // Three of its periods; nothing could be waited for, as nothing must come.
      try await onThread { _ = poll(nil, 0, 2_100) }
      #expect(feedings(daemon) == before)
      try await tracer.leave()
      try await daemon.kill()
    }

    @Test(
      "A last flush that a slow disk takes its time for gets more time, also after a reload of models, and is whole",
      .enabled(if: Tracer.canTrace), arguments: [false, true])
    func slowFlush(isReloaded: Bool) async throws {
      let root = try DaemonRoot("[Writer]\nFlushIntervalSec=1h\n")
      let daemon = try await DaemonProcess.ready(root)
      if isReloaded {
        let entity = #"<entity name="More"><attribute name="n" optional="YES" attributeType="Double"/></entity>"#
        try root.write(TestModel.model(entity), to: root.paths.models + "/More.xcdatamodel/contents")
        try await daemon.reload()
        #expect(daemon.logText.contains("taking new models"), "\(daemon.logText)")
      }
      let jobs = "{\"jobs\": [" + Array(repeating: Self.noop, count: 60).joined(separator: ",") + "]}"
      #expect(try await daemon.request("POST", "/v1/jobs", body: jobs).status == 202)
      let tracer = try await Tracer.attach(
        to: daemon, ["-e", "trace=pwrite64", "-e", "inject=pwrite64:delay_exit=100000"])
      #expect(try await daemon.stop() == .exited(code: 0))
      #expect(daemon.notifications.contains("EXTEND_TIMEOUT_USEC=20000000"))
      try await tracer.waitForEnd()
      let stored = try await root.sql("SELECT count(*) FROM Job")
      #expect(stored == "60")
    }

    @Test("A stop ends in its time though a program ignores SIGTERM and a helper hangs; their jobs run again")
    func stubbornJobs() async throws {
      let root = try DaemonRoot(DaemonRoot.quickFlushes + "ShutdownTimeoutSec=1s\n")
      try root.write(try await TestPicture.jpeg(), to: root.paths.payload + "/in.jpg")
      let script = root.directory.path("stubborn")
      // Once only: the next start is to find it well.
      let started = root.paths.payload + "/started"
      let text = "#!/bin/sh\ntest -e \(started) && exit 0\ntrap '' TERM\n: >\(started)\nsleep 600\n"
      try root.write(text, to: script)
      try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: script)
      try root.write(
        "[Handler]\nType=stubborn\nExecStart=\(script)\nKillGraceSec=1s\n", to: root.paths.handlers + "/stubborn.conf")
      let daemon = try await DaemonProcess.ready(root)
      _ = try await daemon.submit(Self.picture("first"))
      let helper = try #require(daemon.child(named: "bobbin-image"))
      try #require(Glibc.kill(helper, SIGSTOP) == 0)
      for job in [Self.picture("picture"), #"{"type": "stubborn", "id": "program"}"#] {
        #expect(try await daemon.request("POST", "/v1/jobs", body: job).status == 202)
      }
      try await daemon.wait { _ in FileManager.default.fileExists(atPath: started) }
      let start = ContinuousClock.now
      #expect(try await daemon.stop() == .exited(code: 0), "\(daemon.logText)")
      let duration = start.duration(to: .now)
      #expect(duration < .seconds(60), "\(daemon.logText)")
      #expect(!daemon.notifications.contains { $0.hasPrefix("EXTEND_TIMEOUT_USEC") })
      let again = try await DaemonProcess.ready(root)
      try await again.waitUntilSpoolIsEmpty()
      let stored = try await root.sql("SELECT id, state FROM Job ORDER BY id")
      #expect(stored == "first|completed\npicture|completed\nprogram|completed")
    }

    private static func picture(_ id: String) -> String {
      #"""
      {"type": "image.encode", "id": "\#(id)", "arguments": {
        "input": "in.jpg", "outputs": [{"path": "\#(id).png", "width": 40}]}}
      """#
    }
  }
}
