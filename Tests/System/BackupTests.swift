import DaemonTesting
import Foundation
import Glibc
import JSONText
import SystemSupport
import TestSupport
import Testing

extension SystemTests {
  @Suite("A backup")
  struct Backup {
    private let root: DaemonRoot
    private let backups: TemporaryDirectory

    /// A root with jobs of the type `row`, each of which inserts a row with its ID and a large value.
    init() throws {
      let model = TestModel.model(
        """
        <entity name="Reading" representedClassName="Reading" syncable="YES">
          <attribute name="job" optional="YES" attributeType="String"/>
          <attribute name="data" optional="YES" attributeType="Binary" allowsExternalBinaryDataStorage="YES"/>
        </entity>
        """)
      root = try DaemonRoot(DaemonRoot.quickFlushes + "[Store]\nExternalDataThreshold=1K\n", model: model)
      backups = try TemporaryDirectory()
      let path = root.directory.path("row.sh")
      let data = String(repeating: "QUJD", count: 1_000)
      let row = #"{"insert": {"entity": "Reading", "values": {"job": "'$BOBBIN_JOB_ID'", "data": "\#(data)"}}}"#
      try root.write("echo '\(row)'\n", to: path)
      try root.write("[Handler]\nType=row\nExecStart=/bin/sh \(path)\n", to: root.paths.handlers + "/row.conf")
    }

    private func tool(_ arguments: String...) async throws -> Tool {
      try await Tool.run("bobbinctl", ["--root", root.directory.path] + arguments)
    }

    private func drop(_ ids: [String]) throws {
      for id in ids { try root.drop(#"{"type": "row", "id": "\#(id)"}"#, as: FileName(id + ".json")) }
    }

    private func sql(_ text: String, in folder: String) async throws -> String {
      let tool = try await Tool.run("/usr/bin/sqlite3", ["-readonly", folder + "/bobbin.sqlite", text])
      try #require(tool.code == 0, "\(tool.errors)")
      return tool.output.trimmingCharacters(in: .whitespacesAndNewlines)
    }

    /// Puts a backup into the place of the store, as Documentation/Backup.md says.
    private func restore(_ backup: String) async throws {
      let script = "mv \"$1\" \"$1.old\" && cp -a \"$0\" \"$1\" && chmod 700 \"$1\""
      let tool = try await Tool.run("/bin/sh", ["-c", script, backup, root.paths.state])
      try #require(tool.code == 0, "\(tool.errors)")
    }

    @Test("made while jobs run and daemons are killed is one moment of the store, which the doctor finds sound")
    func whileJobsRun() async throws {
      var daemon = try await DaemonProcess.ready(root)
      try drop((0..<120).map { "job-\($0)" })
      for round in 0..<6 {
        try await daemon.waitForStoreWrites(2)
        async let made = tool("backup", backups.path("\(round)"))
        if round % 2 == 1 {
          try await daemon.kill()
          _ = try await made
          daemon = try await DaemonProcess.ready(root)
        }
        let backup = try await made
        #expect(backup.code == 0, "\(backup.errors)")
      }
      try await daemon.waitUntilSpoolIsEmpty()
      #expect(try await daemon.stop() == .exited(code: 0))
      for round in 0..<6 {
        let folder = backups.path("\(round)")
        let doctor = try await tool("doctor", folder)
        #expect(doctor.code == 0 && doctor.output.contains("nothing found"), "\(doctor.output)\(doctor.errors)")
        // A job and its row are of one transaction; a row that no completed job has would be of another moment.
        let strays = try await sql(
          """
          SELECT (SELECT count(*) FROM Job WHERE state = 'completed' AND id NOT IN (SELECT job FROM Reading))
            + (SELECT count(*) FROM Reading WHERE job NOT IN (SELECT id FROM Job WHERE state = 'completed'))
            + (SELECT count(*) - count(DISTINCT job) FROM Reading)
          """, in: folder)
        #expect(strays == "0")
        let rows = try await sql("SELECT count(*) FROM Reading", in: folder)
        let manifest = try JSONValue(
          parsing: Array(Data(contentsOf: URL(filePath: folder + "/backup.json"))), dialect: .json)
        #expect(manifest["largeValues"]?.integer.map(String.init) == rows)
        #expect(manifest["rows"]?["Reading"]?.integer.map(String.init) == rows)
        #expect(manifest["models"]?["Job"]?.string?.isEmpty == false && manifest["release"]?.string?.isEmpty == false)
      }
      // Nothing unfinished lies beside them.
      #expect(try Directory(path: backups.path).entries().count == 6)
    }

    @Test(
      "takes the place of a store, beside a newer spool: what it does not know runs again, once an operator has looked")
    func restored() async throws {
      let daemon = try await DaemonProcess.ready(root)
      try drop(["before"])
      try await daemon.waitUntilSpoolIsEmpty()
      #expect(try await daemon.tool("pause", "--type", "row").code == 0)
      try drop(["unfinished"])
      let later = #""notBefore": "2099-01-01T00:00:00Z""#
      try root.drop(#"{"type": "row", "id": "edited", \#(later), "arguments": {"n": 1}}"#, as: "edited.json")
      try await daemon.wait { try $0.root.currentFiles.sorted() == ["edited.json", "unfinished.json"] }
      #expect(try await daemon.tool("edit", "edited", "n=2").code == 0)
      #expect(try await daemon.tool("flush").code == 0)
      let made = try await daemon.tool("backup", backups.path("one"))
      #expect(made.code == 0 && made.output.hasPrefix("backed up "), "\(made.errors)")
      #expect(try await daemon.tool("resume", "--type", "row").code == 0)
      try drop(["after"])
      try await daemon.wait { try $0.root.newFiles.isEmpty && $0.root.currentFiles == ["edited.json"] }
      #expect(try await root.sql("SELECT count(*) FROM Job WHERE state = 'completed'") == "3")
      // A file that was claimed since, under the name of one that the backup knows, and one that nobody has seen yet.
      #expect(try await daemon.tool("pause", "--type", "row").code == 0)
      try root.drop(#"{"type": "row", "id": "newer"}"#, as: "unfinished.json")
      try await daemon.wait { try $0.root.currentFiles.sorted() == ["edited.json", "unfinished.json"] }
      #expect(try await daemon.stop() == .exited(code: 0))
      try drop(["waiting"])

      try await restore(backups.path("one"))
      let paused = try await Tool.run("bobbind", ["--root", root.directory.path, "--pause"])
      #expect(paused.code == 0 && paused.output.contains("everything is paused"), "\(paused.errors)")
      let restored = try await DaemonProcess.ready(root)
      try await restored.wait { try $0.root.currentFiles.contains("waiting.json") }
      let jobs = try await restored.tool("list", "--json").output
      let listed = try JSONValue(parsing: Array(jobs.utf8), dialect: .json)["jobs"]?.array ?? []
      let states = Dictionary(
        uniqueKeysWithValues: listed.map { ($0["id"]?.string ?? "", $0["state"]?.string ?? "") })
      #expect(
        states == [
          "before": "completed", "unfinished": "available", "newer": "available", "waiting": "available",
          "edited": "scheduled",
        ])
      // Its file has the arguments from before the edit, and is its file all the same.
      #expect(try root.currentFiles.contains("edited.json"))
      let edited = try await restored.get("/v1/jobs/edited")
      #expect(edited["arguments"] == ["n": 2] && edited["file"]?.isNull != false, "\(edited.serialized())")
      #expect(try await restored.tool("cancel", "edited").code == 0)
      #expect(try await restored.tool("show", "after").code == 2)
      #expect(try await restored.tool("resume", "--all").code == 0)
      try await restored.waitUntilSpoolIsEmpty()
      // It ran after the backup, and runs again; its effects of then are gone with the store of then.
      _ = try await restored.tool("watch", "unfinished", "waiting")
      try drop(["after"])
      try await restored.waitUntilSpoolIsEmpty()
      #expect(
        try await root.sql("SELECT job, count(*) FROM Reading GROUP BY job ORDER BY job")
          == "after|1\nbefore|1\nnewer|1\nunfinished|1\nwaiting|1")
      let doctor = try await restored.tool("doctor")
      #expect(doctor.code == 0, "\(doctor.output)")
      #expect(try await restored.stop() == .exited(code: 0))
    }

    @Test("needs no daemon, is private, and is never written over anything but, on request, another backup")
    func places() async throws {
      let daemon = try await DaemonProcess.ready(root)
      try drop(["one"])
      try await daemon.waitUntilSpoolIsEmpty()
      #expect(try await daemon.stop() == .exited(code: 0))
      let place = backups.path("place")
      #expect(try await tool("backup", place).code == 0)
      #expect(try Directory(path: place).status().mode == 0o700)
      #expect(try Directory(path: place).status(of: "bobbin.sqlite").mode == 0o600)
      let again = try await tool("backup", place)
      #expect(again.code == 65 && again.errors.contains("is not overwritten") && again.errors.contains("--replace"))
      #expect(try await tool("backup", "--replace", place).code == 0)
      try root.write("mine", to: backups.path("other/file"))
      let other = try await tool("backup", "--replace", backups.path("other"))
      #expect(other.code == 65 && other.errors.contains("is no backup"))
      #expect(try Directory(path: backups.path("other")).entries() == ["file"])
      let missing = try await tool("backup", backups.path("none/of/these"))
      #expect(missing.code == 74 && missing.errors.contains("make the folder"))
      #expect(try Directory(path: backups.path).entries().sorted() == ["other", "place"])
      try root.write("[Store]\nUrl=postgresql://bobbin@db/bobbin\n", to: root.paths.configurationDropIns + "/1.conf")
      let fleet = try await tool("backup", backups.path("fleet"))
      #expect(fleet.code == 65 && fleet.errors.contains("pg_dump"))
    }

    @Test("on a full disk says so and leaves nothing behind", .enabled(if: SkipReason.runsAsRoot()))
    func fullDisk() async throws {
      let daemon = try await DaemonProcess.ready(root)
      try drop((0..<40).map { "job-\($0)" })
      try await daemon.waitUntilSpoolIsEmpty()
      let disk = try SmallDisk(over: backups.path, megabytes: 1)
      defer { withExtendedLifetime(disk) {} }
      _ = try await root.sql("CREATE TABLE _ballast (x); INSERT INTO _ballast SELECT randomblob(2000000)")
      let made = try await daemon.tool("backup", backups.path("one"))
      #expect(made.code == 74 && made.errors.contains("is full"), "\(made.errors)")
      #expect(try Directory(path: backups.path).entries() == [])
      #expect(try await daemon.stop() == .exited(code: 0))
    }
  }
}
