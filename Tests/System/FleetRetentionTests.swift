import DaemonTesting
import Foundation
import Glibc
import PostgresTesting
import SystemSupport
import TestSupport
import Testing

extension FleetSystemTests {
  /// Two daemons, and what becomes of the records of their jobs.
  @Suite("The records of a fleet's jobs", .enabled(if: PostgresCluster.isAvailable()))
  struct FleetRetention {
    private let database: TestDatabase

    init() throws { database = try PostgresCluster.makeDatabase() }

    /// A host whose jobs of the type `row` insert one.
    private func root(_ name: String, _ retention: String) throws -> DaemonRoot {
      let root = try DaemonRoot(host: name, at: database.url, "[Retention]\n\(retention)\n")
      let path = root.directory.path("row.sh")
      let row = #"{"insert": {"entity": "Reading", "values": {"job": "'$BOBBIN_JOB_ID'", "number": 1}}}"#
      try root.write("echo '\(row)'\n", to: path)
      try root.write("[Handler]\nType=row\nExecStart=/bin/sh \(path)\n", to: root.paths.handlers + "/row.conf")
      return root
    }

    private func drop(_ ids: some Sequence<String>, _ root: DaemonRoot, type: String = "noop") throws {
      for id in ids { try root.drop(#"{"type": "\#(type)", "id": "\#(id)"}"#, as: FileName(id + ".json")) }
    }

    private func count(_ condition: String = "true") throws -> Int {
      try database.run("SELECT count(*) FROM bobbin.\"Job\" WHERE \(condition)").flatMap { Int($0) } ?? -1
    }

    /// What the database has of jobs that are not gone.
    private func left() throws -> String {
      try ["Job", "_run", "_outcome", "_order"].map { table in
        "\(table): \(try database.output("SELECT to_jsonb(t) FROM bobbin.\"\(table)\" t LIMIT 20"))"
      }.joined(separator: "\n")
    }

    /// Waits until the table tells so.
    private func waitUntil(_ daemon: DaemonProcess, line: UInt = #line, _ isTrue: () throws -> Bool) async throws {
      do { try await daemon.poll(seconds: 120, line: line, until: isTrue) } catch {
        Issue.record("\(try left())")
        throw error
      }
    }

    @Test("go when they are too old, whichever host leads")
    func age() async throws {
      let roots = try ["a", "b"].map { try root($0, "CompletedAgeSec=1s") }
      let first = try await DaemonProcess.ready(roots[0])
      let second = try await DaemonProcess.ready(roots[1])
      for (number, root) in roots.enumerated() { try drop((0..<20).map { "early-\(number)-\($0)" }, root) }
      for daemon in [first, second] { try await daemon.waitUntilSpoolIsEmpty() }
      try await waitUntil(first) { try count() == 0 }
      try await first.kill()
      try drop((0..<20).map { "late-\($0)" }, roots[1])
      try await second.waitUntilSpoolIsEmpty()
      try await waitUntil(second) { try count() == 0 }
      #expect(try database.run(#"SELECT count(*) FROM bobbin."Attempt""#) == "0")
      #expect(try await second.stop() == .exited(code: 0), "\(second.logText)")
    }

    @Test("go when they are too many, the oldest first, though nobody is too old")
    func number() async throws {
      let roots = try ["a", "b"].map { try root($0, "CompletedCount=10") }
      var daemons: [DaemonProcess] = []
      for root in roots { daemons.append(try await DaemonProcess.ready(root)) }
      try drop(["first"], roots[0])
      try await daemons[0].waitUntilSpoolIsEmpty()
      for (number, root) in roots.enumerated() { try drop((0..<150).map { "more-\(number)-\($0)" }, root) }
      for daemon in daemons { try await daemon.waitUntilSpoolIsEmpty() }
      try await waitUntil(daemons[0]) { try count() <= 120 }
      #expect(try count("id = 'first'") == 0)
      for daemon in daemons { #expect(try await daemon.stop() == .exited(code: 0), "\(daemon.logText)") }
    }

    @Test("stay until the host of their spool has released their files, so that none of them runs twice")
    func away() async throws {
      let roots = try ["a", "b"].map { try root($0, "CompletedAgeSec=1s") }
      let absent = try await DaemonProcess.ready(roots[0])
      let present = try await DaemonProcess.ready(roots[1])
      #expect(try await present.tool("pause", "--type", "row").code == 0)
      let ids = (0..<5).map { "kept-\($0)" }
      try drop(ids, roots[0], type: "row")
      try await waitUntil(absent) { try count("type = 'row'") == 5 }
      try await absent.kill()
      #expect(try await present.tool("resume", "--type", "row").code == 0)
      try await waitUntil(present) { try count("state = 'completed'") == 5 }
      // These ended later, and are gone.
      try drop((0..<5).map { "gone-\($0)" }, roots[1])
      try await present.waitUntilSpoolIsEmpty()
      try await waitUntil(present) { try count("id LIKE 'gone%'") == 0 }
      #expect(try count() == 5)
      #expect(try roots[0].currentFiles.count == 5)
      let back = try await DaemonProcess.ready(roots[0])
      try await back.waitUntilSpoolIsEmpty()
      // Nothing else ends that would have anybody look.
      try await waitUntil(back) { try database.run("SELECT count(*) FROM bobbin._outcome") == "0" }
      try await waitUntil(back) { try count() == 0 }
      #expect(try database.run(#"SELECT count(*) FROM bobbin."Reading""#) == "5")
      for daemon in [back, present] { #expect(try await daemon.stop() == .exited(code: 0), "\(daemon.logText)") }
    }

    @Test("may go while somebody wants the jobs once more: that ends no host, and the jobs run or are unknown")
    func retries() async throws {
      let roots = try ["a", "b"].map { try root($0, "CompletedAgeSec=0s\nCompletedCount=0") }
      var daemons: [DaemonProcess] = []
      for root in roots { daemons.append(try await DaemonProcess.ready(root)) }
      for turn in 0..<12 {
        let ids = (0..<30).map { "turn-\(turn)-\($0)" }
        try drop(ids, roots[turn % 2])
        try await daemons[turn % 2].waitUntilSpoolIsEmpty()
        for _ in 0..<turn % 4 * 3 {
          let left = try database.output("SELECT string_agg(id, ' ') FROM Job").split(separator: " ").map(String.init)
          if left.isEmpty { break }
          let root = roots[(turn + 1) % 2].directory.path
          let retry = try await Tool.run("bobbinctl", ["--root", root, "retry"] + left)
          // One that is gone may be the beginning of others' IDs, and one that is back may run again.
          let isMissed = retry.code == 1 && retry.errors.contains(/may be one of|can't be retried: it is/)
          #expect(isMissed || [0, 2, 65].contains(retry.code), "\(retry.code) \(retry.errors)")
        }
      }
      try await waitUntil(daemons[0]) { try count() == 0 }
      for daemon in daemons { #expect(try await daemon.stop() == .exited(code: 0), "\(daemon.logText)") }
    }
  }
}
