import Foundation
import JobSchedule
import Jobs
import ObjectGraph
import Testing

@testable import Fleet
@testable import FleetSimulation

/// Fleets with more hosts and jobs than a machine of ours can have: what the ledger keeps of a job is a byte, and its row is
/// made up when the lead reads it.
@Suite("A large fleet") struct LargeFleetTests {
  private static let jobCount =
    ProcessInfo.processInfo.environment["BOBBIN_WAITING_JOBS"].flatMap { Int($0) } ?? 20_000

  @Test("A fleet whose lead is killed each second, and comes back, does more than half of its work in the same time")
  func killedLeads() throws {
    func time(killingLeads: Bool) throws -> Int64 {
      let (machines, each) = (8, 500)
      var steps = (0..<machines).map { machine in
        let jobs = (machine * each..<(machine + 1) * each).map { FleetProgram.Job(number: $0, duration: 200) }
        return FleetProgram.Step(time: 0, action: .submit(machine: machine, jobs))
      }
      if killingLeads {
        steps += (1...90).map { FleetProgram.Step(time: $0 * 1_000, action: .killLead(restart: 200)) }
      }
      let world = FleetWorld(FleetProgram(seed: 1, machines: machines, slots: 4, steps: steps))
      try world.run()
      return world.lastEnd - FleetWorld.start
    }
    let (calm, troubled) = (try time(killingLeads: false), try time(killingLeads: true))
    #expect(troubled < 2 * calm, "\(troubled) ms instead of \(calm) ms")
    // Or else they were not killed, or after everything was done.
    #expect(troubled > calm && troubled < 90_000)
  }

  /// A ledger of jobs that wait, of hosts that end some of what they run with each round, and of a lead after the other.
  private struct Ledger {
    enum State: UInt8 { case waiting, running, completed }

    let hosts: [Int: FleetHost]
    private(set) var states: [State]
    private(set) var runs: [ManagedObjectID: Run] = [:]
    /// The numbers of jobs in the order of their assignment.
    private(set) var assigned: [Int] = []
    private(set) var isBroken = false
    private var running: [String: Int] = [:]
    private var random: RandomSource
    private var now: Int64 = 1_000_000_000
    private var lastNews: Int64 = 0
    private(set) var completedCount = 0
    static let limit = 4

    init(hosts count: Int, jobs: Int) {
      let members = (1...count).map { number in
        (number, FleetHost(root: "host\(number)", slots: 16, types: ["work"], places: []))
      }
      hosts = Dictionary(uniqueKeysWithValues: members)
      states = Array(repeating: .waiting, count: jobs)
      random = RandomSource(seed: UInt64(count))
    }

    static func priority(_ number: Int) -> Int { number % 97 == 0 ? 5 : 0 }
    static func limitKey(_ number: Int) -> String? { number % 10 == 0 ? "customer\(number % 1_000)" : nil }

    private static func id(_ number: Int) -> ManagedObjectID {
      ManagedObjectID(key: Int64(number), entityIndex: 0, rootIndex: 0, coordinatorOrdinal: 0)
    }

    private static func row(_ id: ManagedObjectID) -> FleetJob {
      let number = Int(id.key)
      var specification = JobSpecification(type: "work", queue: "queue\(number % 8)", priority: priority(number))
      specification.limit = limitKey(number).map { JobLimit(key: $0, concurrent: limit) }
      return FleetJob(id: id, name: "job\(number)", specification: specification, created: Int64(number))
    }

    /// Has a lead work until so many jobs are completed.
    mutating func work(under lead: inout Lead, until count: Int) {
      while completedCount < count, !isBroken {
        now += 20
        let moment = Moment(steady: now, wall: now)
        let receipt = Receipt(host: 1, slot: 2, number: 1)
        guard let request = lead.next(at: moment).request(under: { receipt }) else {
          isBroken = true
          return
        }
        _ = lead.handle(answer(request), at: moment)
        lead.noteHint()
      }
    }

    private mutating func answer(_ request: LedgerRequest) -> LedgerReply {
      switch request {
      case .load(let first, _):
        let waiting = states.indices.filter { states[$0] == .waiting }.map { number in
          (order: Int64(number) - Int64(Self.priority(number)) * first.agingStep, number: number)
        }.sorted { $0 < $1 }.map { Self.id($0.number) }
        return .loaded(
          FleetState(
            hosts: hosts, runs: Array(runs.values), jobs: (runs.keys + waiting.prefix(first.count)).map(Self.row),
            rest: Array(waiting.dropFirst(first.count)), known: [:], paused: []))
      case .loadJobs(let ids, _): return .loadedJobs(ids.map(Self.row))
      case .loadRest: return .loadedRest(known: [:], orders: [])
      case .round, .readNews:
        if case .round(let round, _) = request { for run in round.runs { begin(run) } }
        let ended = endSome()
        lastNews += 1
        if case .readNews = request { return .readNews([(lastNews, .ended(ended))], timeline: 1) }
        let horizon = TransactionHorizon(own: lastNews, oldest: lastNews, timeline: 1)
        return .news([(lastNews, .ended(ended))], horizon)
      default: return .refused
      }
    }

    private mutating func begin(_ run: Run) {
      let number = Int(run.job.key)
      if states[number] != .waiting || hosts[run.host] == nil { isBroken = true }
      states[number] = .running
      runs[run.job] = run
      assigned.append(number)
      guard let key = Self.limitKey(number) else { return }
      running[key, default: 0] += 1
      if running[key, default: 0] > Self.limit { isBroken = true }
    }

    private mutating func endSome() -> [EndedRun] {
      let ending = runs.values.sorted { $0.job.key < $1.job.key }.filter { _ in random.chance(60) }
      for run in ending {
        let number = Int(run.job.key)
        states[number] = .completed
        runs[run.job] = nil
        if let key = Self.limitKey(number) { running[key, default: 0] -= 1 }
      }
      completedCount += ending.count
      return ending.map { EndedRun(run: $0, event: .succeeded) }
    }
  }

  @Test(
    "of 64 or 1,000 hosts runs very many jobs once each, by priority and within their limits, under one lead after the other",
    arguments: [64, 1_000])
  func manyJobs(hosts: Int) {
    var ledger = Ledger(hosts: hosts, jobs: Self.jobCount)
    for (term, count) in [Self.jobCount / 2, Self.jobCount].enumerated() {
      var lead = Lead(term: Int64(term + 1), times: FleetTimes(), agingStep: 60_000_000, limits: [])
      ledger.work(under: &lead, until: count)
    }
    #expect(!ledger.isBroken, "it stands still, or a job began twice or beyond its limit")
    #expect(ledger.completedCount == Self.jobCount && ledger.assigned.count == Self.jobCount)
    let unlimited = ledger.assigned.filter { Ledger.limitKey($0) == nil }
    let urgent = unlimited.indices.filter { Ledger.priority(unlimited[$0]) > 0 }
    #expect(urgent == Array(urgent.indices), "they are not first")
  }
}
