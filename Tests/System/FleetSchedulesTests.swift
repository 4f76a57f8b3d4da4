import DaemonTesting
import Foundation
import JSONText
import PostgresTesting
import TestSupport
import Testing

extension FleetSystemTests {
  @Suite("The schedules of a fleet", .enabled(if: PostgresCluster.isAvailable()))
  struct FleetSchedules {
    private let database: TestDatabase
    private let first: DaemonRoot
    private let second: DaemonRoot

    init() throws {
      database = try PostgresCluster.makeDatabase()
      first = try Self.root("a", database)
      second = try Self.root("b", database)
    }

    private static func root(_ name: String, _ database: TestDatabase) throws -> DaemonRoot {
      let root = try DaemonRoot(host: name, at: database.url, "[Retention]\nStoreSizeMax=1G\n")
      try root.write(
        "[Handler]\nType=long\nExecStart=/bin/sleep 600\n", to: root.paths.handlers + "/long.conf")
      return root
    }

    private func add(_ name: String, _ rule: String, type: String, to root: DaemonRoot) throws {
      try root.write(
        "[Schedule]\n\(rule)\nJob=\(name).json\n", to: root.paths.schedules + "/\(name).conf")
      try root.write(#"{"type": "\#(type)"}"#, to: root.paths.schedules + "/\(name).json")
    }

    private func wait(_ daemon: DaemonProcess, _ isWanted: (JSONValue) -> Bool) async throws {
      let deadline = ContinuousClock.now + .seconds(30)
      while let reply = try await daemon.get("/v1/schedules")["schedules"]?.array?.first, !isWanted(reply) {
        try #require(ContinuousClock.now < deadline, "\(reply.serialized())\n\(daemon.logText)")
      }
    }

    private func count() throws -> Int { Int(try database.run(#"SELECT count(*) FROM bobbin."Job""#) ?? "") ?? 0 }

    @Test("A pause from any host holds on all of them, also on one that starts later")
    func pauses() async throws {
      for root in [first, second] { try add("tick", "OnCalendar=*:*:*", type: "noop", to: root) }
      let one = try await DaemonProcess.ready(first)
      let other = try await DaemonProcess.ready(second)
      try await one.waitForLog("[Retention] StoreSizeMax has no effect")
      for daemon in [one, other] { try await wait(daemon) { $0["lastFiring"]?.string != nil } }
      let paused = try await other.tool("pause", "--schedule", "tick")
      #expect(paused.code == 0, "\(paused)")
      for daemon in [one, other] { try await wait(daemon) { $0["isPaused"] == true } }
      try await one.waitUntilSpoolIsEmpty()
      try await other.waitUntilSpoolIsEmpty()
      let before = try count()
      #expect(before > 0)
      #expect(try await other.stop() == .exited(code: 0))
      // One that has never known of the schedule.
      try FileManager.default.removeItem(atPath: second.paths.state + "/schedules")
      let again = try await DaemonProcess.ready(second)
      try await wait(again) { $0["isPaused"] == true }
      #expect(try count() == before)
      #expect(try await one.tool("resume", "--schedule", "tick").code == 0)
      for daemon in [one, again] { try await wait(daemon) { $0["isPaused"] == false } }
      let deadline = ContinuousClock.now + .seconds(30)
      while try count() == before { try #require(ContinuousClock.now < deadline) }
      let twice = try database.run(#"SELECT count(*) FROM bobbin."Job" WHERE attempt > 1"#)
      #expect(twice == "0")
      for daemon in [one, again] { #expect(try await daemon.stop() == .exited(code: 0)) }
    }

    @Test("A firing is left out while the last one is unfinished, whichever host has made that")
    func overlap() async throws {
      for root in [first, second] { try add("slow", "OnCalendar=*:*:*\nOverlap=skip", type: "long", to: root) }
      let one = try await DaemonProcess.ready(first)
      try await wait(one) { $0["lastFiring"]?.string != nil }
      #expect(try await one.stop() == .exited(code: 0))
      let other = try await DaemonProcess.ready(second)
      try await other.waitForLog("schedule slow")
      #expect(try count() == 1, "\(other.logText)")
      _ = try await other.stop()
    }
  }
}
