import DaemonTesting
import Foundation
import SystemSupport
import TestSupport
import Testing

extension FaultTests {
  @Suite("Full disks", .enabled(if: SkipReason.runsAsRoot()))
  struct FullDisks {
    private static let rounds = FaultPlan.count("FULL", short: 1, whole: 5)

    @Test("A store without room stops intake, says so, and work goes on by itself", .timeLimit(.minutes(10)))
    func store() async throws {
      let root = try DaemonRoot(Workload.configuration)
      let disk = try SmallDisk(over: root.paths.state, megabytes: 12)
      let trial = try await Trial(root, Workload(seed: FaultPlan.seed))
      var figures = FaultFigures("ENOSPC of the store")
      let daemon = try await DaemonProcess.ready(root)
      for round in 0..<Self.rounds {
        var (tables, state) = (0, "")
        // The log that a refused flush gives back is room, in which the next one may succeed before it is filled too.
        repeat {
          try await Self.shortenLog(of: root)
          let refusals = Self.refusals(daemon)
          disk.fill()
          try trial.drop(files: 12)
          try trial.drop(.table("full-\(round)-\(tables)", rows: 3_000, root))
          try await daemon.wait { Self.refusals($0) > refusals }
          disk.fill()
          tables += 1
          state = try await daemon.get("/v1/status")["state"]?.string ?? ""
        } while state != "storage-full" && tables < 10
        try await Self.expectFull(daemon)
        try trial.drop(files: 5)
        disk.free()
        figures.count(try await trial.finish(daemon, "store \(round)"))
        let health = try await daemon.request("GET", "/healthz").status
        #expect(health == 200)
        figures.faults += 1
        figures.struck += 1
      }
      let end = try await daemon.stop()
      #expect(end == .exited(code: 0))
      figures.jobs = trial.ledger.jobCount
      figures.tell()
    }

    @Test("A spool without room accepts nothing over the socket, and what could not be moved goes on by itself")
    func spool() async throws {
      let directory = try TemporaryDirectory()
      try FileManager.default.createDirectory(atPath: directory.path("spool"), withIntermediateDirectories: false)
      let disk = try SmallDisk(over: directory.path("spool"), megabytes: 4)
      let trial = try await Trial.fresh(in: directory)
      var figures = FaultFigures("ENOSPC of the spool")
      for round in 0..<Self.rounds {
        // Also files that go to failed/ with a reason, for which there is no room, and pictures beside their inputs.
        try trial.drop(files: 12)
        try trial.drop(.refused("refused-\(round)"))
        disk.fill()
        let daemon = try await DaemonProcess.ready(trial.root)
        try await daemon.waitForLog("failed/ can't take")
        #expect(daemon.logText.contains(": write \"\(trial.root.paths.spoolFailed)/"), "\(daemon.logText)")
        // Jobs that are done leave some room, but not for a file as large as this one.
        disk.fill()
        let padding = String(repeating: " ", count: 400_000)
        let reply = try await daemon.request(
          "POST", "/v1/jobs", body: #"{"type": "noop", "id": "p\#(round)"}"# + padding)
        #expect(reply.status == 503)
        #expect(reply.body["error"]?["code"]?.string == "storage-full")
        disk.free()
        figures.count(try await trial.finish(daemon, "spool \(round)"))
        let end = try await daemon.stop()
        #expect(end == .exited(code: 0))
        figures.faults += 1
        figures.struck += 1
      }
      figures.jobs = trial.ledger.jobCount
      figures.tell()
    }

    @Test("An output without room costs no attempt and holds up nobody, and the picture comes when there is room")
    func output() async throws {
      let root = try DaemonRoot(Workload.configuration)
      try await Workload.prepare(root)
      let folder = root.paths.payload + "/out"
      try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
      let disk = try SmallDisk(over: folder, megabytes: 1)
      var figures = FaultFigures("ENOSPC of an output")
      let daemon = try await DaemonProcess.ready(root)
      for round in 0..<Self.rounds {
        disk.fill()
        // One attempt, which a full disk must not use up.
        try root.drop(
          #"""
          {"type": "image.encode", "id": "p\#(round)", "maxAttempts": 1, "backoff": {"kind": "fixed", "base": "200ms"},
            "arguments": {"input": "in.jpg", "store": {"title": "p\#(round)"},
              "outputs": [{"path": "out/p\#(round).png", "width": 90}]}}
          """#, as: FileName("p\(round).json"))
        try await daemon.wait { daemon in
          daemon.logLines.count { $0.contains("job p\(round) (") && $0.contains(": attempt") } >= 2
        }
        let other = try await daemon.submit(#"{"type": "noop", "id": "n\#(round)"}"#)
        #expect(other.first?["state"]?.string == "completed")
        disk.free()
        try await daemon.waitUntilSpoolIsEmpty()
        let isWhole = try TestPicture.isWholePNG("\(folder)/p\(round).png")
        #expect(isWhole)
        figures.faults += 1
        figures.struck += 1
        figures.jobs += 2
      }
      let jobs = try await root.sql("SELECT count(*) FROM Job WHERE state = 'completed'; SELECT count(*) FROM Image")
      #expect(jobs == "\(2 * Self.rounds)\n\(Self.rounds)")
      let hidden = try Directory(path: folder).entries().filter(\.isHidden)
      #expect(hidden == [])
      let doctor = try await daemon.tool("doctor")
      #expect(doctor.code == 0, "\(doctor.output)\(doctor.errors)")
      figures.tell()
    }

    /// Has what a long log takes written to the database: it would be given back, and be room again.
    private static func shortenLog(of root: DaemonRoot) async throws {
      let shortened = try await Tool.run("/usr/bin/sqlite3", [root.paths.store, "PRAGMA wal_checkpoint(TRUNCATE);"])
      #expect(shortened.code == 0, "\(shortened.errors)")
    }

    private static func refusals(_ daemon: DaemonProcess) -> Int {
      daemon.logLines.count { $0.contains("no job files are claimed until there is room") }
    }

    private static func expectFull(_ daemon: DaemonProcess) async throws {
      let health = try await daemon.request("GET", "/healthz")
      #expect(health.status == 503)
      let status = try await daemon.get("/v1/status")
      #expect(status["state"]?.string == "storage-full")
      let refused = try await daemon.request("POST", "/v1/jobs", body: #"{"type": "noop", "id": "never"}"#)
      #expect(refused.status == 503)
      #expect(refused.body["error"]?["code"]?.string == "storage-full")
    }
  }
}

extension ExpectedFile {
  /// A file that is no job file.
  static func refused(_ name: String) -> ExpectedFile {
    ExpectedFile(name: FileName("\(name).json"), text: "{}", jobs: [])
  }

  /// A file with one import of so many rows.
  static func table(_ id: String, rows: Int, _ root: DaemonRoot) throws -> ExpectedFile {
    try root.payload("\(id).csv", "job,number\n" + (0..<rows).map { "\(id),\($0)\n" }.joined())
    var job = ExpectedJob(id: id)
    job.rows = rows
    return ExpectedFile(name: FileName("\(id).json"), text: TestModel.importJob(id, "\(id).csv"), jobs: [job])
  }
}
