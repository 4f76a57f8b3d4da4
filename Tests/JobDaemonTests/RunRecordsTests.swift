import Fleet
import JobSchedule
import ObjectGraph
import Testing

@testable import JobDaemon

@Suite("The records of the jobs that a host is to run")
struct RunRecordsTests {
  private let runs = (1...4).map { key in
    Run(
      job: ManagedObjectID(key: key, entityIndex: 0, rootIndex: 0, coordinatorOrdinal: 0), host: 1, attempt: 1)
  }

  private static func jobs(_ ids: [ManagedObjectID]) -> [NewJob] {
    ids.map { NewJob(elsewhere: $0, file: nil, type: "work", queue: "q", name: "job") }
  }

  @Test("are read together, and those that are not there are told")
  func together() {
    var reads = 0
    let records = RunRecords(of: runs) { ids in
      reads += 1
      return Self.jobs(ids.filter { $0 != runs[1].job })
    }
    #expect(reads == 1)
    #expect(records.read.map(\.run) == [runs[0], runs[2], runs[3]])
    #expect(records.missing == [runs[1]])
    #expect(records.unreadable.isEmpty && records.obstacle == nil)
  }

  @Test("are read one by one if one of them can't be read, which keeps none of the others from running")
  func unreadable() {
    let records = RunRecords(of: runs) { ids in
      if ids.contains(runs[2].job) { throw StoreError(.corrupt, "a page is damaged") }
      return Self.jobs(ids)
    }
    #expect(records.read.map(\.run) == [runs[0], runs[1], runs[3]])
    #expect(records.unreadable.map(\.run) == [runs[2]])
    #expect(records.postponed.isEmpty && records.missing.isEmpty)
  }

  @Test("wait for a database that is away, also one that goes away between two of them")
  func away() {
    let none = RunRecords(of: runs) { _ in throw StoreError(.unavailable, "away") }
    #expect(none.postponed == runs && none.obstacle?.code == .unavailable && none.unreadable.isEmpty)
    let some = RunRecords(of: runs) { ids in
      if ids.count > 1 { throw StoreError(.corrupt, "a page is damaged") }
      if ids[0] == runs[3].job { throw StoreError(.unavailable, "away") }
      return Self.jobs(ids)
    }
    #expect(some.read.map(\.run) == Array(runs.prefix(3)))
    #expect(some.postponed == [runs[3]])
  }
}
