import Synchronization
import SystemSupport
import TestSupport
import Testing

@testable import JobDaemon

@Suite("The check that parts make progress")
struct ProgressCheckTests {
  /// A part that a test works with.
  private final class TestPart: Sendable {
    let work = Mutex<UInt64>(0)
    let calls = Mutex<[@Sendable () -> Void]>([])

    func part(patience: Int = 1) -> ProgressCheck.Part {
      ProgressCheck.Part(
        name: "it", patience: patience, call: { call in self.calls.withLock { $0.append(call) } },
        work: { self.work.withLock { $0 } })
    }

    func answer() {
      let due = calls.withLock { calls in
        defer { calls = [] }
        return calls
      }
      for call in due { call() }
    }
  }

  @Test("A part that answers goes on, also one that answers late; it is not called again before")
  func answering() {
    let part = TestPart()
    let check = ProgressCheck([part.part()])
    for _ in 0..<3 {
      #expect(check.look() == [])
      part.answer()
    }
    #expect(check.look() == [])
    #expect(check.look() == ["it"])
    #expect(part.calls.withLock { $0.count } == 1)
    part.answer()
    #expect(check.look() == [])
  }

  @Test("One that works and has no time to answer goes on; one that has stopped working hangs")
  func working() {
    let part = TestPart()
    let check = ProgressCheck([part.part()])
    for _ in 0..<5 {
      #expect(check.look() == [])
      part.work.withLock { $0 += 1 }
    }
    #expect(check.look() == [])
    #expect(check.look() == ["it"])
  }

  @Test("One that may take its time hangs after as many looks in a row as it has patience")
  func patience() {
    let part = TestPart()
    let check = ProgressCheck([part.part(patience: 3)])
    for _ in 0..<3 { #expect(check.look() == []) }
    part.work.withLock { $0 += 1 }
    for _ in 0..<3 { #expect(check.look() == []) }
    #expect(check.look() == ["it"])
    #expect(check.look() == ["it"])
  }

  @Test("Of a daemon, a main or a scheduler that is kept from working is named, and no other")
  func daemon() async throws {
    let fixture = try DaemonFixture()
    try fixture.start()
    try await fixture.run(#"{"type": "noop"}"#)
    let daemon = fixture.daemon
    #expect(daemon.hangingParts() == [])
    for part in [Occupation.main, .scheduler] {
      let hanging = try await hanging(daemon, while: part)
      #expect(hanging == [part.rawValue])
    }
    try await fixture.stop()
  }

  /// A part that a test keeps from working, by its name.
  private enum Occupation: String, CaseIterable {
    case main
    case scheduler = "the scheduler"

    func begin(_ daemon: Daemon, _ work: @escaping @Sendable () -> Void) {
      switch self {
      case .main: daemon.main.perform { _ in work() }
      case .scheduler: daemon.scheduler.ping(work)
      }
    }

    /// Waits until the part has done what it was called for before.
    func wait(_ daemon: Daemon) async throws {
      try await withTimeout(seconds: 60) {
        await withCheckedContinuation { continuation in begin(daemon) { continuation.resume() } }
      }
    }
  }

  /// Returns what hangs while a part is occupied between two looks.
  private func hanging(_ daemon: Daemon, while part: Occupation) async throws -> [String] {
    for each in Occupation.allCases { try await each.wait(daemon) }
    let over = Latch()
    part.begin(daemon) { _ = over.wait(for: .seconds(60)) }
    let first = daemon.hangingParts()
    for other in Occupation.allCases where other != part { try await other.wait(daemon) }
    let second = daemon.hangingParts()
    over.open()
    try await part.wait(daemon)
    return first + second
  }
}
