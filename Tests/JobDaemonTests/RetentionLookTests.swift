import Foundation
import Jobs
import Synchronization
import SystemSupport
import Testing

@testable import JobDaemon

/// When retention looks for jobs that are to go, in a store that the test makes up.
@Suite("The looks of retention")
struct RetentionLookTests {
  private final class MadeUpSteps: RetentionSteps {
    struct State {
      var now = Date(timeIntervalSinceReferenceDate: 0)
      /// True if there is a completed job that is too old, and has to stay.
      var isLeft = false
      var runCount = 0
      var alarm: Date?
      var onRun: @Sendable () -> Void = {}
      var onEnd: @Sendable () -> Void = {}
    }

    let state = Mutex(State())

    var mayRemove: Bool { true }
    func now() -> Date { state.withLock { $0.now } }

    func count(_ state: JobState) -> Int {
      if state != .completed { return 0 }
      let onRun = self.state.withLock { state in
        state.runCount += 1
        return state.onRun
      }
      onRun()
      return 1
    }

    func remove(_ state: JobState, endedBefore date: Date, limit: Int) -> Int { 0 }
    func waitUntilDurable() -> Bool { true }
    func oldestEnd(_ state: JobState) -> Date? { nil }

    func firstEnd(_ state: JobState, from date: Date) -> Date? {
      if state != .completed { return nil }
      return self.state.withLock { $0.isLeft && date == .distantPast ? .distantPast : $0.now }
    }

    func arm(_ timer: OneShotTimer, for moment: Date, _ alarm: @escaping @Sendable () -> Void) {
      let onEnd = state.withLock { state in
        state.alarm = moment
        return state.onEnd
      }
      onEnd()
    }

    func reclaim() -> Bool { false }
    func storeSize() -> Int { 0 }
  }

  private let steps = MadeUpSteps()
  private let fixture: DaemonFixture
  private let retention: Retention

  init() throws {
    fixture = try DaemonFixture("[Retention]\nCompletedAgeSec=30d\n")
    retention = Retention(fixture.daemon.engine, steps)
  }

  /// Has retention look, and waits until it has armed its timer.
  private func look() -> TimeInterval? {
    let armed = Latch()
    steps.state.withLock { $0.onEnd = { armed.open() } }
    retention.runSoon()
    guard armed.wait(for: .seconds(20)) else { return nil }
    return steps.state.withLock { state in state.alarm.map { $0.timeIntervalSince(state.now) } }
  }

  private func pass(_ seconds: TimeInterval) { steps.state.withLock { $0.now += seconds } }

  @Test("are no more because jobs end meanwhile, once its timer waits for the age of one that ended earlier")
  func busy() async throws {
    steps.state.withLock { [retention] in $0.onRun = { retention.note([.completed: 1, .quarantined: 1]) } }
    _ = look()
    // That of the jobs that ended in the first one, of which nothing was known.
    while steps.state.withLock({ $0.runCount }) < 2 { await Task.yield() }
    for _ in 0..<10_000 { await Task.yield() }
    #expect(steps.state.withLock { $0.runCount } == 2)
    retention.stop()
  }

  @Test("come once more when one of another state ends, for whose age the timer does not wait") func otherState() {
    _ = look()
    let isDone = Latch()
    steps.state.withLock { $0.onEnd = { isDone.open() } }
    retention.note([.cancelled: 1])
    #expect(isDone.wait(for: .seconds(20)))
    #expect(steps.state.withLock { $0.runCount } == 2)
    retention.stop()
  }

  @Test("at what had to stay come after ten seconds, then when it has stayed as long again, and each hour at last")
  func left() {
    let month: TimeInterval = 30 * 86_400
    #expect(look() == month + 1)
    // However long nothing has had to go.
    pass(2 * 86_400)
    steps.state.withLock { $0.isLeft = true }
    #expect(look() == 10)
    pass(10)
    #expect(look() == 10)
    pass(50)
    #expect(look() == 60)
    pass(86_400)
    #expect(look() == 3_600)
    steps.state.withLock { $0.isLeft = false }
    #expect(look() == month + 1)
    steps.state.withLock { $0.isLeft = true }
    #expect(look() == 10)
    retention.stop()
  }
}
