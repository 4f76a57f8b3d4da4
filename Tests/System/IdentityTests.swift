import DaemonTesting
import Foundation
import Glibc
import JSONText
import SystemSupport
import TestSupport
import Testing

extension SystemTests {
  /// Jobs that are replaced, edited and deleted.
  @Suite("What an ID means")
  struct Identities {
    private func tool(_ daemon: DaemonProcess, _ arguments: String...) async throws -> Tool {
      try await Tool.run("bobbinctl", ["--root", daemon.root.directory.path] + arguments)
    }

    private func replacement(_ id: String, _ file: String) -> String {
      TestModel.importJob(id, file).replacing(#"{"type""#, with: #"{"replace": true, "type""#)
    }

    @Test("A file that replaces a job does so once, also if a kill before its removal leaves it in the spool")
    func killed() async throws {
      let root = try DaemonRoot("[Writer]\nFlushIntervalSec=5ms\n")
      try root.payload("one.csv", "job,number\nx,1\n")
      try root.payload("two.csv", "job,number\nx,2\nx,3\n")
      let daemon = try await DaemonProcess.ready(root)
      _ = try await daemon.submit(replacement("x", "one.csv"))
      // While everything is paused the file lies in cur/, where a second name keeps it from vanishing.
      _ = try await tool(daemon, "pause")
      try root.drop(replacement("x", "two.csv"), as: "again.json")
      let (claimed, kept) = (root.paths.spoolCurrent + "/again.json", root.directory.path + "/kept")
      try await daemon.wait { _ in FileManager.default.fileExists(atPath: claimed) }
      try await daemon.waitForLog("again.json replaces known jobs: x")
      try #require(link(claimed, kept) == 0)
      _ = try await tool(daemon, "resume", "--all")
      try await daemon.waitUntilSpoolIsEmpty()
      let rows = "SELECT number FROM Reading ORDER BY number"
      #expect(try await root.sql(rows) == "1\n2\n3")
      try await daemon.kill()
      try #require(rename(kept, claimed) == 0)
      let next = try await DaemonProcess.ready(root)
      try await next.waitUntilSpoolIsEmpty()
      #expect(try await root.sql(rows) == "1\n2\n3")
      let shown = try await next.get("/v1/jobs/x")
      #expect(shown["earlierRuns"]?.array?.count == 1 && shown["earlierRuns"]?.array?[0]["result"]?["rows"] == 1)
      #expect(shown["result"]?["rows"] == 2 && shown["options"] == nil)
      let text = try await tool(next, "show", "x").output
      #expect(text.contains("earlier run  completed, "), "\(text)")
      #expect(try await next.stop() == .exited(code: 0))
    }

    @Test(
      "A file's replacements are made after a kill that came between its admission and them, before its new jobs run")
    func killedBetween() async throws {
      let root = try DaemonRoot("[Writer]\nFlushIntervalSec=5ms\n")
      try root.payload("one.csv", "job,number\nx,1\n")
      try root.payload("two.csv", "job,number\nx,2\n")
      // What is to be replaced is waited for, and ends at once when it is run anew.
      try root.declare(
        "deaf", "[ $BOBBIN_ATTEMPT = 1 ] || exit 0; trap '' TERM; echo > begun; sleep 600", "KillGraceSec=600s")
      let daemon = try await DaemonProcess.ready(root)
      _ = try await daemon.submit(TestModel.importJob("x", "one.csv"))
      try root.drop(#"{"type": "deaf", "id": "y"}"#, as: "deaf.json")
      try await daemon.wait { FileManager.default.fileExists(atPath: $0.root.paths.payload + "/begun") }
      let new = TestModel.importJob("n", "one.csv").replacing(#"{"type""#, with: #"{"after": "x", "type""#)
      let deaf = #"{"replace": true, "type": "noop", "id": "y"}"#
      try root.drop(#"{"jobs": [\#(replacement("x", "two.csv")), \#(deaf), \#(new)]}"#, as: "again.json")
      try await daemon.waitForLog("again.json replaces known jobs: x, y")
      _ = try await tool(daemon, "flush")
      #expect(try await root.sql("SELECT id FROM Job WHERE state = 'waiting' OR state = 'available'") == "n")
      try await daemon.kill()
      let next = try await DaemonProcess.ready(root)
      try await next.waitUntilSpoolIsEmpty()
      #expect(try await root.sql("SELECT number FROM Reading ORDER BY number") == "1\n1\n2")
      #expect(
        try await root.sql("SELECT id, type, state FROM Job ORDER BY id")
          == "n|import|completed\nx|import|completed\ny|noop|completed")
      let isBehind = "SELECT n.startedAt >= x.finishedAt FROM Job n, Job x WHERE n.id = 'n' AND x.id = 'x'"
      #expect(try await root.sql(isBehind) == "1", "\(next.logText)")
      #expect(try root.failedFiles.isEmpty)
      #expect(try await next.stop() == .exited(code: 0))
    }

    @Test("A deleted job does not run again if a kill has left the file in the spool that it came with")
    func deleted() async throws {
      let root = try DaemonRoot("[Writer]\nFlushIntervalSec=5ms\n")
      let daemon = try await DaemonProcess.ready(root)
      _ = try await tool(daemon, "pause")
      try root.drop(#"{"jobs": [{"type": "noop"}, {"type": "noop"}]}"#, as: "two.json")
      let (claimed, kept) = (root.paths.spoolCurrent + "/two.json", root.directory.path + "/kept")
      try await daemon.wait { _ in FileManager.default.fileExists(atPath: claimed) }
      try #require(link(claimed, kept) == 0)
      _ = try await tool(daemon, "resume", "--all")
      try await daemon.waitUntilSpoolIsEmpty()
      let ids = try await root.sql("SELECT id FROM Job ORDER BY id").split(separator: "\n").map(String.init)
      #expect(try await tool(daemon, "delete", try #require(ids.first)).code == 0)
      try await daemon.kill()
      try #require(rename(kept, claimed) == 0)
      let next = try await DaemonProcess.ready(root)
      try await next.waitUntilSpoolIsEmpty()
      #expect(try await root.sql("SELECT id FROM Job") == ids.last)
      #expect(try await next.stop() == .exited(code: 0))
    }

    @Test("A running import that is replaced leaves no row of its old input, and the tool waits for its new run")
    func running() async throws {
      let root = try DaemonRoot("[Writer]\nFlushIntervalSec=5ms\n[Import]\nChunkRows=500\n")
      try root.payload("big.csv", "job,number\n" + (0..<400_000).map { "big,\($0)\n" }.joined())
      try root.payload("small.csv", "job,number\nbig,7\n")
      let daemon = try await DaemonProcess.ready(root)
      let state = try FolderWatch([root.paths.state]) { root.changes.note() }
      try root.drop(TestModel.importJob("big", "big.csv"), as: "big.json")
      try await daemon.wait { _ in state.counts.changed >= 10 }
      let file = root.directory.path + "/small.json"
      try root.write(TestModel.importJob("big", root.paths.payload + "/small.csv"), to: file)
      let refused = try await tool(daemon, "submit", file)
      #expect(refused.code == 4, "\(refused.errors)")
      let replaced = try await tool(daemon, "submit", "--replace", "--wait", file)
      #expect(replaced.code == 0, "\(replaced.output) \(replaced.errors)")
      #expect(replaced.output.hasPrefix("completed  big  replaces the job of this ID"), "\(replaced.output)")
      #expect(try await root.sql("SELECT number FROM Reading") == "7")
      try await daemon.waitUntilSpoolIsEmpty()
      #expect(try await daemon.stop() == .exited(code: 0))
    }

    @Test("The tool edits a job that waits, and deletes what is over")
    func tools() async throws {
      let root = try DaemonRoot("[Writer]\nFlushIntervalSec=5ms\n")
      try root.payload("people.csv", "job,number\nx,1\n")
      let daemon = try await DaemonProcess.ready(root)
      let due = #""notBefore": "2200-01-01T00:00:00Z""#
      let later = TestModel.importJob("x", "nothing.csv").replacing(#"{"type""#, with: "{\(due), \"type\"")
      _ = try await daemon.request("POST", "/v1/jobs", body: later)
      let wrong = try await tool(daemon, "edit", "x", "entity=Nothing")
      #expect(wrong.code == 65, "\(wrong.code)")
      #expect(
        wrong.errors.contains(#""arguments.entity": there is no entity "Nothing" to import into"#), "\(wrong.errors)")
      // A path of the daemon's payload stays as it was; a new one is where the user is.
      _ = try await tool(daemon, "edit", "x", "header=true")
      #expect(try await daemon.get("/v1/jobs/x")["arguments"]?["input"] == "nothing.csv")
      _ = try await tool(daemon, "edit", "x", "input=here.csv")
      let here = FileManager.default.currentDirectoryPath + "/here.csv"
      #expect(try await daemon.get("/v1/jobs/x")["arguments"]?["input"] == .string(here))
      let there = root.paths.payload + "/people.csv"
      #expect(try await tool(daemon, "edit", "x", "input=\(there)").output == "edited     x\n")
      #expect(try await tool(daemon, "delete", "x").errors.contains(#""x" can't be deleted: it is scheduled"#))
      #expect(try await tool(daemon, "retry", "x").output == "1 job retried\n")
      try await daemon.waitUntilSpoolIsEmpty()
      #expect(try await root.sql("SELECT job, number FROM Reading") == "x|1")
      let late = try await tool(daemon, "edit", "x", "input=other.csv")
      #expect(late.errors.contains("can't be edited: it is completed"), "\(late.errors)")
      #expect(try await tool(daemon, "delete", "--type", "import").output == "1 job deleted\n")
      #expect(try await root.sql("SELECT count(*) FROM Job") == "0")
      #expect(try await root.sql("SELECT count(*) FROM Reading") == "1", "what it has imported stays")
      // An ID that the daemon makes is short, and its beginning is a handle.
      var made: [String] = []
      for _ in 0..<12 { made += try await daemon.submit(#"{"type": "noop"}"#).compactMap { $0["id"]?.string } }
      #expect(made.allSatisfy { $0.wholeMatch(of: /noop-[0-9a-z]{6}/) != nil }, "\(made)")
      let handles = made.map { String($0.prefix(10)) }
      #expect(try await daemon.tool(["delete"] + handles).output == "12 jobs deleted\n")
      #expect(try await daemon.stop() == .exited(code: 0))
    }

    @Test("An edit makes a job no larger than a job file may be")
    func tooLarge() async throws {
      let root = try DaemonRoot(DaemonRoot.quickFlushes + "[Spool]\nMaxJobFileSize=4K\n")
      try root.write(
        "[Handler]\nType=say\nExecStart=/bin/cat\nOptionalArguments=text:string\n",
        to: root.paths.handlers + "/say.conf")
      let daemon = try await DaemonProcess.ready(root)
      _ = try await daemon.request("POST", "/v1/jobs", body: #"{"type": "say", "id": "x", "delay": "1h"}"#)
      let small = String(repeating: "s", count: 3_000)
      #expect(try await tool(daemon, "edit", "x", "text=\(small)").code == 0)
      let large = try await tool(daemon, "edit", "x", "text=\(small)\(small)")
      #expect(
        large.code != 0 && large.errors.contains("more than 4096 bytes; see [Spool] MaxJobFileSize"), "\(large.errors)")
      #expect(try await daemon.get("/v1/jobs/x")["arguments"]?["text"]?.string == small)
    }
  }
}
