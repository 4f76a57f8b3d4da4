import DaemonTesting
import Foundation
import Glibc
import TestSupport
import Testing

extension SystemTests {
  @Suite("The README's examples, as they are")
  struct Readme {
    /// A folder in which somebody follows the README, and the daemon's root, which the README calls `demo`.
    private let work: TemporaryDirectory
    private let root: DaemonRoot
    private let sections: [String: [Block]]

    /// A piece of code.
    private struct Block {
      let language: String
      let text: String
    }

    init() throws {
      work = try TemporaryDirectory()
      root = try DaemonRoot(model: nil)
      let text = try String(contentsOf: RepositoryPaths.root.appending(path: "README.md"), encoding: .utf8)
      sections = try Dictionary(
        uniqueKeysWithValues: text.components(separatedBy: "\n### ").dropFirst().map { section in
          let parts = section.components(separatedBy: "```")
          let blocks = stride(from: 1, to: parts.count, by: 2).map { parts[$0].split(separator: "\n", maxSplits: 1) }
          return (
            String(try #require(section.split(separator: "\n").first)),
            blocks.filter { $0.count == 2 }.map { Block(language: String($0[0]), text: String($0[1])) }
          )
        })
      try FileManager.default.createSymbolicLink(atPath: work.path("demo"), withDestinationPath: root.directory.path)
      try root.write("code,name\n1,Ann\n2,Bob\n", to: work.path("table.csv"))
    }

    /// The pieces of a section in a language, with folders of this test in place of the system's.
    private func code(_ section: String, _ language: String) throws -> [String] {
      let blocks = try #require(sections[section]).filter { $0.language == language }
      try #require(!blocks.isEmpty, "the section \"\(section)\" has no \(language)")
      let handlers = RepositoryPaths.root.appending(path: "Examples/Handlers").path(percentEncoded: false)
      return blocks.map {
        $0.text.replacing("/tmp/d", with: work.path("d")).replacing("/tmp/small", with: work.path("small"))
          .replacing("/srv/scans", with: work.path("scans"))
          .replacing("/etc/bobbin/", with: root.directory.path + "/etc/")
          .replacing("/usr/local/lib/bobbin/handlers", with: handlers)
      }
    }

    private func exists(_ name: String) -> Bool { FileManager.default.fileExists(atPath: work.path(name)) }

    @Test("Jobs are dropped, submitted and made; a table is imported, and a folder and a schedule work")
    func examples() async throws {
      // Whoever reads goes on when the daemon is there, or has the new model.
      func logged(_ word: String) -> String {
        "grep -q -m 1 \(word) < <(timeout 60 tail -n +1 -F bobbind.log 2>/dev/null)"
      }
      let script = try (code("A job file", "sh") + code("CSV into a table", "sh")).joined(separator: "\n")
        .replacing("bobbind &", with: "bobbind 2>bobbind.log &\n\(logged("ready"))")
        .replacing(/kill -HUP.*/, with: { "\($0.output)\n\(logged("reloaded"))" })
      let programs = try RepositoryPaths.executable("bobbind").deletingLastPathComponent().path(percentEncoded: false)
      try root.write(try #require(code("A job file", "json5").first), to: work.path("job.json"))
      let run = try await Tool.run(
        "/bin/bash", ["-e"],
        input: "cd \(work.path)\ntrap 'kill %1; wait' EXIT\n\(script)\n",
        environment: ["PATH": "\(programs):/usr/bin:/bin"], seconds: 180)
      #expect(run.code == 0, "\(run.output)\(run.errors)")
      #expect(exists("dune.webp") && exists("dune.png") && exists("small/Dune.webp"))
      #expect(run.output.contains("Ann"), "the rows are shown: \(run.output)")

      // What is declared in files.
      let etc = root.directory.path + "/etc"
      try root.write(code("A hot folder", "ini")[0], to: etc + "/folders.d/scans.conf")
      try root.write(code("A hot folder", "json5")[0], to: etc + "/folders.d/scans.json5")
      try root.write(code("At certain times", "ini")[0], to: etc + "/schedules.d/nightly.conf")
      try root.write(code("Order, limits, workflows", "json5")[0], to: etc + "/schedules.d/nightly.json")
      try root.write(code("A program of your own", "ini")[0], to: etc + "/handlers.d/lines.conf")
      try root.write("code,name\n3,Eve\n", to: root.paths.payload + "/table.csv")
      for folder in ["scans/in", "scans/out"] {
        try FileManager.default.createDirectory(atPath: work.path(folder), withIntermediateDirectories: true)
      }
      let check = try await Tool.run("bobbind", ["--root", root.directory.path, "--check-config"])
      #expect(check.code == 0, "\(check.errors)")
      let daemon = try await DaemonProcess.ready(root)
      let firing = try await daemon.tool("run", "nightly")
      #expect(firing.code == 0, "\(firing.errors)")
      try await daemon.waitUntilSpoolIsEmpty()
      let before = root.currentWatch.counts.left
      try FileManager.default.copyItem(
        atPath: "/usr/share/backgrounds/mate/nature/Dune.jpg", toPath: work.path("scans/in/Dune.jpg"))
      try await daemon.wait { try $0.root.currentWatch.counts.left - before >= 2 && $0.root.isSpoolEmpty }
      #expect(exists("scans/out/Dune.webp"))
      let failed = try await root.sql("SELECT id, failure FROM Job WHERE state <> 'completed'")
      #expect(failed == "")
      let rows = try await daemon.tool("query", "Product", "--csv")
      #expect(rows.output.contains("Eve"), "\(rows.output)")
      let commands = try code("Order, limits, workflows", "sh")[0]
      for line in commands.split(separator: "\n") {
        let words = line.prefix { $0 != "#" }.split(separator: " ").dropFirst().map(String.init)
        let told = try await daemon.tool(Array(words))
        #expect(told.code == 0, "\(line): \(told.errors)")
      }
    }
  }
}
