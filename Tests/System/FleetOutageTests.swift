import DaemonTesting
import Foundation
import Glibc
import JSONText
import PostgresTesting
import SystemSupport
import TestSupport
import Testing

extension FleetSystemTests {
  /// What a host does while its database, on two real servers, does not answer.
  @Suite("A host whose database is away", .enabled(if: PostgresCluster.isAvailable()), .serialized)
  struct FleetOutage {
    private let servers: ReplicatedCluster
    private let root: DaemonRoot

    private var url: String { servers.url(of: "postgres") }

    init() throws {
      servers = try ReplicatedCluster()
      root = try DaemonRoot(
        "[Store]\nUrl=\(servers.url(of: "postgres"))\n[Workers]\nCount=2\n\(DaemonRoot.quickFlushes)")
      let folder = root.paths.payload
      let row = #"{"insert": {"entity": "Reading", "values": {"job": "'$BOBBIN_JOB_ID'", "number": 1}}}"#
      // What appears in payload/ wakes up who waits for it.
      try root.declare(
        "patient",
        """
        touch "\(folder)/begun-$BOBBIN_JOB_ID"
        while [ ! -e "\(folder)/go" ]; do sleep 0.05; done
        echo '\(row)'
        """)
    }

    private func count(_ condition: String) throws -> String? {
      try TestDatabase.run("SELECT count(*) FROM bobbin.\"Job\" WHERE \(condition)", url)
    }

    private static func code(_ reply: (status: Int, body: JSONValue)) -> String {
      "\(reply.status) \(reply.body["error"]?["code"]?.string ?? "-")"
    }

    @Test("says so at once, takes files into its spool, finishes what runs, and has all of it once when it is back")
    func outage() async throws {
      let daemon = try await DaemonProcess.ready(root)
      let first = try await daemon.request(
        "POST", "/v1/jobs", query: ["wait": "60"], body: #"{"type": "noop", "id": "first"}"#)
      #expect(first.status == 200 && first.body["durability"]?.string == "replicated", "\(first.body.serialized())")
      for number in 0..<2 { _ = try await daemon.request("POST", "/v1/jobs", body: Self.patient("p\(number)")) }
      try await daemon.wait { daemon in
        let marks = try DaemonRoot.entries(daemon.root.paths.payload)
        return marks.contains("begun-p0") && marks.contains("begun-p1")
      }
      for number in 0..<50 { try drop("before-\(number)") }
      try servers.kill(0)
      // What runs ends now, and what a worker would begin next can't be read.
      try root.payload("go", "")
      try await daemon.waitForLog("the fleet's database does not answer (")

      for number in 0..<20 { try drop("meanwhile-\(number)") }
      let begin = ContinuousClock.now
      for request in [("POST", "/v1/jobs"), ("POST", "/v1/pause"), ("GET", "/v1/jobs"), ("GET", "/v1/jobs/first")] {
        let body = request.0 == "GET" ? nil : #"{"type": "noop"}"#
        let reply = try await daemon.request(request.0, request.1, body: body)
        #expect(Self.code(reply) == "503 database-away", "\(request): \(reply.body.serialized())")
      }
      #expect(ContinuousClock.now - begin < .seconds(60))
      let file = root.directory.path("refused.json")
      try root.write(#"{"type": "noop", "id": "refused"}"#, to: file)
      let submitted = try await daemon.tool("submit", file)
      #expect(submitted.code == 75 && submitted.errors.contains("has not answered since"), "\(submitted)")
      let status = try await daemon.tool("status")
      #expect(status.output.contains("database-away") && status.output.contains("away since"), "\(status.output)")
      // What the address names as well.
      let reason = "only a standby answers"
      try await daemon.poll {
        try await daemon.get("/v1/status")["databaseAwayReason"]?.string?.contains(reason) == true
      }
      #expect(Self.code(try await daemon.request("GET", "/healthz")) == "503 failing")

      try servers.start(0)
      try await daemon.waitForLog("the database of the fleet is back")
      try await daemon.waitUntilSpoolIsEmpty(seconds: 120)
      #expect(try count("state = 'completed'") == "73")
      // Those that were to begin have gone back, and ran in another attempt.
      #expect(try count("type = 'patient' AND attempt = 1") == "2")
      #expect(try TestDatabase.run("SELECT count(*) FROM bobbin.\"Reading\"", url) == "2")
      #expect(try root.failedFiles.isEmpty)
      #expect(try await daemon.get("/v1/status")["state"]?.string == "running")
      #expect(try await daemon.stop() == .exited(code: 0), "\(daemon.logText)")
    }

    @Test("keeps what a program makes within the writer's budget: the program waits, and all of it is there once")
    func budget() async throws {
      let folder = root.paths.payload
      try root.configure(
        "[Store]\nUrl=\(url)\n[Workers]\nCount=1\n[Writer]\nFlushIntervalSec=5ms\nHighWaterObjects=100")
      // So wide that the pipe between the program and the daemon holds no two steps.
      try root.declare(
        "long",
        #"""
        touch "\#(folder)/begun"
        while [ ! -e "\#(folder)/go" ]; do sleep 0.05; done
        space=$(printf '%1000s' '')
        for step in $(seq 40); do
          for number in $(seq 50); do
            echo "{\"insert\":$space{\"entity\": \"Reading\", \"values\": {\"job\": \"x\", \"number\": $((50 * step + number))}}}"
          done
          echo "{\"checkpoint\": \"$step\"}"
          touch "\#(folder)/step-$step"
        done
        """#)
      let daemon = try await DaemonProcess.ready(root)
      _ = try await daemon.request("POST", "/v1/jobs", body: #"{"type": "long", "id": "l"}"#)
      try await daemon.wait { try DaemonRoot.entries($0.root.paths.payload).contains("begun") }
      try servers.kill(0)
      try await daemon.waitForLog("the fleet's database does not answer (")
      try root.payload("go", "")
      func unflushed() async throws -> Int64 {
        try await daemon.get("/v1/status")["writer"]?["unflushedObjects"]?.integer ?? 0
      }
      try await daemon.poll { try await unflushed() >= 200 }
      // Time enough for what would not wait, and would make 2,000.
      for _ in 0..<50 {
        let count = try await unflushed()
        #expect(count < 1_000)
      }
      @Sendable func steps() throws -> Int {
        try DaemonRoot.entries(folder).count { "\($0)".hasPrefix("step-") }
      }
      #expect(try steps() < 20)
      try servers.start(0)
      try await daemon.wait { _ in try steps() == 40 }
      try await daemon.poll { try count("state = 'completed' AND attempt = 1") == "1" }
      let rows = try TestDatabase.rows("SELECT count(*), count(DISTINCT number) FROM bobbin.\"Reading\"", url)
      #expect(rows == [["2000", "2000"]])
      #expect(try await daemon.stop() == .exited(code: 0), "\(daemon.logText)")
    }

    @Test("ends an exclusive program before another host may begin its job, and runs that again; others go on")
    func exclusive() async throws {
      let folder = root.paths.payload
      try root.declare(
        "sole",
        #"""
        trap '' TERM
        echo $$ >"\#(folder)/.process" && mv "\#(folder)/.process" "\#(folder)/process-$BOBBIN_ATTEMPT"
        while [ ! -e "\#(folder)/go" ]; do sleep 0.05; done
        echo '{"insert": {"entity": "Reading", "values": {"job": "'$BOBBIN_JOB_ID'", "number": 1}}}'
        """#, "Exclusive=yes")
      let daemon = try await DaemonProcess.ready(root)
      _ = try await daemon.request("POST", "/v1/jobs", body: #"{"type": "sole", "id": "s"}"#)
      _ = try await daemon.request("POST", "/v1/jobs", body: Self.patient("p"))
      try await daemon.wait { daemon in
        let marks = try DaemonRoot.entries(daemon.root.paths.payload)
        return marks.contains("begun-p") && marks.contains("process-1")
      }
      let text = try String(contentsOfFile: folder + "/process-1", encoding: .utf8)
      let process = try #require(pid_t(text.trimmingCharacters(in: .whitespacesAndNewlines)))
      try servers.kill(0)
      let away = ContinuousClock.now
      try await daemon.waitForLog("was interrupted, since the fleet's database does not answer")
      // 3.2 s on a machine that does nothing else, and before the database is back.
      #expect(ContinuousClock.now - away < .seconds(60))
      #expect(kill(process, 0) == -1 && errno == ESRCH)
      try servers.start(0)
      try await daemon.wait { try DaemonRoot.entries($0.root.paths.payload).contains("process-2") }
      try root.payload("go", "")
      try await daemon.wait { _ in try count("state = 'completed'") == "2" }
      #expect(try count("type = 'sole' AND attempt = 2") == "1" && count("type = 'patient' AND attempt = 1") == "1")
      #expect(try TestDatabase.run("SELECT count(*) FROM bobbin.\"Reading\"", url) == "2")
      #expect(try await daemon.stop() == .exited(code: 0), "\(daemon.logText)")
    }

    @Test("waits for it when it starts")
    func start() async throws {
      try servers.kill(0)
      try drop("early")
      let daemon = try DaemonProcess(root)
      try await daemon.waitForLog("the store can't be opened; trying again every few seconds: ")
      try servers.start(0)
      try await finish(daemon)
    }

    @Test("waits to start while commits wait for a standby that is away, and can be stopped meanwhile")
    func startWithoutStandby() async throws {
      let earlier = try await DaemonProcess.ready(root)
      #expect(try await earlier.stop() == .exited(code: 0))
      try servers.kill(1)
      try drop("early")
      let stopped = try DaemonProcess(root)
      try await awaitHeldCommit(stopped)
      #expect(try await stopped.stop() == .exited(code: 0), "\(stopped.logText)")
      let next = try DaemonProcess(root)
      try await next.waitForLog("or commits wait for a standby that is away")
      try servers.start(1)
      try await finish(next)
    }

    @Test("goes on once the name of a standby that is gone is taken from the server's setting")
    func givenUpStandby() async throws {
      let daemon = try await DaemonProcess.ready(root)
      _ = try await daemon.submit(#"{"type": "noop"}"#)
      try servers.kill(1)
      async let reply = daemon.request("POST", "/v1/jobs", body: #"{"type": "noop", "id": "asked"}"#)
      try await awaitHeldCommit(daemon)
      // As Fleet.md says: neither waits for the standby.
      try TestDatabase.run("ALTER SYSTEM SET synchronous_standby_names = ''", url)
      try TestDatabase.run("SELECT pg_reload_conf()", url)
      #expect(try await reply.status == 202)
      // For a minute files still wait for the standby, and so would who asks for the end of a job.
      try await daemon.poll {
        let next = try await daemon.request("POST", "/v1/jobs", body: #"{"type": "noop"}"#)
        return next.status == 202 && next.body["durability"]?.string == "local"
      }
      try await daemon.poll { try count("id = 'asked' AND state = 'completed' AND attempt = 1") == "1" }
      #expect(try await daemon.stop() == .exited(code: 0), "\(daemon.logText)")
    }

    @Test("is not taken over for an outage that all share, however long it is beside the time for a takeover")
    func sharedOutage() async throws {
      let other = try DaemonRoot(host: "other", at: url)
      let daemons = [try await DaemonProcess.ready(root), try await DaemonProcess.ready(other)]
      let hosts = "SELECT string_agg(number || state, ' ' ORDER BY number) FROM bobbin._host"
      let before = try TestDatabase.run(hosts, url)
      try servers.kill(0)
      for daemon in daemons { try await daemon.waitForLog("the fleet's database does not answer (") }
      for (root, name) in [(root, "a"), (other, "b")] {
        try root.drop(#"{"type": "noop", "id": "\#(name)"}"#, as: FileName("\(name).json"))
      }
      // The outage is the fault: longer than the 3.5 s of silence after which a host is taken over.
      try await Task.sleep(for: .seconds(6))
      try servers.start(0)
      for daemon in daemons { try await daemon.waitUntilSpoolIsEmpty(seconds: 120) }
      #expect(try count("state = 'completed' AND attempt = 1") == "2")
      #expect(try TestDatabase.run(hosts, url) == before)
      for daemon in daemons { #expect(try await daemon.stop() == .exited(code: 0), "\(daemon.logText)") }
    }

    @Test("says why also where no job waits for an answer")
    func idleLockout() async throws {
      let daemon = try await DaemonProcess.ready(lockableRoot())
      try lockOut()
      let reason = "the server does not let the role locked in"
      try await daemon.waitForLog("the fleet's database does not answer (")
      try await daemon.poll { try await daemon.tool("status").output.contains(reason) }
      try TestDatabase.run("ALTER ROLE locked LOGIN", url)
      try await daemon.waitForLog("the database of the fleet is back")
      #expect(try await daemon.stop() == .exited(code: 0), "\(daemon.logText)")
    }

    @Test("waits as well for a server that does not let it in any more, and says why")
    func lockedOut() async throws {
      let daemon = try await DaemonProcess.ready(lockableRoot())
      _ = try await daemon.request("POST", "/v1/jobs", body: Self.patient("p"))
      try await daemon.wait { try DaemonRoot.entries($0.root.paths.payload).contains("begun-p") }
      try lockOut()
      try root.payload("go", "")
      try drop("meanwhile")
      try await daemon.waitForLog("the server does not let the role locked in")
      #expect(Self.code(try await daemon.request("GET", "/v1/jobs")) == "503 database-away")
      try TestDatabase.run("ALTER ROLE locked LOGIN", url)
      try await daemon.waitForLog("the database of the fleet is back")
      try await daemon.waitUntilSpoolIsEmpty(seconds: 120)
      #expect(try count("state = 'completed' AND attempt = 1") == "2", "\(daemon.logText)")
      #expect(try await daemon.stop() == .exited(code: 0), "\(daemon.logText)")
    }

    @Test("tells who submits a job that it may be accepted, keeps the file, and the job runs once")
    func unanswered() async throws {
      let daemon = try await DaemonProcess.ready(root)
      // Keys for more jobs are reserved then.
      _ = try await daemon.submit(#"{"type": "noop"}"#)
      // Commits wait for it, and beats do not.
      try servers.kill(1)
      async let reply = daemon.request("POST", "/v1/jobs", body: #"{"type": "noop", "id": "asked"}"#)
      try await awaitHeldCommit(daemon, of: "%intake%")
      try servers.kill(0)
      let refused = try await reply
      #expect(Self.code(refused) == "503 admission-interrupted", "\(refused.body.serialized())")
      #expect(refused.body["error"]?["message"]?.string?.contains("\"asked\"") == true)
      #expect(try !root.currentFiles.isEmpty)
      try servers.start(1)
      try servers.start(0)
      try await daemon.waitUntilSpoolIsEmpty(seconds: 120)
      let job = try await daemon.get("/v1/jobs/asked")
      #expect(job["state"]?.string == "completed" && job["attempt"]?.integer == 1, "\(job.serialized())")
      #expect(try count("true") == "2")
      #expect(try await daemon.stop() == .exited(code: 0), "\(daemon.logText)")
    }

    /// Waits until a commit waits for the standby.
    private func awaitHeldCommit(_ daemon: DaemonProcess, of session: String = "%") async throws {
      let held = "wait_event = 'SyncRep' AND application_name LIKE '\(session)'"
      try await daemon.poll {
        try TestDatabase.run("SELECT count(*) FROM pg_stat_activity WHERE \(held)", url) != "0"
      }
    }

    /// Waits until a daemon has started and done its one job, and stops it.
    private func finish(_ daemon: DaemonProcess) async throws {
      try await daemon.wait { $0.notifications.contains("READY=1") }
      try await daemon.waitUntilSpoolIsEmpty()
      #expect(try count("state = 'completed'") == "1")
      #expect(try await daemon.stop() == .exited(code: 0), "\(daemon.logText)")
    }

    /// The root, with a role of its own, which ``lockOut()`` locks out.
    private func lockableRoot() throws -> DaemonRoot {
      try TestDatabase.run("CREATE ROLE locked LOGIN SUPERUSER", url)
      let address = url.replacing("postgres@", with: "locked@")
      try root.configure("[Store]\nUrl=\(address)\n[Workers]\nCount=2\n\(DaemonRoot.quickFlushes)")
      return root
    }

    private func lockOut() throws {
      try TestDatabase.run("ALTER ROLE locked NOLOGIN", url)
      try TestDatabase.run("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'locked'", url)
    }

    private static func patient(_ id: String) -> String { #"{"type": "patient", "id": "\#(id)"}"# }

    private func drop(_ id: String) throws {
      try root.drop(#"{"type": "noop", "id": "\#(id)"}"#, as: FileName("\(id).json"))
    }
  }
}
