import Foundation
import Jobs
import Testing

@testable import JobDaemon

@Suite("A batch of job files")
struct IntakeBatchTests {
  private func candidate(jobs: Int, bytes: Int) throws -> AdmissionCandidate {
    let list = Array(repeating: #"{"type": "noop"}"#, count: jobs).joined(separator: ",")
    let file = ClaimedFile(name: "a.json", data: Data(count: bytes), submitter: 0)
    return AdmissionCandidate(file: file, contents: try JobFile(Data("{\"jobs\": [\(list)]}".utf8)))
  }

  @Test("It is full at its limit of jobs or bytes, so that few small files can't hold very many jobs")
  func limits() throws {
    var jobs = IntakeBatch(jobLimit: 10, byteLimit: 1_000)
    for _ in 0..<3 where !jobs.isFull { jobs.add(try candidate(jobs: 6, bytes: 10)) }
    #expect(jobs.candidates.count == 2)
    var bytes = IntakeBatch(jobLimit: 10, byteLimit: 1_000)
    for _ in 0..<3 where !bytes.isFull { bytes.add(try candidate(jobs: 1, bytes: 600)) }
    #expect(bytes.candidates.count == 2)
    bytes.add(nil)
    #expect(bytes.candidates.count == 2)
  }
}
