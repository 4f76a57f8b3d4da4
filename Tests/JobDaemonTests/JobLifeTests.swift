import Jobs
import ObjectGraph
import Synchronization
import TestSupport
import Testing

@testable import JobDaemon

@Suite("What a job's record says of its life")
struct JobLifeTests {
  /// A job without delays between its attempts.
  private func job(_ id: String, type: String, _ more: String = "") -> String {
    #"{"type": "\#(type)", "id": "\#(id)", "backoff": {"kind": "fixed", "base": "1ms"}\#(more)}"#
  }

  @Test("The status line for systemd names a few pauses, and how many more there are")
  func manyPauses() async throws {
    let fixture = try DaemonFixture()
    try fixture.start()
    fixture.daemon.scheduler.change { schedule, now in
      for number in 1...40 {
        schedule.setPaused(true, .queue("\(number)-" + String(repeating: "q", count: 90)), at: now)
      }
    }
    let text = fixture.daemon.statusText
    #expect(text.contains("and 35 more") && text.utf8.count < 1_000, "\(text)")
    try await fixture.stop()
  }

  @Test("A job that completes after failures keeps none of them as its error")
  func completed() async throws {
    let handler = ScriptedHandler("flaky") { execution in
      if execution.attempt < 3 { throw JobFailure("not yet", isPermanent: false) }
      return .null
    }
    let fixture = try DaemonFixture(handlers: [handler])
    try fixture.start()
    try await fixture.run(job("j", type: "flaky"))
    #expect(try fixture.record("j") { $0.currentState } == .completed)
    #expect(try fixture.record("j") { $0.failure } == nil)
    #expect(try fixture.record("j") { $0.attempt } == 3)
    try await fixture.stop()
  }

  @Test("A job that is put back from quarantine may crash as often again as a new one")
  func redriven() async throws {
    let handler = ScriptedHandler("crashes") { _ in
      var failure = JobFailure("crashed", isPermanent: false)
      failure.crash = CrashEvidence(signal: 6)
      throw failure
    }
    let fixture = try DaemonFixture(handlers: [handler])
    try fixture.start()
    let ids = try await fixture.run(job("j", type: "crashes", #", "maxAttempts": 20"#))
    #expect(try fixture.record("j") { $0.currentState } == .quarantined)
    #expect(try fixture.record("j") { $0.attempt } == 3)
    #expect(try await fixture.perform(.redrive, on: "j") == .done)
    try await fixture.waitForRelease(of: ids)
    #expect(try fixture.record("j") { $0.currentState } == .quarantined)
    #expect(try fixture.record("j") { $0.attempt } == 6)
    try await fixture.stop()
  }

  @Test("An attempt that was cut short by a hold does not count")
  func held() async throws {
    let (starts, started) = AsyncStream<Void>.makeStream()
    let handler = ScriptedHandler("slow") { execution in
      if execution.attempt > 1 { throw JobFailure("fails") }
      started.yield()
      try await withTimeout { while !Task.isCancelled { await Task.yield() } }
      throw CancellationError()
    }
    let fixture = try DaemonFixture(handlers: [handler])
    try fixture.start()
    let ids = try fixture.submit(job("j", type: "slow", #", "maxAttempts": 1"#))
    try await withTimeout { for await _ in starts { break } }
    let (ends, ended) = AsyncStream<Void>.makeStream()
    fixture.daemon.waiters.add(ids, to: fixture.daemon.scheduler, whenHeld: { ended.yield() }) {}
    #expect(try await fixture.perform(.hold, on: "j") == .done)
    try await withTimeout { for await _ in ends { break } }
    #expect(try fixture.record("j") { $0.currentState } == .held)
    #expect(try fixture.record("j") { [$0.attempt, $0.maxAttempts] } == [1, 2])
    #expect(try await fixture.perform(.release, on: "j") == .done)
    try await fixture.waitForRelease(of: ids)
    // It was tried once more, and failed by itself.
    #expect(try fixture.record("j") { $0.failure } == "fails")
    try await fixture.stop()
  }

  @Test(
    "An order that was answered holds also for an attempt that comes to its end nevertheless",
    arguments: [JobControl.Command.cancel(reason: "no need"), .hold])
  func orderedAtTheEnd(_ command: JobControl.Command) async throws {
    let (starts, started) = AsyncStream<Void>.makeStream()
    let handler = ScriptedHandler("deaf") { execution in
      started.yield()
      do { try await withTimeout { while !Task.isCancelled { await Task.yield() } } } catch is CancellationError {}
      return .null
    }
    let fixture = try DaemonFixture(handlers: [handler])
    try fixture.start()
    let ids = try fixture.submit(job("j", type: "deaf"))
    try await withTimeout { for await _ in starts { break } }
    let (ends, ended) = AsyncStream<Void>.makeStream()
    fixture.daemon.waiters.add(ids, to: fixture.daemon.scheduler, whenHeld: { ended.yield() }) { ended.yield() }
    #expect(try await fixture.perform(command, on: "j") == .done)
    try await withTimeout { for await _ in ends { break } }
    #expect(try fixture.record("j") { $0.currentState } == (command.isCancel ? .cancelled : .held))
    try await fixture.stop()
  }

  @Test("A store that is busy costs no attempt")
  func busy() async throws {
    let handler = ScriptedHandler("store") { execution in
      if execution.attempt == 1 { throw StoreError(.busy, "locked") }
      return .null
    }
    let fixture = try DaemonFixture(handlers: [handler])
    try fixture.start()
    try await fixture.run(job("j", type: "store", #", "maxAttempts": 1"#))
    #expect(try fixture.record("j") { $0.currentState } == .completed)
    try await fixture.stop()
  }

  @Test("A completed job keeps no place to go on from, and every job that is over tells when it ended")
  func ends() async throws {
    let careful = ScriptedHandler("careful") { execution in
      try await execution.checkpoint("half")
      if execution.jobID == "fails" { throw JobFailure("no", isPermanent: true) }
      return .null
    }
    let fixture = try DaemonFixture(handlers: [careful])
    try fixture.start()
    try await fixture.run(job("good", type: "careful"))
    try await fixture.run(job("fails", type: "careful"))
    #expect(try fixture.record("good") { $0.currentState } == .completed)
    #expect(try fixture.record("good") { $0.cursor } == nil)
    #expect(try fixture.record("fails") { $0.currentState } == .discarded)
    for id in ["good", "fails"] { #expect(try fixture.record(id) { $0.finishedAt } != nil) }
    try await fixture.stop()
  }

  @Test("A job that is put back has neither the error nor the end of its earlier life")
  func putBack() async throws {
    let handler = ScriptedHandler("fails") { _ in throw JobFailure("no", isPermanent: true) }
    let fixture = try DaemonFixture(handlers: [handler])
    try fixture.start()
    try await fixture.run(job("j", type: "fails"))
    #expect(try fixture.record("j") { $0.failure } == "no")
    fixture.daemon.scheduler.change { schedule, now in schedule.setPaused(true, .everything, at: now) }
    #expect(try await fixture.perform(.retry, on: "j") == .done)
    #expect(try fixture.record("j") { $0.currentState } == .available)
    #expect(try fixture.record("j") { $0.failure } == nil)
    #expect(try fixture.record("j") { $0.finishedAt } == nil)
    try await fixture.stop()
  }

  @Test("A unique key turns others away until its job is over, also those that are put back")
  func uniqueKey() async throws {
    let handler = ScriptedHandler("fails") { _ in throw JobFailure("no", isPermanent: true) }
    let fixture = try DaemonFixture(handlers: [handler])
    try fixture.start()
    try await fixture.run(job("first", type: "fails", #", "unique": "u""#))
    fixture.daemon.scheduler.change { schedule, now in schedule.setPaused(true, .everything, at: now) }
    let second = try fixture.submit(job("second", type: "noop", #", "unique": "u""#))
    try await fixture.run(job("third", type: "noop", #", "unique": "u""#))
    #expect(try fixture.record("third") { $0.currentState } == .cancelled)
    #expect(try await fixture.perform(.retry, on: "first") == .keyTaken(.discarded, owner: "second"))
    fixture.daemon.scheduler.change { schedule, now in schedule.setPaused(false, .everything, at: now) }
    try await fixture.waitForRelease(of: second)
    #expect(try fixture.record("second") { $0.currentState } == .completed)
    #expect(try await fixture.perform(.retry, on: "first") == .done)
    try await fixture.stop()
  }

  @Test("A job that somebody lets try again at once has all its attempts before it")
  func triedAtOnce() async throws {
    let handler = ScriptedHandler("fails") { _ in throw JobFailure("no", isPermanent: false) }
    let fixture = try DaemonFixture(handlers: [handler])
    try fixture.start()
    let ids = try fixture.submit(
      #"{"type": "fails", "id": "j", "maxAttempts": 2, "backoff": {"kind": "fixed", "base": "1h"}}"#)
    // Its record tells of the end of an attempt a moment before the schedule does.
    let schedule = fixture.daemon.scheduler
    let waitUntilRetryable = { (attempt: Int) in
      try await fixture.waitUntil { try fixture.record("j") { $0.attempt } == attempt }
      try await withTimeout {
        while !schedule.read({ schedule, _ in ids.allSatisfy { schedule.state(of: $0) == .retryable } }) {
          await Task.yield()
        }
      }
    }
    try await waitUntilRetryable(1)
    #expect(try await fixture.perform(.retry, on: "j") == .done)
    try await waitUntilRetryable(2)
    #expect(try fixture.record("j") { $0.currentState } == .retryable)
    #expect(try fixture.record("j") { $0.maxAttempts } == 3)
    #expect(try await fixture.perform(.cancel(reason: "enough"), on: "j") == .done)
    try await fixture.waitForRelease(of: ids)
    #expect(try fixture.record("j") { $0.failure } == "enough")
    try await fixture.stop()
  }
}
