import DaemonTesting
import Foundation
import PostgresTesting
import SystemSupport
import TestSupport
import Testing

extension SystemTests {
  @Suite("A daemon whose database can't be used says why", .enabled(if: PostgresCluster.isAvailable()))
  struct BadDatabases {
    /// What is done to the database, how the address is changed, and what the daemon says.
    struct Case: Sendable, CustomTestStringConvertible {
      let testDescription: String
      var sql = "SELECT 1"
      var role = "postgres"
      var end = ""
      let code: Int32
      let message: String
    }

    static let cases = [
      Case(
        testDescription: "a role that is not there", role: "stranger", code: 78,
        message: "the server does not let the role stranger in"),
      Case(
        testDescription: "no such database", end: "_absent", code: 78,
        message: "there is no such database on the server"),
      Case(
        testDescription: "a schema of somebody else",
        sql: "CREATE SCHEMA bobbin; CREATE TABLE bobbin.orders (k bigint)",
        code: 78, message: "bobbin"),
      Case(
        testDescription: "a store of a newer format",
        sql: "CREATE SCHEMA bobbin; CREATE TABLE bobbin._metadata (key text PRIMARY KEY, value text NOT NULL); "
          + "INSERT INTO bobbin._metadata VALUES ('format', '99')",
        code: 78, message: "99"),
      Case(
        testDescription: "a role without rights", sql: "CREATE ROLE rightless LOGIN", role: "rightless", code: 78,
        message: "the role rightless lacks a right"),
    ]

    @Test("What only an operator can mend is said, and files stay where they are", arguments: cases)
    func refused(one: Case) async throws {
      let database = try PostgresCluster.makeDatabase()
      try database.run(one.sql)
      let url = database.url.replacing("postgres@", with: "\(one.role)@") + one.end
      let root = try DaemonRoot("[Store]\nUrl=\(url)\n")
      try root.drop(#"{"type": "noop"}"#, as: "job.json")
      let start = try await Tool.run("bobbind", ["--root", root.directory.path])
      #expect(start.code == one.code && start.errors.contains(one.message), "\(start.code): \(start.errors)")
      #expect(try root.newFiles == ["job.json"])
    }

    @Test(
      "A running host waits for a server whose certificate has expired, says so and loses nothing; none starts on it")
    func expiredCertificate() async throws {
      let server = try await CertifiedServer()
      let root = try DaemonRoot("[Store]\nUrl=\(server.url)\n\(DaemonRoot.quickFlushes)")
      let daemon = try await DaemonProcess.ready(root)
      try await server.sign(days: -1)
      let reason = "the server's certificate is not accepted"
      // It reads the certificate at its leisure, and a host that was quicker has to come again.
      try await daemon.poll {
        try server.reload()
        try server.run("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE client_addr IS NOT NULL")
        return try await daemon.get("/v1/status")["databaseAwayReason"]?.string?.contains(reason) == true
      }
      try root.drop(#"{"type": "noop", "id": "meanwhile"}"#, as: "job.json")
      let other = try DaemonRoot("[Store]\nUrl=\(server.url)\n")
      let start = try await Tool.run("bobbind", ["--root", other.directory.path])
      #expect(start.code == 78 && start.errors.contains(reason), "\(start.code): \(start.errors)")
      try await server.sign()
      try server.reload()
      try await daemon.waitUntilSpoolIsEmpty(seconds: 120)
      let job = try await daemon.get("/v1/jobs/meanwhile")
      #expect(job["state"]?.string == "completed" && job["attempt"]?.integer == 1, "\(job.serialized())")
      #expect(try await daemon.stop() == .exited(code: 0), "\(daemon.logText)")
    }

    @Test("A server that takes no changes for now is waited for")
    func waits() async throws {
      let database = try PostgresCluster.makeDatabase()
      let setting = "ALTER DATABASE \(database.name) SET default_transaction_read_only"
      try database.run("\(setting) = on")
      let root = try DaemonRoot("[Store]\nUrl=\(database.url)\n\(DaemonRoot.quickFlushes)")
      try root.drop(#"{"type": "noop"}"#, as: "job.json")
      let daemon = try DaemonProcess(root)
      try await daemon.waitForLog("the store can't be opened; trying again every few seconds: ")
      let status = "waiting for the database of the fleet: "
      try await daemon.wait { daemon in
        daemon.managerStatus.map { $0.hasPrefix(status) && $0.contains("only a standby answers") } == true
      }
      #expect(try root.newFiles == ["job.json"])
      try database.run("\(setting) = off")
      try await daemon.wait { $0.notifications.contains("READY=1") }
      try await daemon.waitUntilSpoolIsEmpty()
      #expect(try root.failedFiles.isEmpty)
      #expect(try await daemon.stop() == .exited(code: 0), "\(daemon.logText)")
    }
  }
}
