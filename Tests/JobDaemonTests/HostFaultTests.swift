import Foundation
import Jobs
import ObjectGraph
import Synchronization
import TestSupport
import Testing

@testable import JobDaemon

@Suite("Faults of the host")
struct HostFaultTests {
  /// Says that a program is missing, so many times.
  private static func handler(
    faults: Int, hasOutsideEffects: Bool, calls: @escaping @Sendable () -> Void = {}
  ) -> ScriptedHandler {
    let left = Mutex(faults)
    return ScriptedHandler("program", hasOutsideEffects: hasOutsideEffects) { _ in
      calls()
      let isFaulty = left.withLock { left in
        left -= 1
        return left >= 0
      }
      if isFaulty { throw HostFault("the program is missing") }
      return .null
    }
  }

  @Test(
    "Jobs that meet a fault of the host run when it is mended, and it costs them no attempt",
    arguments: [false, true])
  func mended(hasOutsideEffects: Bool) async throws {
    let fixture = try DaemonFixture(handlers: [Self.handler(faults: 9, hasOutsideEffects: hasOutsideEffects)])
    try fixture.start()
    try await fixture.run(
      #"{"jobs": [{"type": "program", "id": "a", "maxAttempts": 1}, {"type": "program", "id": "b", "maxAttempts": 1}]}"#
    )
    for id in ["a", "b"] {
      #expect(try fixture.record(id) { $0.currentState } == .completed)
      #expect(try fixture.record(id) { $0.attempt } == 1)
      #expect(try fixture.record(id) { $0.maxAttempts } == 1)
      #expect(try fixture.record(id) { $0.failure } == nil)
    }
    #expect(fixture.daemon.engine.hostFaults.heldTypes.isEmpty)
    #expect(fixture.daemon.statusText == "taking jobs")
    try await fixture.stop()
  }

  @Test("A type is held by the first of its jobs while others run, and a reload tries it again at once")
  func heldType() async throws {
    let (calls, called) = AsyncStream<Void>.makeStream()
    let handler = Self.handler(faults: 1, hasOutsideEffects: false) { called.yield() }
    let fixture = try DaemonFixture(
      "[Type program]\nConcurrency=1", handlers: [handler], hostFaultDelays: .seconds(3600) ... .seconds(3600))
    try fixture.start()
    let ids = try fixture.submit(#"{"jobs": [{"type": "program", "id": "a"}, {"type": "program", "id": "b"}]}"#)
    try await withTimeout { for await _ in calls { break } }
    // The type is held from before the job is back.
    try await withTimeout { [daemon = fixture.daemon] in
      while daemon.scheduler.running(ids[0]) != nil { await Task.yield() }
    }
    #expect(fixture.daemon.engine.hostFaults.heldTypes.map(\.type) == ["program"])
    #expect(fixture.daemon.statusText == "taking jobs; the type \"program\" is held: the program is missing")
    // Nothing else is held.
    try await fixture.run(#"{"type": "noop", "id": "n"}"#)
    #expect(fixture.daemon.scheduler.read { schedule, _ in ids.map(schedule.state) } == [.available, .available])
    let obstacles = fixture.daemon.scheduler.read { schedule, now in schedule.obstacles(of: ids[1], at: now) }
    #expect(obstacles.first == .place(.type("program")))
    fixture.daemon.reload(fixture.daemon.configuration.value, declaredHandlers: [], hotFolders: [])
    try await fixture.waitForRelease(of: ids)
    #expect(try fixture.record("b") { $0.currentState } == .completed)
    #expect(fixture.daemon.statusText == "taking jobs")
    try await fixture.stop()
  }

  @Test("A job that meets time after time what may be its own fault is charged for it, and others run")
  func suspicion() async throws {
    let handler = ScriptedHandler("program", hasOutsideEffects: false) { execution in
      if execution.jobID == "a" { throw HostFault("it exited with code 127", isCertain: false) }
      return .null
    }
    let fixture = try DaemonFixture(
      "[Type program]\nConcurrency=1", handlers: [handler], hostFaultDelays: .milliseconds(1) ... .milliseconds(2))
    try fixture.start()
    try await fixture.run(
      #"{"jobs": [{"type": "program", "id": "a", "maxAttempts": 1}, {"type": "program", "id": "b"}]}"#)
    #expect(try fixture.record("a") { $0.currentState } == .discarded)
    #expect(try fixture.record("a") { $0.failure } == "it exited with code 127")
    #expect(try fixture.record("b") { $0.currentState } == .completed)
    #expect(fixture.daemon.engine.hostFaults.heldTypes.isEmpty)
    try await fixture.stop()
  }

  @Test("A job is charged for what it meets time after time, though others of its type work in between")
  func suspicionAmongGoodJobs() async throws {
    let calls = Mutex((bad: 0, good: 0))
    let daemon = Mutex<Daemon?>(nil)
    let handler = ScriptedHandler("program", hasOutsideEffects: false) { execution in
      if execution.jobID != "a" {
        calls.withLock { $0.good += 1 }
        return .null
      }
      calls.withLock { $0.bad += 1 }
      // It is tried first, and works.
      let good = Data(#"{"type": "program", "priority": 9}"#.utf8)
      _ = try daemon.withLock { $0 }?.accept(good, submitter: getuid())
      throw HostFault("it exited with code 127", isCertain: false)
    }
    let fixture = try DaemonFixture(
      "[Type program]\nConcurrency=1", handlers: [handler], hostFaultDelays: .milliseconds(1) ... .milliseconds(2))
    daemon.withLock { $0 = fixture.daemon }
    try fixture.start()
    try await fixture.run(#"{"type": "program", "id": "a", "maxAttempts": 1}"#)
    #expect(try fixture.record("a") { $0.currentState } == .discarded)
    let (bad, good) = calls.withLock { $0 }
    #expect(bad == 6 && good >= 5)
    daemon.withLock { $0 = nil }
    try await fixture.stop()
  }

  @Test("A type that waits for a file goes on when it comes, without waiting for the next trial, also in a new folder")
  func awaitedFile() async throws {
    let folder = try TemporaryDirectory()
    let path = folder.path("run/handlers/s.sock")
    let handler = ScriptedHandler("program", hasOutsideEffects: true) { _ in
      if !FileManager.default.fileExists(atPath: path) { throw HostFault("there is no socket", awaits: path) }
      return .null
    }
    let fixture = try DaemonFixture(handlers: [handler], hostFaultDelays: .seconds(3600) ... .seconds(3600))
    try fixture.start()
    let ids = try fixture.submit(#"{"type": "program", "id": "a", "maxAttempts": 1}"#)
    try await withTimeout { [daemon = fixture.daemon] in
      while daemon.engine.hostFaults.heldTypes.isEmpty || daemon.scheduler.running(ids[0]) != nil { await Task.yield() }
    }
    try FileManager.default.createDirectory(atPath: folder.path("run/handlers"), withIntermediateDirectories: true)
    // Whether the folder was seen empty or with the file in it, the type goes on.
    try Data().write(to: URL(filePath: path))
    try await fixture.waitForRelease(of: ids)
    #expect(try fixture.record("a") { $0.attempt } == 1)
    #expect(fixture.daemon.statusText == "taking jobs")
    try await fixture.stop()
  }

  @Test("A type that is held for want of room goes on when one of its running jobs has ended")
  func oneConnection() async throws {
    let calls = Mutex(0)
    let daemon = Mutex<Daemon?>(nil)
    let handler = ScriptedHandler("program", hasOutsideEffects: false) { _ in
      let call = calls.withLock { calls in
        calls += 1
        return calls
      }
      // The first has the only connection until the second has found out.
      if call == 1 {
        while daemon.withLock({ $0 })?.engine.hostFaults.heldTypes.isEmpty != false { await Task.yield() }
      }
      if call == 2 { throw HostFault("too many connections") }
      return .null
    }
    let fixture = try DaemonFixture(handlers: [handler], hostFaultDelays: .seconds(3600) ... .seconds(3600))
    daemon.withLock { $0 = fixture.daemon }
    try fixture.start()
    try await fixture.run(#"{"jobs": [{"type": "program", "id": "a"}, {"type": "program", "id": "b"}]}"#)
    #expect(calls.withLock { $0 } == 3)
    for id in ["a", "b"] { #expect(try fixture.record(id) { $0.attempt } == 1) }
    daemon.withLock { $0 = nil }
    try await fixture.stop()
  }

  @Test("A held type is tried again after a time that doubles up to a limit, and each fault is told once")
  func delays() async throws {
    let times = Mutex<[ContinuousClock.Instant]>([])
    let handler = Self.handler(faults: 4, hasOutsideEffects: false) { times.withLock { $0.append(.now) } }
    let fixture = try DaemonFixture(handlers: [handler], hostFaultDelays: .milliseconds(20) ... .milliseconds(50))
    try fixture.start()
    try await fixture.run(#"{"type": "program", "id": "a"}"#)
    let found = times.withLock { $0 }
    try #require(found.count == 5)
    let gaps = zip(found, found.dropFirst()).map { $0.duration(to: $1) }
    for (gap, least) in zip(gaps, [20, 40, 50, 50]) { #expect(gap >= .milliseconds(least)) }
    try await fixture.stop()
  }

  @Test("Jobs that are tried again for what the host lacks are told until each works, fails otherwise or is cancelled")
  func shortages() async throws {
    let isShort = Mutex(true)
    let handler = ScriptedHandler("program", hasOutsideEffects: false) { execution in
      if execution.jobID == "b", !isShort.withLock({ $0 }) { throw JobFailure("it is bad") }
      guard isShort.withLock({ $0 }) else { return .null }
      var failure = JobFailure("there is no room for \(execution.jobID)", isPermanent: false)
      failure.isShortage = true
      throw failure
    }
    let fixture = try DaemonFixture("[Jobs]\nBackoffBaseSec=1h\nBackoffLimitSec=1h", handlers: [handler])
    try fixture.start()
    let ids = try fixture.submit(
      #"{"jobs": [{"type": "program", "id": "a"}, {"type": "program", "id": "b"}, {"type": "program", "id": "c"}]}"#)
    let shortages = fixture.daemon.engine.shortages
    try await withTimeout { while shortages.summary?.jobs != 3 { await Task.yield() } }
    #expect(shortages.summary?.reason.hasPrefix("there is no room for ") == true)
    #expect(fixture.daemon.statusText.hasPrefix("taking jobs; 3 jobs wait for this host: there is no room for "))
    // They are told a moment before their attempts are over.
    let schedule = fixture.daemon.scheduler
    try await withTimeout {
      while !schedule.read({ schedule, _ in ids.allSatisfy { schedule.state(of: $0) == .retryable } }) {
        await Task.yield()
      }
    }
    #expect(try await fixture.perform(.cancel(reason: "enough"), on: "c") == .done)
    #expect(shortages.summary?.jobs == 2)
    isShort.withLock { $0 = false }
    for id in ["a", "b"] { #expect(try await fixture.perform(.retry, on: id) == .done) }
    try await fixture.waitForRelease(of: ids)
    #expect(shortages.summary == nil && fixture.daemon.statusText == "taking jobs")
    try await fixture.stop()
  }
}
