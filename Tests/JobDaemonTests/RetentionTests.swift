import Foundation
import Synchronization
import SystemSupport
import Testing

@testable import JobDaemon

@Suite("Retention")
struct RetentionTests {
  private func jobs(_ count: Int, _ prefix: String) -> String {
    let list = (0..<count).map { #"{"type": "noop", "id": "\#(prefix)\#($0)"}"# }
    return "{\"jobs\": [\(list.joined(separator: ","))]}"
  }

  @Test("Jobs that are too many are removed while the daemon runs, the oldest first")
  func count() async throws {
    let fixture = try DaemonFixture("[Retention]\nCompletedCount=10\n")
    try fixture.start()
    // The first look is at the start; the second one is due when there are a hundred more than there may be.
    try await fixture.run(jobs(40, "a"))
    try await fixture.waitForJobCount(atMost: 40)
    try await fixture.run(jobs(120, "b"))
    try await fixture.run(jobs(20, "c"))
    try await fixture.waitForJobCount(atMost: 110)
    #expect(throws: (any Error).self) { try fixture.record("a0") { $0.id } }
    #expect(try fixture.record("c19") { $0.id } == "c19")
    try await fixture.stop()
  }

  @Test("Jobs that are too old are removed when their time comes, though no other job ends then")
  func age() async throws {
    let fixture = try DaemonFixture("[Retention]\nCompletedAgeSec=10s\n")
    try fixture.start()
    try await fixture.run(jobs(3, "a"))
    #expect(try fixture.jobCount() == 3)
    try await fixture.waitForJobCount(atMost: 0)
    try await fixture.stop()
  }

  @Test("A job that an operator has put back is not removed behind that")
  func putBack() async throws {
    let fixture = try DaemonFixture()
    try fixture.start()
    try await fixture.run(#"{"type": "noop", "id": "j"}"#)
    let daemon = fixture.daemon
    let steps = StoreRetentionSteps(
      engine: daemon.engine, coordinator: daemon.coordinator,
      clock: RetentionClock(path: daemon.paths.clock, log: daemon.log), control: daemon.control)
    // The command waits for its turn when retention begins a step.
    let gate = Latch()
    let replies = Mutex<[JobControl.Reply]>([])
    daemon.control.enqueue({ (_: Result<Void, any Error>) in }) { _ = gate.wait(for: .seconds(20)) }
    daemon.control.perform(.retry, on: ["j"], by: .owner) { result in
      replies.withLock { $0 = (try? result.get().map(\.reply)) ?? [] }
    }
    daemon.scheduler.change { $0.setPaused(true, .everything, at: $1) }
    let removal = Task { try await steps.remove(.completed, endedBefore: .distantFuture, limit: 10) }
    for _ in 0..<1_000 { await Task.yield() }
    gate.open()
    #expect(try await removal.value == 0)
    #expect(replies.withLock { $0 } == [.done])
    #expect(try fixture.record("j") { $0.id } == "j")
    try await fixture.stop()
  }

  @Test("A job that an unfinished one names stays, however old it is")
  func needed() async throws {
    let fixture = try DaemonFixture("[Retention]\nCompletedAgeSec=1s\n")
    try fixture.start()
    _ = try fixture.submit(#"{"type": "noop", "id": "waiting", "after": ["a1", "never"]}"#)
    try await fixture.run(jobs(3, "a"))
    try await fixture.waitForJobCount(atMost: 2)
    #expect(try fixture.record("a1") { $0.currentState } == .completed)
    #expect(try fixture.record("waiting") { $0.currentState } == .waiting)
    try await fixture.stop()
  }

  @Test("A store that is too large loses its oldest jobs")
  func size() async throws {
    let fixture = try DaemonFixture("[Retention]\nStoreSizeMax=1M\n")
    try fixture.start()
    for part in 0..<6 { try await fixture.run(jobs(1_000, "\(part)-")) }
    try await fixture.waitForJobCount(atMost: 5_000)
    #expect(throws: (any Error).self) { try fixture.record("0-0") { $0.id } }
    #expect(try fixture.daemon.coordinator.bytesInUse() <= 2 << 20)
    try await fixture.stop()
  }
}
