import DaemonTesting
import Foundation
import Glibc
import JSONText
import PostgresTesting
import SystemSupport
import TestSupport
import Testing

extension SystemTests {
  @Suite("Files in hot folders become jobs")
  struct HotFolders {
    private let root: DaemonRoot
    private let folder: String
    private let template: String
    /// Tells of files that come to these folders, or leave them.
    private let watch: FolderWatch

    init() throws {
      root = try DaemonRoot()
      folder = root.directory.path("in")
      template = root.directory.path("template.json5")
      let watched = [folder, folder + "/deep", root.directory.path("done"), root.directory.path("bad")]
      for path in watched {
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
      }
      try #require(chmod(root.directory.path, 0o755) == 0)
      let changes = root.changes
      watch = try FolderWatch(watched) { changes.note() }
      try root.write("{type: 'noop', batch: '{relative}'}", to: template)
      try define()
    }

    private func define(_ settings: String = "Settle=0") throws {
      try root.write(
        "[Folder]\nPath=\(folder)\nJob=\(template)\n\(settings)\n", to: root.paths.hotFolders + "/in.conf")
    }

    /// Has a file in the folder, whole from the beginning.
    private func put(_ name: String, _ text: String = "text") throws {
      let hidden = "\(folder)/.\(UUID().uuidString)"
      try root.write(text, to: hidden)
      try #require(rename(hidden, "\(folder)/\(name)") == 0)
    }

    private func exists(_ path: String) -> Bool { FileManager.default.fileExists(atPath: root.directory.path(path)) }

    /// The jobs that there are, in the order of their files' names.
    private func jobs(_ columns: String = "batch") async throws -> [String] {
      try await root.sql("SELECT \(columns) FROM Job ORDER BY batch, createdAt").split(separator: "\n").map(String.init)
    }

    /// Waits until so many jobs are over since a count of those that left `cur/`; without one, since the test began,
    /// whichever daemon ran them.
    private func wait(
      for count: Int, since before: Int = 0, of daemon: DaemonProcess, fileID: StaticString = #fileID,
      line: UInt = #line
    ) async throws {
      // Each job file leaves its temporary name, and then the folder.
      try await daemon.wait(fileID: fileID, line: line) {
        try $0.root.currentWatch.counts.left - before >= 2 * count && $0.root.isSpoolEmpty
      }
    }

    @Test("What lies there at the start is taken, and what is moved or copied there later")
    func allWays() async throws {
      try put("a")
      let daemon = try await DaemonProcess.ready(root)
      try await wait(for: 1, of: daemon)
      try put("b")
      try root.write("copied", to: root.directory.path("c"))
      let copy = try await Tool.run("/usr/bin/cp", [root.directory.path("c"), folder])
      #expect(copy.code == 0)
      for name in [".hidden", "d.part", "e.tmp", "f~"] { try put(name) }
      try await wait(for: 3, of: daemon)
      #expect(try await jobs("batch, state, queue") == ["a", "b", "c"].map { "\($0)|completed|default" })
      #expect(try await daemon.stop() == .exited(code: 0))
    }

    @Test("A file that somebody still writes is taken when it is closed")
    func slowWriter() async throws {
      let daemon = try await DaemonProcess.ready(root)
      let path = folder + "/slow"
      let writer = try FileDescriptor.open(path, .creatingExclusively, mode: 0o644)
      try writer.writeAll(Data("half".utf8))
      try put("marker")
      try await wait(for: 1, of: daemon)
      #expect(try await jobs() == ["marker"])
      try writer.writeAll(Data(" and half".utf8))
      try writer.close()
      try await wait(for: 2, of: daemon)
      #expect(try await jobs() == ["marker", "slow"])
    }

    @Test("A file is one job, again when its content has changed, and not when the same was written once more")
    func content() async throws {
      try define("Settle=0\nQueue=scans")
      let daemon = try await DaemonProcess.ready(root)
      try put("a", "one")
      try await wait(for: 1, of: daemon)
      for _ in 0..<3 { try put("a", "one") }
      #expect(utimensat(AT_FDCWD, folder + "/a", nil, 0) == 0)
      try put("m1")
      try await wait(for: 2, of: daemon)
      try put("a", "two")
      try await wait(for: 3, of: daemon)
      try put("a", "one")
      try await wait(for: 4, of: daemon)
      #expect(try await jobs("batch, queue") == ["a|scans", "a|scans", "a|scans", "m1|scans"])
    }

    @Test("Patterns choose files, and folders within count if they are to, also new ones")
    func patterns() async throws {
      try define("Settle=0\nRecursive=yes\nPattern=*.jpg *.png")
      try put("deep/a.jpg")
      try put("b.txt")
      #expect(symlink(root.directory.path("done"), folder + "/link") == 0)
      try root.write("x", to: root.directory.path("done/z.jpg"))
      let daemon = try await DaemonProcess.ready(root)
      try await wait(for: 1, of: daemon)
      try root.write("x", to: folder + "/new/er/c.png")
      try await wait(for: 2, of: daemon)
      #expect(rename(folder + "/new", folder + "/newer") == 0)
      try await wait(for: 3, of: daemon)
      try put("newer/er/d.jpg")
      try await wait(for: 4, of: daemon)
      #expect(try await jobs() == ["deep/a.jpg", "new/er/c.png", "newer/er/c.png", "newer/er/d.jpg"])
    }

    @Test("Files go where they are to go when their jobs are over, and those of failed ones elsewhere or nowhere")
    func afterwards() async throws {
      let (done, bad) = (root.directory.path("done"), root.directory.path("bad"))
      try root.write("[Handler]\nType=fail\nExecStart=/bin/false\n", to: root.paths.handlers + "/fail.conf")
      try root.write("{type: 'fail', maxAttempts: 1, batch: '{relative}'}", to: root.directory.path("fail.json5"))
      try define("Settle=0\nAfterwards=move\nDone=\(done)\nFailed=\(bad)\nRecursive=yes")
      let second = root.directory.path("in2")
      try FileManager.default.createDirectory(atPath: second, withIntermediateDirectories: true)
      let failing = "[Folder]\nPath=\(second)\nJob=\(root.directory.path("fail.json5"))\nSettle=0\nAfterwards="
      try root.write(failing + "move\nDone=\(done)\nFailed=\(bad)\n", to: root.paths.hotFolders + "/in2.conf")
      try root.write("taken", to: done + "/deep/a")
      try put("deep/a")
      try put("b")
      try root.write("x", to: second + "/c")
      let daemon = try await DaemonProcess.ready(root)
      try await daemon.wait { _ in exists("done/b") && exists("bad/c") && !exists("in/deep/a") }
      #expect(!exists("in/b") && !exists("in2/c"))
      #expect(try FileManager.default.contentsOfDirectory(atPath: done + "/deep").count == 2)
      // The same once more is another file now.
      try put("b")
      try await daemon.wait { _ in !exists("in/b") }
      #expect(try await jobs() == ["b", "b", "c", "deep/a"])
      _ = try await daemon.stop()

      try define("Settle=0\nAfterwards=delete")
      try root.write(failing + "delete\n", to: root.paths.hotFolders + "/in2.conf")
      try root.write("y", to: second + "/e")
      try put("d")
      let again = try await DaemonProcess.ready(root)
      try await again.wait { _ in !exists("in/d") }
      try await again.wait { try $0.root.failedFiles.count >= 4 && $0.root.isSpoolEmpty }
      #expect(exists("in2/e"))
    }

    @Test("What stays is not taken again at the next start, also when the record of its job is gone")
    func retention() async throws {
      try put("a")
      let daemon = try await DaemonProcess.ready(root)
      try await wait(for: 1, of: daemon)
      _ = try await daemon.stop()
      _ = try await root.sql("DELETE FROM Job")
      let left = root.currentWatch.counts.left
      let again = try await DaemonProcess.ready(root)
      try put("b")
      try await wait(for: 1, since: left, of: again)
      #expect(try await jobs() == ["b"])
      #expect(root.currentWatch.counts.left - left == 2)
    }

    @Test("A kill before the file is submitted, or while its job is under way, leaves it one job")
    func kill() async throws {
      try define("Settle=1h")
      try put("a")
      let first = try await DaemonProcess.ready(root)
      try await first.kill()
      try define("Settle=0")
      try root.write("{type: 'slow', batch: '{relative}'}", to: template)
      let gate = root.directory.path("gate")
      try #require(mkfifo(gate, 0o600) == 0)
      try root.write(
        "[Handler]\nType=slow\nExecStart=/bin/sh -c \"read line < \(gate)\"\n", to: root.paths.handlers + "/slow.conf")
      let second = try await DaemonProcess.ready(root)
      try await second.wait { try !$0.root.currentFiles.isEmpty }
      try await second.kill()
      let third = try await DaemonProcess.ready(root)
      try await onThread { try FileDescriptor.open(gate, .writing).writeAll(Data("go\n".utf8)) }
      try await third.wait { try $0.root.isSpoolEmpty }
      #expect(try await jobs("batch, state") == ["a|completed"])
    }

    @Test("Each of 1,000 files is one job, though the daemon is killed ten times meanwhile")
    func manyFiles() async throws {
      try define("Settle=0\nAfterwards=delete")
      var random = SeededGenerator(seed: 7)
      for number in 0..<1_000 { try put("file-\(number)", "\(number)") }
      for _ in 0..<10 {
        let daemon = try DaemonProcess(root)
        let before = watch.counts.left
        let count = Int.random(in: 1...80, using: &random)
        try await daemon.wait { _ in watch.counts.left - before >= count }
        try await daemon.kill()
      }
      let daemon = try await DaemonProcess.ready(root)
      let folder = folder
      try await daemon.wait(seconds: 120) { _ in try DaemonRoot.entries(folder).allSatisfy { $0 == "deep" } }
      #expect(
        try await root.sql("SELECT count(*), count(DISTINCT batch) FROM Job WHERE state = 'completed'") == "1000|1000")
    }

    @Test("A folder that is missing is told, and taken when it appears; a reload brings others")
    func missingFolder() async throws {
      try FileManager.default.removeItem(atPath: folder)
      let daemon = try await DaemonProcess.ready(root)
      try await daemon.waitForLog(
        "the hot folder in (\(folder)): it can't be read; its files are taken when it is there")
      try await daemon.wait { $0.managerStatus == "taking jobs; hot folders with problems: in" }
      let missing = try await daemon.tool("folders")
      #expect(missing.output.contains(/in +missing +\S+\/in +\* +0 +0 +0 +0 +-/))
      #expect(missing.errors.contains("in: it can't be read; its files are taken when it is there: "))
      #expect(try await daemon.tool("status").output.contains(/hot folders +1, with problems: in\n/))
      try root.write("x", to: folder + "/a")
      try await wait(for: 1, of: daemon)
      try await daemon.wait { $0.managerStatus == "taking jobs" }
      let other = root.directory.path("deeper/still/in")
      try root.write(
        "[Folder]\nPath=\(other)\nJob=\(template)\nSettle=0\n", to: root.paths.hotFolders + "/other.conf")
      try daemon.child.kill(SIGHUP)
      try await daemon.waitForLog("reloaded")
      try root.write("x", to: other + "/b")
      try await wait(for: 2, of: daemon)
      // Another folder in its place is another folder.
      #expect(rename(folder, folder + ".old") == 0)
      try root.write("x", to: folder + "/c")
      try await wait(for: 3, of: daemon)
      #expect(try await jobs() == ["a", "b", "c"])
      // Released behind the others, whose ends are known then.
      _ = try await daemon.submit(#"{"type": "noop"}"#)
      let shown = try #require(try await daemon.get("/v1/folders")["folders"]?.array)
      #expect(shown.map { $0["name"] } == ["in", "other"])
      #expect(shown.map { $0["state"] } == ["watching", "watching"])
      #expect(
        shown.map { $0["path"]?.string } == [folder, other] && shown.allSatisfy { $0["problem"]?.isNull == true })
      let files: JSONValue = ["waiting": 0, "underWay": 0, "submitted": 2, "completed": 2, "failed": 0]
      #expect(shown.first?["files"] == files)
      #expect(shown.first?["last"]?["path"] == "c")
      #expect(shown.first?["last"]?["job"]?.string?.hasPrefix("in-") == true)
      #expect(try await daemon.tool("folders").output.contains(#/other +watching .* +0 +0 +1 +0 +b, /#))
      #expect(try await daemon.tool("status").output.contains(/hot folders +2; files: 3 submitted\n/))
    }

    @Test("A folder that is deleted is told, and taken when it is there again")
    func deletedFolder() async throws {
      let daemon = try await DaemonProcess.ready(root)
      try put("a")
      try await wait(for: 1, of: daemon)
      try FileManager.default.removeItem(atPath: folder)
      try await daemon.wait { $0.managerStatus == "taking jobs; hot folders with problems: in" }
      #expect(try await daemon.get("/v1/folders")["folders"]?.array?.first?["state"] == "missing")
      try root.write("x", to: folder + "/b")
      try await wait(for: 2, of: daemon)
      #expect(try await daemon.get("/v1/folders")["folders"]?.array?.first?["state"] == "watching")
      #expect(try await jobs() == ["a", "b"])
    }

    @Test(
      "What is mounted upon a folder is watched instead, until it is unmounted", .enabled(if: SkipReason.runsAsRoot()))
    func mountedUpon() async throws {
      let daemon = try await DaemonProcess.ready(
        root, wrapper: SeparateMounts.wrapper + ["/bin/sh", "-c", "exec \"$0\" \"$@\""])
      func inside(_ script: String) async throws {
        let tool = try await Tool.run(
          "/usr/bin/nsenter", ["--mount", "--target", "\(daemon.child.processID)", "/bin/sh", "-ec", script])
        try #require(tool.code == 0, "\(tool.errors)")
      }
      try await inside("mount -t tmpfs -o mode=755 none \(folder); echo x >\(folder)/.a; mv \(folder)/.a \(folder)/a")
      try await wait(for: 1, of: daemon)
      try await inside("umount --lazy \(folder)")
      try put("b")
      try await wait(for: 2, of: daemon)
      #expect(try await jobs() == ["a", "b"])
    }

    @Test(
      "Hosts of a fleet that watch the same folder make one job of each file, and know when it is over",
      .enabled(if: PostgresCluster.isAvailable()))
    func fleet() async throws {
      let database = try PostgresCluster.makeDatabase()
      var daemons: [DaemonProcess] = []
      for name in ["a", "b"] {
        let host = try DaemonRoot(
          "[Store]\nUrl=\(database.url)\n[Fleet]\nName=\(name)\n[Workers]\nCount=2\n" + DaemonRoot.quickFlushes)
        let done = root.directory.path("done")
        try host.write(
          "[Folder]\nPath=\(folder)\nJob=\(template)\nSettle=0\nAfterwards=move\nDone=\(done)\n",
          to: host.paths.hotFolders + "/in.conf")
        daemons.append(try await DaemonProcess.ready(host))
      }
      for number in 0..<60 { try put("f\(number)") }
      let folder = folder
      try await root.changes.wait { try DaemonRoot.entries(folder) == ["deep"] }
      for daemon in daemons { try await daemon.waitUntilSpoolIsEmpty() }
      let made = try database.run(
        "SELECT count(*) || ' ' || count(DISTINCT batch) || ' ' || min(state) FROM bobbin.\"Job\"")
      #expect(made == "60 60 completed")
      #expect(try DaemonRoot.entries(root.directory.path("done")).count == 60)
      var submitted = 0
      for daemon in daemons {
        let files = try await daemon.get("/v1/folders")["folders"]?.array?.first?["files"]
        #expect(files?["waiting"] == 0 && files?["underWay"] == 0, "\(files?.serialized() ?? "")")
        submitted += Int(files?["submitted"]?.integer ?? 0)
        #expect(try await daemon.stop() == .exited(code: 0))
      }
      #expect(submitted == 60)
    }

    @Test(
      "A job has the rights of its file's owner, and nobody gets another's by a link",
      .enabled(if: SkipReason.runsAsRoot()))
    func rights() async throws {
      try #require(chmod(folder, 0o1777) == 0)
      let secret = root.directory.path("secret")
      for (name, owner) in [("ann", 4001), ("root", 0)] as [(String, UInt32)] {
        let hidden = "\(folder)/.\(name)"
        try root.write("x", to: hidden)
        try #require(chown(hidden, owner, owner) == 0 && rename(hidden, "\(folder)/\(name)") == 0)
      }
      try root.write("x", to: secret)
      try #require(chown(secret, 4002, 4002) == 0 && link(secret, folder + "/stolen") == 0)
      let daemon = try await DaemonProcess.ready(root)
      try await daemon.waitForLog("the file stolen: it has 2 hard links")
      try await daemon.waitForLog("the file root: it belongs to root or to the daemon's own user")
      try await wait(for: 1, of: daemon)
      #expect(try await jobs("batch, submitter") == ["ann|4001"])
    }

    @Test("A file whose failed job is put back is deleted when that is completed")
    func putBack() async throws {
      let cause = root.directory.path("cause")
      try root.write("", to: cause)
      try root.write(
        "[Handler]\nType=test\nExecStart=/bin/sh -c \"test ! -e \(cause) || exit 65\"\n",
        to: root.paths.handlers + "/test.conf")
      try root.write("{type: 'test'}", to: template)
      try define("Settle=0\nAfterwards=delete")
      let daemon = try await DaemonProcess.ready(root)
      try put("a")
      try await wait(for: 1, of: daemon)
      #expect(try await jobs("state") == ["discarded"] && exists("in/a"))
      try FileManager.default.removeItem(atPath: cause)
      let retried = try await daemon.tool("retry", "--state", "discarded")
      #expect(retried.code == 0, "\(retried.errors)")
      try await daemon.wait { _ in !FileManager.default.fileExists(atPath: self.folder + "/a") }
      #expect(try await jobs("state") == ["completed"])
    }

    @Test("What can't be remembered of a file for want of room is remembered when there is some")
    func noRoom() async throws {
      let memory = root.paths.hotFolderMemories + "/in"
      let first = try await DaemonProcess.ready(root)
      // A folder in the place of its file takes no lines.
      try FileManager.default.createDirectory(atPath: memory, withIntermediateDirectories: true)
      try put("a")
      try await wait(for: 1, of: first)
      try await first.waitForLog("what is remembered of its files can't be written")
      #expect(try await first.get("/v1/folders")["folders"]?.array?.first?["problem"]?.string != nil)
      try FileManager.default.removeItem(atPath: memory)
      let deadline = ContinuousClock.now + .seconds(30)
      while !FileManager.default.fileExists(atPath: memory) { try #require(ContinuousClock.now < deadline) }
      #expect(try await first.stop() == .exited(code: 0))
      // Its job is forgotten meanwhile.
      _ = try await root.sql("DELETE FROM Job")
      let daemon = try await DaemonProcess.ready(root)
      try put("b")
      try await wait(for: 2, of: daemon)
      #expect(try await daemon.stop() == .exited(code: 0))
      #expect(try await jobs() == ["b"])
    }

    @Test("A file whose failed job is put back is finished like others also when the daemon was restarted before")
    func putBackLater() async throws {
      let cause = root.directory.path("cause")
      try root.write("", to: cause)
      try root.write(
        "[Handler]\nType=test\nExecStart=/bin/sh -c \"test ! -e \(cause) || exit 65\"\n",
        to: root.paths.handlers + "/test.conf")
      try root.write("{type: 'test'}", to: template)
      try define("Settle=0\nAfterwards=delete")
      let first = try await DaemonProcess.ready(root)
      try put("a")
      try await wait(for: 1, of: first)
      #expect(try await first.stop() == .exited(code: 0))
      let memory = root.paths.hotFolderMemories + "/in"
      let before = try String(contentsOfFile: memory, encoding: .utf8)
      try FileManager.default.removeItem(atPath: cause)
      let daemon = try await DaemonProcess.ready(root)
      // What comes behind the file is looked at after it.
      try put("b")
      try await daemon.wait { _ in !FileManager.default.fileExists(atPath: self.folder + "/b") }
      #expect(try await jobs("state").sorted() == ["completed", "discarded"] && exists("in/a"))
      #expect(try String(contentsOfFile: memory, encoding: .utf8) == before)
      let retried = try await daemon.tool("retry", "--state", "discarded")
      #expect(retried.code == 0, "\(retried.errors)")
      try await daemon.wait { _ in !FileManager.default.fileExists(atPath: self.folder + "/a") }
      #expect(try await jobs("state") == ["completed", "completed"])
      #expect(try await daemon.stop() == .exited(code: 0))
    }

    @Test("A mistake in a template is found before it matters")
    func mistake() async throws {
      try root.write("{type: 'noop',\n arguments: {input: '{pat}'}}", to: template)
      let tool = try await Tool.run("bobbind", ["--root", root.directory.path, "--check-config"])
      #expect(tool.code == 78)
      #expect(
        tool.errors.contains(
          "in.conf:3: [Folder] Job=\(template): line 2: \"arguments.input\": has the unknown placeholder {pat}"))
      try root.write("{type: 'nop'}", to: template)
      let other = try await Tool.run("bobbind", ["--root", root.directory.path, "--check-config"])
      #expect(other.errors.contains("there is no job type \"nop\""))
    }
  }
}
