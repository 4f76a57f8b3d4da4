import DaemonTesting
import Foundation
import Glibc
import JSONText
import PostgresTesting
import SystemSupport
import TestSupport
import Testing

extension SystemTests {
  @Suite("Upgrades and their way back")
  struct Upgrades {
    /// What killed daemons of earlier releases have left, by scripts/record-state.
    private static let states: [URL] = {
      let folder = RepositoryPaths.fixtures.appending(path: "States")
      let names = (try? FileManager.default.contentsOfDirectory(atPath: folder.path(percentEncoded: false))) ?? []
      return names.sorted().filter { $0.hasSuffix(".tar.gz") }.map { folder.appending(path: $0) }
    }()

    @Test("The state of every release is recorded, of a single daemon and of a fleet's, by the release itself")
    func recorded() throws {
      let changes = try String(contentsOf: RepositoryPaths.root.appending(path: "CHANGELOG.md"), encoding: .utf8)
      let version = try String(contentsOf: RepositoryPaths.root.appending(path: "VERSION"), encoding: .utf8)
      let released = changes.matches(of: /\n## \[([0-9.]+)\]/).map { String($0.1) }
      let names = Set(Self.states.map { $0.lastPathComponent.replacing(".tar.gz", with: "") })
      let versions = released + [version.trimmingCharacters(in: .whitespacesAndNewlines)]
      let wanted = versions.flatMap { [$0, $0 + "-fleet"] }
      let missing = Set(wanted).subtracting(names)
      #expect(missing.isEmpty, "scripts/record-state was not run for \(missing)")
    }

    @Test(
      "What an earlier release was doing when it was killed is gone on with, and nothing is done twice",
      .enabled(if: SkipReason.runsAsRoot() && PostgresCluster.isAvailable()), arguments: states)
    func earlierRelease(state: URL) async throws {
      let (root, database) = try await Self.restore(state)
      func sql(_ text: String) async throws -> String {
        if let database { return try database.output(text) }
        return try await root.sql(text)
      }
      let attempt = "SELECT attempt FROM Job WHERE id = 'retried'"
      let failedAttempts = try #require(Int(try await sql(attempt)))
      let before = try #require(Int(try await sql("SELECT count(*) FROM Reading WHERE job = 'many'")))
      #expect(0 < before && before < 60_000, "the import was not in the middle")

      let daemon = try await DaemonProcess.ready(root)
      let paused = try await daemon.tool("status")
      #expect(paused.output.contains("paused"), "\(paused.output)")
      let schedules = try #require(try await daemon.get("/v1/schedules")["schedules"]?.array)
      #expect(schedules.map { $0["name"]?.string } == ["minutely", "once"])
      #expect(schedules.map { $0["isPaused"] } == [true, false])
      #expect(schedules.last?["lastFiring"]?.string == "once@2026-01-01T00:00:00Z")
      let resumption = Date.now.formatted(.iso8601)
      let resumed = try await daemon.tool("resume", "--all")
      #expect(resumed.code == 0, "\(resumed.errors)")
      try await daemon.waitForLog("job in-two.txt-")
      try await daemon.waitUntilSpoolIsEmpty()

      // Files of the hot folder by their names, as their IDs tell where they were; without what fires in a minute that
      // begins only now.
      let jobs = try await sql(
        "SELECT CASE WHEN id LIKE 'in-%' THEN batch ELSE id END AS name, state FROM Job "
          + "WHERE NOT (id LIKE 'minutely@%' AND id >= 'minutely@\(resumption)') ORDER BY name")
      let done = [
        "done-import", "done-noop", "dropped-later", "first", "later", "line-1", "line-2", "line-3", "many",
        "once@2026-01-01T00:00:00Z", "one.txt", "retried", "second", "two.txt", "uploaded", "waiting",
      ]
      let expected = (done.map { $0 + "|completed" } + ["failed|discarded"]).sorted()
      #expect(jobs.split(separator: "\n").map(String.init).sorted() == expected)
      let rows = try await sql("SELECT job, count(*) FROM Reading GROUP BY job ORDER BY job")
      #expect(rows == "few|4\nmany|60000\nuploaded|1")
      #expect(try await sql(attempt) == "\(failedAttempts + 1)")
      #expect(try root.failedFiles == ["failed.json", "failed.json.reason"])
      try await daemon.poll(seconds: 60) { try DaemonRoot.entries(root.paths.uploads).isEmpty }
      let doctor = try await daemon.tool("doctor")
      #expect(doctor.code == 0, "\(doctor.output)\(doctor.errors)")
      #expect(doctor.output.contains("only this host's files were looked at") == (database != nil), "\(doctor.output)")
    }

    /// Lays out a recorded state where it has another path, and restores the database of a fleet.
    private static func restore(_ state: URL) async throws -> (DaemonRoot, TestDatabase?) {
      let directory = try TemporaryDirectory()
      let tar = try await Tool.run("/usr/bin/tar", ["-xzpf", state.path(percentEncoded: false), "-C", directory.path])
      try #require(tar.code == 0, "\(tar.errors)")
      let place = try String(contentsOfFile: directory.path("place"), encoding: .utf8)
      let dump = directory.path("dump.sql")
      let database = FileManager.default.fileExists(atPath: dump) ? try PostgresCluster.makeDatabase() : nil
      func move(_ text: String) -> String {
        text.replacing(place, with: directory.path).replacing("@URL@", with: database?.url ?? "")
      }
      for name in try FileManager.default.subpathsOfDirectory(atPath: directory.path) {
        let path = directory.path(name)
        guard path == dump || name.hasPrefix("etc/") || name.hasPrefix("spool/cur/"),
          let text = try? String(contentsOfFile: path, encoding: .utf8), move(text) != text
        else { continue }
        try move(text).write(toFile: path, atomically: false, encoding: .utf8)
      }
      if let database {
        let restored = try await Tool.run(
          "/usr/bin/psql", ["-X", "-q", "-v", "ON_ERROR_STOP=1", "-d", database.url, "-f", dump])
        try #require(restored.code == 0, "\(restored.errors)")
      }
      let root = try DaemonRoot(opening: directory)
      if database == nil {
        _ = try await root.sql("UPDATE Job SET arguments = replace(arguments, '\(place)', '\(directory.path)')")
      }
      return (root, database)
    }

    @Test(
      "State of a newer release is refused with 78 and its format, and nothing is changed", arguments: [true, false])
    func newerRelease(isStore: Bool) async throws {
      let root = try DaemonRoot()
      let daemon = try await DaemonProcess.ready(root)
      _ = try await daemon.submit(#"{"type": "noop"}"#)
      #expect(try await daemon.stop() == .exited(code: 0))
      let name: String
      if isStore {
        name = root.paths.store
        // The number that SQLite calls the user's version.
        let file = try FileDescriptor.open(name, .readingAndWriting)
        try #require(pwrite(file.number, [0, 0, 0, 9] as [UInt8], 4, 60) == 4)
      } else {
        name = root.paths.spoolCurrent + "/.admission.lines"
        try root.write(
          #"{"version":9,"file":"eA==","identity":"1","submitter":0,"accepted":0,"more":1}"# + "\n", to: name)
      }
      try root.drop(#"{"type": "noop"}"#, as: "waits.json")
      // The store is opened before the spool is looked at.
      let folders = isStore ? [root.paths.spool, root.paths.state] : [root.paths.spool]
      let before = try Self.content(of: folders)
      let start = try await Tool.run("bobbind", ["--root", root.directory.path])
      #expect(start.code == 78)
      #expect(
        start.errors.contains("format 9, of a newer release than this one, which reads up to 1"), "\(start.errors)")
      #expect(try Self.content(of: folders) == before)
    }

    /// All files in folders, but for the lock, which tells the last process that had it.
    private static func content(of folders: [String]) throws -> [String: Data] {
      var files: [String: Data] = [:]
      for folder in folders {
        for name in try FileManager.default.subpathsOfDirectory(atPath: folder) where name != "lock" {
          files[folder + "/" + name] = FileManager.default.contents(atPath: folder + "/" + name)
        }
      }
      return files
    }

    @Test("A job whose progress a newer release has stored is held with the reason, and not begun anew")
    func newerProgress() async throws {
      let root = try DaemonRoot("[Workers]\nCount=2\n[Writer]\nFlushIntervalSec=20ms\n[Import]\nChunkRows=100\n")
      try root.payload("rows.csv", "job,number\n" + String(repeating: "x,1\n", count: 400_000))
      let started = root.paths.payload + "/started"
      let script = root.directory.path("program")
      try root.write("#!/bin/sh\n: >\(started)\nexec sleep 600\n", to: script)
      try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: script)
      try root.write("[Handler]\nType=program\nExecStart=\(script)\n", to: root.paths.handlers + "/program.conf")
      let daemon = try await DaemonProcess.ready(root)
      try root.drop(TestModel.importJob("rows", "rows.csv"), as: "rows.json")
      while try await root.sql("SELECT count(*) FROM Reading") == "0" { try await daemon.waitForStoreWrites(1) }
      try root.drop(#"{"type": "program", "id": "program"}"#, as: "program.json")
      // It is on record before it begins.
      try await daemon.wait { _ in FileManager.default.fileExists(atPath: started) }
      try await daemon.kill()
      let newer = #"{"version": 9, "place": 12}"#
      _ = try await root.sql(
        "UPDATE ImportState SET cursor = '\(newer)'; UPDATE Job SET cursor = '\(newer)' WHERE id = 'program'")
      let rows = try await root.sql("SELECT count(*) FROM Reading")
      let again = try await DaemonProcess.ready(root)
      try await again.wait { $0.logLines.count { $0.contains("a newer release may have stored it") } == 2 }
      for job in ["rows", "program"] {
        #expect(try await again.get("/v1/jobs/\(job)")["state"]?.string == "held")
      }
      #expect(try await root.sql("SELECT count(*) FROM Reading") == rows)
    }

    @Test("A restart under load refuses no connection, as the service manager has the socket, and loses no job")
    func restart() async throws {
      let root = try DaemonRoot()
      let listener = try UnixListener(path: root.paths.socket, mode: 0o666)
      let passed = ["LISTEN_FDS": "1", "LISTEN_FDNAMES": "bobbin-http"]
      // The variable with its own number is the program's to set, which the shell is until it becomes the daemon.
      let wrapper = ["/bin/sh", "-c", "export LISTEN_PID=$$; exec \"$@\"", "sh"]
      func start() async throws -> DaemonProcess {
        try await DaemonProcess.ready(
          root, wrapper: wrapper, environment: passed, descriptors: [3: listener.descriptor.number])
      }
      let clients = 8, jobs = 40
      var daemon = try await start()
      let work = Task {
        try await withThrowingTaskGroup(of: Void.self) { group in
          for client in 0..<clients {
            group.addTask { try await Self.submit(jobs, as: client, to: root) }
          }
          try await group.waitForAll()
        }
      }
      for _ in 0..<3 {
        try await daemon.waitForStoreWrites(3)
        #expect(try await daemon.stop() == .exited(code: 0), "\(daemon.logText)")
        daemon = try await start()
      }
      try await work.value
      try await daemon.waitUntilSpoolIsEmpty()
      let stored = try await root.sql("SELECT state, count(*) FROM Job GROUP BY state")
      #expect(stored == "completed|\(clients * jobs)")
    }

    /// Submits jobs one after the other, each on a connection of its own.
    ///
    /// A daemon that stops may say so; then the job is submitted again, as bobbinctl's users would.
    private static func submit(_ count: Int, as client: Int, to root: DaemonRoot) async throws {
      for number in 0..<count {
        var status = 503
        while status == 503 {
          let tool = try await Tool.run(
            "/usr/bin/curl",
            [
              "-s", "-S", "-o", "/dev/null", "-w", "%{http_code}", "--unix-socket", root.paths.socket, "--data-binary",
              #"{"type": "noop", "id": "job-\#(client)-\#(number)"}"#, "http://localhost/v1/jobs",
            ])
          try #require(tool.code == 0, "a connection was refused or cut: \(tool.errors)")
          status = Int(tool.output) ?? 0
        }
        #expect(status == 202)
      }
    }
  }
}
