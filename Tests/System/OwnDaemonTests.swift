import DaemonTesting
import Foundation
import Glibc
import JSONText
import SystemSupport
import TestSupport
import Testing

extension SystemTests {
  /// The program of Examples/OwnDaemon, whose handler walks through a folder with checkpoints.
  @Suite("A daemon with handlers and entities of its own")
  struct OwnDaemon {
    private static let program = "own-daemon"
    private static let smallCount = 1_000
    private static let largeSize = 8 << 20
    private static let summary =
      "SELECT count(*), count(DISTINCT path), sum(byteCount), sum(lineCount) FROM CatalogueEntry"

    private func makeRoot() throws -> DaemonRoot {
      try DaemonRoot("[Writer]\nFlushIntervalSec=5ms\n[Workers]\nCount=2\n", model: nil)
    }

    /// Files of one line each in a folder of `payload/`, and then some that take a while to read.
    private func fill(_ root: DaemonRoot, small: Int = smallCount, large: Int) throws {
      for number in 0..<small { try root.write("\(number)\n", to: root.paths.payload + "/texts/a/\(number).txt") }
      for number in 0..<large {
        let name = "texts/z/\(number)"
        try root.write("", to: root.paths.payload + "/" + name)
        // A hole: it is read like zeros, and takes no space.
        guard truncate(root.paths.payload + "/" + name, off_t(Self.largeSize)) == 0 else {
          throw SystemError(.init(rawValue: errno), call: "truncate", subject: name)
        }
      }
    }

    private static func bytes(small: Int = smallCount, large: Int) -> Int {
      (0..<small).reduce(large * largeSize) { $0 + "\($1)\n".utf8.count }
    }

    private static let job = #"{"type": "folder.catalogue", "id": "texts", "arguments": {"folder": "texts"}}"#

    /// Drops the job, and waits until the rows of a checkpoint are on disk.
    private func drop(_ root: DaemonRoot, _ daemon: DaemonProcess) async throws {
      let state = try FolderWatch([root.paths.state]) { root.changes.note() }
      try root.drop(Self.job, as: "texts.json")
      while true {
        let seen = state.counts.changed
        if try await root.sql("SELECT count(*) > 0 FROM CatalogueEntry") == "1" { return }
        try await daemon.wait { _ in state.counts.changed > seen }
      }
    }

    @Test("Its jobs run, also after each other; what they write lies in its own table; built-in types are there, too")
    func workflow() async throws {
      let root = try makeRoot()
      try fill(root, small: 250, large: 0)
      let daemon = try await DaemonProcess.ready(root, program: Self.program)
      let jobs = try await daemon.submit(
        """
        {"jobs": [\(Self.job),
          {"type": "folder.report", "id": "report", "after": "texts", "arguments": {"catalogue": "texts"}},
          {"type": "noop", "id": "nothing"}]}
        """)
      #expect(jobs.map { $0["state"]?.string } == ["completed", "completed", "completed"])
      let bytes = Self.bytes(small: 250, large: 0)
      #expect(
        jobs[1]["result"] == ["files": 250, "bytes": .integer(Int64(bytes)), "lines": 250],
        "\(jobs[1].serialized())")
      #expect(try await root.sql(Self.summary) == "250|250|\(bytes)|250")
      #expect(daemon.logText.contains("own-daemon: "))
      let refused = try await daemon.request("POST", "/v1/jobs", body: #"{"type": "folder.catalogue"}"#)
      #expect(refused.status == 400)
      #expect(
        refused.body["error"]?["message"]?.string?.contains("\"arguments.folder\": must be the path of a folder")
          == true)
      #expect(try await daemon.stop() == .exited(code: 0))
    }

    @Test("An import into its entities is possible, and an import into bobbin's own is not")
    func importing() async throws {
      let root = try makeRoot()
      try root.payload("entries.csv", "path,byteCount\na,1\nb,2\n")
      let daemon = try await DaemonProcess.ready(root, program: Self.program)
      let jobs = try await daemon.submit(
        #"{"type": "import", "arguments": {"input": "entries.csv", "entity": "CatalogueEntry"}}"#)
      #expect(jobs.first?["state"]?.string == "completed")
      #expect(try await root.sql("SELECT path, byteCount FROM CatalogueEntry ORDER BY path") == "a|1\nb|2")
      let refused = try await daemon.request(
        "POST", "/v1/jobs", body: #"{"type": "import", "arguments": {"input": "entries.csv", "entity": "Job"}}"#)
      #expect(refused.status == 400)
    }

    @Test("A type that its handlers have can't be declared by a file")
    func declaredTwice() async throws {
      let root = try makeRoot()
      try root.write("[Handler]\nType=folder.report\nExecStart=/bin/true\n", to: root.paths.handlers + "/report.conf")
      let check = try await Tool.run(Self.program, ["--root", root.directory.path, "--check-config"])
      #expect(check.code == 78)
      #expect(check.errors.contains("\(root.paths.handlers)/report.conf:2: "), "\(check.errors)")
      try FileManager.default.removeItem(atPath: root.paths.handlers + "/report.conf")
      #expect(try await Tool.run(Self.program, ["--root", root.directory.path, "--check-config"]).code == 0)
    }

    @Test("A running job tells its progress, rate and time left, and what it has logged so far")
    func progress() async throws {
      let root = try makeRoot()
      try fill(root, large: 50)
      let daemon = try await DaemonProcess.ready(root, program: Self.program)
      try await drop(root, daemon)
      let job = try await daemon.get("/v1/jobs/texts")
      let progress = try #require(job["progress"]?.object, "\(job.serialized())")
      #expect(progress["unit"] == "files")
      #expect(progress["total"]?.integer == Int64(Self.smallCount + 50))
      #expect((1...Int64(Self.smallCount + 50)).contains(progress["done"]?.integer ?? 0))
      #expect((progress["ratePerSecond"]?.number ?? 0) > 0)
      #expect(progress["secondsLeft"]?.number != nil)
      let shown = try await daemon.tool("show", "texts").output
      #expect(shown.contains("of \(Self.smallCount + 50) files") && shown.contains(" files/s"), "\(shown)")
      let log = try await daemon.tool("log", "texts").output
      #expect(log.contains("running") && log.contains("  there are \(Self.smallCount + 50) files\n"), "\(log)")
    }

    @Test("A job that bobbinctl cancels while it runs leaves none of the rows that its checkpoints saved")
    func cancel() async throws {
      let root = try makeRoot()
      try fill(root, large: 50)
      let daemon = try await DaemonProcess.ready(root, program: Self.program)
      try await drop(root, daemon)
      #expect(try await daemon.tool("cancel", "texts").output == "1 job cancelled\n")
      try await daemon.waitUntilSpoolIsEmpty()
      #expect(try await root.sql("SELECT state FROM Job; SELECT count(*) FROM CatalogueEntry") == "cancelled\n0")
    }

    @Test("After SIGKILL a job goes on from its cursor: no row is missing or there twice, and its log is shown")
    func resume() async throws {
      let root = try makeRoot()
      try fill(root, large: 8)
      let daemon = try await DaemonProcess.ready(root, program: Self.program)
      try await drop(root, daemon)
      try await daemon.kill()
      let saved = try await root.sql("SELECT count(*) FROM CatalogueEntry; SELECT cursor FROM Job").split(
        separator: "\n")
      #expect((1..<Self.smallCount + 8).contains(Int(saved[0]) ?? 0), "\(saved)")
      let again = try await DaemonProcess.ready(root, program: Self.program)
      try await again.waitUntilSpoolIsEmpty()
      let (count, bytes) = (Self.smallCount + 8, Self.bytes(large: 8))
      #expect(try await root.sql(Self.summary) == "\(count)|\(count)|\(bytes)|\(Self.smallCount)")
      let log = try await again.tool("log", "texts")
      #expect(
        log.output.contains("attempt 2") && log.output.contains("  attempt 2 goes on after \(saved[1])\n"),
        "\(log.output)")
      #expect(try await again.stop() == .exited(code: 0))
    }
  }
}
