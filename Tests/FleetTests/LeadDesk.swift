import Foundation
import JobSchedule
import Jobs
import ObjectGraph
import Testing

@testable import Fleet
@testable import FleetSimulation

/// A lead at host 2, which is asked and answered by hand, and a host 1 with two slots.
final class LeadDesk {
  let ledger = MemoryLedger()
  private var lead: Lead
  private var numbers: [Int: Int64] = [:]
  private var orderNumbers: Int64 = 0

  init(_ jobs: [FleetJob]) throws {
    ledger.now = 1_000_000
    lead = Lead(term: 1, times: FleetTimes(), agingStep: 60_000, limits: [])
    for root in ["a", "b"] {
      let host = FleetHost(root: root, slots: 2, types: ["work"], places: [root])
      _ = try ledger.perform(.join(host))
    }
    _ = try ledger.perform(.admit(jobs, receipt(1, 1)))
    _ = try ledger.perform(.lead(after: 0, silence: Silence(3_500), receipt(2, 2)))
    try settle()
  }

  func receipt(_ host: Int, _ slot: Int) -> Receipt {
    let key = host * 10 + slot
    numbers[key, default: 0] += 1
    return Receipt(host: host, slot: slot, number: numbers[key] ?? 1)
  }

  private var now: Moment { Moment(steady: ledger.now, wall: ledger.now) }

  /// Has the lead make rounds until there is nothing left to do.
  func settle() throws { for _ in 0..<20 { try step() } }

  /// Has the lead make one request.
  func step() throws {
    lead.noteHint()
    ledger.now += 20
    guard let request = lead.next(at: now).request(under: { receipt(2, 2) }) else { return }
    _ = lead.handle(try ledger.perform(request), at: now)
  }

  /// Has the lead take a host over before anything else.
  func suspect(_ host: Int) { lead.suspect([host], Silence(0)) }

  /// Has the lead go on by itself, of which nobody tells anything.
  func goOnAlone() throws {
    for _ in 0..<20 {
      ledger.now += 20
      guard let request = lead.next(at: now).request(under: { receipt(2, 2) }) else { continue }
      _ = lead.handle(try ledger.perform(request), at: now)
    }
  }

  /// Another lead takes its place, and reads everything.
  func replaceLead() throws {
    lead = Lead(term: 2, times: FleetTimes(), agingStep: 60_000, limits: [])
    try settle()
  }

  func place(_ order: Order, by host: Int = 1) throws -> Int64 {
    orderNumbers += 1
    _ = try ledger.perform(.order(order, ticket: orderNumbers, receipt(host, 1)))
    return orderNumbers
  }

  func answer(_ ticket: Int64, to host: Int = 1) -> OrderAnswer.Content? {
    ledger.answers.row(.init(host: host, ticket: ticket), for: 0)?.content
  }

  func ask(_ order: Order, by host: Int = 1) throws -> OrderAnswer.Content? {
    let ticket = try place(order, by: host)
    try settle()
    return answer(ticket, to: host)
  }

  func ask(_ command: JobCommand, _ job: Int64, by host: Int = 1) throws -> OrderAnswer.Outcome? {
    let targets = [Order.Target(Self.id(job), attempts: 2)]
    guard case .outcomes(let outcomes)? = try ask(.command(command, targets), by: host) else { return nil }
    return outcomes.first
  }

  func job(_ key: Int64) -> FleetJob? { ledger.jobs.row(Self.id(key), for: 0) }
  func run(_ key: Int64) -> Run? { ledger.runs.row(Self.id(key), for: 0) }
  func stop(_ key: Int64) -> RunStop? { ledger.stops.row(Self.id(key), for: 0) }

  func end(_ key: Int64, _ event: JobEvent, isReverted: Bool = true) throws {
    try tellEnd(key, event, isReverted: isReverted)
    try settle()
  }

  /// - Parameter isReverted: false if a job that is to be replaced can't be reverted.
  func tellEnd(_ key: Int64, _ event: JobEvent, isReverted: Bool = true) throws {
    let run = try #require(self.run(key))
    let retry = event == .failed ? ledger.now + 60_000 : nil
    let isReverted = isReverted && event == .held && stop(key)?.event == .interrupted
    let ended = EndedRun(run: run, event: event, retryTime: retry, isReverted: isReverted)
    _ = try ledger.perform(.flush([ended], receipt(run.host, 0)))
  }

  // MARK: Jobs

  static func id(_ key: Int64) -> ManagedObjectID {
    ManagedObjectID(key: key, entityIndex: 0, rootIndex: 0, coordinatorOrdinal: 0)
  }

  static func job(_ key: Int64, place: String? = nil, _ change: (inout JobSpecification) -> Void = { _ in })
    -> FleetJob
  {
    var specification = JobSpecification(type: "work", id: "job\(key)", queue: "q")
    change(&specification)
    return FleetJob(id: id(key), name: "job\(key)", specification: specification, place: place, created: 0)
  }

  /// A job that runs on host 1, and one that waits for it.
  static func withJobElsewhere() throws -> LeadDesk {
    let desk = try LeadDesk([job(1), job(2) { $0.after = ["job1"] }, job(3) { $0.priority = 1 }])
    try #require(desk.run(1)?.host == 1 && desk.run(3)?.host == 2)
    return desk
  }

  /// A job that runs, one that waits for a time, and one that waits for the first.
  static func withThreeJobs() throws -> LeadDesk {
    let late = Date(timeIntervalSince1970: 4_000_000_000)
    return try LeadDesk([job(1), job(2) { $0.notBefore = late }, job(3) { $0.after = ["job1"] }])
  }
}
