import Foundation
import Jobs
import Synchronization
import Testing

@testable import JobDaemon

/// Counts calls.
private final class Count: Sendable {
  let value = Mutex(0)
}

@Suite("A batch of job files")
struct IntakeBatchTests {
  private func candidate(jobs: Int, bytes: Int) -> Admission.Candidate {
    let file = ClaimedFile(name: "a.json", data: Data(count: bytes), submitter: 0)
    return Admission.Candidate(file: file, jobs: Array(repeating: JobSpecification(type: "noop"), count: jobs))
  }

  @Test("It is full at its limit of jobs or bytes, so that few small files can't hold very many jobs")
  func limits() {
    var jobs = IntakeBatch(jobLimit: 10, byteLimit: 1_000)
    for _ in 0..<3 where !jobs.isFull { jobs.add(candidate(jobs: 6, bytes: 10)) }
    #expect(jobs.candidates.count == 2)
    var bytes = IntakeBatch(jobLimit: 10, byteLimit: 1_000)
    for _ in 0..<3 where !bytes.isFull { bytes.add(candidate(jobs: 1, bytes: 600)) }
    #expect(bytes.candidates.count == 2)
    bytes.add(nil)
    #expect(bytes.candidates.count == 2)
  }

  @Test("Live jobs leave no room when their files take too many bytes, and tell when half of them are gone")
  func room() throws {
    let fixture = try WriterFixture("FlushIntervalSec=1h")
    let live = LiveJobs()
    let jobs = try (0..<2).map { try fixture.finishedJob("j\($0)", byteCount: LiveJobs.byteLimit / 2) }
    let told = Count()
    live.insert([jobs[0]])
    #expect(live.hasRoom {})
    live.insert([jobs[1]])
    #expect(!live.hasRoom { told.value.withLock { $0 += 1 } })
    live.remove([jobs[0]])
    #expect(told.value.withLock { $0 } == 0)
    live.remove([jobs[1]])
    #expect(told.value.withLock { $0 } == 1)
  }
}
