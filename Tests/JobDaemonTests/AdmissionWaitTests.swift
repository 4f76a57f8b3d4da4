import Fleet
import Jobs
import ObjectGraph
import Synchronization
import TestSupport
import Testing

@testable import JobDaemon

@Suite("The wait for an admission to a fleet")
struct AdmissionWaitTests {
  private let admission = AdmissionWait()
  private let jobs = (1...2).map { key in
    FleetJob(
      id: ManagedObjectID(key: key, entityIndex: 0, rootIndex: 0, coordinatorOrdinal: 0), name: "job\(key)",
      specification: JobSpecification(type: "work"), created: 0)
  }

  @Test("ends with the answer for its jobs, and not with that for others")
  func answers() throws {
    let begun = Mutex(0)
    try admission.wait(for: jobs) { _ in
      begun.withLock { $0 += 1 }
      admission.end(.refused(RefusedByServer(description: "others")), of: [jobs[1].id])
      admission.end(.written, of: jobs.map(\.id))
    }
    #expect(begun.withLock { $0 } == 1)
    #expect(throws: RefusedByServer.self) {
      try admission.wait(for: jobs) { _ in
        admission.end(.refused(RefusedByServer(description: "no")), of: jobs.map(\.id))
      }
    }
  }

  @Test(
    "ends without an answer when the database goes away, and tells which jobs may be there", arguments: [false, true])
  func away(isClosed: Bool) throws {
    let error = #expect(throws: UnansweredAdmission.self) {
      try admission.wait(for: jobs) { _ in if isClosed { admission.close() } else { admission.setAway(true) } }
    }
    #expect(error?.description.contains("\"job1\", \"job2\"") == true)
  }

  @Test("is for the answer to the earlier request, if that had none, and begins no other until it has one")
  func again() throws {
    #expect(throws: UnansweredAdmission.self) {
      try admission.wait(for: jobs) { areNew in
        #expect(areNew)
        admission.setAway(true)
      }
    }
    admission.setAway(false)
    // Each try has its own keys, and may be beside other jobs.
    let next = [10: "other", 11: "job2"].map { key, name in
      FleetJob(
        id: ManagedObjectID(key: Int64(key), entityIndex: 0, rootIndex: 0, coordinatorOrdinal: 0), name: name,
        specification: JobSpecification(type: "work"), created: 0)
    }
    #expect(throws: UnansweredAdmission.self) {
      try admission.wait(for: next) { areNew in
        #expect(!areNew)
        admission.setAway(true)
      }
    }
    admission.setAway(false)
    #expect(throws: AdmissionRace.self) {
      try admission.wait(for: next) { areNew in
        #expect(!areNew)
        admission.end(.written, of: jobs.map(\.id))
      }
    }
    try admission.wait(for: next) { areNew in
      #expect(areNew)
      admission.end(.written, of: next.map(\.id))
    }
  }

  @Test("begins again behind an answer that came while nobody waited") func late() throws {
    #expect(throws: UnansweredAdmission.self) { try admission.wait(for: jobs) { _ in admission.setAway(true) } }
    admission.setAway(false)
    admission.end(.written, of: jobs.map(\.id))
    try admission.wait(for: jobs) { areNew in
      #expect(areNew)
      admission.end(.written, of: jobs.map(\.id))
    }
  }

  @Test("is refused while the database is away, as nothing is written then, and not any more when it is back")
  func refused() throws {
    admission.setAway(true)
    let error = #expect(throws: StoreError.self) { try admission.wait(for: jobs) { _ in Issue.record("it has begun") } }
    #expect(error?.code == .unavailable)
    admission.setAway(false)
    try admission.wait(for: jobs) { _ in admission.end(.written, of: jobs.map(\.id)) }
  }
}
