import DaemonTesting
import Foundation
import PostgresTesting
import SystemSupport
import TestSupport
import Testing

extension FleetSystemTests {
  /// What hosts make of a failover to a standby for which no commit waits, on two real servers.
  @Suite(
    "A failover that loses what the database had answered", .enabled(if: PostgresCluster.isAvailable()), .serialized)
  struct FleetFailover {
    private let servers: ReplicatedCluster
    private let root: DaemonRoot

    private var url: String { servers.url(of: "postgres") }

    init() throws {
      servers = try ReplicatedCluster()
      root = try DaemonRoot(
        "[Store]\nUrl=\(servers.url(of: "postgres"))\n[Workers]\nCount=2\n\(DaemonRoot.quickFlushes)")
      try root.declare(
        "row", #"echo '{"insert": {"entity": "Reading", "values": {"job": "'$BOBBIN_JOB_ID'", "number": 1}}}'"#)
      try TestDatabase.run("ALTER DATABASE postgres SET synchronous_commit = local", url)
    }

    /// Runs jobs that come in files, in a file of lines, and over the socket with an input.
    private func drop(_ name: String, on daemon: DaemonProcess) async throws {
      for number in 0..<3 {
        try root.drop(#"{"type": "row", "id": "\#(name)-\#(number)"}"#, as: FileName("\(name)-\(number).json"))
      }
      try root.drop(
        "{\"type\": \"row\", \"id\": \"\(name)-line\"}\n{\"type\": \"row\"}\n", as: FileName("\(name).ndjson"))
      let (table, job) = (root.directory.path("\(name).csv"), root.directory.path("\(name)-import.json"))
      try root.write("job,number\n\(name)-input,1\n", to: table)
      try root.write(TestModel.importJob("\(name)-import", "upload:table"), to: job)
      let sent = try await daemon.tool("submit", "--input", "table=\(table)", job)
      try #require(sent.code == 0, "\(sent)\n\(daemon.logText)")
    }

    private func count(_ table: String, _ condition: String = "true") throws -> String? {
      try TestDatabase.run("SELECT count(*) FROM bobbin.\"\(table)\" WHERE \(condition)", url)
    }

    @Test(
      "has the lost jobs run again with one effect each, and no others, whether the host was up or down",
      arguments: [false, true])
    func lost(isDown: Bool) async throws {
      let daemon = try await DaemonProcess.ready(root)
      try await drop("safe", on: daemon)
      try await daemon.waitUntilSpoolIsEmpty()
      try servers.kill(1)
      try await drop("lost", on: daemon)
      try await daemon.wait { _ in try count("Job", "state = 'completed'") == "12" }
      #expect(try root.currentFiles.count == 5, "files wait for the standby")
      if isDown { try await daemon.kill() }
      try servers.kill(0)
      try servers.start(1)
      try servers.promote(1)
      if !isDown { #expect(try await daemon.waitForEnd() == .exited(code: 75)) }
      #expect(try count("Job") == "6" && count("Reading") == "6")
      let again = try await DaemonProcess.ready(root)
      try await again.waitUntilSpoolIsEmpty(seconds: 120)
      // Behind the job files.
      try await again.poll(seconds: 60) { try DaemonRoot.entries(root.paths.uploads).isEmpty }
      #expect(try count("Job", "state = 'completed'") == "12", "\(again.logText)")
      let rows = try TestDatabase.run(#"SELECT count(*) || ' ' || count(DISTINCT job) FROM bobbin."Reading""#, url)
      #expect(rows == "12 12")
      #expect(try root.failedFiles.isEmpty)
      #expect(try await again.stop() == .exited(code: 0), "\(again.logText)")
    }
  }
}
