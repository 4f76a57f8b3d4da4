import Jobs
import ObjectGraph
import Testing

@testable import JobSchedule

@Suite("Places without room")
struct ScheduleRoomTests {
  private var schedule = Schedule(agingStep: 60_000)
  private let now = Moment(steady: 1_000, wall: 1_000_000)
  private let id = ManagedObjectID(key: 1, entityIndex: 0, rootIndex: 0, coordinatorOrdinal: 0)

  /// A job that was found to have no room.
  private mutating func addWaiting() {
    schedule.setRoom(false, at: "p", now: now)
    schedule.add(
      NewJob(id: id, file: nil, specification: JobSpecification(type: "noop"), name: "a", place: "p"), at: now)
    #expect(schedule.next(at: now) == nil)
  }

  @Test("A place is awaited while a job waits for its room, and for nothing else") mutating func awaited() {
    #expect(schedule.isAwaited("p") == false)
    addWaiting()
    #expect(schedule.isAwaited("p") == true)
    #expect(schedule.hold(id) == true)
    #expect(schedule.isAwaited("p") == false)
    #expect(schedule.resume(id, at: now) == true)
    #expect(schedule.next(at: now) == nil)
    #expect(schedule.isAwaited("p") == true)
  }

  @Test("A type without room starts nothing, is not forgotten with its last job, and goes on with room")
  mutating func typeWithoutRoom() {
    schedule.setRoom(false, of: .type("noop"), now: now)
    schedule.add(NewJob(id: id, file: nil, specification: JobSpecification(type: "noop"), name: "a"), at: now)
    let early = schedule.next(at: now)
    #expect(early == nil)
    #expect(schedule.obstacles(of: id, at: now) == [.place(.type("noop"))])
    schedule.drop(id, at: now)
    schedule.add(NewJob(id: id, file: nil, specification: JobSpecification(type: "noop"), name: "a"), at: now)
    let later = schedule.next(at: now)
    #expect(later == nil)
    schedule.setRoom(true, of: .type("noop"), now: now)
    let next = schedule.next(at: now)
    #expect(next?.id == id)
    #expect(schedule.contradictions.isEmpty)
  }

  @Test("A job that comes back when there is room starts, though somebody has asked meanwhile")
  mutating func returned() {
    addWaiting()
    #expect(schedule.hold(id) == true)
    #expect(schedule.isAwaited("p") == false)
    schedule.setRoom(true, at: "p", now: now)
    #expect(schedule.resume(id, at: now) == true)
    let next = schedule.next(at: now)
    #expect(next?.id == id)
    #expect(schedule.contradictions.isEmpty)
  }
}
