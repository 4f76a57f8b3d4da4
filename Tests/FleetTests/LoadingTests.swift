import Foundation
import JobSchedule
import Jobs
import ObjectGraph
import Testing

@testable import Fleet
@testable import FleetSimulation

/// A lead that reads two jobs at a time.
@Suite("A new lead with many jobs") struct LoadingTests {
  /// A fleet of one host with room for all jobs, whose lead is new.
  private final class Fleet {
    let ledger = MemoryLedger()
    private(set) var lead: Lead
    private var numbers: [Int: Int64] = [:]

    init(_ jobs: [FleetJob], slots: Int = 20) throws {
      ledger.now = 1_000_000
      var times = FleetTimes()
      times.jobsAtOnce = 2
      lead = Lead(term: 1, times: times, agingStep: 60_000, limits: [])
      _ = try ledger.perform(.join(FleetHost(root: "a", slots: slots, types: ["work"], places: [])))
      for job in jobs {
        _ = try ledger.perform(.admit([job], receipt(1)))
        ledger.now += 1
      }
      _ = try ledger.perform(.lead(after: 0, silence: Silence(3_500), receipt(2)))
    }

    func receipt(_ slot: Int) -> Receipt {
      numbers[slot, default: 0] += 1
      return Receipt(host: 1, slot: slot, number: numbers[slot] ?? 0)
    }

    private var moment: Moment { Moment(steady: ledger.now, wall: ledger.now) }

    /// Makes the lead's next request; nil if it rests.
    func goOn() throws -> LedgerRequest? {
      ledger.now += 20
      var next = lead.next(at: moment)
      while case .rest(until: moment) = next { next = lead.next(at: moment) }
      guard let request = next.request(under: { receipt(2) }) else { return nil }
      _ = lead.handle(try ledger.perform(request), at: moment)
      return request
    }

    /// Makes requests until the lead rests, and returns the keys of the jobs in the order of their assignment.
    @discardableResult
    func settle() throws -> [Int64] {
      var assigned: [Int64] = []
      while let request = try goOn() {
        if case .round(let round, _) = request { assigned += round.runs.map(\.job.key) }
      }
      return assigned
    }

    func noteHint() { lead.noteHint() }

    func remove(_ jobs: [FinalJob]) { _ = lead.remove(jobs) }

    func job(_ key: Int64) -> FleetJob? { ledger.jobs.row(LoadingTests.id(key), for: 0) }
    func run(_ key: Int64) -> Run? { ledger.runs.row(LoadingTests.id(key), for: 0) }

    func end(_ key: Int64, _ event: JobEvent, isPartial: Bool = false) throws {
      let ended = EndedRun(run: try #require(run(key)), event: event, retryTime: ledger.now + 60_000)
      _ = try ledger.perform(.flush([ended], receipt(0)))
      guard isPartial, var job = job(key) else { return }
      job.isPartial = true
      try ledger.jobs.write(job.id, job, for: 0)
      ledger.jobs.end(0, isCommitted: true)
    }
  }

  private static func id(_ key: Int64) -> ManagedObjectID {
    ManagedObjectID(key: key, entityIndex: 0, rootIndex: 0, coordinatorOrdinal: 0)
  }

  private static func job(_ key: Int64, _ change: (inout JobSpecification) -> Void = { _ in }) -> FleetJob {
    var specification = JobSpecification(type: "work", id: "job\(key)", queue: "q")
    change(&specification)
    return FleetJob(id: id(key), name: "job\(key)", specification: specification, created: 0)
  }

  private static func kinds(_ requests: [LedgerRequest]) -> [String] {
    requests.map { request in
      switch request {
      case .load: "load"
      case .loadJobs(let jobs, _): "jobs \(jobs.map(\.key))"
      case .loadRest: "rest"
      case .round(let round, _): "round \(round.runs.map(\.job.key))"
      default: "\(request)"
      }
    }
  }

  @Test("assigns the first of them before it reads the others, which are next by priority and age")
  func firstJobs() throws {
    let fleet = try Fleet((1...5).map { key in Self.job(key) { $0.priority = key == 5 ? 1 : 0 } })
    let requests = try (0..<8).compactMap { _ in try fleet.goOn() }
    #expect(
      Self.kinds(requests) == ["load", "round [5, 1]", "jobs [2, 3]", "round [2, 3]", "jobs [4]", "round [4]", "rest"])
    #expect(fleet.lead.assigner?.isLoading == false)
  }

  @Test("gives a unique key to the job that came first, also if it is read last or another comes meanwhile")
  func uniqueKeys() throws {
    let fleet = try Fleet([
      Self.job(1) { $0.priority = -9 }, Self.job(2), Self.job(3), Self.job(4),
      Self.job(5) { ($0.priority, $0.unique) = (9, "u") }, Self.job(6) { ($0.priority, $0.unique) = (-9, "u") },
    ])
    _ = try fleet.goOn()
    _ = try fleet.ledger.perform(.admit([Self.job(7) { $0.unique = "u" }, Self.job(8)], fleet.receipt(1)))
    #expect(try fleet.settle() == [2, 3, 4, 8, 1, 5])
    #expect([6, 7].map { fleet.job($0)?.state } == [.cancelled, .cancelled])
  }

  @Test("gives a unique key to the job that came first, also if the other is more urgent, and read before it")
  func uniqueKeysByAge() throws {
    let fleet = try Fleet([
      Self.job(1) { ($0.priority, $0.unique) = (-9, "u") }, Self.job(2), Self.job(3),
      Self.job(4) { ($0.priority, $0.unique) = (9, "u") },
    ])
    #expect(try fleet.settle() == [2, 3, 1])
    #expect(fleet.job(4)?.state == .cancelled)
  }

  @Test("has jobs wait for others and for batches that it reads later, and not for what has ended meanwhile")
  func dependencies() throws {
    let fleet = try Fleet(
      [
        Self.job(1) { ($0.priority, $0.after) = (9, ["job6"]) },
        Self.job(2) { ($0.priority, $0.afterBatch) = (9, "b") },
        Self.job(3) { ($0.priority, $0.after) = (9, ["job4"]) }, Self.job(4), Self.job(5),
        Self.job(6) { ($0.priority, $0.batch) = (-9, "b") },
      ])
    while fleet.run(4) == nil { _ = try fleet.goOn() }
    try fleet.end(4, .succeeded)
    #expect(try fleet.settle() == [5, 6, 3])
    #expect(fleet.lead.assigner?.schedule.state(of: Self.id(1)) == .waiting)
    try fleet.end(6, .succeeded)
    fleet.noteHint()
    #expect(try fleet.settle().sorted() == [1, 2])
  }

  @Test("takes in by parts what had to wait, and goes by what ends, or comes, between two parts")
  func parts() throws {
    let fleet = try Fleet(
      (1...10).map { key in
        Self.job(key) { $0.after = key < 3 ? [] : [key < 8 ? "job1" : ["job2", "new", "newer"][Int(key) - 8]] }
      })
    while true { if case .loadRest? = try fleet.goOn() { break } }
    #expect(fleet.lead.assigner?.isLoading == true)
    let order = Order.command(.cancel(reason: "enough"), [Order.Target(Self.id(9), attempts: 1)])
    _ = try fleet.ledger.perform(.order(order, ticket: 1, fleet.receipt(1)))
    try fleet.end(1, .succeeded)
    try fleet.end(2, .gaveUp)
    // One of these waits for a job that waits for one which has ended.
    let new = FleetJob(id: Self.id(11), name: "new", specification: Self.job(11).specification, created: 0)
    var newer = Self.job(12) { $0.after = ["job2"] }
    newer = FleetJob(id: newer.id, name: "newer", specification: newer.specification, created: 0)
    _ = try fleet.ledger.perform(.admit([new, newer], fleet.receipt(1)))
    fleet.noteHint()
    _ = try fleet.goOn()
    #expect(fleet.lead.assigner?.isLoading == true && fleet.ledger.answers.isEmpty)
    #expect(try fleet.settle().sorted() == [3, 4, 5, 6, 7, 11])
    #expect([8, 9, 10, 12].map { fleet.job($0)?.state } == [.cancelled, .cancelled, .cancelled, .cancelled])
    #expect(fleet.ledger.answers.all(for: 0).map(\.row.content) == [.outcomes([.done])])
  }

  @Test("knows, for a job of a later part, one that has come and ended between two parts")
  func arrival() throws {
    let fleet = try Fleet(
      (1...12).map { key in Self.job(key) { $0.after = key == 1 ? [] : [key < 12 ? "job1" : "new"] } })
    while true { if case .loadRest? = try fleet.goOn() { break } }
    let new = FleetJob(id: Self.id(20), name: "new", specification: Self.job(20).specification, created: 0)
    _ = try fleet.ledger.perform(.admit([new], fleet.receipt(1)))
    fleet.noteHint()
    while fleet.run(20) == nil { _ = try fleet.goOn() }
    try fleet.end(20, .succeeded)
    fleet.noteHint()
    _ = try fleet.goOn()
    #expect(fleet.lead.assigner?.isLoading == true && fleet.run(12) == nil)
    try fleet.settle()
    #expect(fleet.run(12) != nil)
  }

  @Test("has no jobs wait for each other in a circle that nobody has seen, but opens one that a batch has closed since")
  func circles() throws {
    // 2 waits for 1, which waits for the batch, of which 4 waits for 2. Of the others, 7 came when its batch was empty.
    let fleet = try Fleet([
      Self.job(4) { ($0.after, $0.batch) = (["job2"], "b") }, Self.job(1) { $0.afterBatch = "b" },
      Self.job(2) { ($0.after, $0.afterBatch) = (["job1"], "b") }, Self.job(7) { $0.afterBatch = "c" },
      Self.job(8) { ($0.after, $0.batch) = (["job7"], "c") },
    ])
    #expect(try fleet.settle().sorted() == [1, 7])
    #expect([2, 4].map { fleet.job($0)?.state } == [.cancelled, .cancelled])
    try fleet.end(7, .succeeded)
    fleet.noteHint()
    #expect(try fleet.settle() == [8])
  }

  @Test("obeys orders when it has all jobs, and goes by their rows of then")
  func orders() throws {
    let fleet = try Fleet((1...7).map { Self.job($0) })
    while fleet.run(1) == nil { _ = try fleet.goOn() }
    let order = Order.command(.cancel(reason: "enough"), [1, 7].map { Order.Target(Self.id($0), attempts: 1) })
    _ = try fleet.ledger.perform(.order(order, ticket: 1, fleet.receipt(1)))
    fleet.noteHint()
    while fleet.run(4) == nil { _ = try fleet.goOn() }
    #expect(fleet.lead.assigner?.isLoading == true && fleet.ledger.answers.isEmpty)
    // What it has saved is to be reverted.
    try fleet.end(1, .failed, isPartial: true)
    fleet.noteHint()
    try fleet.settle()
    #expect(fleet.ledger.answers.all(for: 0).map(\.row.content) == [.outcomes([.done, .done])])
    #expect(fleet.ledger.stops.row(Self.id(1), for: 0)?.event == .cancelled)
    #expect(fleet.run(1)?.attempt == 2)
  }

  @Test("removes no record that a job names which it has not read")
  func removal() throws {
    let fleet = try Fleet([Self.job(1)] + (2...7).map { key in Self.job(key) { $0.after = key == 7 ? ["job1"] : [] } })
    while fleet.run(1) == nil { _ = try fleet.goOn() }
    try fleet.end(1, .succeeded)
    fleet.noteHint()
    _ = try fleet.goOn()
    fleet.remove([FinalJob(id: Self.id(1), name: "job1")])
    try fleet.settle()
    #expect(fleet.job(1) != nil)
  }
}
