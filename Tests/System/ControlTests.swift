import DaemonTesting
import Foundation
import Glibc
import JSONText
import SystemSupport
import TestSupport
import Testing

extension SystemTests {
  @Suite("Operators' commands")
  struct Control {
    /// What bobbinctl prints; its exit code must be 0.
    private func run(_ daemon: DaemonProcess, _ arguments: String...) async throws -> String {
      let tool = try await Tool.run("bobbinctl", ["--root", daemon.root.directory.path] + arguments)
      #expect(tool.code == 0, "\(arguments): \(tool.errors)")
      return tool.output
    }

    /// Submits jobs without waiting for them.
    private func post(_ daemon: DaemonProcess, _ text: String) async throws {
      let reply = try await daemon.request("POST", "/v1/jobs", body: text)
      #expect(reply.status == 202, "\(reply.body.serialized())")
    }

    private func state(_ daemon: DaemonProcess, _ id: String) async throws -> String? {
      try await daemon.get("/v1/jobs/\(id)")["state"]?.string
    }

    @Test("Clients that wait for jobs are told at a stop that these were accepted, and how they are")
    func stopMeanwhile() async throws {
      let root = try DaemonRoot()
      let daemon = try await DaemonProcess.ready(root)
      _ = try await run(daemon, "pause")
      async let waiting = Tool.run(
        "bobbinctl", ["--root", root.directory.path, "submit", "--wait=10min", "-"],
        input: #"{"type": "noop", "id": "x"}"#)
      try await daemon.wait { try !$0.root.currentFiles.isEmpty }
      _ = try await run(daemon, "flush")
      #expect(try await daemon.stop() == .exited(code: 0))
      let tool = try await waiting
      #expect(tool.code == 75, "\(tool.errors)")
      #expect(tool.output.hasPrefix("available  x  the wait has ended; "), "\(tool.output)\(tool.errors)")
    }

    @Test("A job is released for good, though the daemon was killed while an attempt was told to end for the hold")
    func heldAtKill() async throws {
      let root = try DaemonRoot("[Writer]\nFlushIntervalSec=5ms\n")
      try root.declare("deaf", "trap '' TERM; echo > begun; sleep 600", "KillGraceSec=600s")
      let daemon = try await DaemonProcess.ready(root)
      try await post(daemon, #"{"type": "deaf", "id": "x"}"#)
      try await daemon.wait { FileManager.default.fileExists(atPath: $0.root.paths.payload + "/begun") }
      _ = try await run(daemon, "pause", "--queue", "default")
      _ = try await run(daemon, "hold", "x")
      _ = try await run(daemon, "flush")
      try await daemon.kill()
      let second = try await DaemonProcess.ready(root)
      #expect(try await state(second, "x") == "held")
      _ = try await run(second, "release", "x")
      #expect(try await second.stop() == .exited(code: 0))
      let third = try await DaemonProcess.ready(root)
      #expect(try await state(third, "x") == "available")
      #expect(try await third.stop() == .exited(code: 0))
    }

    @Test("A paused queue starts nothing, also after a restart, until it is resumed")
    func pause() async throws {
      let root = try DaemonRoot("[Writer]\nFlushIntervalSec=5ms\n")
      let daemon = try await DaemonProcess.ready(root)
      _ = try await run(daemon, "pause", "--queue", "q")
      _ = try await run(daemon, "flush")
      try await post(daemon, #"{"type": "noop", "id": "kept", "queue": "q"}"#)
      _ = try await daemon.submit(#"{"type": "noop", "id": "free"}"#)
      #expect(try await state(daemon, "kept") == "available")
      #expect(
        try await run(daemon, "why", "kept")
          == "kept  available\n      the queue \"q\" is paused; `bobbinctl resume --queue q` ends the pause\n")
      #expect(try await run(daemon, "status").contains("\npaused       the queue \"q\"\n"))
      try await daemon.wait { $0.managerStatus == "taking jobs; paused: the queue \"q\"" }
      #expect(try await daemon.stop() == .exited(code: 0))
      let again = try await DaemonProcess.ready(root)
      try await again.wait { $0.managerStatus == "taking jobs; paused: the queue \"q\"" }
      _ = try await again.submit(#"{"type": "noop", "id": "free 2"}"#)
      #expect(try await state(again, "kept") == "available")
      _ = try await run(again, "resume", "--queue", "q")
      try await again.waitUntilSpoolIsEmpty()
      #expect(try await root.sql("SELECT count(*) FROM Job WHERE state = 'completed'") == "3")
    }

    @Test("A job that a limit keeps from running is not said to be the next")
    func reasons() async throws {
      let root = try DaemonRoot("[Writer]\nFlushIntervalSec=5ms\n")
      let daemon = try await DaemonProcess.ready(root)
      let limit = #""limit": {"key": "t", "rate": "1/h"}"#
      try await post(daemon, #"{"type": "noop", "id": "first", \#(limit)}"#)
      try await daemon.waitUntilSpoolIsEmpty()
      try await post(daemon, #"{"type": "noop", "id": "second", \#(limit)}"#)
      let limited = try await run(daemon, "why", "second")
      #expect(limited.contains("the limit \"t\" lets the next job start in "), "\(limited)")
      #expect(!limited.contains("the next to run"))
    }

    @Test("A job that is tried again later tells the error of its last attempt")
    func reasonOfRetry() async throws {
      let root = try DaemonRoot("[Writer]\nFlushIntervalSec=5ms\n")
      try root.write("[Handler]\nType=fails\nExecStart=/bin/false\n", to: root.paths.handlers + "/fails.conf")
      let daemon = try await DaemonProcess.ready(root)
      try await post(daemon, #"{"type": "fails", "id": "f", "backoff": {"base": "1h"}}"#)
      try await daemon.waitForLog("job f (fails): attempt 1 of")
      let text = try await run(daemon, "why", "f")
      #expect(text.hasPrefix("f  retryable\n   its last attempt failed, and the next one is in "), "\(text)")
      #expect(text.contains(": the program /bin/false exited with code 1"), "\(text)")
    }

    @Test("Several states are listed and dealt with at once, those that are over and those that are not")
    func states() async throws {
      let root = try DaemonRoot("[Writer]\nFlushIntervalSec=5ms\n")
      let daemon = try await DaemonProcess.ready(root)
      for id in ["done", "later", "held", "off"] {
        let due = id == "done" ? "" : #", "notBefore": "2200-01-01T00:00:00Z""#
        try await post(daemon, #"{"type": "noop", "id": "\#(id)"\#(due)}"#)
      }
      _ = try await run(daemon, "hold", "held")
      _ = try await run(daemon, "cancel", "off")
      _ = try await daemon.submit(#"{"type": "noop", "id": "last", "afterAny": ["done", "off"]}"#)
      let states = ["completed", "cancelled", "held"].flatMap { ["--state", $0] }
      func listed(_ options: String...) async throws -> JSONValue {
        let arguments = ["--root", daemon.root.directory.path, "list", "--json"] + states + options
        return try JSONValue(parsing: Array(try await Tool.run("bobbinctl", arguments).output.utf8))
      }
      let list = try await listed()
      #expect(list["jobs"]?.array?.compactMap { $0["id"]?.string } == ["last", "off", "held", "done"])
      #expect(list["count"] == 4 && list["atLeast"] == false && list["next"]?.isNull == true)
      #expect(try await listed("--limit", "2")["jobs"]?.array?.compactMap { $0["id"]?.string } == ["last", "off"])
      #expect(try await run(daemon, "cancel", "--state", "held", "--state", "scheduled") == "2 jobs cancelled\n")
    }

    @Test("A workflow runs in its order; what needs a cancelled job is cancelled with it, and its file is released")
    func workflow() async throws {
      let root = try DaemonRoot("[Writer]\nFlushIntervalSec=5ms\n")
      let daemon = try await DaemonProcess.ready(root)
      try await post(
        daemon,
        """
        {"batch": "b", "jobs": [
          {"type": "noop", "id": "1", "notBefore": "2200-01-01T00:00:00Z"}, {"type": "noop", "id": "2", "after": "1"},
          {"type": "noop", "id": "3", "after": ["2"]}, {"type": "noop", "id": "4", "afterAny": ["3"]}
        ], "callback": {"type": "noop", "id": "end"}}
        """)
      #expect(try await state(daemon, "1") == "scheduled")
      #expect(try await state(daemon, "3") == "waiting")
      #expect(try await run(daemon, "cancel", "--reason", "no need", "1") == "1 job cancelled\n")
      try await daemon.waitUntilSpoolIsEmpty()
      let jobs = try await root.sql("SELECT id, state, failure FROM Job ORDER BY id")
      #expect(
        jobs == """
          1|cancelled|no need
          2|cancelled|the job "1", which must be completed before it, is cancelled
          3|cancelled|the job "2", which must be completed before it, is cancelled
          4|completed|
          end|completed|
          """)
      let starts = try await root.sql("SELECT id FROM Job WHERE startedAt IS NOT NULL ORDER BY startedAt")
      #expect(starts == "4\nend")
    }

    @Test("A running import that is cancelled leaves no row, and can be run again")
    func cancelRunning() async throws {
      let root = try DaemonRoot("[Writer]\nFlushIntervalSec=5ms\n[Import]\nChunkRows=500\n")
      let text = "job,number\n" + (0..<400_000).map { "big,\($0)\n" }.joined()
      try root.payload("big.csv", text)
      let daemon = try await DaemonProcess.ready(root)
      let state = try FolderWatch([root.paths.state]) { root.changes.note() }
      try root.drop(TestModel.importJob("big", "big.csv"), as: "big.json")
      try await daemon.wait { _ in state.counts.changed >= 10 }
      _ = try await run(daemon, "cancel", "big")
      try await daemon.waitUntilSpoolIsEmpty()
      #expect(try await root.sql("SELECT state FROM Job; SELECT count(*) FROM Reading") == "cancelled\n0")
      #expect(try DaemonRoot.entries(root.paths.spoolFailed) == [])
      try root.payload("big.csv", "job,number\nbig,1\n")
      #expect(try await run(daemon, "retry", "big") == "1 job retried\n")
      _ = try await daemon.submit(#"{"type": "noop", "afterAny": ["big"]}"#)
      #expect(
        try await root.sql("SELECT state FROM Job WHERE id = 'big'; SELECT count(*) FROM Reading") == "completed\n1")
    }

    @Test("A running job that is held drops what it did, and goes on when it is released")
    func holdRunning() async throws {
      let root = try DaemonRoot("[Writer]\nFlushIntervalSec=5ms\n[Import]\nChunkRows=500\n")
      try root.payload("big.csv", "job,number\n" + (0..<300_000).map { "big,\($0)\n" }.joined())
      let daemon = try await DaemonProcess.ready(root)
      let changes = try FolderWatch([root.paths.state]) { root.changes.note() }
      try root.drop(TestModel.importJob("big", "big.csv"), as: "big.json")
      try await daemon.wait { _ in changes.counts.changed >= 10 }
      #expect(try await run(daemon, "why", "big") == "big  running\n     it runs\n")
      _ = try await run(daemon, "hold", "big")
      _ = try await daemon.submit(#"{"type": "noop"}"#)
      _ = try await daemon.get("/v1/jobs/big") { $0["state"] == "held" }
      #expect(try root.currentFiles == ["big.json"])
      #expect(try await daemon.stop() == .exited(code: 0))
      let again = try await DaemonProcess.ready(root)
      #expect(try await state(again, "big") == "held")
      _ = try await run(again, "release", "big")
      try await again.waitUntilSpoolIsEmpty(seconds: 120)
      #expect(
        try await root.sql("SELECT state FROM Job WHERE id = 'big'; SELECT count(*) FROM Reading")
          == "completed\n300000")
    }

    @Test("Priorities, unique keys and limits of a queue hold, and a reload changes the limit")
    func order() async throws {
      let root = try DaemonRoot("[Writer]\nFlushIntervalSec=5ms\n[Workers]\nCount=4\n[Queue q]\nConcurrency=1\n")
      let daemon = try await DaemonProcess.ready(root)
      _ = try await run(daemon, "pause")
      let jobs = [0, 3, -3, 7].map { #"{"type": "noop", "id": "p\#($0)", "queue": "q", "priority": \#($0)}"# }
      try await post(daemon, "{\"jobs\": [\(jobs.joined(separator: ","))]}")
      _ = try await run(daemon, "priority", "50", "p0")
      let unique = #"{"type": "noop", "unique": "u", "queue": "q"}"#
      try await post(daemon, "{\"jobs\": [\(unique),\(unique)]}")
      #expect(try await daemon.get("/v1/queues")["queues"]?.array?.first?["concurrency"]?.integer == 1)
      _ = try await run(daemon, "resume")
      try await daemon.waitUntilSpoolIsEmpty()
      let order = try await root.sql("SELECT id FROM Job WHERE id LIKE 'p%' ORDER BY startedAt, _key")
      #expect(order == "p0\np7\np3\np-3")
      #expect(try await root.sql("SELECT count(*) FROM Job WHERE state = 'cancelled'") == "1")
      try root.configure("[Writer]\nFlushIntervalSec=5ms\n[Workers]\nCount=4\n[Queue q]\nConcurrency=3\n")
      #expect(kill(daemon.child.processID, SIGHUP) == 0)
      try await daemon.waitForLog("reloaded")
      #expect(try await daemon.get("/v1/queues")["queues"]?.array?.first?["concurrency"]?.integer == 3)
    }

    @Test("Old jobs are removed by count and the space is given back, and the newest are kept")
    func retention() async throws {
      let root = try DaemonRoot("[Writer]\nFlushIntervalSec=5ms\n[Retention]\nCompletedCount=50\nFailedAgeSec=0s\n")
      let daemon = try await DaemonProcess.ready(root)
      for round in 0..<6 {
        let jobs = (0..<200).map { #"{"type": "noop", "id": "\#(round)-\#($0)"}"# }
        _ = try await daemon.submit("{\"jobs\": [\(jobs.joined(separator: ","))]}")
      }
      // Some more are kept for a while than the limit says, so that not each job costs a look; a reload looks.
      #expect(kill(daemon.child.processID, SIGHUP) == 0)
      try await daemon.wait { Self.removed($0.logText) == 1_150 }
      #expect(try await root.sql("SELECT DISTINCT substr(id, 1, 2) FROM Job; SELECT count(*) FROM Job") == "5-\n50")
      #expect(try await root.sql("PRAGMA freelist_count") == "0")
    }

    @Test("A job that is put back at once runs again in its turn, and holds up nobody")
    func putBackAtOnce() async throws {
      let root = try DaemonRoot("[Writer]\nFlushIntervalSec=200ms\n[Queue one]\nConcurrency=1\n")
      let daemon = try await DaemonProcess.ready(root)
      try await post(
        daemon,
        #"""
        {"jobs": [{"type": "noop", "id": "a", "queue": "one"},
          {"type": "noop", "id": "b", "notBefore": "2200-01-01T00:00:00Z"}], "callback": {"type": "noop", "id": "end"}}
        """#)
      for _ in 0..<5 { #expect(try await run(daemon, "retry", "a") == "1 job retried\n") }
      _ = try await daemon.submit(#"{"type": "noop", "id": "next", "queue": "one"}"#)
      #expect(try await state(daemon, "a") == "completed")
      #expect(try await state(daemon, "end") == "waiting")
    }

    @Test("What an operator was told survives a kill")
    func durable() async throws {
      let root = try DaemonRoot("[Writer]\nFlushIntervalSec=1h\n")
      let daemon = try await DaemonProcess.ready(root)
      for id in ["h", "c", "p", "r"] {
        try await post(daemon, #"{"type": "noop", "id": "\#(id)", "notBefore": "2200-01-01T00:00:00Z"}"#)
      }
      _ = try await run(daemon, "pause", "--queue", "default")
      _ = try await run(daemon, "hold", "h")
      _ = try await run(daemon, "cancel", "c")
      _ = try await run(daemon, "priority", "7", "p")
      _ = try await run(daemon, "retry", "r")
      try await daemon.kill()
      let again = try await DaemonProcess.ready(root)
      #expect(try await state(again, "h") == "held")
      #expect(try await state(again, "c") == "cancelled")
      #expect(try await state(again, "r") == "available")
      #expect(try await again.get("/v1/jobs/p")["priority"]?.integer == 7)
      #expect(try await again.get("/v1/queues")["queues"]?.array?.first?["paused"]?.bool == true)
    }

    @Test("A job whose unique key another one has can't be put back before that is over, and it is told which")
    func takenKey() async throws {
      let root = try DaemonRoot("[Writer]\nFlushIntervalSec=5ms\n")
      let daemon = try await DaemonProcess.ready(root)
      _ = try await daemon.submit(#"{"type": "noop", "id": "first", "unique": "k"}"#)
      try await post(daemon, #"{"type": "noop", "id": "owner", "unique": "k", "notBefore": "2200-01-01T00:00:00Z"}"#)
      let retry = try await daemon.tool("retry", "first")
      #expect(retry.code == 1)
      #expect(
        retry.errors
          == "bobbinctl: the job \"first\" can't be retried: the unfinished job \"owner\" has its unique key\n"
      )
      let reply = try await daemon.request(
        "POST", "/v1/commands", body: #"{"command": "retry", "jobs": ["first", "owner"]}"#)
      #expect(reply.body["jobs"]?.array?.map { $0["result"]?.string } == ["not-possible", "done"])
      #expect(reply.body["jobs"]?.array?.first?["uniqueOwner"]?.string == "owner")
      try await daemon.waitUntilSpoolIsEmpty()
      #expect(try await run(daemon, "retry", "first") == "1 job retried\n")
    }

    @Test("Nobody waits for ever: not for a job that was cancelled at once, nor in a circle over files")
    func noEndlessWaits() async throws {
      let root = try DaemonRoot("[Writer]\nFlushIntervalSec=5ms\n")
      try root.drop(#"{"type": "noop", "id": "x", "after": "y"}"#, as: "1.json")
      try root.drop(#"{"type": "noop", "id": "y", "after": "x"}"#, as: "2.json")
      let daemon = try await DaemonProcess.ready(root)
      try await daemon.waitUntilSpoolIsEmpty()
      #expect(try await root.sql("SELECT id, state FROM Job ORDER BY id") == "x|cancelled\ny|cancelled")
      try await post(daemon, #"{"type": "noop", "id": "u", "unique": "k", "notBefore": "2200-01-01T00:00:00Z"}"#)
      try await post(daemon, #"{"type": "noop", "id": "later", "after": "second"}"#)
      let second = try await daemon.submit(#"{"type": "noop", "id": "second", "unique": "k"}"#)
      #expect(second.first?["state"]?.string == "cancelled")
      _ = try await daemon.submit(#"{"type": "noop", "afterAny": "later"}"#)
      #expect(try await state(daemon, "later") == "cancelled")
    }

    @Test("A callback waits for members that other files brought, also after a restart")
    func callbackAfterRestart() async throws {
      let root = try DaemonRoot("[Writer]\nFlushIntervalSec=5ms\n")
      let daemon = try await DaemonProcess.ready(root)
      let late = #""batch": "b", "notBefore": "2200-01-01T00:00:00Z""#
      try await post(
        daemon,
        #"{"batch": "b", "jobs": [{"type": "noop", "id": "1", \#(late)}], "callback": {"type": "noop", "id": "end"}}"#)
      try await post(daemon, #"{"type": "noop", "id": "2", \#(late)}"#)
      _ = try await run(daemon, "retry", "1")
      _ = try await daemon.submit(#"{"type": "noop", "after": "1"}"#)
      try await daemon.kill()
      let again = try await DaemonProcess.ready(root)
      #expect(try await state(again, "end") == "waiting")
      _ = try await run(again, "retry", "2")
      try await again.waitUntilSpoolIsEmpty()
      #expect(try await state(again, "end") == "completed")
    }

    /// How many jobs a log says were removed.
    private static func removed(_ log: String) -> Int {
      log.matches(of: /removed (\d+) final jobs/).reduce(0) { $0 + (Int($1.1) ?? 0) }
    }
  }
}
