import DaemonTesting
import Foundation
import Glibc
import JSONText
import SystemSupport
import TestSupport
import Testing

extension SystemTests {
  @Suite("A fault of the host holds a type, and costs its jobs nothing")
  struct HostFaults {
    @Test("Jobs of a program that is missing wait for it, status says so, and they run once it is there")
    func missingProgram() async throws {
      let root = try DaemonRoot()
      let program = root.directory.path("program")
      try root.write(
        "[Handler]\nType=late\nExecStart=\(program)\nMaxAttempts=1\n", to: root.paths.handlers + "/late.conf")
      let daemon = try await DaemonProcess.ready(root)
      try root.drop(#"{"jobs": [{"type": "late", "id": "a"}, {"type": "late", "id": "b"}]}"#, as: "late.json")
      let text = "the program \(program) can't be started: execve \"\(program)\": No such file or directory (ENOENT)"
      let held = "the type \"late\" is held: \(text)"
      try await daemon.wait { $0.managerStatus == "taking jobs; \(held)" }
      // Others are not concerned.
      #expect(try await daemon.submit(#"{"type": "noop", "id": "n"}"#).first?["state"]?.string == "completed")
      // While it is tried again it is not held, for a moment each time.
      let status = try await daemon.get("/v1/status") { $0["heldTypes"]?.array?.isEmpty == false }["heldTypes"]?.array
      #expect(status?.first?["type"]?.string == "late")
      #expect(status?.first?["reason"]?.string == text)
      try await daemon.poll(seconds: 60) {
        try await daemon.tool("status").output.contains("the type \"late\": \(text)")
      }
      let why = try await daemon.get("/v1/jobs/b/why") {
        $0["reasons"]?.array?.first?.string?.contains("holds") == true
      }
      #expect(why["state"]?.string == "available")
      #expect(
        why["reasons"]?.array?.first?.string
          == "a fault of this host holds the type \"late\", which goes on by itself once that is mended: \(text)")
      try root.write("#!/bin/sh\nexit 0\n", to: program + ".new")
      try #require(chmod(program + ".new", 0o755) == 0 && rename(program + ".new", program) == 0)
      try await daemon.waitUntilSpoolIsEmpty()
      let rows = try await root.sql("SELECT state, attempt, maxAttempts FROM Job WHERE type = 'late'")
      #expect(rows == "completed|1|1\ncompleted|1|1")
      #expect(daemon.managerStatus == "taking jobs")
      // Once, however often it was tried.
      let told = daemon.logLines.filter { $0.contains("is held until this is mended") }
      #expect(told.count == 1, "\(daemon.logText)")
      #expect(try await daemon.stop() == .exited(code: 0))
    }

    @Test(
      "A job whose output is on a disk that is read-only waits, at no attempt's cost, and goes on when that is mended",
      .enabled(if: SkipReason.runsAsRoot()))
    func readOnlyOutput() async throws {
      let root = try DaemonRoot(DaemonRoot.quickFlushes + "[Jobs]\nBackoffBaseSec=1ms\nBackoffLimitSec=100ms\n")
      let folder = root.directory.path("locked")
      try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
      let script = "mount --bind \"$0\" \"$0\" && mount -o remount,bind,ro \"$0\" && exec \"$@\""
      let daemon = try await DaemonProcess.ready(
        root, wrapper: SeparateMounts.wrapper + ["/bin/sh", "-c", script, folder])
      try root.payload("in.jpg", try await TestPicture.jpeg())
      try root.drop(
        #"""
        {"type": "image.encode", "id": "p", "maxAttempts": 1,
         "arguments": {"input": "in.jpg", "outputs": [{"path": "\#(folder)/o.png"}]}}
        """#, as: "p.json")
      // Of the third attempt of one.
      try await daemon.wait {
        $0.logLines.count { $0.contains("the mount at \(folder) is read-only for the daemon") } >= 3
      }
      let why = try await daemon.get("/v1/jobs/p")
      #expect(why["state"]?.string != "discarded")
      let reason = "the mount at \(folder) is read-only for the daemon"
      try await daemon.wait { $0.managerStatus?.contains("taking jobs; a job waits for this host: ") == true }
      #expect(daemon.managerStatus?.contains(reason) == true)
      let shortage = try await daemon.get("/v1/status")["shortage"]
      #expect(shortage?["jobs"]?.integer == 1 && shortage?["reason"]?.string?.contains(reason) == true)
      let told = try await daemon.tool("status").output
      #expect(told.contains("a job is tried again until this is mended: ") && told.contains(reason), "\(told)")
      // Others are not concerned.
      try root.drop(
        #"{"type": "image.encode", "id": "q", "arguments": {"input": "in.jpg", "outputs": [{"path": "q.png"}]}}"#,
        as: "q.json")
      try await daemon.wait { FileManager.default.fileExists(atPath: $0.root.paths.payload + "/q.png") }
      let mending = try await Tool.run(
        "/usr/bin/nsenter",
        ["--mount", "--target", "\(daemon.child.processID)", "mount", "-o", "remount,bind,rw", folder])
      try #require(mending.code == 0, "\(mending.errors)")
      try await daemon.waitUntilSpoolIsEmpty()
      #expect(try await root.sql("SELECT state FROM Job WHERE id = 'p'") == "completed")
      #expect(daemon.managerStatus == "taking jobs")
      #expect(try await daemon.get("/v1/status")["shortage"] == .null)
      #expect(FileManager.default.fileExists(atPath: folder + "/o.png"))
      #expect(try await daemon.stop() == .exited(code: 0))
    }

    @Test("Pictures wait for a helper that can't be executed", .enabled(if: SkipReason.runsAsRoot()))
    func missingHelper() async throws {
      let root = try DaemonRoot()
      let helper = try RepositoryPaths.executable("bobbin-image").path(percentEncoded: false)
      let daemon = try await DaemonProcess.ready(
        root,
        wrapper: SeparateMounts.wrapper + [
          "/bin/sh", "-c", "mount --bind /dev/null \"$0\" && exec \"$@\"", helper,
        ])
      try root.payload("in.jpg", try await TestPicture.jpeg())
      try root.drop(
        #"{"type": "image.encode", "id": "p", "arguments": {"input": "in.jpg", "outputs": [{"path": "o.png"}]}}"#,
        as: "p.json")
      try await daemon.wait {
        $0.managerStatus?.contains("the type \"image.encode\" is held: the image helper can't be started: execve")
          == true
      }
      // The attempt that has found it is not over at once.
      let deadline = ContinuousClock.now + .seconds(30)
      while try await daemon.get("/v1/jobs/p")["attempt"]?.integer != 0 {
        try #require(ContinuousClock.now < deadline, "\(daemon.logText)")
      }
      #expect(try await daemon.stop() == .exited(code: 0))
    }
  }
}
