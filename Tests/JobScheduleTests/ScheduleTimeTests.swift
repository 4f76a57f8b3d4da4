import Jobs
import ObjectGraph
import ObjectModel
import Testing

@testable import JobSchedule

@Suite("Times of a schedule")
struct ScheduleTimeTests {
  private var test = TestSchedule()

  @Test("A job waits for its moment, by the clock that an operator may set")
  mutating func notBefore() {
    let wall = Double(test.now.wall) / 1000
    let job = test.add("later") { $0.notBefore = .init(timeIntervalSince1970: wall + 60) }
    #expect(test.schedule.state(of: job) == .scheduled)
    test.now = Moment(steady: test.now.steady + 100_000, wall: test.now.wall + 59_000)
    _ = test.schedule.advance(to: test.now)
    #expect(test.all() == [])
    test.now = Moment(steady: test.now.steady, wall: test.now.wall + 1_000)
    _ = test.schedule.advance(to: test.now)
    #expect(test.all() == [job])
  }

  @Test("A failed attempt is followed by another after the delay, whatever the wall clock does")
  mutating func retry() {
    let job = test.add("fails")
    #expect(test.all() == [job])
    test.end(job, .failed, delay: 5_000)
    #expect(test.schedule.state(of: job) == .retryable)
    test.now = Moment(steady: test.now.steady + 4_999, wall: 0)
    _ = test.schedule.advance(to: test.now)
    #expect(test.all() == [])
    test.now = Moment(steady: test.now.steady + 1, wall: 0)
    _ = test.schedule.advance(to: test.now)
    #expect(test.all() == [job])
  }

  @Test("An attempt that takes too long is told of once, and a later attempt is not mistaken for it")
  mutating func timeout() {
    let job = test.add("slow")
    #expect(test.all() == [job])
    test.schedule.attempts[job] = 1
    test.schedule.arm(timeoutOf: job, at: test.now.steady + 1_000)
    test.end(job, .failed, delay: 100)
    test.wait(100)
    #expect(test.all() == [job])
    test.schedule.attempts[job] = 2
    test.now = Moment(steady: test.now.steady + 1_000, wall: test.now.wall)
    #expect(test.schedule.advance(to: test.now) == [])
    test.schedule.arm(timeoutOf: job, at: test.now.steady + 5)
    test.now = Moment(steady: test.now.steady + 5, wall: test.now.wall)
    #expect(test.schedule.advance(to: test.now) == [job])
  }

  @Test("A delay that an earlier run began goes on, by the steady clock")
  mutating func earlierDelay() {
    let id = ManagedObjectID(key: 1_000, entityIndex: 0, rootIndex: 0, coordinatorOrdinal: 0)
    var new = NewJob(id: id, file: nil, specification: JobSpecification(type: "noop"), name: "earlier")
    new.retryTime = test.now.wall + 5_000
    test.schedule.add(new, at: test.now)
    #expect(test.schedule.state(of: id) == .retryable)
    test.now = Moment(steady: test.now.steady + 4_999, wall: test.now.wall + 100_000)
    _ = test.schedule.advance(to: test.now)
    #expect(test.all() == [])
    test.wait(1)
    #expect(test.all() == [id])
  }

  @Test("A job that was held and released while it waited does not run before its new time, whatever was set before")
  mutating func newTime() {
    let job = test.add("fails")
    #expect(test.all() == [job])
    test.end(job, .failed, delay: 5_000)
    #expect(test.schedule.hold(job) == true)
    #expect(test.schedule.resume(job, at: test.now) == true)
    #expect(test.schedule.state(of: job) == .scheduled)
    // By the wall clock from now on, which somebody sets back.
    test.now = Moment(steady: test.now.steady + 5_000, wall: test.now.wall - 60_000)
    _ = test.schedule.advance(to: test.now)
    #expect(test.all() == [])
    test.wait(65_000)
    #expect(test.all() == [job])
  }
}
