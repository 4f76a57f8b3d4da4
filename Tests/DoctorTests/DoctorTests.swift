import Configuration
import DaemonTesting
import Doctor
import Foundation
import Glibc
import SystemSupport
import TestSupport
import Testing

@Suite("The doctor", .serialized)
struct DoctorTests {
  /// Something that is made wrong, and the finding that it must lead to.
  struct Trouble: Sendable, CustomTestStringConvertible {
    let code: String
    var sql: String?
    /// What else is done to the root.
    var change: @Sendable (DaemonRoot) throws -> Void = { _ in }
    var testDescription: String { "\(code) \(sql ?? "")" }
  }

  private static func write(_ path: @escaping @Sendable (Paths) -> String) -> @Sendable (DaemonRoot) throws -> Void {
    { try $0.write(#"{"type": "noop", "id": "unknown"}"#, to: path($0.paths)) }
  }

  private static func remove(_ path: @escaping @Sendable (Paths) -> String) -> @Sendable (DaemonRoot) throws -> Void {
    { try FileManager.default.removeItem(atPath: path($0.paths)) }
  }

  static let all: [Trouble] = [
    Trouble(code: "unknown-state", sql: "UPDATE Job SET state = 'asleep' WHERE id = 'later'"),
    Trouble(code: "end-without-time", sql: "UPDATE Job SET finishedAt = NULL WHERE id = 'done'"),
    Trouble(code: "time-without-end", sql: "UPDATE Job SET state = 'available' WHERE id = 'done'"),
    Trouble(code: "attempts", sql: "UPDATE Job SET attempt = 99 WHERE id = 'done'"),
    Trouble(code: "attempts", sql: "UPDATE Attempt SET number = 7"),
    Trouble(code: "attempts", sql: "UPDATE Attempt SET job = 99"),
    Trouble(
      code: "attempts",
      sql:
        "INSERT INTO Attempt (_key, _version, number, outcome, startedAt, finishedAt, job) "
        + "SELECT 99, _version, number, outcome, startedAt, finishedAt, job FROM Attempt"),
    Trouble(code: "crashes", sql: "UPDATE Job SET crashes = 3 WHERE id = 'later'"),
    Trouble(code: "crashes", sql: "UPDATE Job SET crashes = 2 WHERE id = 'bad'"),
    Trouble(code: "half-done", sql: "UPDATE Job SET cursor = '{}' WHERE id = 'done'"),
    Trouble(code: "no-due-time", sql: "UPDATE Job SET state = 'retryable', dueAt = NULL WHERE id = 'later'"),
    Trouble(
      code: "unique",
      sql: #"UPDATE Job SET state = 'held', finishedAt = NULL, options = '{"unique": "k"}' WHERE id <> 'bad'"#),
    Trouble(code: "two-outcomes", sql: "PRAGMA writable_schema"),
    Trouble(code: "lost-value", change: { root in try FileManager.default.removeItem(atPath: try value(root)) }),
    Trouble(code: "lost-value", change: { root in try root.write("short", to: try value(root)) }),
    Trouble(code: "orphaned-value", change: write { $0.state + "/bobbin_files/0.5" }),
    Trouble(code: "file-without-job", change: write { $0.spoolCurrent + "/x.json" }),
    Trouble(
      code: "file-of-finished-job",
      change: { try $0.write(#"{"type": "noop", "id": "done"}"#, to: $0.paths.spoolCurrent + "/done.json") }),
    Trouble(code: "file-without-reason", change: write { $0.spoolFailed + "/x.json" }),
    Trouble(code: "reason-without-file", change: write { $0.spoolFailed + "/x.json.reason" }),
    Trouble(code: "leftover", change: write { $0.spoolCurrent + "/.1.x.tmp" }),
    Trouble(code: "leftover", change: write { $0.spoolFailed + "/.1.x.tmp" }),
    Trouble(code: "leftover", change: write { $0.payload + "/.bobbin-0-00.tmp" }),
    Trouble(code: "permissions", change: { try #require(chmod($0.paths.spoolCurrent, 0o777) == 0) }),
    Trouble(code: "permissions", change: { try #require(chmod($0.paths.spoolNew, 0o777) == 0) }),
    Trouble(code: "missing-folder", change: remove { $0.spoolTemporary }),
    Trouble(code: "missing-folder", change: remove { $0.spoolNew }),
    Trouble(code: "missing-folder", change: remove { $0.spoolCurrent }),
    Trouble(code: "missing-folder", change: remove { $0.spoolFailed }),
    Trouble(code: "missing-folder", change: remove { $0.payload }),
    Trouble(
      code: "missing-folder",
      change: { root in
        try FileManager.default.removeItem(atPath: root.paths.spoolNew)
        try root.write("", to: root.paths.spoolNew)
      }),
  ]

  private static func value(_ root: DaemonRoot) throws -> String {
    let folder = root.paths.state + "/bobbin_files"
    let name = try #require(try FileManager.default.contentsOfDirectory(atPath: folder).first { $0 != "staging" })
    return folder + "/" + name
  }

  /// A root on which a daemon has worked, with a job of each end and one that is still to come.
  private static func usedRoot() async throws -> DaemonRoot {
    let root = try DaemonRoot("[Writer]\nFlushIntervalSec=5ms\n[Store]\nExternalDataThreshold=1K\n")
    try root.payload("in.jpg", try await TestPicture.jpeg())
    let daemon = try await DaemonProcess.ready(root)
    _ = try await daemon.submit(
      #"""
      {"jobs": [{"type": "noop", "id": "done"}, {"type": "image.encode", "id": "picture", "arguments": {"input": "in.jpg",
        "outputs": [{"path": "out.png", "width": 90}], "store": {"title": "kept"}}}]}
      """#)
    try root.drop(
      #"{"type": "import", "id": "bad", "arguments": {"input": "none.csv", "entity": "Reading"}}"#, as: "bad.json")
    try await daemon.wait { try $0.root.failedFiles.count == 2 }
    _ = try await daemon.request(
      "POST", "/v1/jobs", body: #"{"type": "noop", "id": "later", "notBefore": "2040-01-01T00:00:00Z"}"#)
    let end = try await daemon.stop()
    try #require(end == .exited(code: 0))
    return root
  }

  /// As beside a running daemon, to whom everything that is there has been for long.
  private static func examine(_ root: DaemonRoot) throws -> Report {
    try Examination.run(
      Examination(spool: root.paths.spool, store: root.paths.store, isRunning: true, flushInterval: -60))
  }

  @Test("Each trouble is found, with its name, its place and what to do", arguments: DoctorTests.all)
  func finds(_ trouble: Trouble) async throws {
    let root = try await Self.usedRoot()
    let before = try Self.examine(root)
    #expect(before.findings == [])
    if trouble.code == "two-outcomes" { return try await twoOutcomes(root) }
    if let sql = trouble.sql { _ = try await root.sql(sql) }
    try trouble.change(root)
    let found = try Self.examine(root)
    #expect(Set(found.findings.map(\.code)) == [trouble.code], "\(found.findings)")
    #expect(found.findings.allSatisfy { !$0.subject.isEmpty && !$0.problem.isEmpty && !$0.action.isEmpty })
  }

  /// The store refuses a second record of one ID, so its index has to go first.
  private func twoOutcomes(_ root: DaemonRoot) async throws {
    let columns = try await root.sql(
      "SELECT group_concat('\"' || name || '\"') FROM pragma_table_info('Job') WHERE name <> '_key'")
    let indexes = try await root.sql(
      "SELECT name FROM sqlite_master WHERE tbl_name = 'Job' AND sql LIKE '%UNIQUE%(%id%'")
    for index in indexes.split(separator: "\n") where index != "Job" {
      _ = try await root.sql("DROP INDEX \"\(index)\"")
    }
    _ = try await root.sql("INSERT INTO Job (_key, \(columns)) SELECT 99, \(columns) FROM Job WHERE id = 'done'")
    let found = try Self.examine(root)
    #expect(found.findings.map(\.code) == ["two-outcomes"], "\(found.findings)")
  }

  @Test("A damaged page is found")
  func damage() async throws {
    let root = try await Self.usedRoot()
    let file = try FileHandle(forUpdating: URL(filePath: root.paths.store))
    let size = try file.seekToEnd()
    // The last pages are indexes; their header makes no sense any more.
    try file.seek(toOffset: size - 4096)
    try file.write(contentsOf: Data(repeating: 0xff, count: 64))
    try file.close()
    let tool = try await Tool.run("bobbinctl", ["--root", root.directory.path, "doctor"])
    #expect(tool.code != 0)
    #expect((tool.output + tool.errors).contains(root.paths.store), "\(tool.output)\(tool.errors)")
  }

  @Test("What the next start takes up is no finding on the files of a stopped daemon")
  func stopped() async throws {
    let root = try await Self.usedRoot()
    for path in ["/spool/cur/x.json", "/spool/cur/.1.x.tmp", "/state/bobbin_files/0.5"] {
      try root.write("{}", to: root.directory.path + path)
    }
    let tool = try await Tool.run("bobbinctl", ["--root", root.directory.path, "doctor"])
    #expect(tool.code == 0, "\(tool.output)\(tool.errors)")
    #expect(tool.output.contains("resumes 1 unfinished job\n"))
    #expect(tool.output.contains("recovers or removes 1 file in "))
    #expect(tool.output.contains("removes 1 half-written file in "))
    #expect(tool.output.contains("removes 1 large value without a row"))
    #expect(tool.output.hasSuffix("files\n"))
    let files = try FileManager.default.contentsOfDirectory(atPath: root.paths.state)
    #expect(!files.contains("bobbin.sqlite-shm"), "it leaves no trace")
  }

  @Test("A missing folder is found, and the rest is looked at all the same")
  func missingFolder() async throws {
    let root = try await Self.usedRoot()
    try FileManager.default.removeItem(atPath: root.paths.spoolNew)
    try root.write("", to: root.paths.spoolFailed + "/x.json")
    let tool = try await Tool.run("bobbinctl", ["--root", root.directory.path, "doctor"])
    #expect(tool.code == 1)
    #expect(
      tool.output.hasPrefix(
        """
        missing-folder: \(root.paths.spoolNew): the folder is missing
          to do: start the daemon, which makes the folder; its files have to come from a backup
        file-without-reason: \(root.paths.spoolFailed)/x.json: it has no file with a reason

        """), "\(tool.output)\(tool.errors)")
    #expect(tool.output.contains("resumes 1 unfinished job\n"))
  }

  @Test("The command asks a running daemon where its files are, and its findings make the exit code 1")
  func command() async throws {
    let root = try await Self.usedRoot()
    let daemon = try await DaemonProcess.ready(root)
    let tool = try await Tool.run("bobbinctl", ["--socket", root.paths.socket, "doctor"])
    #expect(tool.code == 0, "\(tool.output)\(tool.errors)")
    #expect(tool.output.hasPrefix("nothing found among 4 jobs and "))
    try #require(chmod(root.paths.spoolFailed, 0o777) == 0)
    let bad = try await daemon.tool("doctor")
    #expect(bad.code == 1)
    #expect(
      bad.output.hasPrefix(
        "permissions: \(root.paths.spoolFailed): with mode 0777 others than the daemon can put files there\n"
          + "  to do: chmod go-w \(root.paths.spoolFailed)\n1 thing found among 4 jobs"))
    let json = try await daemon.tool("doctor", "--json")
    #expect(json.code == 1)
    #expect(json.output.hasPrefix(#"{"findings":[{"code":"permissions","subject":"#))
    let none = try await Tool.run("bobbinctl", ["--socket", root.directory.path("none.sock"), "doctor"])
    #expect(none.code == 69)
    let empty = try await Tool.run("bobbinctl", ["--root", root.directory.path("none"), "doctor"])
    #expect(empty.code == 66)
  }
}
