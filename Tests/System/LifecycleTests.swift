import DaemonTesting
import Foundation
import Glibc
import SystemSupport
import TestSupport
import Testing

extension SystemTests {
  @Suite("The daemon's life")
  struct Lifecycle {
    private static let noop = #"{"type": "noop"}"#

    @Test("The folders are made with the rights that a drop box needs")
    func folders() async throws {
      let root = try DaemonRoot()
      for path in [root.paths.spool, root.paths.state] { try FileManager.default.removeItem(atPath: path) }
      let daemon = try await DaemonProcess.ready(root)
      #expect(!daemon.logText.contains(root.paths.state), "made with rights that had to be mended: \(daemon.logText)")
      let expected = [
        root.paths.state: 0o700,
        root.paths.spoolTemporary: 0o3730, root.paths.spoolNew: 0o3730, root.paths.spoolCurrent: 0o700,
        root.paths.spoolFailed: 0o750,
      ]
      for (path, mode) in expected {
        var status = stat()
        try #require(stat(path, &status) == 0)
        #expect(Int(status.st_mode & 0o7777) == mode, "\(path)")
      }
      #expect(try await daemon.stop() == .exited(code: 0))
      #expect(!FileManager.default.fileExists(atPath: root.paths.socket))
    }

    @Test("A stop gives back what can't be finished in time, keeps what is merged, and the next start goes on")
    func stopping() async throws {
      let root = try DaemonRoot("[Writer]\nFlushIntervalSec=20ms\nShutdownTimeoutSec=1s\n[Import]\nChunkRows=500\n")
      let rowCount = 1_000_000
      let block = Data(String(repeating: "long,1\n", count: 10_000).utf8)
      let text = (0..<rowCount / 10_000).reduce(into: Data("job,number\n".utf8)) { text, _ in text.append(block) }
      try root.write(text, to: root.paths.payload + "/long.csv")
      let daemon = try await DaemonProcess.ready(root)
      try root.drop(TestModel.importJob("long", "long.csv"), as: "long.json")
      // The file is checked before its first row is written, and thousands of chunks come after that.
      while try await root.sql("SELECT count(*) FROM Reading") == "0" { try await daemon.waitForStoreWrites(1) }
      for number in 0..<50 { try root.drop(#"{"type": "noop", "id": "n\#(number)"}"#, as: FileName("n\(number).json")) }
      let start = ContinuousClock.now
      let end = try await daemon.stop()
      let duration = start.duration(to: .now)
      print("stopped a long import after \(duration)")
      #expect(end == .exited(code: 0), "\(daemon.logText)")
      #expect(duration < .seconds(60))
      #expect(daemon.notifications.contains("STOPPING=1"))
      let left = try root.currentFiles
      #expect(left.contains("long.json"))
      let rows = Int(try await root.sql("SELECT count(*) FROM Reading")) ?? 0
      #expect(rows > 0 && rows < rowCount)
      let again = try await DaemonProcess.ready(root)
      try await again.waitUntilSpoolIsEmpty(seconds: 120)
      let result = try await root.sql("SELECT count(*) FROM Reading; SELECT state, count(*) FROM Job GROUP BY state")
      #expect(result == "\(rowCount)\ncompleted|51")
    }

    @Test("Files dropped while the daemon was down, 2,000 at once, are all taken, and no file stays open")
    func manyFiles() async throws {
      let root = try DaemonRoot()
      let write: @Sendable (Range<Int>) throws -> Void = { numbers in
        for number in numbers {
          try root.write(Self.noop, to: root.paths.spoolTemporary + "/\(number)")
          try #require(
            rename(root.paths.spoolTemporary + "/\(number)", root.paths.spoolNew + "/\(number).json") == 0)
        }
      }
      try write(0..<1000)
      let daemon = try await DaemonProcess.ready(root)
      try write(1000..<3000)
      try await daemon.waitUntilSpoolIsEmpty()
      let jobs = try await root.sql("SELECT state, count(*) FROM Job GROUP BY state")
      #expect(jobs == "completed|3000")
      let status = try await daemon.get("/v1/status")
      #expect(status["jobs"]?["completed"]?.integer == 3000)
      let open = try FileManager.default.contentsOfDirectory(atPath: "/proc/\(daemon.child.processID)/fd").compactMap {
        try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/\(daemon.child.processID)/fd/\($0)")
      }
      #expect(open.filter { $0.hasPrefix(root.paths.spool) && $0.hasSuffix(".json") || $0.contains("(deleted)") } == [])
    }

    @Test("Jobs that are over take no memory")
    func memory() async throws {
      let root = try DaemonRoot("[Writer]\nFlushIntervalSec=5ms\n")
      let daemon = try await DaemonProcess.ready(root)
      let body = "{\"jobs\": [" + Array(repeating: Self.noop, count: 1_000).joined(separator: ",") + "]}"
      func resident() throws -> Int {
        let text = try String(contentsOfFile: "/proc/\(daemon.child.processID)/statm", encoding: .utf8)
        return (Int(text.split(separator: " ")[1]) ?? 0) * 4096
      }
      for _ in 0..<5 { _ = try await daemon.submit(body) }
      let before = try resident()
      for _ in 0..<15 { _ = try await daemon.submit(body) }
      let growth = try resident() - before
      print("memory after 15,000 more jobs: \(growth >> 10) KiB more")
      #expect(growth < 40 << 20)
    }

    @Test("Names may hold any bytes and have any length")
    func oddNames() async throws {
      let names: [FileName] = [
        "new\nline", "esc\u{1b}[31m", FileName(bytes: [0xff, 0xfe, 0x80]), "-rf", "*", "name.reason",
        FileName(String(repeating: "x", count: 255)),
      ]
      let root = try DaemonRoot()
      let daemon = try await DaemonProcess.ready(root)
      for name in names { try root.drop(Self.noop, as: name) }
      try await daemon.waitUntilSpoolIsEmpty()
      let jobs = try await root.sql("SELECT state, count(*) FROM Job GROUP BY state")
      #expect(jobs == "completed|\(names.count)")
      for name in names { try root.drop("bad", as: name) }
      try await daemon.waitUntilSpoolIsEmpty()
      let failed = try root.failedFiles
      #expect(failed.count == names.count * 2)
      #expect(names.allSatisfy(failed.contains))
      #expect(daemon.logLines.contains { $0.contains("new\\nline") })
      #expect(!daemon.logText.contains("\u{1b}"))
    }

    @Test("A file of a name that is at work is taken when the first is done")
    func namesake() async throws {
      let root = try DaemonRoot("[Writer]\nFlushIntervalSec=300ms\n")
      let daemon = try await DaemonProcess.ready(root)
      try root.drop(Self.noop, as: "same.json")
      try await daemon.wait { try $0.root.currentFiles == ["same.json"] }
      try root.drop(Self.noop, as: "same.json")
      try await daemon.waitUntilSpoolIsEmpty()
      let jobs = try await root.sql("SELECT state, count(*) FROM Job GROUP BY state")
      #expect(jobs == "completed|2")
    }

    @Test("A file that repeats name, content and times of one that is done is a new job")
    func copiedAgain() async throws {
      let root = try DaemonRoot()
      let daemon = try await DaemonProcess.ready(root)
      for round in 1...5 {
        let path = root.paths.spoolTemporary + "/copy"
        try root.write(Self.noop, to: path)
        let date = Date(timeIntervalSinceReferenceDate: 1000)
        try FileManager.default.setAttributes([.modificationDate: date], ofItemAtPath: path)
        try #require(rename(path, root.paths.spoolNew + "/copy.json") == 0)
        try await daemon.waitUntilSpoolIsEmpty()
        let jobs = try await root.sql("SELECT count(*) FROM Job")
        #expect(jobs == "\(round)")
      }
    }

    @Test("An ID is run once, in whichever files it comes")
    func sameID() async throws {
      let root = try DaemonRoot("[Writer]\nFlushIntervalSec=300ms\n")
      try root.payload("rows.csv", "job,number\nx,1\nx,2\n")
      let daemon = try await DaemonProcess.ready(root)
      for name in ["a", "b", "c"] { try root.drop(TestModel.importJob("x", "rows.csv"), as: FileName(name + ".json")) }
      try await daemon.waitUntilSpoolIsEmpty()
      let later = try await daemon.submit(TestModel.importJob("x", "rows.csv"))
      #expect(later.first?["state"]?.string == "completed")
      let result = try await root.sql("SELECT count(*) FROM Job; SELECT count(*) FROM Reading")
      #expect(result == "1\n2")
      let files = try root.currentFiles + root.failedFiles
      #expect(files == [])
    }

    @Test("A file that is written slowly is taken when it is renamed or closed, not before")
    func slowly() async throws {
      let root = try DaemonRoot()
      let daemon = try await DaemonProcess.ready(root)
      for (name, finalName) in [(".slow", "slow.json"), ("inplace.json", "inplace.json")] {
        let file = try FileDescriptor.open(root.paths.spoolNew + "/" + name, .creating)
        try file.writeAll(Data(#"{"type": "#.utf8))
        let jobs = try await daemon.submit(Self.noop)
        #expect(jobs.first?["state"]?.string == "completed")
        let isThere = FileManager.default.fileExists(atPath: root.paths.spoolNew + "/" + name)
        #expect(isThere)
        try file.writeAll(Data(#""noop", "id": "\#(finalName)"}"#.utf8))
        try file.close()
        if name != finalName {
          try #require(rename(root.paths.spoolNew + "/" + name, root.paths.spoolNew + "/" + finalName) == 0)
        }
        try await daemon.waitUntilSpoolIsEmpty()
        let state = try await root.sql("SELECT state FROM Job WHERE id = '\(finalName)'")
        #expect(state == "completed")
      }
    }

    @Test("One worker runs jobs by priority, then in the order of their files")
    func priority() async throws {
      let root = try DaemonRoot("[Workers]\nCount=1\n[Writer]\nFlushIntervalSec=20ms\n")
      let priorities = [0, -100, 5, 100, 5, 0, -1]
      for (number, priority) in priorities.enumerated() {
        try root.drop(
          #"{"type": "noop", "id": "\#(number)", "priority": \#(priority)}"#, as: FileName("\(number).json"))
      }
      let daemon = try await DaemonProcess.ready(root)
      try await daemon.waitUntilSpoolIsEmpty()
      let order = try await root.sql("SELECT id FROM Job ORDER BY startedAt")
      #expect(order.split(separator: "\n") == ["3", "2", "4", "0", "5", "6", "1"])
    }

    @Test("A file of many jobs is taken as a whole")
    func largeFile() async throws {
      let root = try DaemonRoot("[Spool]\nMaxJobFileSize=8M\n[Writer]\nFlushIntervalSec=20ms\n")
      let daemon = try await DaemonProcess.ready(root)
      let jobs = Array(repeating: Self.noop, count: 40_000).joined(separator: ",\n")
      try root.drop("{\"jobs\": [\(jobs)]}", as: "many.json")
      try await daemon.waitUntilSpoolIsEmpty(seconds: 120)
      let result = try await root.sql("SELECT state, count(*), count(DISTINCT id) FROM Job GROUP BY state")
      #expect(result == "completed|40000|40000")
    }

    @Test("A discarded job's file is in failed/ with each job's reason, and bobbinctl shows it")
    func discarded() async throws {
      let root = try DaemonRoot()
      let daemon = try await DaemonProcess.ready(root)
      let first = TestModel.importJob("one", "none.csv")
      let second = TestModel.importJob("two", "none.csv")
      try root.drop("{\"jobs\": [\(first), \(Self.noop), \(second)]}", as: "some.json")
      try await daemon.waitUntilSpoolIsEmpty()
      let path = root.paths.payload + "/none.csv"
      let problem = "the input \(path) can't be read: open \"\(path)\": No such file or directory (ENOENT)"
      // The jobs run side by side, so either may fail first.
      let reason = try root.reason("some.json").split(separator: "some.json: ").joined()
      #expect(reason.split(separator: "\n").sorted() == ["one: \(problem)", "two: \(problem)"])
      let show = try await daemon.tool("show", "one")
      #expect(show.code == 0)
      #expect(show.output.contains("discarded") && show.output.contains(problem))
      let list = try await daemon.tool("list", "--state", "discarded", "--json")
      #expect(list.output.contains("\"two\""))
      let status = try await daemon.tool("status")
      #expect(status.code == 0)
    }

    @Test("bobbinctl submit --wait returns when the rows are on disk")
    func submitting() async throws {
      let root = try DaemonRoot("[Writer]\nFlushIntervalSec=1h\n")
      try root.payload("rows.csv", "job,number\nx,1\nx,2\n")
      try root.write(TestModel.importJob("x", root.paths.payload + "/rows.csv"), to: root.directory.path("job.json"))
      let daemon = try await DaemonProcess.ready(root)
      let submit = try await daemon.tool("submit", "--wait", root.directory.path("job.json"))
      #expect(submit.code == 0, "\(submit.errors)")
      #expect(submit.output.hasPrefix("completed"))
      try await daemon.kill()
      let rows = try await root.sql("SELECT count(*) FROM Reading")
      #expect(rows == "2")
    }

    @Test("SIGHUP puts a new configuration into force, and a bad one leaves the old")
    func reloading() async throws {
      let root = try DaemonRoot("[Writer]\nFlushIntervalSec=1h\n")
      let daemon = try await DaemonProcess.ready(root)
      try root.drop(Self.noop, as: "waits.json")
      try await daemon.wait { try $0.root.currentFiles == ["waits.json"] }
      try root.configure("[Writer]\nFlushIntervalSec=10ms\n")
      try daemon.child.kill(SIGHUP)
      try await daemon.waitUntilSpoolIsEmpty()
      try await daemon.waitForLog("reloaded")
      #expect(daemon.logText.contains("FlushIntervalSec"))
      #expect(daemon.notifications.contains("RELOADING=1"))

      try root.configure("[Writer]\nFlushIntervalSec=never\n")
      try daemon.child.kill(SIGHUP)
      try await daemon.waitForLog("the old one stays in force")
      #expect(daemon.logText.contains("bobbin.conf:2"))
      // With it the daemon could not start again, which is for somebody to see before it has to.
      let mistakes = try await daemon.get("/v1/status")["refusedConfiguration"]?.array?.compactMap(\.string)
      #expect(mistakes?.count == 1 && mistakes?.first?.contains("bobbin.conf:2") == true, "\(mistakes ?? [])")
      try await daemon.wait { $0.managerStatus?.contains("the new configuration is refused: ") == true }
      try root.drop(Self.noop, as: "again.json")
      try await daemon.waitUntilSpoolIsEmpty()

      try root.configure("[Writer]\nFlushIntervalSec=10ms\n[Log]\nLevel=error\n")
      try daemon.child.kill(SIGHUP)
      try await daemon.wait { $0.notifications.count { $0 == "READY=1" } == 4 }
      #expect(try await daemon.get("/v1/status")["refusedConfiguration"]?.array?.isEmpty == true)
      try root.drop("bad", as: "quiet.json")
      try await daemon.waitUntilSpoolIsEmpty()
      try root.configure("[Writer]\nFlushIntervalSec=10ms\n")
      try daemon.child.kill(SIGHUP)
      try await daemon.wait { $0.notifications.count { $0 == "READY=1" } == 5 }
      try root.drop("bad", as: "loud.json")
      try await daemon.waitForLog("loud.json")
      #expect(!daemon.logText.contains("quiet.json"))
    }

    @Test("Other users may submit nothing, and read what is configured", .enabled(if: SkipReason.runsAsRoot()))
    func permissions() async throws {
      for (access, status) in [("group", 403), ("everyone", 200)] {
        let root = try DaemonRoot("[Status]\nReadAccess=\(access)\n")
        let daemon = try await DaemonProcess.ready(root)
        let request: @Sendable (String, [String]) async throws -> Int? = { path, arguments in
          let curl =
            ["/usr/bin/curl", "-s", "-o", "/dev/null", "-w", "%{http_code}", "--unix-socket", root.paths.socket]
            + arguments + ["http://localhost" + path]
          let identity = ["--reuid=65534", "--regid=65534", "--clear-groups"]
          return Int(try await Tool.run("/usr/bin/setpriv", identity + curl).output)
        }
        #expect(try await request("/v1/jobs", ["--data-binary", Self.noop]) == 403)
        #expect(try await request("/v1/status", []) == status)
        #expect(try await request("/v1/jobs", []) == status)
        #expect(try await request("/healthz", []) == 200)
        let jobs = try await root.sql("SELECT count(*) FROM Job")
        #expect(jobs == "0")
        let own = try await daemon.submit(Self.noop)
        #expect(own.first?["state"]?.string == "completed")
      }
    }
  }
}
