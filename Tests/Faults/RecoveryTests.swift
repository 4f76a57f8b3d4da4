import DaemonTesting
import Foundation
import SystemSupport
import TestSupport
import Testing

extension FaultTests {
  @Suite("What a start finds after a kill")
  struct Recovery {
    private static let bad =
      #"{"type": "import", "id": "bad", "arguments": {"input": "none.csv", "entity": "Reading"}}"#

    @Test("A file goes to failed/ with its reason though the job that failed was over before the kill")
    func earlierFailure() async throws {
      let root = try DaemonRoot()
      let daemon = try await DaemonProcess.ready(root)
      let time = Date(timeIntervalSinceNow: 3).formatted(.iso8601)
      try root.drop(
        #"{"jobs": [\#(Self.bad), {"type": "noop", "id": "late", "notBefore": "\#(time)"}]}"#, as: "mixed.json")
      // Its acceptance, and that of the file, are durable; so is the end of the job that it waits for.
      _ = try await daemon.submit(#"{"type": "noop", "id": "witness", "afterAny": "bad"}"#)
      try await daemon.kill()
      let again = try await DaemonProcess.ready(root)
      try await again.waitUntilSpoolIsEmpty()
      let jobs = try await root.sql("SELECT id, state FROM Job ORDER BY id")
      #expect(jobs == "bad|discarded\nlate|completed\nwitness|completed")
      let failed = try root.failedFiles
      #expect(failed == ["mixed.json", "mixed.json.reason"])
      let reason = try root.reason("mixed.json")
      #expect(reason.hasPrefix("mixed.json: bad: the input"), "\(reason)")
    }

    @Test("A repeated file goes where the first one goes, if its job fails")
    func repeatedFailure() async throws {
      let root = try DaemonRoot()
      let time = Date(timeIntervalSinceNow: 2).formatted(.iso8601)
      let late = Self.bad.dropLast() + #", "notBefore": "\#(time)"}"#
      for name in ["first.json", "second.json"] { try root.drop(String(late), as: FileName(name)) }
      let daemon = try await DaemonProcess.ready(root)
      try await daemon.waitUntilSpoolIsEmpty()
      let failed = try root.failedFiles
      #expect(failed == ["first.json", "first.json.reason", "second.json", "second.json.reason"])
    }

    @Test("What was half written in the daemon's own folders is removed, and a reason without its file is written anew")
    func leftovers() async throws {
      let root = try DaemonRoot()
      let halves = [root.paths.spoolCurrent + "/.77.abc.tmp", root.paths.spoolFailed + "/.77.abd.tmp"]
      for half in halves { try root.write("{", to: half) }
      try root.write("of an earlier run\n", to: root.paths.spoolFailed + "/wrong.json.reason")
      try root.drop("{}", as: "wrong.json")
      let daemon = try await DaemonProcess.ready(root)
      try await daemon.waitUntilSpoolIsEmpty()
      for half in halves { #expect(!FileManager.default.fileExists(atPath: half)) }
      let failed = try root.failedFiles
      #expect(failed == ["wrong.json", "wrong.json.reason"])
      let reason = try root.reason("wrong.json")
      #expect(reason == "wrong.json: line 1: \"type\": is missing\n")
    }

    /// What may have become of the records while the daemon was down.
    enum Change: String, CaseIterable {
      case nothing = "SELECT 1"
      /// As if the clock were set back by a year.
      case clock = "UPDATE Job SET dueAt = dueAt + 31536000 WHERE id = 'b'"
      /// The job that it waited for was forgotten.
      case forgotten = "DELETE FROM Job WHERE id = 'a'"
      /// The job that it waited for was put back, and is held.
      case putBack = "UPDATE Job SET state = 'held', file = NULL, finishedAt = NULL WHERE id = 'a'"
    }

    @Test(
      "A job between two attempts goes on, whatever the clock says and what it waited for", arguments: Change.allCases)
    func retries(_ change: Change) async throws {
      let root = try DaemonRoot()
      try await Workload.prepare(root)
      let daemon = try await DaemonProcess.ready(root)
      try root.drop(
        #"""
        {"jobs": [{"type": "noop", "id": "a"}, {"type": "image.encode", "id": "b", "after": "a", "timeout": "1ms",
          "maxAttempts": 2, "backoff": {"kind": "fixed", "base": "15s"},
          "arguments": {"input": "in.jpg", "outputs": [{"path": "b.png", "width": 3000, "enlarge": true}]}}]}
        """#, as: "two.json")
      try await daemon.waitForLog("it took longer than")
      _ = try await daemon.submit(#"{"type": "noop", "id": "witness"}"#)
      try await daemon.kill()
      let state = try await root.sql("SELECT state FROM Job WHERE id = 'b'; \(change.rawValue)")
      #expect(state.hasPrefix("retryable"))
      let again = try await DaemonProcess.ready(root)
      try await again.wait(seconds: 60) { try !$0.root.failedFiles.isEmpty }
      let end = try await root.sql("SELECT state, attempt FROM Job WHERE id = 'b'")
      #expect(end == "discarded|2")
    }

    @Test("A job that was put back though what it needs had failed, and then held, runs when it is released")
    func heldAfterRetry() async throws {
      let root = try DaemonRoot()
      let daemon = try await DaemonProcess.ready(root)
      try root.drop(#"{"jobs": [\#(Self.bad), {"type": "noop", "id": "b", "after": "bad"}]}"#, as: "two.json")
      try await daemon.waitUntilSpoolIsEmpty()
      let paused = try await daemon.request("POST", "/v1/pause")
      #expect(paused.status == 200)
      for command in ["retry", "hold"] {
        let done = try await daemon.tool(command, "b")
        #expect(done.code == 0, "\(done.errors)")
      }
      try await daemon.kill()
      let again = try await DaemonProcess.ready(root)
      let resumed = try await again.request("POST", "/v1/resume")
      #expect(resumed.status == 200)
      let released = try await again.tool("release", "b")
      #expect(released.code == 0, "\(released.errors)")
      _ = try await again.submit(#"{"type": "noop", "id": "witness", "afterAny": "b"}"#)
      let state = try await root.sql("SELECT state FROM Job WHERE id = 'b'")
      #expect(state == "completed")
      let end = try await again.stop()
      #expect(end == .exited(code: 0))
    }

    @Test(
      "A picture that was written and has no name yet leaves nothing after a kill, and is there once after the next start",
      .enabled(if: Tracer.canTrace))
    func unnamedPicture() async throws {
      let root = try DaemonRoot()
      try await Workload.prepare(root)
      try root.drop(
        #"{"type": "image.encode", "id": "p", "arguments": {"input": "in.jpg", "outputs": [{"path": "out.png"}]}}"#,
        as: "p.json")
      let daemon = try DaemonProcess(
        root, wrapper: Tracer.wrapper("trace=linkat", "inject=linkat:signal=SIGKILL:when=1"))
      _ = try await daemon.waitForEnd()
      let before = try Directory(path: root.paths.payload).entries().filter { $0.isHidden || $0 == "out.png" }
      #expect(before == [])
      let again = try await DaemonProcess.ready(root)
      try await again.waitUntilSpoolIsEmpty()
      let after = try Directory(path: root.paths.payload).entries().filter { $0.isHidden || $0 == "out.png" }
      #expect(after == ["out.png"])
      let end = try await again.stop()
      #expect(end == .exited(code: 0))
    }

    @Test("A job that is cancelled between two attempts, or in quarantine, leaves nothing of its checkpoints")
    func cancelled() async throws {
      let root = try DaemonRoot()
      try TestProgram.declareAll(in: root)
      let daemon = try await DaemonProcess.ready(root)
      try root.drop(
        #"""
        {"jobs": [{"type": "test.flaky", "id": "a", "backoff": {"kind": "fixed", "base": "1h"}},
          {"type": "test.crashing", "id": "b", "maxAttempts": 4, "backoff": {"kind": "fixed", "base": "1ms"}}]}
        """#, as: "two.json")
      try await daemon.waitForLog("job a (test.flaky): attempt 1")
      _ = try await daemon.submit(#"{"type": "noop", "id": "witness", "after": []}"#)
      try await daemon.wait { $0.logText.contains(", quarantined, since its process crashed too often") }
      let cancel = try await daemon.tool("cancel", "a", "b")
      #expect(cancel.code == 0, "\(cancel.errors)")
      try await daemon.waitUntilSpoolIsEmpty()
      let end = try await daemon.stop()
      #expect(end == .exited(code: 0))
      let result = try await root.sql("SELECT id, state, cursor FROM Job WHERE id < 'c'; SELECT count(*) FROM Reading")
      #expect(result == "a|cancelled|\nb|cancelled|\n0")
    }

    @Test("A quarantined job that is put back goes on at its checkpoint, and its rows are there once")
    func redriven() async throws {
      let root = try DaemonRoot()
      try TestProgram.declareAll(in: root)
      let daemon = try await DaemonProcess.ready(root)
      _ = try await daemon.submit(
        #"{"type": "test.crashing", "id": "a", "maxAttempts": 4, "backoff": {"kind": "fixed", "base": "1ms"}}"#)
      try await daemon.wait { $0.logText.contains(", quarantined, since its process crashed too often") }
      // What made it crash is mended.
      let good = TestProgram.good.script(notingStartsIn: JobStart.path(in: root))
      try root.write(good, to: TestProgram.crashing.path(in: root))
      let redrive = try await daemon.tool("redrive", "a")
      #expect(redrive.code == 0, "\(redrive.errors)")
      _ = try await daemon.submit(#"{"type": "noop", "id": "witness", "after": "a"}"#)
      let result = try await root.sql("SELECT state FROM Job WHERE id = 'a'; SELECT count(*) FROM Reading")
      #expect(result == "completed\n\(TestProgram.rowCount)")
    }

    /// Declares a type whose program takes no notice of SIGTERM, and notes each start in a file.
    private func declareDeaf(_ root: DaemonRoot) throws -> String {
      let started = root.paths.payload + "/started"
      try root.write(
        "trap '' TERM\necho $BOBBIN_JOB_ID >>\(started)\nwhile :; do sleep 0.05; done\n",
        to: root.directory.path("deaf.sh"))
      try root.write(
        "[Handler]\nType=test.deaf\nExecStart=/bin/sh \(root.directory.path("deaf.sh"))\nKillGraceSec=1h\n",
        to: root.paths.handlers + "/deaf.conf")
      return started
    }

    @Test("A running job that was told to end, in whatever order and however often, does not run again after a kill")
    func toldToEnd() async throws {
      let root = try DaemonRoot("[Workers]\nCount=4\n[Writer]\nFlushIntervalSec=20ms\n")
      let started = try declareDeaf(root)
      let daemon = try await DaemonProcess.ready(root)
      let jobs = ["a", "b", "c", "d"].map { #"{"type": "test.deaf", "id": "\#($0)"}"# }
      try root.drop("{\"jobs\": [\(jobs.joined(separator: ","))]}", as: "four.json")
      try await daemon.wait { _ in (try? String(contentsOfFile: started, encoding: .utf8))?.count == 8 }
      let commands = [
        ("cancel", "a"), ("hold", "b"), ("hold", "b"), ("hold", "c"), ("cancel", "c"), ("cancel", "d"), ("cancel", "d"),
      ]
      for (command, id) in commands {
        let reply = try await daemon.tool(command, id)
        #expect(reply.code == 0, "\(command) \(id): \(reply.errors)")
      }
      let late = try await daemon.tool("hold", "d")
      #expect(late.code != 0, "a cancelled job can't be held")
      let why = try await daemon.tool("why", "a")
      #expect(why.output.contains("it runs, and was told to end: cancelled by user"), "\(why.output)")
      try await daemon.kill()
      let again = try await DaemonProcess.ready(root)
      _ = try await again.submit(#"{"type": "noop", "id": "witness", "afterAny": ["a", "c", "d"]}"#)
      let result = try await root.sql("SELECT id, state, failure IS NOT NULL FROM Job WHERE id < 'e' ORDER BY id")
      #expect(result == "a|cancelled|1\nb|held|0\nc|cancelled|1\nd|cancelled|1")
      #expect(try String(contentsOfFile: started, encoding: .utf8).count == 8, "none ran again")
    }

    @Test("Orders for jobs that are over, or that nobody knows, change nothing")
    func ordersWithoutJobs() async throws {
      let root = try DaemonRoot()
      let daemon = try await DaemonProcess.ready(root)
      _ = try await daemon.submit(#"{"batch": "nightly", "jobs": [{"type": "noop", "id": "over"}]}"#)
      _ = try await daemon.tool("pause", "--queue", "later")
      try root.drop(#"{"type": "noop", "id": "other", "queue": "later"}"#, as: "other.json")
      try await daemon.wait { try $0.root.currentFiles == ["other.json"] }
      _ = try await daemon.submit(#"{"type": "noop", "id": "witness"}"#)
      let cancel = try await daemon.tool("cancel", "over")
      #expect(cancel.code != 0)
      for selection in [
        ["--batch", "nightly"], ["--batch", "nosuch"], ["--queue", "nosuch"], ["--state", "completed"],
      ] {
        for command in ["cancel", "hold"] {
          let reply = try await daemon.tool(command, selection[0], selection[1])
          #expect(reply.output.hasPrefix("0 jobs"), "\(command) \(selection): \(reply.output)\(reply.errors)")
        }
      }
      let result = try await root.sql(
        "SELECT id, state, failure, stopEvent FROM Job WHERE id IN ('over', 'other') ORDER BY id")
      #expect(result == "other|available||\nover|completed||")
    }

    @Test("What comes over the socket again and again leaves no files behind")
    func repetitions() async throws {
      let root = try DaemonRoot()
      let daemon = try await DaemonProcess.ready(root)
      _ = try await daemon.tool("pause")
      for _ in 0..<20 {
        let reply = try await daemon.request("POST", "/v1/jobs", body: #"{"type": "noop", "id": "a"}"#)
        #expect(reply.status == 202)
      }
      try await daemon.wait { try $0.root.currentFiles.count == 1 }
      _ = try await daemon.tool("resume")
      try await daemon.waitUntilSpoolIsEmpty()
      #expect(try await root.sql("SELECT id, state, attempt FROM Job") == "a|completed|1")
    }

    @Test("A job whose dependency is old enough to be forgotten runs, also over a restart")
    func retention() async throws {
      let root = try DaemonRoot("[Retention]\nCompletedAgeSec=0s\nFailedAgeSec=0s\n")
      let daemon = try await DaemonProcess.ready(root)
      let time = Date(timeIntervalSinceNow: 12).formatted(.iso8601)
      try root.drop(
        #"""
        {"jobs": [{"type": "noop", "id": "a"}, {"type": "noop", "id": "other"},
          {"type": "noop", "id": "b", "after": "a", "notBefore": "\#(time)"}]}
        """#, as: "three.json")
      try await daemon.waitForLog("retention removed")
      #expect(try await root.sql("SELECT id FROM Job WHERE id < 'c' ORDER BY id") == "a\nb")
      try await daemon.kill()
      let again = try await DaemonProcess.ready(root)
      try await again.waitUntilSpoolIsEmpty()
      #expect(try root.failedFiles == [])
    }
  }
}
