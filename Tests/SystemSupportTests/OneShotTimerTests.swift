import Dispatch
import Synchronization
import SystemSupport
import TestSupport
import Testing

@Suite("A one-shot timer")
struct OneShotTimerTests {
  private let queue = DispatchQueue(label: "timer test")

  @Test("It fires once, not before its time, and can be armed again")
  func fires() async throws {
    let timer = OneShotTimer(queue: queue)
    let (alarms, alarm) = AsyncStream<ContinuousClock.Instant>.makeStream()
    var alarmed = alarms.makeAsyncIterator()
    for _ in 0..<2 {
      let start = ContinuousClock.now
      timer.arm(after: .milliseconds(20)) { alarm.yield(.now) }
      #expect(timer.isArmed)
      let time = try #require(await alarmed.next())
      #expect(start.duration(to: time) >= .milliseconds(20))
      #expect(!timer.isArmed)
    }
  }

  @Test("To arm it again replaces the alarm, unless that is to stay")
  func replaced() async throws {
    let timer = OneShotTimer(queue: queue)
    let (alarms, alarm) = AsyncStream<Int>.makeStream()
    timer.arm(after: .seconds(3600)) { alarm.yield(1) }
    timer.arm(after: .milliseconds(1)) { alarm.yield(2) }
    timer.arm(after: .zero, replacing: false) { alarm.yield(3) }
    let first = try await withTimeout { await alarms.first { _ in true } }
    #expect(first == 2)
  }

  @Test("An alarm that is due but has not begun does not run once it is disarmed, replaced or cancelled")
  func tooLate() throws {
    let ran = Mutex<[String]>([])
    let timers = (0..<3).map { _ in OneShotTimer(queue: queue) }
    // The queue is busy while the alarms become due.
    queue.sync {
      for timer in timers { timer.arm(after: .zero) { ran.withLock { $0.append("old") } } }
      let due = DispatchSemaphore(value: 0)
      let other = OneShotTimer(queue: DispatchQueue(label: "other"))
      other.arm(after: .milliseconds(30)) { due.signal() }
      #expect(due.wait(timeout: .now() + 60) == .success)
      timers[0].disarm()
      timers[1].cancel()
      timers[2].arm(after: .seconds(3600)) {}
    }
    // Behind the alarms, were they to run.
    queue.sync {}
    queue.sync {}
    #expect(ran.withLock { $0 } == [])
    #expect(timers.map(\.isArmed) == [false, false, true])
  }

  @Test("A cancelled timer is never armed again")
  func cancelled() {
    let timer = OneShotTimer(queue: queue)
    timer.cancel()
    timer.arm(after: .zero) {}
    #expect(!timer.isArmed)
  }

  @Test("A moment on the wall clock that has passed is due at once")
  func wall() async throws {
    let timer = OneShotTimer(queue: queue)
    let (alarms, alarm) = AsyncStream<Void>.makeStream()
    timer.arm(at: DispatchWallTime.now() - 5) { alarm.yield() }
    _ = try await withTimeout { await alarms.first { _ in true } }
  }

  @Test("Long durations become long intervals, and short ones keep their nanoseconds")
  func intervals() {
    #expect(DispatchTimeInterval(.seconds(2) + .nanoseconds(3)) == .nanoseconds(2_000_000_003))
    #expect(DispatchTimeInterval(.seconds(Int64.max)) == .nanoseconds(9_000_000_000_000_000_000))
  }
}
