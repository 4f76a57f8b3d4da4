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
    let fixture = try DaemonFixture("[Retention]\nCompletedAgeSec=1s\n")
    try fixture.start()
    try await fixture.run(jobs(3, "a"))
    #expect(try fixture.jobCount() == 3)
    try await fixture.waitForJobCount(atMost: 0)
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
