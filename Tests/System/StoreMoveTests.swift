import DaemonTesting
import Foundation
import Glibc
import JSONText
import PostgresTesting
import SystemSupport
import TestSupport
import Testing

extension SystemTests {
  @Suite("A daemon whose store is moved to PostgreSQL", .enabled(if: PostgresCluster.isAvailable()))
  struct StoreMove {
    private let database: TestDatabase
    private let root: DaemonRoot

    init() throws {
      database = try PostgresCluster.makeDatabase()
      root = try DaemonRoot("[Fleet]\nName=a\n\(DaemonRoot.quickFlushes)")
      let path = root.directory.path("row.sh")
      let row = #"{"insert": {"entity": "Reading", "values": {"job": "'$BOBBIN_JOB_ID'", "number": 1}}}"#
      try root.write("echo '\(row)'\n", to: path)
      try root.write("[Handler]\nType=row\nExecStart=/bin/sh \(path)\n", to: root.paths.handlers + "/row.conf")
    }

    private func copy(_ arguments: String...) async throws -> Tool {
      try await Tool.run("bobbinctl", ["--root", root.directory.path, "store", "copy"] + arguments)
    }

    private func moveToPostgres() throws {
      try root.write("[Store]\nUrl=\(database.url)\n", to: root.paths.configurationDropIns + "/50-fleet.conf")
    }

    /// The jobs of the daemon, with the number of rows that they have inserted.
    private func rows() throws -> String? {
      try database.run(
        """
        SELECT count(*) || ' jobs, ' || count(*) FILTER (WHERE state = 'completed') || ' completed, '
          || (SELECT count(*) || ' rows of ' || count(DISTINCT job) FROM bobbin."Reading") FROM bobbin."Job"
        """)
    }

    @Test("Jobs that waited run once, those that had ended are listed, and so it is on the way back")
    func thereAndBack() async throws {
      let daemon = try await DaemonProcess.ready(root)
      for name in ["done-1", "done-2"] {
        try root.drop(#"{"type": "row", "id": "\#(name)"}"#, as: FileName(name + ".json"))
      }
      try await daemon.waitUntilSpoolIsEmpty()
      #expect(try await daemon.tool("pause", "--type", "row").code == 0)
      // Files that give their jobs no ID are known by another one in a fleet.
      for number in 0..<20 {
        let id = number % 2 == 0 ? #", "id": "wait-\#(number)""# : ""
        try root.drop(#"{"type": "row"\#(id)}"#, as: FileName("wait-\(number).json"))
      }
      try root.drop(#"{"jobs": [{"type": "row"}, {"type": "row"}]}"#, as: "two.json")
      try root.drop(
        #"{"type": "row", "id": "late", "notBefore": "2099-01-01T00:00:00Z", "arguments": {"file": "in.csv"}}"#,
        as: "late.json")
      try await daemon.wait { try $0.root.currentFiles.count == 22 }
      #expect(try await daemon.tool("flush").code == 0)
      let busy = try await copy(database.url)
      #expect(busy.code == 75 && busy.errors.contains("a daemon uses the store"), "\(busy.errors)")
      let trial = try await copy("--dry-run", database.url)
      #expect(trial.code == 0 && trial.output.contains("can be copied; nothing was changed"), "\(trial.errors)")
      #expect(try database.run("SELECT to_regnamespace('bobbin') IS NULL") == "t")
      #expect(try await daemon.stop() == .exited(code: 0))

      let copied = try await copy(database.url)
      #expect(copied.code == 0 && copied.output.contains("both stores are equal"), "\(copied.errors)")
      try moveToPostgres()
      let moved = try await DaemonProcess.ready(root)
      let paused = try database.run("SELECT string_agg(kind || ' ' || name, ',') FROM bobbin._pause")
      #expect(paused == "type row")
      #expect(try rows() == "25 jobs, 2 completed, 2 rows of 2")
      // Others may run what names no files.
      let bound = try database.run(#"SELECT string_agg(id, ',') FROM bobbin."Job" WHERE place IS NOT NULL"#)
      #expect(bound == "late")
      #expect(try await moved.tool("resume", "--type", "row").code == 0)
      try await moved.wait { try $0.root.currentFiles == ["late.json"] }
      #expect(try rows() == "25 jobs, 24 completed, 24 rows of 24")
      let list = try await moved.tool("list", "--state", "completed", "--limit", "100")
      #expect(list.output.contains("done-1") && list.output.contains("wait-4"), "\(list.output)")
      try root.drop(#"{"type": "row", "id": "done-1"}"#, as: "again.json")
      try await moved.wait { try $0.root.currentFiles == ["late.json"] && $0.root.newFiles.isEmpty }
      #expect(try rows() == "25 jobs, 24 completed, 24 rows of 24")
      #expect(try await moved.tool("pause").code == 0)
      // A reply comes when the job is in the database; a file in cur/ may not be there yet.
      let last = root.directory.path("last.json")
      try root.write(#"{"type": "row"}"#, to: last)
      #expect(try await moved.tool("submit", last).code == 0)
      // What these wait for is for the lead to know; their records only say that they have not begun.
      let soon = #"{"type": "row", "id": "soon", "delay": "1h"}"#
      let next = #"{"type": "row", "id": "next", "delay": "1h", "after": "soon"}"#
      try root.write(#"{"jobs": [\#(soon), \#(next)]}"#, to: last)
      #expect(try await moved.tool("submit", last).code == 0)
      #expect(try root.currentFiles.count == 3)
      #expect(try database.run(#"SELECT count(*) FROM bobbin."Job""#) == "28")
      #expect(try await moved.stop() == .exited(code: 0), "\(moved.logText)")

      let store = root.paths.store
      let occupied = try await copy(database.url, store)
      #expect(occupied.code == 66 && occupied.errors.contains("there is a store already"), "\(occupied.errors)")
      for path in [store, root.paths.state + "/bobbin_files"] {
        try FileManager.default.moveItem(atPath: path, toPath: path + ".old")
      }
      let back = try await copy(database.url, store)
      #expect(back.code == 0, "\(back.errors)")
      let same = try await Tool.run("bobbinctl", ["store", "verify", "--json", store, database.url])
      #expect(same.code == 0 && same.output.contains(#""equal":true"#), "\(same.output)")
      let other = try await Tool.run("bobbinctl", ["store", "verify", store + ".old", store])
      #expect(other.code == 4 && other.output.contains("is only in the second store"), "\(other.output)")
      try FileManager.default.removeItem(atPath: root.paths.configurationDropIns + "/50-fleet.conf")
      let again = try await DaemonProcess.ready(root)
      try await again.wait { try $0.root.currentFiles.count == 2 }
      for (id, state) in [("late", "scheduled"), ("soon", "scheduled"), ("next", "waiting")] {
        #expect(try await again.get("/v1/jobs/\(id)")["state"]?.string == state, "\(id)")
      }
      let states = try await root.sql(
        "SELECT count(*), (SELECT count(*) FROM Reading), (SELECT count(DISTINCT job) FROM Reading) FROM Job "
          + "WHERE state = 'completed'")
      #expect(states == "25|25|25")
      // And so they do from then on.
      #expect(try await again.stop() == .exited(code: 0), "\(again.logText)")
      let third = try await DaemonProcess.ready(root)
      for (id, state) in [("late", "scheduled"), ("soon", "scheduled"), ("next", "waiting")] {
        #expect(try await third.get("/v1/jobs/\(id)")["state"]?.string == state, "\(id)")
      }
      #expect(try await third.stop() == .exited(code: 0), "\(third.logText)")
    }

    @Test("A host that has none of the files of jobs that wait does not start first")
    func wrongHost() async throws {
      let daemon = try await DaemonProcess.ready(root)
      #expect(try await daemon.tool("pause").code == 0)
      try root.drop(#"{"type": "row"}"#, as: "wait.json")
      try await daemon.wait { try $0.root.currentFiles.count == 1 }
      #expect(try await daemon.stop() == .exited(code: 0))
      #expect(try await copy(database.url).code == 0)
      let other = try DaemonRoot("[Store]\nUrl=\(database.url)\n[Fleet]\nName=b\n")
      let stranger = try DaemonProcess(other)
      #expect(try await stranger.waitForEnd() != .exited(code: 0))
      #expect(stranger.logText.contains("start the daemon of the host that the store comes from first"))
    }
  }
}
