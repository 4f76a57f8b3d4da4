import Configuration
import DaemonTesting
import Foundation
import Glibc
import JSONText
import PostgresTesting
import SystemSupport
import TestSupport
import Testing

extension FleetSystemTests {
  /// Two daemons, and what an operator does with the hosts.
  @Suite("The operator of a fleet", .enabled(if: PostgresCluster.isAvailable()))
  struct FleetOperation {
    private let database: TestDatabase
    private let first: DaemonRoot
    private let second: DaemonRoot

    init() throws {
      database = try PostgresCluster.makeDatabase()
      first = try Self.root("a", database)
      second = try Self.root("b", database, places: "gpu disk")
      // A job inserts a row with the number of its host; one of the type `long` first waits for a file.
      for (number, root) in [first, second].enumerated() {
        let row = #"{"insert": {"entity": "Reading", "values": {"job": "'$BOBBIN_JOB_ID'", "number": \#(number + 1)}}}"#
        try root.write("echo '\(row)'\n", to: root.directory.path("where.sh"))
        let wait = "for turn in $(seq 1200); do [ -e \(second.directory.path("go")) ] && break; sleep 0.05; done"
        try root.write("\(wait)\necho '\(row)'\n", to: root.directory.path("long.sh"))
        for type in ["where", "long"] {
          let script = root.directory.path(type + ".sh")
          try root.write(
            "[Handler]\nType=\(type)\nExecStart=/bin/sh \(script)\n", to: root.paths.handlers + "/\(type).conf")
        }
      }
    }

    private static func root(_ name: String, _ database: TestDatabase, places: String = "") throws -> DaemonRoot {
      try DaemonRoot(
        """
        [Store]
        Url=\(database.url)
        [Fleet]
        Name=\(name)
        Places=\(places)
        CopiedInputSize=1K
        [Workers]
        Count=2
        \(DaemonRoot.quickFlushes)
        """)
    }

    private func spool(_ name: String, _ root: DaemonRoot) -> String { "\(name):\(root.paths.spool)" }

    /// Where jobs have run: the IDs by the numbers of the hosts.
    private func places(of ids: [String]) throws -> [Int] {
      try ids.map { id in
        try database.run(#"SELECT number FROM bobbin."Reading" WHERE job = '\#(id)'"#).flatMap { Int($0) } ?? 0
      }
    }

    /// Drops a job for each ID, and waits until all are over.
    private func run(
      _ ids: [String], ofType type: String = "where", at daemon: DaemonProcess, _ more: String = ""
    ) async throws {
      for id in ids {
        try daemon.root.drop(#"{"type": "\#(type)", "id": "\#(id)"\#(more)}"#, as: FileName(id + ".json"))
      }
      try await daemon.waitUntilSpoolIsEmpty()
    }

    private func reason(_ id: String, seenBy daemon: DaemonProcess) async throws -> String {
      let why = try await daemon.get("/v1/jobs/\(id)/why") { $0["reasons"]?.array?.isEmpty == false }
      return why["reasons"]?.array?.compactMap(\.string).joined(separator: "; ") ?? ""
    }

    @Test(
      "A program that writes NUL bytes ends no host: its log and error are kept without them, rows with them fail its job"
    )
    func nulBytes() async throws {
      let scripts = [
        "log": #"printf 'a \0 b\n' >&2; echo '{"result": {}}'"#,
        "error": #"echo '{"error": {"message": "no \u0000 ink", "permanent": true}}'"#,
        "rows": #"echo '{"insert": {"entity": "Reading", "values": {"job": "a\u0000b", "number": 1}}}'"#,
      ]
      for (name, script) in scripts {
        let path = first.directory.path(name + ".sh")
        try first.write("cat > /dev/null\n" + script + "\n", to: path)
        try first.write(
          "[Handler]\nType=\(name)\nExecStart=/bin/sh \(path)\n", to: first.paths.handlers + "/\(name).conf")
      }
      let daemon = try await DaemonProcess.ready(first)
      for name in scripts.keys.sorted() { try await run([name], ofType: name, at: daemon) }
      let ends = try database.run(
        #"SELECT string_agg(id || ' ' || state || ' ' || attempt, ', ' ORDER BY id) FROM bobbin."Job""#)
      #expect(ends == "error discarded 1, log completed 1, rows discarded 1")
      let log = try database.run(#"SELECT log FROM bobbin."Attempt" WHERE log IS NOT NULL"#)
      #expect(log == "a \u{FFFD} b\n")
      #expect(try database.run(#"SELECT failure FROM bobbin."Job" WHERE id = 'error'"#) == "no \u{FFFD} ink")
      let reason = try database.run(#"SELECT failure FROM bobbin."Job" WHERE id = 'rows'"#)
      #expect(reason?.contains("Reading.job") == true && reason?.contains("U+0000") == true, "\(reason ?? "")")
      #expect(try await daemon.stop() == .exited(code: 0), "\(daemon.logText)")
    }

    @Test("Jobs that wait for their time or for others are counted as such")
    func counts() async throws {
      let daemon = try await DaemonProcess.ready(first)
      let jobs = #"{"type": "noop", "id": "soon", "delay": "1h"}, {"type": "noop", "id": "next", "after": "soon"}"#
      let more = #"{"type": "noop", "id": "held"}, {"type": "noop", "id": "other", "delay": "1h", "after": "next"}"#
      #expect(try await daemon.tool("pause").code == 0)
      #expect(try await daemon.request("POST", "/v1/jobs", body: #"{"jobs": [\#(jobs), \#(more)]}"#).status == 202)
      #expect(try await daemon.tool("hold", "held").code == 0)
      let counted = try await daemon.get("/v1/fleet") { $0["jobs"]?["waiting"] == 2 }
      #expect(counted["jobs"]?["scheduled"] == 1 && counted["jobs"]?["held"] == 1, "\(counted.serialized())")
      #expect(counted["jobs"]?["available"]?.integer ?? 0 == 0)
      // A host knows only when jobs of its own spool may run.
      #expect(try await daemon.get("/v1/status")["jobs"]?["scheduled"] == 2)
      #expect(try await daemon.stop() == .exited(code: 0))
    }

    @Test("Any host shows the queues and the pauses of all")
    func oneView() async throws {
      let one = try await DaemonProcess.ready(first)
      let other = try await DaemonProcess.ready(second)
      for number in 0..<3 {
        try first.drop(
          #"{"type": "noop", "queue": "slow", "id": "j\#(number)", "notBefore": "2099-01-01T00:00:00Z"}"#,
          as: FileName("j\(number).json"))
      }
      try await one.wait { try $0.root.currentFiles.count == 3 }
      #expect(try await other.tool("pause", "--queue", "slow").code == 0)
      for daemon in [one, other] {
        let queues = try await daemon.get("/v1/queues") { reply in
          reply["queues"]?.array?.first { $0["name"] == "slow" }?["jobs"]?["scheduled"] == 3
        }
        #expect(queues["queues"]?.array?.first { $0["name"] == "slow" }?["paused"] == true)
        let status = try await daemon.get("/v1/status") { $0["pauses"]?.array?.isEmpty == false }
        #expect(status["pauses"]?.array?.first?["name"] == "slow")
        try await daemon.wait { $0.managerStatus?.contains("slow") == true }
      }
      #expect(try await one.tool("resume", "--queue", "slow").code == 0)
      _ = try await other.get("/v1/status") { $0["pauses"]?.array?.isEmpty == true }
      // The server has no standby.
      let reply = try await one.request("POST", "/v1/jobs", query: ["wait": "60"], body: #"{"type": "noop"}"#)
      #expect(reply.status == 200 && reply.body["durability"] == "local", "\(reply.body.serialized())")
      #expect(try await other.get("/v1/fleet")["durability"] == "local")
      for daemon in [one, other] { _ = try await daemon.stop() }
    }

    @Test("Jobs whose inputs came with them run where those are")
    func uploads() async throws {
      let one = try await DaemonProcess.ready(first)
      let other = try await DaemonProcess.ready(second)
      let files = try TemporaryDirectory()
      let (table, job) = (files.path("table.csv"), files.path("job.json"))
      try first.write("number\n" + String(repeating: "1\n", count: 2_000), to: table)
      for (number, daemon) in [one, other, one, other].enumerated() {
        try first.write(TestModel.importJob("job-\(number)", "upload:table"), to: job)
        let sent = try await daemon.tool("submit", "--wait=60", "--input", "table=\(table)", job)
        #expect(sent.code == 0, "\(sent)\n\(daemon.logText)")
      }
      #expect(try database.run(#"SELECT count(*) FROM bobbin."Reading""#) == "8000")
      for daemon in [one, other] {
        try await daemon.wait { try DaemonRoot.entries($0.root.paths.uploads).isEmpty }
        #expect(try await daemon.stop() == .exited(code: 0))
      }
    }

    @Test("Inputs stay for a job that another host has put back, though its file is gone from failed/")
    func putBackElsewhere() async throws {
      let one = try await DaemonProcess.ready(first)
      let other = try await DaemonProcess.ready(second)
      let (table, job) = (first.directory.path("bad.csv"), first.directory.path("job.json"))
      // Larger than what a fleet copies.
      try first.write("number\n1,2\n" + String(repeating: "1\n", count: 2_000), to: table)
      try first.write(
        TestModel.importJob("bad", "upload:table").replacing(#""id": "bad""#, with: #""id": "bad", "queue": "later""#),
        to: job)
      #expect(try await one.tool("submit", "--wait=60", "--input", "table=\(table)", job).code == 1)
      try await one.wait { try $0.root.failedFiles.count == 2 }
      let error = try await other.get("/v1/jobs/bad")["error"]?.string
      #expect(try await other.tool("pause", "--queue", "later").code == 0)
      #expect(try await other.tool("retry", "bad").code == 0)
      let configuration = try String(contentsOfFile: first.paths.configurationFile, encoding: .utf8)
      try first.configure(configuration + "\n[Spool]\nFailedCount=0\n")
      try await one.reload()
      try await one.waitForLog("removed 1 old files from failed/")
      // The inputs of another job, which go when it is over, are behind them.
      let good = first.directory.path("good.csv")
      try first.write("number\n" + String(repeating: "1\n", count: 2_000), to: good)
      try first.write(TestModel.importJob("good", "upload:table"), to: job)
      #expect(try await one.tool("submit", "--wait=60", "--input", "table=\(good)", job).code == 0)
      try await one.wait { try DaemonRoot.entries($0.root.paths.uploads).count == 1 }
      #expect(try await other.tool("resume", "--queue", "later").code == 0)
      try await one.wait { try DaemonRoot.entries($0.root.paths.uploads).isEmpty }
      // It was read once more.
      let again = try await other.get("/v1/jobs/bad") { $0["state"] == "discarded" }
      #expect(again["attempt"] == 2 && again["error"]?.string == error, "\(again)")
      for daemon in [one, other] { #expect(try await daemon.stop() == .exited(code: 0)) }
    }

    @Test("A job of a type that only another host handles is taken here and runs there")
    func typeElsewhere() async throws {
      try second.write(
        "[Handler]\nType=only\nExecStart=/bin/sh \(second.directory.path("where.sh"))\n",
        to: second.paths.handlers + "/only.conf")
      let one = try await DaemonProcess.ready(first)
      let other = try await DaemonProcess.ready(second)
      let job = first.directory.path("job.json")
      try first.write(#"{"type": "only", "id": "there"}"#, to: job)
      let sent = try await one.tool("submit", "--wait=60", job)
      #expect(sent.code == 0, "\(sent)\n\(one.logText)")
      #expect(try places(of: ["there"]) == [2])
      try first.write(#"{"type": "nobodys", "id": "nowhere"}"#, to: job)
      let refused = try await one.tool("submit", job)
      #expect(refused.code != 0 && refused.errors.contains("there is no job type \"nobodys\""), "\(refused)")
      for daemon in [one, other] { _ = try await daemon.stop() }
    }

    @Test("A type that a host learns by a reload, or can't do for now, is given to hosts that can")
    func typesChange() async throws {
      let one = try await DaemonProcess.ready(first)
      let other = try await DaemonProcess.ready(second)
      try second.write(
        "[Handler]\nType=learned\nExecStart=/bin/sh \(second.directory.path("where.sh"))\n",
        to: second.paths.handlers + "/learned.conf")
      try await other.reload()
      try await run(["learned"], ofType: "learned", at: other)
      #expect(try places(of: ["learned"]) == [2])

      // The first host has no program any more, and has it again later.
      let handler = first.paths.handlers + "/where.conf"
      let text = try String(contentsOfFile: handler, encoding: .utf8)
      try first.write(text.replacing("/bin/sh", with: first.directory.path("absent")), to: handler)
      try await one.reload()
      let ids = (0..<12).map { "job-\($0)" }
      try await run(ids, at: one)
      #expect(try Set(places(of: ids)) == [2], "\(one.logText)")
      // Those that found out have lost no attempt, and are few.
      let again = try database.run(
        #"SELECT count(*) FILTER (WHERE attempt > 1) < 12 AND bool_and(attempt - 1 = "maxAttempts" - 20) FROM bobbin."Job""#
      )
      #expect(again == "t", "\(one.logText)")
      try await one.waitForLog(#"the type "where" is held"#)
      try first.write(text, to: handler)
      try await one.reload()
      // The other one does nothing, so that only the first can do what comes.
      #expect(try await one.tool("fleet", "drain", "b").code == 0)
      try await run(["mended"], at: other)
      #expect(try places(of: ["mended"]) == [1])
      for daemon in [one, other] { _ = try await daemon.stop() }
    }

    @Test("A host that is drained gets no jobs, also after its restart and under another lead, until it is undrained")
    func drain() async throws {
      let one = try await DaemonProcess.ready(first)
      let other = try await DaemonProcess.ready(second)
      let drained = try await other.tool("fleet", "drain", "a")
      #expect(drained.code == 0 && drained.errors.contains("is given no more jobs"), "\(drained.errors)")
      let ids = ["d1", "d2", "d3", "d4"]
      try await run(ids, at: one)
      #expect(try places(of: ids) == [2, 2, 2, 2])
      let list = try await one.tool("fleet")
      #expect(list.output.contains("drained"), "\(list.output)")
      // It has led, and leads no more.
      #expect(try await one.stop() == .exited(code: 0))
      let again = try await DaemonProcess.ready(first)
      try await run(["e1", "e2"], at: again)
      #expect(try places(of: ["e1", "e2"]) == [2, 2])
      #expect(try await again.tool("fleet", "undrain", spool("a", first)).code == 0)
      // Of itself, it is waited until it runs nothing.
      let idle = try await other.tool("drain", "--wait=30s")
      #expect(
        idle.code == 0 && idle.errors.contains("\"bobbinctl fleet undrain \(spool("b", second))\""), "\(idle.errors)")
      try await run(["f1", "f2"], at: other)
      #expect(try places(of: ["f1", "f2"]) == [1, 1])
      for daemon in [again, other] { _ = try await daemon.stop() }
    }

    @Test(
      "A host that is gone for good is removed, and the jobs that only it could run are moved or cancelled by order")
    func remove() async throws {
      let one = try await DaemonProcess.ready(first)
      let other = try await DaemonProcess.ready(second)
      let alive = try await other.tool("fleet", "remove", "a")
      #expect(alive.code == 65 && alive.errors.contains("is alive"), "\(alive.errors)")
      let unknown = try await other.tool("fleet", "remove", "z")
      #expect(unknown.code == 2 && unknown.errors.contains("there is no host \"z\""), "\(unknown.errors)")
      #expect(try await one.tool("pause").code == 0)
      try first.drop(#"{"type": "where", "id": "bound", "arguments": {"file": "in.csv"}}"#, as: "bound.json")
      _ = try await other.get("/v1/jobs/bound") { $0["state"] != nil }
      #expect(try await one.stop() == .exited(code: 0))
      #expect(try await other.tool("resume").code == 0)
      let why = try await other.get("/v1/jobs/bound/why") { reply in
        reply["reasons"]?.array?.first?.string?.contains("its input lies on") == true
      }
      #expect(
        why["reasons"]?.array?.first?.string?.hasPrefix(
          "its input lies on the host \(spool("a", first)), which is away for ") == true, "\(why.serialized())")
      let list = try await other.tool("fleet")
      #expect(list.output.contains("away, 1 job bound to it"), "\(list.output)")
      #expect(list.output.contains("1 job waits for a host: its input lies on the host"), "\(list.output)")
      let bound = try await other.tool("fleet", "remove", "a")
      #expect(bound.code == 65 && bound.errors.contains("1 unfinished job"), "\(bound.errors)")
      let moved = try await other.tool("fleet", "remove", "--move", "a")
      #expect(moved.code == 0 && moved.errors.contains("1 job that only it could run any host may run now"))
      _ = try await other.get("/v1/jobs/bound") { $0["state"] == "completed" && $0["durable"] == true }
      #expect(try places(of: ["bound"]) == [2])
      let left = try await other.tool("fleet")
      #expect(!left.output.contains("a:"), "\(left.output)")
      _ = try await other.stop()
    }

    @Test("A job that names a place runs on a host that offers it, and waits where none does, which is told")
    func place() async throws {
      let one = try await DaemonProcess.ready(first)
      let other = try await DaemonProcess.ready(second)
      try await run(["g1", "g2", "g3"], at: one, #", "place": "gpu""#)
      #expect(try places(of: ["g1", "g2", "g3"]) == [2, 2, 2])
      let file = first.directory.path("placed.json")
      try first.write(#"{type: "where", id: "placed",}"#, to: file)
      #expect(try await one.tool("submit", "--wait", "--place", "disk", file).code == 0)
      #expect(try places(of: ["placed"]) == [2])
      try first.drop(#"{"type": "where", "id": "lost", "place": "attic"}"#, as: "lost.json")
      try second.drop(
        #"{"type": "where", "id": "torn", "place": "attic", "arguments": {"file": "in.csv"}}"#, as: "torn.json")
      for daemon in [one, other] {
        try await daemon.wait { try $0.root.currentFiles.count == 1 }
        _ = try await daemon.get("/v1/fleet") { $0["unmet"]?.array?.count == 2 }
      }
      // Others may be ahead of them, too.
      let lost = "no host offers the place \"attic\"; [Fleet] Places= names those of a host"
      #expect(try await reason("lost", seenBy: other).hasPrefix(lost))
      let torn = "its input lies on the host \(spool("b", second)), which does not offer the place \"attic\""
      #expect(try await reason("torn", seenBy: one).hasPrefix(torn))
      for daemon in [one, other] { _ = try await daemon.stop() }
    }

    @Test("A small input that other hosts do not see goes along with its job, as it was when that was accepted")
    func copiedInput() async throws {
      let one = try await DaemonProcess.ready(first)
      let other = try await DaemonProcess.ready(second)
      #expect(try await other.tool("fleet", "drain", "a").code == 0)
      #expect(try await other.tool("pause").code == 0)
      let input = first.paths.payload + "/readings.csv"
      let record = #"{"type": "import", "id": "%", "arguments": {"input": "readings.csv", "entity": "Reading"}}"#
      try first.write("job,number\nsmall,7\n", to: input)
      try first.drop(record.replacing("%", with: "small"), as: "small.json")
      _ = try await one.get("/v1/jobs/small") { $0["state"] == "available" }
      try first.write("job,number\nlarge,8\n" + String(repeating: "more,9\n", count: 200), to: input)
      try first.drop(record.replacing("%", with: "large"), as: "large.json")
      _ = try await one.get("/v1/jobs/large") { $0["state"] == "available" }
      #expect(try await other.tool("resume").code == 0)
      _ = try await other.get("/v1/jobs/small") { $0["state"] == "completed" && $0["durable"] == true }
      #expect(try places(of: ["small", "large"]) == [7, 0])
      #expect(try database.run("SELECT count(*) FROM bobbin._input") == "0")
      let why = try await reason("large", seenBy: other)
      #expect(why.contains("its input lies on the host \(spool("a", first)), which is drained"), "\(why)")
      #expect(try await other.tool("fleet", "undrain", "a").code == 0)
      _ = try await other.get("/v1/jobs/large") { $0["state"] == "completed" && $0["durable"] == true }
      #expect(try places(of: ["large"]) == [8])
      for daemon in [one, other] { _ = try await daemon.stop() }
    }

    @Test("The end of an upgrade waits for older hosts, and a host of another release than the ledger's says so")
    func upgrade() async throws {
      let one = try await DaemonProcess.ready(first)
      let whole = try await one.tool("fleet", "finish-upgrade")
      #expect(whole.code == 0 && whole.errors.contains("there is nothing to finish"), "\(whole.errors)")
      let other = try await DaemonProcess.ready(second)
      // As if it knew one more.
      try database.run("UPDATE bobbin._host SET newest = newest + 1, release = '9.9' WHERE root LIKE 'b:%'")
      let older = "these hosts know no newer one: \(spool("a", first)) (\(Release.version))"
      for refused in [
        try await other.tool("fleet", "finish-upgrade", "--dry-run"), try await other.tool("fleet", "finish-upgrade"),
      ] { #expect(refused.code == 65 && refused.errors.contains(older), "\(refused.errors)") }
      #expect(try await one.tool("fleet").output.contains("9.9"))
      #expect(try await one.stop() == .exited(code: 0))
      try database.run("UPDATE bobbin._metadata SET value = '99' WHERE key = 'fleet'")
      let late = try DaemonProcess(first)
      #expect(try await late.waitForEnd() != .exited(code: 0))
      let advice =
        "it is too old for this fleet; install a newer one on this host, such as that of \(spool("b", second))"
      try await late.waitForLog(advice)
      _ = try await other.stop()
    }

    @Test("A host whose models change a table that somebody reads waits for that, while the others go on")
    func heldTable() async throws {
      let one = try await DaemonProcess.ready(first)
      // What stays as it is may be in use.
      let jobs = try database.hold(#"LOCK TABLE bobbin."Job" IN ACCESS SHARE MODE"#)
      let reader = try database.hold(#"LOCK TABLE bobbin."Reading" IN ACCESS SHARE MODE"#)
      let entity = TestModel.text.replacing(
        #"<attribute name="note""#,
        with: #"<attribute name="more" optional="YES" attributeType="String"/><attribute name="note""#)
      try second.write(entity, to: second.paths.models + "/Test.xcdatamodel/contents")
      let other = try DaemonProcess(second)
      try await other.waitForLog("the store can't be opened; trying again every few seconds: ")
      try await run(["meanwhile"], at: one)
      reader.release()
      try await other.wait { $0.notifications.contains("READY=1") }
      #expect(try database.run(#"SELECT count("more") FROM bobbin."Reading""#) == "0")
      // A reload keeps the old models instead, and says why.
      let again = try database.hold(#"LOCK TABLE bobbin."Reading" IN ACCESS SHARE MODE"#)
      let models = second.paths.models + "/Test.xcdatamodel/contents"
      try second.write(
        entity.replacing(
          #"<attribute name="more""#,
          with: #"<attribute name="most" optional="YES" attributeType="String"/><attribute name="more""#), to: models)
      try await other.reload()
      try await other.waitForLog("the new models are not taken, and the old settings stay in force: ")
      try await run(["after"], at: other)
      again.release()
      jobs.release()
      for daemon in [one, other] { _ = try await daemon.stop() }
    }

    @Test("A daemon that can't join yet waits, says so, and can be stopped meanwhile")
    func heldJoin() async throws {
      let one = try await DaemonProcess.ready(first)
      let held = try database.hold("SELECT 1 FROM bobbin._metadata WHERE key = 'fleet' FOR UPDATE")
      let waiting = "the fleet's database does not let this host join yet: "
      let stopped = try DaemonProcess(second)
      try await stopped.waitForLog(waiting)
      #expect(try await stopped.stop() == .exited(code: 0), "\(stopped.logText)")
      let other = try DaemonProcess(second)
      try await other.waitForLog(waiting)
      #expect(other.managerStatus?.contains(waiting) == true)
      held.release()
      try await other.wait { $0.notifications.contains("READY=1") }
      try await run(["x"], at: other)
      for daemon in [one, other] { #expect(try await daemon.stop() == .exited(code: 0), "\(daemon.logText)") }
    }

    @Test("A daemon that the fleet's database lets not join, now and later, ends at once and says why")
    func refusedHost() async throws {
      let one = try await DaemonProcess.ready(first)
      try database.run("ALTER TABLE bobbin._host ADD CONSTRAINT single CHECK (slots < 2) NOT VALID")
      let other = try DaemonProcess(second)
      #expect(try await other.waitForEnd(seconds: 30) != .exited(code: 0))
      try await other.waitForLog("joining the fleet: the database refuses a value")
      _ = try await one.stop()
    }

    @Test("Without a fleet the host's own places count, and it says that it keeps its jobs alone")
    func alone() async throws {
      let root = try DaemonRoot("[Fleet]\nPlaces=disk\n\(DaemonRoot.quickFlushes)")
      let daemon = try await DaemonProcess.ready(root)
      try root.drop(#"{"type": "noop", "id": "here", "place": "disk"}"#, as: "here.json")
      try await daemon.waitUntilSpoolIsEmpty()
      try root.drop(#"{"type": "noop", "id": "there", "place": "gpu"}"#, as: "there.json")
      try await daemon.wait { try $0.root.currentFiles.count == 1 }
      let why = try await reason("there", seenBy: daemon)
      #expect(why.contains("this host does not offer the place \"gpu\"; [Fleet] Places= names those"), "\(why)")
      // It waits after a restart as well.
      #expect(try await daemon.stop() == .exited(code: 0))
      let again = try await DaemonProcess.ready(root)
      #expect(try await reason("there", seenBy: again) == why)
      let fleet = try await again.tool("fleet")
      #expect(fleet.code == 2 && fleet.errors.contains("this host keeps its jobs alone"), "\(fleet.errors)")
      let drain = try await again.tool("fleet", "drain", "a")
      #expect(drain.code == 2 && drain.errors.contains("this host keeps its jobs alone"), "\(drain.errors)")
      #expect(try await again.tool("cancel", "there").code == 0)
      _ = try await again.stop()
    }

    /// What the service manager runs when the service has stopped.
    private func bury(_ root: DaemonRoot, result: String = "signal") async throws -> (tool: Tool, time: Duration) {
      let start = ContinuousClock.now
      let tool = try await Tool.run(
        "bobbind", ["--root", root.directory.path, "--bury"], environment: ["SERVICE_RESULT": result])
      return (tool, start.duration(to: .now))
    }

    @Test("A daemon that was killed is buried at once, and its jobs run on another host")
    func burial() async throws {
      let victim = try await DaemonProcess.ready(first)
      let survivor = try await DaemonProcess.ready(second)
      // The lead is the other one, so that nobody has to take its place.
      #expect(try await victim.stop() == .exited(code: 0))
      _ = try await survivor.get("/v1/fleet") { $0["hosts"]?.array?.contains { $0["isLead"] == true } == true }
      let next = try await DaemonProcess.ready(first)
      for number in 0..<4 {
        try second.drop(#"{"type": "long", "id": "l\#(number)"}"#, as: FileName("l\(number).json"))
      }
      _ = try await survivor.get("/v1/fleet") { reply in
        reply["hosts"]?.array?.contains { $0["spool"]?.string == spool("a", first) && $0["running"] == 2 } == true
      }
      let host = "(SELECT max(number) FROM bobbin._host WHERE root LIKE 'a:%')"
      // A daemon that lives is left alone.
      let living = try await bury(first)
      #expect(living.tool.code == 0 && living.tool.errors.isEmpty, "\(living.tool.errors)")
      #expect(try database.run("SELECT state FROM bobbin._host WHERE number = \(host)") == "alive")
      // Or else the lead may be first where this takes its time; what it would write waits.
      let others = try database.hold("SELECT 1 FROM bobbin._session WHERE host <> \(host) FOR UPDATE")
      try await next.kill()
      let buried = try await bury(first)
      // Nobody has noticed the silence by then.
      let state = try database.run(
        "SELECT state || ' ' || (SELECT count(*) FROM bobbin._run) FROM bobbin._host WHERE number = \(host)")
      #expect(buried.tool.code == 0, "\(buried)")
      #expect(buried.tool.errors.contains("the other hosts of the fleet have the jobs of the daemon"))
      #expect(state == "lost 2")
      others.release()
      let nothing = try await bury(first)
      #expect(nothing.tool.code == 0 && nothing.tool.errors.isEmpty)
      try second.write("", to: second.directory.path("go"))
      try await survivor.waitUntilSpoolIsEmpty()
      #expect(try places(of: ["l0", "l1", "l2", "l3"]) == [2, 2, 2, 2])
      #expect(try database.run(#"SELECT count(*) FROM bobbin."Reading""#) == "4")
      #expect(try database.run(#"SELECT count(*) FROM bobbin."Job" WHERE state = 'completed'"#) == "4")
      _ = try await survivor.stop()
    }

    @Test("A burial never fails nor waits: without a fleet, after an orderly stop, and while the database is away")
    func harmlessBurial() async throws {
      let alone = try DaemonRoot(DaemonRoot.quickFlushes)
      let none = try await bury(alone)
      #expect(none.tool.code == 0 && none.tool.errors.isEmpty)
      let broken = try DaemonRoot("[Store]\nUrl=nonsense\n")
      #expect(try await bury(broken).tool.code == 0)
      // A server that takes connections and says nothing.
      let listener = try UnixListener(path: first.directory.path(".s.PGSQL.5432"), mode: 0o600)
      let silent = try DaemonRoot("[Store]\nUrl=postgresql:///x?host=\(first.directory.path)\n")
      let orderly = try await bury(silent, result: "success")
      #expect(orderly.tool.code == 0 && orderly.tool.errors.isEmpty)
      let away = try await bury(silent)
      #expect(away.tool.code == 0 && away.time < .seconds(60), "\(away)")
      #expect(away.tool.errors.contains("the other hosts notice"), "\(away.tool.errors)")
      withExtendedLifetime(listener) {}
    }
  }
}
