import DaemonTesting
import Foundation
import Glibc
import JSONText
import PostgresTesting
import SystemSupport
import TestSupport
import Testing

extension FleetSystemTests {
  @Suite("A fleet of daemons on one PostgreSQL", .enabled(if: PostgresCluster.isAvailable()))
  struct Fleet {
    private let database: TestDatabase

    init() throws { database = try PostgresCluster.makeDatabase() }

    private func root(_ name: String, _ more: String = "") throws -> DaemonRoot {
      try DaemonRoot(host: name, at: database.url, more)
    }

    /// A host whose jobs of the type `pause` insert a row and take a while.
    private func slowRoot(_ name: String, seconds: Double = 0.3) throws -> DaemonRoot {
      let root = try root(name)
      let path = root.directory.path("pause.sh")
      let row = #"{"insert": {"entity": "Reading", "values": {"job": "'$BOBBIN_JOB_ID'", "number": 1}}}"#
      try root.write("sleep \(seconds)\necho '\(row)'\n", to: path)
      try root.write("[Handler]\nType=pause\nExecStart=/bin/sh \(path)\n", to: root.paths.handlers + "/pause.conf")
      return root
    }

    /// The states of all jobs, with the number of jobs in each.
    private func ends() throws -> String? {
      try database.run(
        """
        SELECT string_agg(state || ' ' || n, ', ' ORDER BY state)
        FROM (SELECT state, count(*) AS n FROM bobbin."Job" GROUP BY 1) AS s
        """)
    }

    @Test("No transaction that writes notifies anybody: all who commit would wait for one another")
    func notifications() async throws {
      let server = try PostgresCluster(settings: ["log_statement": "all", "log_line_prefix": "%x:"])
      let database = try server.newDatabase()
      let roots = [try DaemonRoot(host: "a", at: database.url), try DaemonRoot(host: "b", at: database.url)]
      var daemons: [DaemonProcess] = []
      for root in roots { daemons.append(try await DaemonProcess.ready(root)) }
      for number in 0..<40 { try roots[number % 2].drop(#"{"type": "noop"}"#, as: FileName("job-\(number).json")) }
      for daemon in daemons { try await daemon.waitUntilSpoolIsEmpty() }
      for daemon in daemons { #expect(try await daemon.stop() == .exited(code: 0), "\(daemon.logText)") }
      let log = try String(contentsOfFile: server.folder + "/data/server.log", encoding: .utf8)
      let notices = log.split(separator: "\n").filter { $0.contains("pg_notify") || $0.contains("NOTIFY ") }
      #expect(notices.count > 10, "\(log.suffix(2_000))")
      // A line begins with the number of its transaction, 0 if that has written nothing.
      #expect(notices.filter { !$0.hasPrefix("0:") } == [])
    }

    @Test("Jobs dropped into any spool run once, on whichever host is free, and every file leaves its spool")
    func everywhere() async throws {
      let roots = [try root("a"), try root("b"), try root("c")]
      var daemons: [DaemonProcess] = []
      for root in roots { daemons.append(try await DaemonProcess.ready(root)) }
      for number in 0..<200 {
        try roots[number % 2].drop(#"{"type": "noop", "id": "job-\#(number)"}"#, as: FileName("job-\(number).json"))
      }
      for daemon in daemons { try await daemon.waitUntilSpoolIsEmpty() }
      #expect(try ends() == "completed 200")
      #expect(try database.run("SELECT count(*) FROM bobbin._run") == "0")
      for daemon in daemons {
        let end = try await daemon.stop()
        #expect(end == .exited(code: 0), "\(daemon.logText)")
      }
      for root in roots { #expect(try root.failedFiles.isEmpty) }
    }

    /// A server counts tables that are empty most of the time, and keeps plans that were made while others were small.
    @Test("No job goes through all others, though the server counted the tables while they were small")
    func plans() async throws {
      let roots = [try root("a"), try root("b")]
      var daemons: [DaemonProcess] = []
      for root in roots { daemons.append(try await DaemonProcess.ready(root)) }
      try database.run("ANALYZE")
      func submit(_ count: Int, to daemon: DaemonProcess) async throws {
        let jobs = Array(repeating: #"{"type": "noop"}"#, count: count).joined(separator: ",")
        let reply = try await daemon.request("POST", "/v1/jobs", query: ["wait": "60"], body: #"{"jobs": [\#(jobs)]}"#)
        #expect(reply.status == 200, "\(reply.body)")
      }
      // Plans for any values are made from the sixth use on.
      for number in 0..<20 { try await submit(1, to: daemons[number % 2]) }
      try database.run("ANALYZE")
      for number in 0..<20 { try await submit(1, to: daemons[number % 2]) }
      for number in 0..<6 { try await submit(500, to: daemons[number % 2]) }
      #expect(try ends() == "completed 3040")
      // Servers tell at the latest when they end.
      for daemon in daemons { #expect(try await daemon.stop() == .exited(code: 0), "\(daemon.logText)") }
      let deadline = ContinuousClock.now + .seconds(30)
      while try database.run("SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()") != "1" {
        try #require(ContinuousClock.now < deadline, "the hosts' sessions are still open")
      }
      // A job is inserted, assigned, read, ended and told, by its key each time.
      let searched = try database.lines(
        """
        SELECT relname, read FROM (
          SELECT relname, (max(t.seq_tup_read) + sum(i.idx_tup_read)) / 3040 AS read FROM pg_stat_user_tables AS t
          JOIN pg_stat_user_indexes AS i USING (relid, relname) GROUP BY 1) AS r
        WHERE read > 20
        """)
      #expect(searched.isEmpty, "rows read for each job: \(searched)")
    }

    @Test("A file with one job on each line is admitted to a fleet, also when its host is killed meanwhile")
    func lines() async throws {
      let (root, other) = (try root("a"), try root("b"))
      let second = try await DaemonProcess.ready(other)
      let first = try await DaemonProcess.ready(root)
      let lines = (0..<3_000).map { #"{"type": "noop", "id": "n\#($0)"}"# + "\n" }.joined()
      try root.drop(lines, as: "lines.ndjson")
      try await first.wait { $0.root.isAdmittingLines }
      try await first.kill()
      let again = try await DaemonProcess.ready(root)
      // Its own jobs once more, and those of another host as they are known.
      try other.drop(lines, as: "again.ndjson")
      for daemon in [again, second] { try await daemon.waitUntilSpoolIsEmpty(seconds: 120) }
      #expect(try ends() == "completed 3000")
      for root in [root, other] { #expect(try root.failedFiles.isEmpty) }
    }

    @Test("A host takes up its own file with \"replace\" after a restart, and its job runs once")
    func ownReplacement() async throws {
      let root = try root("a")
      let daemon = try await DaemonProcess.ready(root)
      #expect(try await daemon.tool("pause").code == 0)
      try root.drop(#"{"type": "noop", "id": "new", "replace": true}"#, as: "new.json")
      try await daemon.wait { try $0.root.currentFiles.contains("new.json") }
      // Behind it, so that it is admitted.
      let behind = root.directory.path("behind.json")
      try root.write(#"{"type": "noop", "id": "behind"}"#, to: behind)
      #expect(try await daemon.tool("submit", behind).code == 0)
      #expect(try await daemon.stop() == .exited(code: 0))
      #expect(!daemon.logText.contains("the store can't be closed"), "\(daemon.logText)")
      let next = try await DaemonProcess.ready(root)
      #expect(try await next.tool("resume", "--all").code == 0)
      try await next.waitUntilSpoolIsEmpty()
      #expect(try root.failedFiles.isEmpty, "\(next.logText)")
      let attempts = try database.run(#"SELECT state || ' ' || attempt FROM bobbin."Job" WHERE id = 'new'"#)
      #expect(attempts == "completed 1")
      #expect(try await next.stop() == .exited(code: 0))
    }

    @Test("A daemon alone on PostgreSQL is a fleet of one: imports, failures, dependencies, repetitions and a restart")
    func alone() async throws {
      let root = try root("a")
      let daemon = try await DaemonProcess.ready(root)
      try root.payload("in.csv", "job,number\nx,1\nx,2\nx,3\n")
      try root.drop(TestModel.importJob("import", "in.csv"), as: "import.json")
      try root.drop(#"{"type": "noop", "id": "last", "after": ["import"]}"#, as: "last.json")
      let bad = TestModel.importJob("bad", "missing.csv")
      try root.drop(bad.replacing("{\"type\"", with: "{\"maxAttempts\": 1, \"type\""), as: "bad.json")
      try await daemon.waitUntilSpoolIsEmpty()
      let states = try database.run(#"SELECT string_agg(id || ' ' || state, ', ' ORDER BY id) FROM bobbin."Job""#)
      #expect(states == "bad discarded, import completed, last completed")
      #expect(try database.run(#"SELECT count(*) || ' ' || sum(number) FROM bobbin."Reading""#) == "3 6")
      #expect(try root.failedFiles.contains("bad.json"))
      try root.drop(TestModel.importJob("import", "in.csv"), as: "again.json")
      try await daemon.waitUntilSpoolIsEmpty()
      #expect(try database.run(#"SELECT count(*) FROM bobbin."Reading""#) == "3")
      try await daemon.kill()
      try root.drop(#"{"type": "noop", "id": "later"}"#, as: "later.json")
      let next = try await DaemonProcess.ready(root)
      try await next.waitUntilSpoolIsEmpty()
      #expect(try database.run(#"SELECT state FROM bobbin."Job" WHERE id = 'later'"#) == "completed")
      let end = try await next.stop()
      #expect(end == .exited(code: 0), "\(next.logText)")
    }

    @Test(
      "Records with U+0000, which PostgreSQL does not hold, are rejected with their line, and other values cost one attempt"
    )
    func nul() async throws {
      let root = try root("a")
      let daemon = try await DaemonProcess.ready(root)
      try root.payload("bad.csv", "job,number\na,1\nb\0b,2\n")
      try root.payload("bad.ndjson", #"{"job": "a\u0000b", "number": 1}"# + "\n" + #"{"job": "c", "number": 2}"# + "\n")
      try root.payload("bad.txt", "number\n1\n")
      for name in ["bad.csv", "bad.ndjson", "bad.txt"] {
        let values = name == "bad.txt" ? #", "format": "csv", "values": {"job": "a\u0000b"}"# : ""
        try root.drop(
          #"{"id": "\#(name)", "type": "import", "arguments": {"input": "\#(name)", "entity": "Reading"\#(values)}}"#,
          as: FileName(name + ".json"))
        try await daemon.waitUntilSpoolIsEmpty()
      }
      let ends = try database.run(
        #"SELECT string_agg(id || ' ' || state || ' ' || attempt, ', ' ORDER BY id) FROM bobbin."Job""#)
      #expect(ends == "bad.csv discarded 1, bad.ndjson discarded 1, bad.txt discarded 1", "\(daemon.logText)")
      #expect(try root.reason("bad.csv.json").contains("line 3, column 2, field 1: a NUL byte"))
      #expect(try root.reason("bad.ndjson.json").contains("line 1, column 9: the text holds the character U+0000"))
      #expect(try root.reason("bad.txt.json").contains("the character U+0000, which PostgreSQL does not store"))
      let rejects = try database.run(#"SELECT string_agg(raw, ' ' ORDER BY _key) FROM bobbin."ImportReject""#)
      #expect(rejects == "b\u{FFFD}b,2 " + #"{"job": "a\u0000b", "number": 1}"#)
      #expect(try await daemon.stop() == .exited(code: 0))
    }

    @Test("Clients that wait for jobs are told at a stop that these were accepted, and how they are")
    func stopMeanwhile() async throws {
      let root = try root("a")
      let daemon = try await DaemonProcess.ready(root)
      #expect(try await daemon.tool("pause").code == 0)
      async let waiting = Tool.run(
        "bobbinctl", ["--root", root.directory.path, "submit", "--wait=10min", "-"],
        input: #"{"type": "noop", "id": "x"}"#)
      try await daemon.wait { try !$0.root.currentFiles.isEmpty }
      _ = try await daemon.get("/v1/jobs/x") { $0["state"] == "available" }
      #expect(try await daemon.stop() == .exited(code: 0))
      let tool = try await waiting
      #expect(tool.code == 75 && tool.output.hasPrefix("available  x  the wait has ended; "), "\(tool)")
    }

    @Test("The jobs of a host that is killed run on another within seconds, once each")
    func takeover() async throws {
      let (first, second) = (try slowRoot("a"), try slowRoot("b"))
      let victim = try await DaemonProcess.ready(first)
      let survivor = try await DaemonProcess.ready(second)
      for number in 0..<40 {
        try second.drop(
          #"{"type": "pause", "id": "job-\#(number)"}"#, as: FileName("job-\(number).json"))
      }
      try await survivor.wait { [database] _ in
        try database.run("SELECT count(*) FROM bobbin._run WHERE host = 1").flatMap { Int($0) } ?? 0 > 0
          || (try database.run(#"SELECT count(*) FROM bobbin."Job" WHERE state = 'completed'"#)) == "40"
      }
      try await victim.kill()
      try await survivor.waitUntilSpoolIsEmpty()
      #expect(try ends() == "completed 40")
      #expect(try database.run(#"SELECT count(*) || ' ' || count(DISTINCT job) FROM bobbin."Reading""#) == "40 40")
      let end = try await survivor.stop()
      #expect(end == .exited(code: 0), "\(survivor.logText)")
    }

    @Test("Any host lists, holds, releases and cancels what waits, and pauses a type for all")
    func orders() async throws {
      let (first, second) = (try root("a"), try root("b"))
      let one = try await DaemonProcess.ready(first)
      let other = try await DaemonProcess.ready(second)
      let late = first.directory.path("late.json")
      try first.write(#"{"type": "noop", "id": "late", "notBefore": "2099-01-01T00:00:00Z"}"#, to: late)
      #expect(try await one.tool("submit", late).code == 0)
      #expect(try await other.tool("hold", "late").code == 0)
      // The lead carries out what a host asks for in its order.
      try second.drop(#"{"type": "noop", "id": "mark"}"#, as: "mark.json")
      try await other.waitUntilSpoolIsEmpty()
      let list = try await other.tool("list", "--state", "held")
      #expect(list.output.contains("late"), "\(list.output)\(list.errors)")
      #expect(try await other.tool("cancel", "late").code == 0)
      try await one.waitUntilSpoolIsEmpty()
      #expect(try ends() == "cancelled 1, completed 1")
      #expect(try await other.tool("pause", "--type", "noop").code == 0)
      let paused = second.directory.path("paused.json")
      try second.write(#"{"type": "noop", "id": "paused"}"#, to: paused)
      let wait = try await other.tool("submit", "--wait=1", paused)
      #expect(wait.output.contains("available"), "\(wait.output)\(wait.errors)")
      #expect(try ends() == "available 1, cancelled 1, completed 1")
      #expect(try await one.tool("resume", "--type", "noop").code == 0)
      try await other.waitUntilSpoolIsEmpty()
      #expect(try ends() == "cancelled 1, completed 2")
      let fleet = try await one.tool("fleet")
      #expect(fleet.output.contains("a:") && fleet.output.contains("b:") && fleet.output.contains("lead"))
      for daemon in [one, other] { _ = try await daemon.stop() }
    }

    /// A host whose jobs of the type `long` run until somebody ends them, or makes the file `go`.
    private func patientRoot(_ name: String, go: String) throws -> DaemonRoot {
      let root = try root(name)
      let script = root.directory.path("long.sh")
      try root.write("[ -e \(go) ] || sleep 60\n", to: script)
      try root.write("[Handler]\nType=long\nExecStart=/bin/sh \(script)\n", to: root.paths.handlers + "/long.conf")
      let failing = "[Handler]\nType=fail\nExecStart=/bin/false\n"
      try root.write(failing, to: root.paths.handlers + "/fail.conf")
      return root
    }

    @Test("Any host ends, holds, explains and retries jobs that run on other hosts, and each ends as on one host")
    func ordersForRunning() async throws {
      let folder = try TemporaryDirectory()
      let go = folder.path("go")
      let (first, second) = (try patientRoot("a", go: go), try patientRoot("b", go: go))
      let one = try await DaemonProcess.ready(first)
      let other = try await DaemonProcess.ready(second)
      for number in 0..<5 {
        try first.drop(#"{"type": "long", "id": "long-\#(number)"}"#, as: FileName("long-\(number).json"))
      }
      try first.drop(#"{"type": "noop", "id": "behind", "after": ["long-1"]}"#, as: "behind.json")
      // Each host has two workers, and the fifth waits for one.
      try await running(4, seenBy: other)
      let list = try await other.request("GET", "/v1/jobs", query: ["state": "running"]).body
      #expect(list["count"]?.integer == 4)
      #expect(list["jobs"]?.array?.allSatisfy { $0["state"]?.string == "running" } == true)
      var places: Set<String> = []
      for job in list["jobs"]?.array ?? [] {
        let why = try await one.get("/v1/jobs/\(job["id"]?.string ?? "")/why")
        #expect(why["state"]?.string == "running")
        places.formUnion((why["reasons"]?.array ?? []).compactMap(\.string))
      }
      #expect(places.count == 2 && places.allSatisfy { $0.hasPrefix("it runs at ") }, "\(places)")
      let behind = try await other.get("/v1/jobs/behind/why")
      #expect(behind["state"]?.string == "waiting")
      #expect(behind["reasons"]?.array?.first?.string?.contains("\"long-1\"") == true)
      let all = ["long-0", "long-1", "long-2", "long-3", "long-4"]
      let hold = try await other.tool("hold", all[0], all[1], all[2], all[3], all[4])
      #expect(hold.code == 0, "\(hold.output)\(hold.errors)")
      try await states("held 5, waiting 1", seenBy: one)
      #expect(try await one.tool("cancel", "--reason", "enough of it", all[0], all[1], all[2]).code == 0)
      #expect(try ends() == "available 1, cancelled 3, held 2" || (try ends()) == "cancelled 4, held 2")
      #expect(try await other.tool("release", all[3]).code == 0)
      try await running(1, seenBy: one)
      // A running job, which is told by whoever is asked.
      #expect(try await one.tool("cancel", "--reason", "enough of it", all[3]).code == 0)
      try await states("held 1", seenBy: other)
      let reasons = try database.run(
        #"SELECT string_agg(id || ': ' || failure, ', ' ORDER BY id) FROM bobbin."Job" WHERE state = 'cancelled'"#)
      #expect(
        reasons == "behind: the job \"long-1\", which must be completed before it, is cancelled, long-0: enough of it, "
          + "long-1: enough of it, long-2: enough of it, long-3: enough of it")
      try first.write("", to: go)
      for id in ["long-0", "long-3", "behind"] { #expect(try await other.tool("retry", id).code == 0) }
      #expect(try await one.tool("priority", "9", "long-4").code == 0)
      #expect(try await one.tool("release", "long-4").code == 0)
      try await one.waitUntilSpoolIsEmpty()
      try await states("", seenBy: other)
      #expect(try ends() == "cancelled 2, completed 4")
      #expect(try database.run(#"SELECT priority FROM bobbin."Job" WHERE id = 'long-4'"#) == "9")
      for daemon in [one, other] { #expect(try await daemon.stop() == .exited(code: 0), "\(daemon.logText)") }
    }

    @Test("A job that fails has all its attempts, on whichever host")
    func attempts() async throws {
      let root = try patientRoot("a", go: "/nonexistent")
      let daemon = try await DaemonProcess.ready(root)
      let backoff = #""backoff": {"kind": "fixed", "base": "20ms"}"#
      try root.drop(#"{"type": "fail", "id": "f", "maxAttempts": 4, \#(backoff)}"#, as: "fail.json")
      try await daemon.waitUntilSpoolIsEmpty()
      #expect(try database.run(#"SELECT state || attempt FROM bobbin."Job""#) == "discarded4")
      // What its file says is told, and not what its type has come to.
      #expect(try await daemon.get("/v1/jobs/f")["options"]?["maxAttempts"] == 4)
      _ = try await daemon.submit(#"{"type": "noop", "id": "plain"}"#)
      let plain = try await daemon.get("/v1/jobs/plain")
      #expect(plain["maxAttempts"]?.integer ?? 0 > 4 && plain["options"]?.object == nil, "\(plain)")
      _ = try await daemon.stop()
    }

    /// Waits until so many jobs run, as a host sees the fleet.
    private func running(_ count: Int, seenBy daemon: DaemonProcess) async throws {
      try await states(seenBy: daemon) { $0["running"]?.integer == Int64(count) }
    }

    /// Waits until the unfinished jobs are in these states, as a host sees the fleet.
    private func states(_ text: String, seenBy daemon: DaemonProcess) async throws {
      try await states(seenBy: daemon) { jobs in
        jobs.filter { $0.value.integer != 0 }.map { "\($0.key) \($0.value.integer ?? 0)" }.sorted()
          .joined(separator: ", ") == text
      }
    }

    private func states(seenBy daemon: DaemonProcess, _ isReached: (JSONObject) -> Bool) async throws {
      let deadline = ContinuousClock.now + .seconds(30)
      while true {
        var jobs: JSONObject = [:]
        for state in ["available", "scheduled", "waiting", "held", "running", "retryable"] {
          jobs[state] = try await daemon.request("GET", "/v1/jobs", query: ["limit": "1", "state": state]).body["count"]
        }
        if isReached(jobs) { return }
        try #require(ContinuousClock.now < deadline, "\(jobs)\n\(daemon.logText)")
      }
    }

    @Test("A host that stood still for too long ends with status 75, and has written nothing of what others did")
    func fenced() async throws {
      let (first, second) = (try slowRoot("a", seconds: 3), try slowRoot("b"))
      let sleeper = try await DaemonProcess.ready(first)
      for number in 0..<2 {
        try first.drop(#"{"type": "pause", "id": "pause-\#(number)"}"#, as: FileName("pause-\(number).json"))
      }
      let start = ContinuousClock.now
      while try database.run("SELECT count(*) FROM bobbin._run") != "2" {
        try #require(ContinuousClock.now < start + .seconds(30), "\(sleeper.logText)")
      }
      // Its programs go on, and what they write is there for it to read when it wakes up.
      try sleeper.child.kill(SIGSTOP)
      let other = try await DaemonProcess.ready(second)
      for number in 0..<20 {
        try second.drop(#"{"type": "noop", "id": "job-\#(number)"}"#, as: FileName("job-\(number).json"))
      }
      try await other.wait { [database] _ in
        try database.run("SELECT count(*) FROM bobbin._host WHERE state = 'alive'") == "1"
      }
      try sleeper.child.kill(SIGCONT)
      #expect(try await sleeper.waitForEnd() == .exited(code: 75), "\(sleeper.logText)")
      try await other.waitUntilSpoolIsEmpty()
      let successor = try await DaemonProcess.ready(first)
      try await successor.waitUntilSpoolIsEmpty()
      #expect(try ends() == "completed 22")
      let rows = #"SELECT count(*) || ' of ' || count(DISTINCT job) FROM bobbin."Reading" WHERE job LIKE 'pause-%'"#
      #expect(try database.run(rows) == "2 of 2")
      for daemon in [other, successor] { _ = try await daemon.stop() }
    }
  }
}
