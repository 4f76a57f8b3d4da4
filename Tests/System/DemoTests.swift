import DaemonTesting
import Foundation
import PostgresTesting
import TestSupport
import Testing

extension SystemTests {
  /// The demos of the README and of Fleet.md, with the programs of the tests.
  @Suite("The demos") struct Demos {
    private let folder: TemporaryDirectory

    init() throws { folder = try TemporaryDirectory() }

    private func run(_ script: String) async throws -> Tool {
      let programs = URL(filePath: try RepositoryPaths.program("bobbind")).deletingLastPathComponent()
      let script = RepositoryPaths.root.appending(path: "scripts/\(script)").path(percentEncoded: false)
      return try await Tool.run(
        "/bin/bash", [script],
        environment: [
          "PROGRAMS": programs.path(percentEncoded: false), "FOLDER": folder.path("d"), "HOME": folder.path,
        ],
        seconds: 300)
    }

    @Test("Pictures and a table come out whole, and a file with a mistake is told")
    func demo() async throws {
      let demo = try await run("demo")
      #expect(demo.code == 0, "\(demo.output)\n\(demo.errors)")
      #expect(demo.output.contains("32530 rows; and 1 picture kept as an object"), "\(demo.output)")
      #expect(demo.output.contains("did you mean \"input\"?"), "\(demo.output)")
      #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path("d/pictures")).count == 12)
    }

    @Test(
      "Of a fleet that loses a host in the middle, every outcome is there once",
      .enabled(if: PostgresCluster.isAvailable()))
    func fleet() async throws {
      let demo = try await run("demo-fleet")
      #expect(demo.code == 0, "\(demo.output)\n\(demo.errors)")
      let outcomes = "24 of 24 pictures, 32530 of 32530 rows imported, 0 jobs not completed"
      #expect(demo.output.contains(outcomes), "\(demo.output)")
      #expect(demo.output.contains(/cedar had [1-9][0-9]* running/), "\(demo.output)")
      let doers = ["ash", "birch"].filter { name in demo.output.contains("| \(name) ") }
      #expect(doers.count == 2, "what they did is told: \(demo.output)")
    }
  }
}
