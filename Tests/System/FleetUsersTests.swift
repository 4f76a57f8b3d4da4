import DaemonTesting
import Foundation
import Glibc
import JSONText
import PostgresTesting
import SystemSupport
import TestSupport
import Testing

extension FleetSystemTests {
  /// Two hosts that share a folder, whose users are not all the same, or not all trusted.
  @Suite("The users of a fleet's hosts", .enabled(if: PostgresCluster.isAvailable()))
  struct FleetUsers {
    private let database: TestDatabase
    private let shared: TemporaryDirectory

    init() throws {
      database = try PostgresCluster.makeDatabase()
      shared = try TemporaryDirectory()
      try Data("number\n7\n".utf8).write(to: URL(filePath: shared.path("readings.csv")))
    }

    private func start(_ name: String, _ settings: String) async throws -> DaemonProcess {
      try await DaemonProcess.ready(try DaemonRoot(configuration(name, settings)))
    }

    private func configuration(_ name: String, _ settings: String) -> String {
      """
      [Store]
      Url=\(database.url)
      [Fleet]
      Name=\(name)
      SharedFolders=\(shared.path)
      \(settings)
      \(DaemonRoot.quickFlushes)
      """
    }

    private func submit(_ text: String, at daemon: DaemonProcess, _ options: String...) async throws -> Tool {
      let file = daemon.root.directory.path("job.json")
      try daemon.root.write(text, to: file)
      return try await daemon.tool(["submit"] + options + [file])
    }

    private func importJob(_ id: String) -> String { TestModel.importJob(id, shared.path("readings.csv")) }

    @Test("A host runs jobs of other hosts for the users that it names, and holds those of others, which says why")
    func strangers() async throws {
      let user = Int(geteuid())
      let one = try await start("a", "")
      let other = try await start("b", "RunsAs=\(user + 1)-\(user + 9)")
      #expect(try await one.tool("fleet", "drain", "a").code == 0)
      let jobs = #"{"jobs": [\#(importJob("foreign")), {"type": "noop", "id": "later", "after": "foreign"}]}"#
      let foreign = try await submit(jobs, at: one, "--wait=60")
      #expect(foreign.code == 3, "\(foreign)\n\(other.logText)")
      let reason = "it came from the user \(user) of the host a:\(one.root.paths.spool), for whom the host b:"
      let shown = try await other.tool("show", "foreign").output
      #expect(
        shown.contains(reason) && other.logText.contains("the job foreign is held: \(reason)"),
        "\(shown)\n\(other.logText)")
      // Who sends it once more is told at once as well.
      #expect(try await submit(jobs, at: one, "--wait=60").code == 3)
      let lines = one.root.directory.path("jobs.ndjson")
      try one.root.write(
        importJob("foreign") + "\n" + #"{"type": "noop", "id": "l", "after": "foreign"}"# + "\n", to: lines)
      #expect(try await one.tool("submit", "--wait=60", lines).code == 3)
      // Its own users are not meant.
      #expect(try await submit(importJob("own"), at: other, "--wait=60").code == 0)
      #expect(try database.run(#"SELECT count(*) FROM bobbin."Reading""#) == "1")

      try other.root.write(configuration("b", "RunsAs=\(user)"), to: other.root.paths.configurationFile)
      try await other.reload()
      #expect(try await other.tool("release", "foreign").code == 0)
      try await one.waitUntilSpoolIsEmpty()
      #expect(try database.run(#"SELECT count(*) FROM bobbin."Reading""#) == "2")
      #expect(try database.run(#"SELECT attempt <= "maxAttempts" FROM bobbin."Job" WHERE id = 'foreign'"#) == "t")
      for daemon in [one, other] { #expect(try await daemon.stop() == .exited(code: 0)) }
    }

    @Test("A job that names files runs only where its submitter is the same user, and one without files anywhere")
    func domains() async throws {
      let one = try await start("a", "UserDomain=x.org")
      let other = try await start("b", "UserDomain=y.org")
      #expect(try await one.tool("fleet", "drain", "a").code == 0)
      #expect(try await submit(#"{"type": "noop"}"#, at: one, "--wait=60").code == 0)
      #expect(try await submit(importJob("bound"), at: one).code == 0)
      let why = try await other.get("/v1/jobs/bound/why") { $0["reasons"]?.array?.isEmpty == false }
      let reason = "the host a:\(one.root.paths.spool) has the users of x.org, to whom its files belong, and is drained"
      #expect(why["reasons"]?.array?.first?.string?.hasPrefix(reason) == true, "\(why.serialized())")
      #expect(try await other.tool("fleet").output.contains("users of x.org"))

      // Another host with the same users takes it.
      let third = try await start("c", "UserDomain=x.org")
      try await one.waitUntilSpoolIsEmpty()
      #expect(try database.run(#"SELECT host FROM bobbin."Job" WHERE id = 'bound'"#) == "c:\(third.root.paths.spool)")
      for daemon in [one, other, third] { #expect(try await daemon.stop() == .exited(code: 0)) }
    }

    @Test("A host that names its users holds jobs that name files and come from one that does not")
    func noDomain() async throws {
      let one = try await start("a", "")
      let other = try await start("b", "UserDomain=y.org")
      #expect(try await one.tool("fleet", "drain", "a").code == 0)
      let unknown = try await submit(importJob("unknown"), at: one, "--wait=60")
      #expect(
        unknown.code == 3 && other.logText.contains("the job unknown is held: it names files, and the user"),
        "\(unknown)")
      #expect(try database.run(#"SELECT count(*) FROM bobbin."Reading""#) == "0")
      for daemon in [one, other] { #expect(try await daemon.stop() == .exited(code: 0)) }
    }
  }
}
