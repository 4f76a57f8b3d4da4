import Jobs
import ObjectGraph
import TestSupport
import Testing

@testable import JobDaemon

@Suite("The queue of ready jobs")
struct ReadyQueueTests {
  private let fixture: WriterFixture
  private let objectID: ManagedObjectID

  init() throws {
    fixture = try WriterFixture()
    objectID = try fixture.finishedJob("any").objectID
  }

  private func job(_ id: String, priority: Int) -> LiveJob {
    LiveJob(
      id: id, objectID: objectID, specification: JobSpecification(type: "noop", priority: priority), maxAttempts: 1,
      attempt: 0, byteCount: 0, file: LiveFile(name: "f", submitter: 0, jobCount: 1),
      sequence: fixture.liveJobs.nextSequence())
  }

  @Test("Jobs come by priority, those of one priority in the order of their arrival", arguments: [0, 1, 2, 17, 500])
  func order(count: Int) async throws {
    let queue = ReadyQueue()
    var random = SystemRandomNumberGenerator()
    let jobs = (0..<count).map { job("\($0)", priority: Int.random(in: -3...3, using: &random)) }
    for start in stride(from: 0, to: count, by: 7) { queue.add(Array(jobs[start..<min(start + 7, count)])) }
    let expected = jobs.enumerated().sorted { left, right in
      let (mine, theirs) = (left.element.specification.priority, right.element.specification.priority)
      return mine == theirs ? left.offset < right.offset : mine > theirs
    }
    var ids: [String] = []
    for _ in 0..<count { ids.append(try #require(await queue.next()).id) }
    #expect(ids == expected.map(\.element.id))
    #expect(queue.count == 0)
  }

  @Test("A waiting worker gets the most urgent of the jobs that come together")
  func waiting() async throws {
    let queue = ReadyQueue()
    async let first = queue.next()
    queue.add([job("low", priority: -1), job("high", priority: 1)])
    #expect(await first?.id == "high")
    #expect(await queue.next()?.id == "low")
  }

  @Test("Closing lets all workers go, and takes no more jobs")
  func closing() async throws {
    let queue = ReadyQueue()
    async let first = queue.next()
    async let second = queue.next()
    queue.close()
    let ends = await [first?.id, second?.id]
    #expect(ends == [nil, nil])
    queue.add([job("late", priority: 0)])
    #expect(queue.count == 0)
    #expect(await queue.next() == nil)
  }
}
