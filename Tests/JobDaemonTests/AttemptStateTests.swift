import Testing

@testable import JobDaemon

@Suite("The states of an attempt")
struct AttemptStateTests {
  private var state = AttemptState()
  private let start = ContinuousClock.now

  private mutating func alarm(left: Duration? = .zero, at time: Duration = .zero) -> AttemptState.AlarmAction {
    state.alarm(timeLeft: left, timeout: .seconds(10), stopLimit: .seconds(3), at: start + time)
  }

  private mutating func tell(_ reason: AttemptState.Stop, at time: ContinuousClock.Instant) -> Bool {
    state.stop(reason, at: time)
  }

  private mutating func claimEnd() -> Bool { state.claimEnd() }

  private mutating func abandon() -> Bool { state.abandon() }

  @Test("The heaviest reason counts, and of two equal ones the first")
  mutating func weights() {
    #expect(tell(.shutdown, at: start) == true)
    #expect(tell(.timedOut(.seconds(1)), at: start) == false)
    #expect(tell(.held, at: start + .seconds(1)) == true)
    #expect(tell(.shutdown, at: start) == false)
    #expect(tell(.cancelled("enough"), at: start + .seconds(2)) == true)
    #expect(tell(.cancelled("again"), at: start) == false)
    #expect(tell(.held, at: start) == false)
    #expect(state.stop?.reason == .cancelled("enough"))
    #expect(state.stop?.time == start + .seconds(2))
  }

  @Test("An attempt has one end, after which nothing stops it", arguments: [true, false])
  mutating func oneEnd(_ isAbandoned: Bool) {
    state.start()
    let isClaimed = isAbandoned ? state.abandon() : state.claimEnd()
    #expect(isClaimed)
    #expect(state.isAbandoned == isAbandoned)
    #expect(claimEnd() == false)
    #expect(abandon() == false)
    #expect(tell(.held, at: start) == false)
    #expect(alarm() == .nothing)
    #expect(state.isAbandoned == isAbandoned)
  }

  @Test("An attempt at its timeout is told to end; one that ignores that is abandoned after the stop limit")
  mutating func timeout() {
    state.start()
    #expect(alarm(left: .seconds(4)) == .remind(after: .seconds(4)))
    #expect(state.stop == nil)
    #expect(alarm(at: .seconds(10)) == .cancel(remindAfter: .seconds(3)))
    #expect(state.stop?.reason == .timedOut(.seconds(10)))
    #expect(alarm(at: .seconds(12)) == .remind(after: .seconds(1)))
    #expect(alarm(at: .seconds(13)) == .abandon)
    #expect(state.isAbandoned)
    #expect(claimEnd() == false)
    #expect(alarm(at: .seconds(14)) == .nothing)
  }

  @Test("While an attempt waits, its alarm means nothing")
  mutating func waiting() {
    state.start()
    #expect(alarm(left: nil) == .nothing)
    #expect(state.stop == nil)
  }

  @Test("A heavier reason begins the stop limit anew")
  mutating func anew() {
    state.start()
    _ = state.stop(.held, at: start)
    _ = state.stop(.cancelled("no"), at: start + .seconds(2))
    #expect(alarm(at: .seconds(3)) == .remind(after: .seconds(2)))
    #expect(alarm(at: .seconds(5)) == .abandon)
  }

  @Test("The alarm abandons no attempt that the daemon's end waits for")
  mutating func shutdown() {
    state.start()
    _ = state.stop(.shutdown, at: start)
    #expect(alarm(at: .seconds(9)) == .nothing)
    #expect(!state.isAbandoned)
    #expect(abandon() == true)
  }

  @Test("Before the record was read there is nothing to be watched, but the attempt can be told to end")
  mutating func starting() {
    #expect(alarm() == .nothing)
    #expect(tell(.held, at: start) == true)
    state.start()
    #expect(state.phase == .running)
    #expect(claimEnd() == true)
    state.start()
    #expect(state.phase == .ended(isAbandoned: false))
  }
}
