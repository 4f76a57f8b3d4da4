import Jobs
import ObjectGraph
import Testing

@testable import JobSchedule

@Suite("For how long jobs have waited")
struct ScheduleWaitingTests {
  private var schedule = Schedule(agingStep: 60_000)

  private static func id(_ key: Int64) -> ManagedObjectID {
    ManagedObjectID(key: key, entityIndex: 0, rootIndex: 0, coordinatorOrdinal: 0)
  }

  private func moment(_ steady: Int64) -> Moment { Moment(steady: steady, wall: 1_000_000 + steady) }

  private mutating func add(_ key: Int64, at time: Int64, queue: String = "default", priority: Int = 0) {
    let specification = JobSpecification(type: "noop", queue: queue, priority: priority)
    schedule.add(
      NewJob(id: Self.id(key), file: nil, specification: specification, name: "j\(key)"), at: moment(time))
  }

  private func longestWait(_ queue: String = "default", at time: Int64) -> Int64? {
    schedule.backlogs(at: moment(time)).first { $0.name == .queue(queue) }?.longestWait
  }

  @Test("The one that is ready for longest counts, whatever its priority, until it starts or is held")
  mutating func longest() {
    add(1, at: 1_000, priority: -5)
    add(2, at: 3_000)
    add(3, at: 3_000, queue: "other")
    #expect(longestWait(at: 11_000) == 10_000)
    #expect(longestWait("other", at: 11_000) == 8_000)
    #expect(schedule.setPriority(7, of: Self.id(1), at: moment(11_000)) == true)
    #expect(longestWait(at: 11_000) == 10_000)
    let started = schedule.next(at: moment(12_000))
    #expect(started?.id == Self.id(1))
    #expect(started.map { schedule.waitingTime(of: $0, at: moment(12_000)) } == 11_000)
    #expect(longestWait(at: 12_000) == 9_000)
    #expect(schedule.hold(Self.id(2)) == true)
    #expect(longestWait(at: 12_000) == nil)
    #expect(schedule.resume(Self.id(2), at: moment(20_000)) == true)
    #expect(longestWait(at: 21_000) == 1_000)
  }

  @Test("An attempt that is to be repeated waits from when it may be")
  mutating func repeated() {
    add(1, at: 1_000)
    #expect(schedule.next(at: moment(2_000)) != nil)
    _ = schedule.endAttempt(of: Self.id(1), .failed, delay: 5_000, at: moment(3_000))
    #expect(longestWait(at: 7_000) == nil)
    #expect(schedule.advance(to: moment(8_000)).isEmpty == true)
    #expect(longestWait(at: 10_000) == 2_000)
    let counts = schedule.backlogs(at: moment(10_000)).first { $0.name == .type("noop") }?.counts
    #expect(counts?[.available] == 1)
  }
}
