import DaemonTesting
import Foundation
import PostgresTesting
import TestSupport
import Testing

extension FleetSystemTests {
  /// What becomes of jobs that are cut short when their host stops.
  @Suite("A host of a fleet that stops", .enabled(if: PostgresCluster.isAvailable()))
  struct FleetStops {
    private let database: TestDatabase
    private let roots: [DaemonRoot]
    private let folder: TemporaryDirectory

    init() throws {
      database = try PostgresCluster.makeDatabase()
      folder = try TemporaryDirectory()
      roots = try ["a", "b"].map { [database] name in
        try DaemonRoot(host: name, at: database.url, "ShutdownTimeoutSec=\(name == "a" ? "1s" : "60s")\n")
      }
      let steps = folder.path("steps.sh")
      // Two objects, each with its checkpoint, and then a long time; another attempt does what is left of it.
      let insert =
        #"""
        insert() { echo '{"insert": {"entity": "Reading", "values": {"job": "x", "number": '$1'}}}'
        echo '{"checkpoint": "'$1'"}'; }
        """#
      try roots[0].write(
        """
        IFS= read -r job
        \(insert)
        case $job in *'"cursor":"2"'*) from=2;; *'"cursor":"1"'*) from=1;; *) from=0;; esac
        if [ $from = 0 ]; then
          insert 1
          until [ -e \(folder.path("second")) ]; do /bin/sleep 0.02; done
          insert 2
          exec /bin/sleep 600
        fi
        [ $from = 2 ] || insert 2
        echo '{"result": {"from": '$from'}}'
        """, to: steps)
      let awaits = folder.path("awaits.sh")
      try roots[0].write("until [ -e \(folder.path("end")) ]; do /bin/sleep 0.02; done\n", to: awaits)
      for root in roots {
        for (type, script) in ["steps": steps, "awaits": awaits, "quick": "-c true"] {
          try root.write(
            "[Handler]\nType=\(type)\nExecStart=/bin/sh \(script)\n", to: root.paths.handlers + "/\(type).conf")
        }
      }
    }

    private func wait(
      _ daemon: DaemonProcess, until query: String, is text: String, line: UInt = #line
    ) async throws {
      try await daemon.poll(seconds: 60, line: line) { try database.run(query) == text }
    }

    @Test("A job that is cut short goes on elsewhere from its last checkpoint, which is on disk by then")
    func checkpoints() async throws {
      let one = try await DaemonProcess.ready(roots[0])
      try roots[0].drop(#"{"jobs": [{"type": "steps", "id": "x"}, {"type": "awaits", "id": "y"}]}"#, as: "jobs.json")
      try await wait(one, until: #"SELECT "cursor" IS NOT NULL FROM bobbin."Job" WHERE id = 'x'"#, is: "t")
      try await wait(one, until: "SELECT count(*) FROM bobbin._run", is: "2")
      let other = try await DaemonProcess.ready(roots[1])

      // Somebody holds a row that the next flush needs, so that the second checkpoint waits behind that.
      let held = try database.hold(#"SELECT 1 FROM bobbin."Job" WHERE id = 'y' FOR UPDATE"#)
      try roots[0].write("", to: folder.path("end"))
      try await onThread { [database] in try database.awaitLock(of: "%") }
      try roots[0].write("", to: folder.path("second"))
      let deadline = ContinuousClock.now + .seconds(40)
      while try await one.get("/v1/status")["writer"]?["unflushedObjects"]?.integer ?? 0 < 2 {
        try #require(ContinuousClock.now < deadline, "\(one.logText)")
      }

      async let end = one.stop()
      while one.child(named: "sleep") != nil { try #require(ContinuousClock.now < deadline, "\(one.logText)") }
      // Whoever could begin it would do so in this time.
      for _ in 0..<200 { #expect(try await other.get("/v1/jobs/x")["state"]?.string == "running") }
      held.release()
      #expect(try await end == .exited(code: 0))
      try await wait(other, until: #"SELECT "state" FROM bobbin."Job" WHERE id = 'x'"#, is: "completed")
      let numbers = #"SELECT string_agg("number"::text, ',' ORDER BY "number") FROM bobbin."Reading""#
      #expect(try database.run(numbers) == "1,2")
      #expect(try database.run(#"SELECT result FROM bobbin."Job" WHERE id = 'x'"#)?.contains("2") == true)
      #expect(try await other.stop() == .exited(code: 0))
    }

    @Test("Jobs that come while a host waits for its last one are run by others")
    func last() async throws {
      let one = try await DaemonProcess.ready(roots[1])
      try roots[1].drop(#"{"type": "awaits", "id": "y"}"#, as: "y.json")
      try await wait(one, until: "SELECT count(*) FROM bobbin._run", is: "1")
      let other = try await DaemonProcess.ready(roots[0])
      async let end = one.stop()
      try await one.wait { $0.notifications.contains("STOPPING=1") }
      let jobs = (0..<8).map { #"{"type": "quick", "id": "q\#($0)"}"# }.joined(separator: ",")
      for job in try await other.submit("{\"jobs\": [\(jobs)]}", seconds: 30) {
        #expect(job["state"]?.string == "completed", "\(job.serialized())\n\(one.logText)")
      }
      #expect(try database.run(#"SELECT "state" FROM bobbin."Job" WHERE id = 'y'"#) == "available")
      try roots[0].write("", to: folder.path("end"))
      #expect(try await end == .exited(code: 0))
      #expect(try database.run(#"SELECT "state" FROM bobbin."Job" WHERE id = 'y'"#) == "completed")
      #expect(try await other.stop() == .exited(code: 0))
    }

    @Test("A job that was assigned before its type was taken away waits for a host that has it")
    func removedType() async throws {
      let one = try await DaemonProcess.ready(roots[0])
      // The lead does not hear of it before this ends.
      let held = try database.hold("SELECT 1 FROM bobbin._host FOR UPDATE")
      let jobs = #"{"jobs": [{"type": "awaits"}, {"type": "awaits"}, {"type": "quick", "id": "x"}]}"#
      try roots[0].drop(jobs, as: "jobs.json")
      try await wait(one, until: "SELECT count(*) FROM bobbin._run", is: "2")
      try FileManager.default.removeItem(atPath: roots[0].paths.handlers + "/quick.conf")
      try await one.reload()
      try roots[0].write("", to: folder.path("end"))
      let wasGivenBack = "EXISTS (SELECT 1 FROM bobbin._run WHERE attempt > 1)"
      try await wait(
        one, until: #"SELECT "state" = 'held' OR \#(wasGivenBack) FROM bobbin."Job" WHERE id = 'x'"#, is: "t")
      held.release()
      let other = try await DaemonProcess.ready(roots[1])
      try await wait(other, until: #"SELECT "state" FROM bobbin."Job" WHERE id = 'x'"#, is: "completed")
      for daemon in [one, other] { #expect(try await daemon.stop() == .exited(code: 0)) }
    }
  }
}
