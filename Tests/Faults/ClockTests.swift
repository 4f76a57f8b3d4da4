import DaemonTesting
import Foundation
import SystemSupport
import TestSupport
import Testing

extension FaultTests {
  @Suite("Clocks that jump")
  struct Clocks {
    private static let day: Int64 = 86_400

    @Test("What is scheduled runs when a jump makes it due, and not before")
    func forward() async throws {
      let (root, clock) = (try DaemonRoot(), try await SettableClock())
      var figures = FaultFigures("jumps of the clock forward")
      let daemon = try await DaemonProcess.ready(root, environment: clock.environment)
      for number in 1...Int64(FaultPlan.count("JUMPS", short: 2, whole: 20)) {
        let due = Date(timeIntervalSinceNow: Double(number * Self.day - 3600)).formatted(.iso8601)
        let late = Date(timeIntervalSinceNow: Double(number * Self.day + 3600)).formatted(.iso8601)
        try root.drop(
          #"{"jobs": [{"type": "noop", "id": "due-\#(number)", "notBefore": "\#(due)"}, {"type": "noop", "id": "late-\#(number)", "notBefore": "\#(late)"}]}"#,
          as: FileName("\(number).json"))
        _ = try await daemon.submit(#"{"type": "noop", "id": "before-\#(number)"}"#)
        let before = try await root.sql("SELECT id, state FROM Job WHERE id LIKE '%e-\(number)' ORDER BY id")
        #expect(before.contains("due-\(number)|scheduled\nlate-\(number)|scheduled"), "\(before)")
        try clock.set(ahead: number * Self.day)
        // Whoever waits for it is answered when it is over.
        let witness = try await daemon.submit(#"{"type": "noop", "id": "after-\#(number)", "after": "due-\#(number)"}"#)
        #expect(witness.first?["state"]?.string == "completed")
        let state = try await root.sql("SELECT state FROM Job WHERE id = 'late-\(number)'")
        #expect(state == "scheduled")
        figures.faults += 1
        figures.struck += 1
        figures.jobs += 4
      }
      let end = try await daemon.stop()
      #expect(end == .exited(code: 0))
      figures.tell()
    }

    @Test("A clock that is 20 years ahead for one start takes no history away")
    func retention() async throws {
      let (root, clock) = (try DaemonRoot(), try await SettableClock())
      var figures = FaultFigures("starts with a clock far ahead")
      func submit(_ id: String) async throws {
        let daemon = try await DaemonProcess.ready(root, environment: clock.environment)
        let jobs = try await daemon.submit(#"{"type": "noop", "id": "\#(id)"}"#)
        #expect(jobs.first?["state"]?.string == "completed")
        #expect(try await daemon.stop() == .exited(code: 0))
      }
      try await submit("kept")
      try clock.set(ahead: 20 * 365 * Self.day)
      try await submit("ahead")
      try await submit("again")
      try clock.set(ahead: 0)
      try await submit("back")
      #expect(try await root.sql("SELECT id FROM Job ORDER BY id") == "again\nahead\nback\nkept")
      figures.faults += 2
      figures.struck += 2
      figures.jobs += 4
      figures.tell()
    }

    @Test("A clock that is set back holds up neither retries nor timeouts, also over a restart")
    func backward() async throws {
      let (root, clock) = (try DaemonRoot(), try await SettableClock())
      try await Workload.prepare(root)
      var figures = FaultFigures("jumps of the clock backward")
      for number in 1...Int64(FaultPlan.count("JUMPS", short: 2, whole: 20)) {
        let daemon = try await DaemonProcess.ready(root, environment: clock.environment)
        try root.drop(
          #"""
          {"type": "image.encode", "id": "p\#(number)", "timeout": "1ms", "maxAttempts": 3,
            "backoff": {"kind": "fixed", "base": "300ms"},
            "arguments": {"input": "in.jpg", "outputs": [{"path": "p.png", "width": 3000, "enlarge": true}]}}
          """#, as: FileName("p\(number).json"))
        try await daemon.waitForLog("job p\(number): attempt 1")
        try clock.set(ahead: -number * Self.day)
        try await daemon.waitForLog("job p\(number): attempt 2")
        _ = try await daemon.submit(#"{"type": "noop", "id": "n\#(number)"}"#)
        try await daemon.kill()
        // Again behind, while no daemon runs.
        try clock.set(ahead: -number * Self.day - 3600)
        let again = try await DaemonProcess.ready(root, environment: clock.environment)
        try await again.waitUntilSpoolIsEmpty(seconds: 20)
        let end = try await again.stop()
        #expect(end == .exited(code: 0))
        figures.faults += 2
        figures.struck += 2
        figures.jobs += 2
      }
      let states = try await root.sql("SELECT state, count(*) FROM Job GROUP BY state ORDER BY state")
      let count = FaultPlan.count("JUMPS", short: 2, whole: 20)
      #expect(states == "completed|\(count)\ndiscarded|\(count)")
      figures.tell()
    }
  }
}
