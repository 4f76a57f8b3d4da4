import DaemonTesting
import Foundation
import Glibc
import JSONText
import PostgresTesting
import SystemSupport
import TestSupport
import Testing

extension SystemTests {
  @Suite("Schedules")
  struct Schedules {
    private func add(_ name: String, _ keys: String, job: String = #"{"type": "noop"}"#, to root: DaemonRoot) throws {
      try root.write("[Schedule]\n\(keys)\nJob=\(name).json\n", to: root.paths.schedules + "/\(name).conf")
      try root.write(job, to: root.paths.schedules + "/\(name).json")
    }

    /// What bobbinctl prints; its exit code must be 0.
    private func run(_ daemon: DaemonProcess, _ arguments: String...) async throws -> String {
      let tool = try await Tool.run("bobbinctl", ["--root", daemon.root.directory.path] + arguments)
      #expect(tool.code == 0, "\(arguments): \(tool.errors)")
      return tool.output.trimmingCharacters(in: .newlines)
    }

    /// Waits for a firing that is none of those before.
    private func nextFiring(of name: String, _ daemon: DaemonProcess, after old: Int = 0) async throws {
      try await daemon.wait { $0.logText.components(separatedBy: "has fired: \(name)@").count > old + 1 }
    }

    private static let talkative = DaemonRoot.quickFlushes + "[Log]\nLevel=debug\n"
    private static let yearly = "OnCalendar=*-01-01 00:00:00 UTC\nPersistent=yes"

    @Test("Each firing runs once, and they go on after the daemon was killed")
    func firings() async throws {
      let root = try DaemonRoot(Self.talkative)
      try add("often", "Every=1s", to: root)
      let daemon = try await DaemonProcess.ready(root)
      try await nextFiring(of: "often", daemon, after: 1)
      try await daemon.kill()
      let again = try await DaemonProcess.ready(root)
      try await nextFiring(of: "often", again, after: 1)
      let listed = try #require(try await again.get("/v1/schedules")["schedules"]?.array?.first)
      #expect(listed["name"]?.string == "often" && listed["lastFiring"]?.string?.hasPrefix("often@") == true)
      _ = try await run(again, "pause", "--schedule", "often")
      try await again.waitUntilSpoolIsEmpty()
      #expect(try await again.stop() == .exited(code: 0))
      let ids = try await root.sql("SELECT id FROM Job").split(separator: "\n")
      // The one before the kill may be told by both, as the second repeats it.
      let told = (daemon.logText + again.logText).matches(of: /has fired: (often@\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ)/)
      #expect(told.count >= 4 && ids.count == Set(told.map(\.output.1)).count)
      #expect(Set(ids) == Set(told.map(\.output.1)))
      #expect(try await root.sql("SELECT count(*) FROM Job WHERE state <> 'completed'") == "0")
    }

    @Test("What a persistent schedule has missed is made up for once, also if the daemon is killed before it is noted")
    func missed() async throws {
      let root = try DaemonRoot(Self.talkative)
      try add("yearly", Self.yearly, to: root)
      let record = #"{"yearly": {"last": 1500000000000, "isPaused": false}}"#
      try root.write(record, to: root.paths.state + "/schedules")
      let daemon = try await DaemonProcess.ready(root)
      try await nextFiring(of: "yearly", daemon)
      try await daemon.waitUntilSpoolIsEmpty()
      let made = try await root.sql("SELECT id, state, attempt FROM Job")
      #expect(made.contains(/^yearly@\d{4}-01-01T00:00:00Z\|completed\|1$/))
      try await daemon.kill()
      // As if it had not been written yet.
      try root.write(record, to: root.paths.state + "/schedules")
      let again = try await DaemonProcess.ready(root)
      try await nextFiring(of: "yearly", again)
      try await again.waitUntilSpoolIsEmpty()
      #expect(try await root.sql("SELECT id, state, attempt FROM Job") == made)
      #expect(try await again.stop() == .exited(code: 0))
    }

    @Test("While a job of the firing before is unfinished, a schedule skips firings, or lets their jobs wait")
    func overlap() async throws {
      let root = try DaemonRoot(Self.talkative + "[Notify ops]\nType=tell\nOn=schedule-missed\n")
      try root.write("[Handler]\nType=tell\nExecStart=/bin/true\n", to: root.paths.handlers + "/tell.conf")
      let daemon = try await DaemonProcess.ready(root)
      _ = try await run(daemon, "pause", "--queue", "q")
      let job = #"{"type": "noop", "queue": "q"}"#
      try add("skipping", "Every=1s", job: job, to: root)
      try add("often", "Every=1s", to: root)
      try add("queueing", Self.yearly + "\nOverlap=queue", job: job, to: root)
      try daemon.child.kill(SIGHUP)
      try await nextFiring(of: "often", daemon, after: 2)
      #expect(daemon.logText.components(separatedBy: "has fired: skipping@").count == 2)
      try await daemon.waitForLog("job notice-ops-skipping@")
      let told = try await root.sql(
        """
        SELECT json_extract(arguments, '$.text') || ' ' || json_extract(arguments, '$.reason') FROM Job
        WHERE id LIKE 'notice-ops-skipping@%-missed' LIMIT 1
        """)
      #expect(told.hasPrefix("the schedule skipping did not fire at 20"))
      #expect(told.hasSuffix("Z: a job of the firing before is unfinished overlap"))
      let first = try await run(daemon, "run", "queueing")
      let second = try await run(daemon, "run", "queueing")
      #expect(try await daemon.get("/v1/jobs/\(first)")["state"]?.string == "available")
      #expect(try await daemon.get("/v1/jobs/\(second)")["state"]?.string == "waiting")
      #expect(try await run(daemon, "why", second).contains(first))
      // Whoever cancels what waits has the next one wait for what is left.
      _ = try await run(daemon, "cancel", second)
      let third = try await run(daemon, "run", "queueing")
      #expect(try await daemon.get("/v1/jobs/\(third)")["state"]?.string == "waiting")
      #expect(try await run(daemon, "why", third).contains(first))
      #expect(try await daemon.stop() == .exited(code: 0))
    }

    @Test("Each firing has a batch and a callback of its own, also where firings wait for each other")
    func batches() async throws {
      let root = try DaemonRoot(Self.talkative)
      let daemon = try await DaemonProcess.ready(root)
      _ = try await run(daemon, "pause", "--queue", "q")
      let job = #"""
        {"batch": "rows", "jobs": [{"type": "noop", "id": "#a", "queue": "q"}, {"type": "noop", "after": "#a"}],
         "callback": {"type": "noop", "id": "#end"}}
        """#
      try add("nightly", Self.yearly + "\nOverlap=queue", job: job, to: root)
      try daemon.child.kill(SIGHUP)
      try await daemon.waitForLog("reloaded")
      for _ in 1...2 { _ = try await run(daemon, "run", "nightly") }
      _ = try await run(daemon, "resume", "--queue", "q")
      try await daemon.waitUntilSpoolIsEmpty()
      #expect(try await root.sql("SELECT state, count(*) FROM Job GROUP BY state") == "completed|6")
      let batches = try await root.sql(
        "SELECT batch, count(*) FROM Job WHERE batch IS NOT NULL GROUP BY batch ORDER BY batch"
      )
      .split(separator: "\n")
      #expect(batches.count == 2 && batches.allSatisfy { $0.wholeMatch(of: /rows@20.*Z\|2/) != nil }, "\(batches)")
      // The name in the file means the newest of them.
      let shown = try await run(daemon, "batch", "rows")
      #expect(shown.contains(batches[1].dropLast(2)) && shown.contains("2 of 2 done"), "\(shown)")
      #expect(try await daemon.stop() == .exited(code: 0))
    }

    @Test("Moments that nothing fired at, and what fails of a firing, are told once each, also over a kill")
    func notices() async throws {
      let root = try DaemonRoot(
        DaemonRoot.quickFlushes + "[Notify ops]\nType=tell\nOn=schedule-missed schedule-failed\n")
      try root.write("[Handler]\nType=tell\nExecStart=/bin/true\n", to: root.paths.handlers + "/tell.conf")
      try root.write(
        "[Handler]\nType=fails\nExecStart=/bin/sh -c \"exit 65\"\n", to: root.paths.handlers + "/fails.conf")
      try add("off", Self.yearly.replacing("Persistent=yes", with: ""), to: root)
      try add("bad", Self.yearly, job: #"{"jobs": [{"type": "fails"}, {"type": "noop"}]}"#, to: root)
      try add("paused", Self.yearly, to: root)
      let record = #"{"last": 1500000000000, "isPaused": false}"#
      let records =
        #"{"off": \#(record), "bad": \#(record), "paused": {"last": 1500000000000, "isPaused": true}}"#
      var told: [String] = []
      for _ in 1...2 {
        // As if the places had not been written before the kill.
        try root.write(records, to: root.paths.state + "/schedules")
        let daemon = try await DaemonProcess.ready(root)
        let news = told.isEmpty ? 3 : 0
        try await daemon.wait { $0.logLines.count { $0.contains("job notice-ops-") } >= news }
        try await daemon.waitUntilSpoolIsEmpty()
        try await daemon.kill()
        let notices = try await root.sql(
          """
          SELECT id || ' ' || state || ' ' || json_extract(arguments, '$.text') FROM Job WHERE id LIKE 'notice-%' ORDER BY id
          """)
        told = notices.split(separator: "\n").map(String.init)
        let day = #"20\d\d-01-01T00:00:00Z"#
        for form in [
          #"notice-ops-bad@\#(day)-missed completed the schedule bad did not fire from 2018-01-01T00:00:00Z to \#(day): "#
            + "the daemon did not run then, or took no jobs",
          #"notice-ops-bad@\#(day)\.1-schedule-failed-20\d\d-[-\d:.T]+Z completed the schedule bad: the job bad@\#(day)\.1 \(fails\) "#
            + "was discarded: .* exited with code 65.*",
          #"notice-ops-off@\#(day)-missed completed the schedule off did not fire from 2018-01-01T00:00:00Z to \#(day): "#
            + "the daemon did not run then, or took no jobs",
        ] {
          let expression = try Regex(form)
          #expect(told.count { $0.wholeMatch(of: expression) != nil } == 1, "\(form)\n\(notices)")
        }
        #expect(told.count == 3, "\(notices)")
      }
    }

    @Test("Why the jobs of the last firing were refused is shown, also after a restart, until they are not any more")
    func refusal() async throws {
      let root = try DaemonRoot(Self.talkative)
      // Another job of this user has the ID of the firing.
      let firing = "bad@\(Date().formatted(.iso8601.year()))-01-01T00:00:00Z"
      let before = try await DaemonProcess.ready(root)
      _ = try await before.submit(TestModel.importJob(firing, "none.csv"))
      #expect(try await before.stop() == .exited(code: 0))
      try add("bad", Self.yearly, to: root)
      try root.write(
        #"{"bad": {"last": 1500000000000, "isPaused": false}}"#, to: root.paths.state + "/schedules")
      let daemon = try await DaemonProcess.ready(root)
      try await daemon.waitForLog("the jobs of \(firing) are refused: ")
      #expect(try await daemon.stop() == .exited(code: 0))
      let again = try await DaemonProcess.ready(root)
      let shown = try await run(again, "schedules")
      #expect(shown.contains(/bad +\S.* in \d+ d +\d+ d ago +refused: the ID "bad@/), "\(shown)")
      _ = try await run(again, "run", "bad")
      #expect(try await !run(again, "schedules").contains("refused"))
      #expect(try await again.stop() == .exited(code: 0))
    }

    @Test("Schedules follow a clock that is put forward or back, and fire once for each moment")
    func clock() async throws {
      let (root, clock) = (try DaemonRoot(Self.talkative), try await SettableClock())
      try add("nightly", "OnCalendar=*-*-* 03:00:00 UTC", to: root)
      // The last midnight, by which the clock is set.
      let now = Int64(Date().timeIntervalSince1970)
      let (midnight, day, hour) = (now - now % 86_400, Int64(86_400), Int64(3_600))
      let daemon = try await DaemonProcess.ready(root, environment: clock.environment)
      @Sendable func firings() -> Int { daemon.logText.components(separatedBy: "has fired: nightly@").count - 1 }
      func name(_ day: Int64) -> String {
        let date = Date(timeIntervalSince1970: Double(midnight + day * 86_400 + 3 * hour))
        return "nightly@" + date.formatted(.iso8601)
      }
      // Forward, past the moment.
      try clock.set(ahead: midnight + day + 4 * hour - now)
      try await daemon.waitForLog("has fired: \(name(1))")
      // Forward to shortly before the next one, which then comes by itself.
      let before = Int64(Date().timeIntervalSince1970)
      try clock.set(ahead: midnight + 2 * day + 3 * hour - 1 - before)
      try await daemon.waitForLog("has fired: \(name(2))")
      // Back to shortly before the first one: the timer waits for the third, and only the change tells of it.
      let later = Int64(Date().timeIntervalSince1970)
      try clock.set(ahead: midnight + day + 3 * hour - 2 - later)
      try await daemon.wait { _ in firings() == 3 }
      #expect(daemon.logText.components(separatedBy: "has fired: \(name(1))").count == 3, "\(daemon.logText)")
      try await daemon.waitUntilSpoolIsEmpty()
      #expect(try await daemon.stop() == .exited(code: 0))
      // It was known, and did not run again.
      #expect(
        try await root.sql("SELECT id, state, attempt FROM Job ORDER BY id")
          == "\(name(1))|completed|1\n\(name(2))|completed|1")
    }

    @Test("A paused schedule stays paused over a restart, and fires when it is told to")
    func pause() async throws {
      let root = try DaemonRoot(Self.talkative)
      try add("yearly", Self.yearly, to: root)
      let daemon = try await DaemonProcess.ready(root)
      #expect(try await run(daemon, "schedules").contains(/yearly +\S.* in \d+ d +- +-/))
      _ = try await run(daemon, "pause", "--schedule", "yearly")
      try await daemon.wait { $0.notifications.contains { $0.contains(#"paused: the schedule "yearly""#) } }
      #expect(try await run(daemon, "status").contains(#"the schedule "yearly""#))
      #expect(try await daemon.stop() == .exited(code: 0))
      let again = try await DaemonProcess.ready(root)
      #expect(try await run(again, "schedules").contains(/yearly +\S.* paused +- +-/))
      let id = try await run(again, "run", "yearly")
      _ = try await run(again, "watch", id)
      #expect(try await run(again, "schedules").contains(/yearly +\S.* paused +(just now|\d+ s ago) +1 completed/))
      _ = try await run(again, "resume", "--all")
      #expect(try await run(again, "schedules").contains(/yearly +\S.* in \d+ d/))
      let missing = try await Tool.run("bobbinctl", ["--root", root.directory.path, "run", "hourly"])
      #expect(missing.code != 0 && missing.errors.contains("there is no schedule \"hourly\""))
      #expect(try await again.stop() == .exited(code: 0))
    }

    @Test(
      "Hosts of a fleet that have the same schedule run each firing once",
      .enabled(if: PostgresCluster.isAvailable()))
    func fleet() async throws {
      let database = try PostgresCluster.makeDatabase()
      var daemons: [DaemonProcess] = []
      for name in ["a", "b"] {
        let root = try DaemonRoot("[Store]\nUrl=\(database.url)\n[Fleet]\nName=\(name)\n" + Self.talkative)
        try add("yearly", Self.yearly, to: root)
        let record = #"{"yearly": {"last": 1500000000000, "isPaused": false}}"#
        try root.write(record, to: root.paths.state + "/schedules")
        daemons.append(try await DaemonProcess.ready(root))
      }
      for daemon in daemons { try await nextFiring(of: "yearly", daemon) }
      for daemon in daemons { try await daemon.waitUntilSpoolIsEmpty() }
      let made = try database.run("SELECT id || ' ' || state || ' ' || attempt FROM bobbin.\"Job\"")
      #expect(try #require(made).contains(/^yearly@\d{4}-01-01T00:00:00Z completed 1$/))
      for daemon in daemons { #expect(try await daemon.stop() == .exited(code: 0)) }
    }

    @Test(
      "A job file that can't be submitted again and again is refused with the schedule",
      arguments: [
        (#"{"type": "noop", "id": "fixed"}"#, "a job with the ID \"fixed\" would run only once"),
        (#"{"type": "no-such-type"}"#, "there is no job type \"no-such-type\""),
        ("{", "line 1"),
      ])
    func badJobFile(job: String, message: String) async throws {
      let root = try DaemonRoot()
      try add("bad", "Every=1h", job: job, to: root)
      for arguments in [["--check-config"], []] {
        let tool = try await Tool.run("bobbind", ["--root", root.directory.path] + arguments)
        #expect(tool.code == 78)
        #expect(tool.errors.contains("schedules.d/bad.conf:3: [Schedule] Job=bad.json: "))
        #expect(tool.errors.contains(message), "\(tool.errors)")
      }
    }
  }
}
