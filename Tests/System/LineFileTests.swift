import DaemonTesting
import Foundation
import JSONText
import SystemSupport
import TestSupport
import Testing

extension SystemTests {
  @Suite("Job files with one job on each line")
  struct LineFiles {
    /// Lines of 1,000 jobs without IDs are soon more than a document may hold.
    private static let configuration = DaemonRoot.quickFlushes + "[Spool]\nMaxJobFileSize=1K\n"

    private static func lines(_ numbers: Range<Int>, _ more: String = "") -> String {
      numbers.map { #"{"type": "noop", "id": "n\#($0)"\#(more)}"# + "\n" }.joined()
    }

    @Test("10,000 jobs in one file start when all are on disk, run once each, and hold up no other file")
    func many() async throws {
      let root = try DaemonRoot(Self.configuration)
      let daemon = try await DaemonProcess.ready(root)
      let jobs = String(repeating: "{\"type\": \"noop\"}\n", count: 10_000)
      try root.drop(jobs, as: "many.ndjson")
      try await daemon.wait { $0.root.isAdmittingLines }
      try root.drop(#"{"type": "noop", "id": "small"}"#, as: "small.json")
      try await daemon.wait {
        try !$0.root.newFiles.contains("small.json") && !$0.root.currentFiles.contains("small.json")
      }
      let isBehind = root.isAdmittingLines
      try await daemon.waitUntilSpoolIsEmpty(seconds: 120)
      #expect(isBehind, "the small file was done only when the large one was admitted")
      let large = "WHERE id LIKE 'many-%'"
      #expect(
        try await root.sql("SELECT state, count(*), count(DISTINCT id), sum(attempt) FROM Job \(large) GROUP BY state")
          == "completed|10000|10000|10000")
      #expect(try await root.sql("SELECT min(startedAt) >= max(createdAt) FROM Job \(large)") == "1")
      #expect(try await root.sql("SELECT count(*) FROM Job \(large) AND id LIKE '%.10000'") == "1")
      #expect(try await daemon.stop() == .exited(code: 0))
    }

    @Test("Jobs of a file that are deleted while others of it wait are not run again by the next start")
    func removed() async throws {
      let root = try DaemonRoot(Self.configuration)
      let daemon = try await DaemonProcess.ready(root)
      #expect(try await daemon.tool("pause", "--queue", "q").code == 0)
      try root.drop(
        String(repeating: "{\"type\": \"noop\"}\n", count: 3) + "{\"type\": \"noop\", \"queue\": \"q\"}\n",
        as: "four.ndjson")
      for number in 1...3 { try await daemon.waitForLog(".\(number) (noop) was completed") }
      #expect(try await daemon.tool("delete", "--state", "completed").code == 0)
      #expect(try await daemon.stop() == .exited(code: 0))
      let next = try await DaemonProcess.ready(root)
      #expect(try await next.tool("resume", "--all").code == 0)
      try await next.waitUntilSpoolIsEmpty()
      #expect(try await root.sql("SELECT count(*) FROM Job") == "1")
      #expect(try await next.stop() == .exited(code: 0))
    }

    @Test("Lines may wait for earlier ones, share a batch, a unique key and a place, and repeat known jobs")
    func features() async throws {
      let root = try DaemonRoot(Self.configuration + "[Fleet]\nPlaces=here\n")
      let daemon = try await DaemonProcess.ready(root)
      let text = """
        {"type": "noop", "id": "#first", "batch": "night", "place": "here"}

        {type: 'noop', id: '#second', after: '#first', batch: 'night'}
        {"type": "noop", "id": "other", "unique": "one"}
        {"type": "noop", "id": "refused", "unique": "one"}
        {"type": "noop", "id": "behind", "after": ["other"], "afterAny": ["refused", "#second"]}
        """
      try root.drop(text, as: "all.jsonl")
      try await daemon.waitUntilSpoolIsEmpty()
      #expect(
        try await root.sql(
          "SELECT CASE WHEN id LIKE 'all-%#%' THEN substr(id, -6) ELSE id END AS n, state FROM Job ORDER BY n")
          == "#first|completed\nbehind|completed\nother|completed\nrefused|cancelled\nsecond|completed")
      #expect(try await root.sql("SELECT count(*) FROM Job WHERE batch = 'night'") == "2")
      // The same again: its own names are new ones, the others are known.
      try root.drop(text, as: "all.jsonl")
      try await daemon.waitUntilSpoolIsEmpty()
      try await daemon.waitForLog("repeats 3 jobs of its 5")
      #expect(try await root.sql("SELECT count(*) FROM Job") == "7")
      #expect(try root.failedFiles.isEmpty)
    }

    @Test("One bad line refuses the whole file, with line and key, and nothing of it runs")
    func refused() async throws {
      let root = try DaemonRoot(Self.configuration)
      let daemon = try await DaemonProcess.ready(root)
      _ = try await daemon.submit(#"{"type": "noop", "id": "known", "unique": "x"}"#)
      let bad = [
        #"{"type": "noop", "priorty": 1}"#, #"{"type": "none"}"#, #"{"type": "noop", "id": "n7"}"#,
        ##"{"type": "noop", "after": "#later"}"##, "{\"type\": \"noop\"", #"{"jobs": []}"#,
        "{\"type\": \"\(String(repeating: "x", count: 1_100))\"}",
      ]
      try root.drop(Self.lines(0..<3_000) + bad.joined(separator: "\n"), as: "bad.ndjson")
      try await daemon.waitUntilSpoolIsEmpty()
      #expect(
        try root.reason("bad.ndjson") == """
          bad.ndjson: line 3001: "priorty": is no key of a job; did you mean "priority"?
          line 3002: "type": there is no job type "none"; there are image.encode, import, noop
          line 3003: "id": the ID "n7" occurs twice in the file
          line 3004: "after": no line before this one has the ID "#later"
          line 3005: the text ends inside an object that begins at column 1
          line 3006: "jobs": is a list of jobs; in this file each line is one job
          line 3007: has more than 1024 bytes; see [Spool] MaxJobFileSize

          """)
      // Over the socket the same, and an ID that is another job's.
      try root.write(
        Self.lines(0..<1_000) + #"{"type": "import", "id": "known", "arguments": {"input": "a", "entity": "Reading"}}"#,
        to: root.directory.path("taken.ndjson"))
      let taken = try await daemon.tool("submit", root.directory.path("taken.ndjson"))
      #expect(
        taken.code == 4
          && taken.errors.contains("line 1001: \"id\": the ID \"known\" is that of a job of the type \"noop\""))
      #expect(try await root.sql("SELECT id FROM Job") == "known")
      #expect(try root.currentFiles.isEmpty)
    }

    @Test("Relative paths in lines start where their sender is, and are those of a document")
    func relativePaths() async throws {
      let root = try DaemonRoot(DaemonRoot.quickFlushes + "[Spool]\nMaxJobFileSize=1K\n")
      let daemon = try await DaemonProcess.ready(root)
      let folder = try TemporaryDirectory()
      try root.write("number,note\n1,a\n2,b\n", to: folder.path("in.csv"))
      let job = TestModel.importJob("one", "in.csv")
      try root.write(job, to: folder.path("one.json"))
      try root.write(
        "\(job)\n\n\(TestModel.importJob("two", "in.csv"))\n\(TestModel.importJob("far", "/none/in.csv"))",
        to: folder.path("all.ndjson"))
      func submit(_ name: String) async throws -> Tool {
        try await Tool.run(
          "/bin/sh",
          [
            "-c", "cd \"$1\" && exec \"$0\" --root \"$2\" submit --wait \"$3\"", tool, folder.path, root.directory.path,
            name,
          ])
      }
      let tool = try RepositoryPaths.executable("bobbinctl").path(percentEncoded: false)
      #expect(try await submit("one.json").code == 0)
      let lines = try await submit("all.ndjson")
      #expect(lines.code == 1, "\(lines)")
      #expect(
        try await root.sql("SELECT id, state, json_extract(arguments, '$.input') FROM Job ORDER BY id")
          == """
          far|discarded|/none/in.csv
          one|completed|\(folder.path)/in.csv
          two|completed|\(folder.path)/in.csv
          """)
      // What can't be read is told by its line as before.
      try root.write("\(job)\n\(String(repeating: "x", count: 2_000))\n{\n", to: folder.path("bad.ndjson"))
      let bad = try await submit("bad.ndjson")
      #expect(bad.code != 0 && bad.errors.contains("line 2: has more than 1024 bytes"), "\(bad)")
      #expect(bad.errors.contains("line 3: "), "\(bad)")
      #expect(try await daemon.stop() == .exited(code: 0))
    }

    @Test("100,000 jobs in one file are admitted in bounded memory")
    func boundedMemory() async throws {
      let root = try DaemonRoot(DaemonRoot.quickFlushes)
      try root.write("[Handler]\nType=any\nExecStart=/bin/true\n", to: root.paths.handlers + "/any.conf")
      let daemon = try await DaemonProcess.ready(root)
      #expect(try await daemon.tool("pause", "--queue", "later").code == 0)
      func peak() throws -> Int {
        let status = try String(contentsOfFile: "/proc/\(daemon.child.processID)/status", encoding: .utf8)
        let line = try #require(status.split(separator: "\n").first { $0.hasPrefix("VmHWM:") })
        return try #require(line.split(separator: " ").dropFirst().first.flatMap { Int($0) }) >> 10
      }
      // Half a kilobyte each, as arguments may be.
      let note = String(repeating: "x", count: 400)
      let before = try peak()
      try root.write(
        Self.lines(0..<100_000, #", "queue": "later", "arguments": {"note": "\#(note)"}"#)
          .replacing("noop", with: "any"), to: root.directory.path("many.ndjson"))
      let sent = try await Tool.run(
        "bobbinctl", ["--root", root.directory.path, "submit", root.directory.path("many.ndjson")], seconds: 300)
      #expect(sent.code == 0 && sent.output.contains("100000 jobs"), "\(sent)")
      let growth = try peak() - before
      print("100,000 jobs of \(note.count) bytes took \(growth) MiB of memory")
      // The schedule needs less than 300 bytes for each; the file has some 470.
      #expect(growth < 60)
      #expect(try await daemon.stop() == .exited(code: 0))
    }

    @Test("bobbinctl submits lines from a file and from standard input, waits for them, and sums them up")
    func submitted() async throws {
      let root = try DaemonRoot(Self.configuration)
      let daemon = try await DaemonProcess.ready(root)
      let path = root.directory.path("some.ndjson")
      try root.write(Self.lines(0..<3), to: path)
      let few = try await daemon.tool("submit", "--wait", path)
      #expect(few.code == 0, "\(few.errors)")
      #expect(few.output.split(separator: "\n").count == 3 && few.output.contains("n2"))
      // Three are known, and one fails.
      let bad = TestModel.importJob("bad", "none.csv")
      let many = try await Tool.run(
        "bobbinctl", ["--root", root.directory.path, "submit", "--wait", "-"], input: Self.lines(0..<2_500) + bad)
      #expect(many.code == 1, "\(many.errors)")
      #expect(
        many.output
          == "standard input: 2501 jobs, 2500 completed, 1 discarded; 3 were known already, and are not run again\n")
      // Jobs of a place that nobody offers wait there, and the file stays.
      try root.write("{\"type\": \"noop\"}\n{\"type\": \"noop\"}\n", to: path)
      let placed = try await daemon.tool("submit", "--place", "nowhere", path)
      #expect(placed.code == 0 && placed.output.split(separator: "\n").count == 2, "\(placed.errors)")
      #expect(try await root.sql("SELECT count(*) FROM Job WHERE options LIKE '%nowhere%'") == "2")
      #expect(try root.currentFiles.count { $0.string?.hasSuffix(".ndjson") == true } == 1)
    }

    @Test("A file that was claimed and not admitted is admitted at the next start, though an earlier one had its name")
    func claimed() async throws {
      let root = try DaemonRoot(Self.configuration)
      let first = try await DaemonProcess.ready(root)
      try root.drop(Self.lines(0..<3), as: "nightly.ndjson")
      try await first.waitUntilSpoolIsEmpty()
      #expect(try await first.stop() == .exited(code: 0))
      // As a kill between the two leaves it.
      try root.write(Self.lines(0..<6), to: root.paths.spoolCurrent + "/nightly.ndjson")
      let second = try await DaemonProcess.ready(root)
      try await second.waitUntilSpoolIsEmpty()
      #expect(try await root.sql("SELECT count(*), sum(attempt) FROM Job WHERE state = 'completed'") == "6|6")
    }

    @Test("A file that is admitted when the daemon is killed is gone on with: each job is done once")
    func killed() async throws {
      var random = SeededGenerator(seed: 20_261_123)
      let root = try DaemonRoot(Self.configuration)
      let count = 6_000
      try root.drop(Self.lines(0..<count), as: "killed.ndjson")
      try root.drop(String(repeating: "{\"type\": \"noop\"}\n", count: count), as: "unnamed.ndjson")
      var halves = 0
      for round in 0..<10 {
        let daemon = try DaemonProcess(root)
        try await daemon.wait { try $0.root.isAdmittingLines || $0.root.isSpoolEmpty }
        if round > 0 { try await daemon.waitForStoreWrites(Int.random(in: 1...40, using: &random)) }
        try await daemon.kill()
        if root.isAdmittingLines { halves += 1 }
      }
      let daemon = try await DaemonProcess.ready(root)
      try await daemon.waitUntilSpoolIsEmpty(seconds: 120)
      #expect(
        try await root.sql(
          "SELECT state, file, count(*), count(DISTINCT id) FROM Job GROUP BY state, file ORDER BY file")
          == "completed|killed.ndjson|6000|6000\ncompleted|unnamed.ndjson|6000|6000")
      let early =
        "SELECT count(*) FROM (SELECT min(startedAt) AS s, max(createdAt) AS c FROM Job GROUP BY file) WHERE s < c"
      #expect(try await root.sql(early) == "0", "jobs have started before all were admitted")
      #expect(halves > 0, "no kill has struck an admission")
      #expect(try root.failedFiles.isEmpty)
      let end = try await daemon.stop()
      #expect(end == .exited(code: 0), "\(daemon.logText)")
    }
  }
}

extension DaemonRoot {
  /// True while a file with one job on each line is being admitted.
  var isAdmittingLines: Bool { FileManager.default.fileExists(atPath: paths.spoolCurrent + "/.admission.lines") }
}
