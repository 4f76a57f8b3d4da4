import JobSchedule
import Jobs
import ObjectGraph
import Testing

@testable import Fleet

/// Jobs that a lead gives to hosts whose workers are occupied.
@Suite("A job that waits on a host")
struct AssignmentAheadTests {
  /// A lead with hosts of two slots each, which is told by hand what they do.
  fileprivate struct Fleet {
    var lead: Assigner
    private(set) var now = Moment(steady: 10_000, wall: 1_000_000)
    private var lastKey: Int64 = 0
    /// The runs of each host, in the order of their assignment.
    private(set) var runs: [Int: [Run]] = [:]

    init(hosts: Int = 1, limits: [ResourceLimits] = []) {
      let members = (1...hosts).map { number in
        (number, FleetHost(root: "\(number)", slots: 2, types: ["small", "large"], places: ["\(number)"]))
      }
      let state = FleetState(
        hosts: Dictionary(uniqueKeysWithValues: members), runs: [], jobs: [], known: [:], paused: [])
      lead = Assigner(state, agingStep: 60_000, limits: limits, at: now)
    }

    /// Admits jobs, and returns their keys.
    @discardableResult
    mutating func add(
      _ count: Int, _ type: String = "small", place: String? = nil,
      _ change: (inout JobSpecification) -> Void = { _ in }
    ) -> ClosedRange<Int64> {
      let keys = lastKey + 1...lastKey + Int64(count)
      lastKey = keys.upperBound
      let jobs = keys.map { key in
        var specification = JobSpecification(type: type, queue: "q")
        change(&specification)
        return FleetJob(
          id: Fleet.id(key), name: "job\(key)", specification: specification, place: place, created: now.wall)
      }
      lead.apply(.admitted(jobs, known: [:]), at: now)
      return keys
    }

    static func id(_ key: Int64) -> ManagedObjectID {
      ManagedObjectID(key: key, entityIndex: 0, rootIndex: 0, coordinatorOrdinal: 0)
    }

    /// Has the lead make a round, and returns the keys of the jobs that it assigns.
    @discardableResult
    mutating func assign() -> [Int64] {
      let round = lead.nextRound(floor: 0, at: now)
      lead.noteWritten(round, at: now)
      for run in round.runs { runs[run.host, default: []].append(run) }
      return round.runs.map(\.job.key)
    }

    /// Has a host end the jobs that it was given first.
    mutating func end(_ count: Int, on host: Int = 1, by event: JobEvent = .succeeded) {
      let ended = (runs[host] ?? []).prefix(count)
      runs[host]?.removeFirst(ended.count)
      lead.apply(.ended(ended.map { EndedRun(run: $0, event: event) }), at: now)
    }

    mutating func order(_ order: Order, jobs: [FleetJob] = []) {
      lead.apply(.ordered(PlacedOrder(host: 1, ticket: 1, order: order, jobs: jobs)), at: now)
      lead.obeyOrders(at: now)
    }

    mutating func pass(_ milliseconds: Int64) {
      now = Moment(steady: now.steady + milliseconds, wall: now.wall + milliseconds)
    }

    func count(on host: Int = 1) -> Int { runs[host]?.count ?? 0 }

    /// Has host 1 show that it ends twenty small jobs in a moment.
    mutating func warmUp() {
      add(20)
      while !assign().isEmpty { end(count()) }
      #expect(lead.schedule.count == 0)
    }
  }

  @Test("A host gets as many jobs as it has workers, and more as it shows how many it ends") func grows() {
    var fleet = Fleet()
    fleet.add(100)
    #expect(fleet.assign().count == 2)
    #expect(fleet.assign().isEmpty)
    fleet.end(2)
    #expect(fleet.assign().count == 4, "as many as it has ended, beside those for its workers")
    fleet.end(3)
    fleet.assign()
    #expect(fleet.count() == 2 + 5)
  }

  @Test("Who has ended nothing lately gets no more than it has workers for") func shrinks() {
    var fleet = Fleet()
    fleet.warmUp()
    fleet.pass(2 * Pace.span)
    fleet.add(100)
    #expect(fleet.assign().count == 2)
  }

  @Test("Attempts that were cut short tell nothing about how much a host does") func interruption() {
    var fleet = Fleet()
    fleet.add(100)
    fleet.assign()
    fleet.end(2, by: .interrupted)
    #expect(fleet.assign().count == 2)
  }

  @Test("A free slot of another host comes before a place behind others") func freeSlotsFirst() {
    var fleet = Fleet(hosts: 2)
    fleet.warmUpAll()
    fleet.add(4)
    fleet.assign()
    #expect(fleet.count(on: 1) == 2)
    #expect(fleet.count(on: 2) == 2)
    fleet.add(10)
    fleet.assign()
    #expect(fleet.count(on: 1) == 7)
    #expect(fleet.count(on: 2) == 7)
  }

  @Test("Of a type that it has not ended lately a host gets as many as it has workers") func unknownType() {
    var fleet = Fleet()
    fleet.warmUp()
    fleet.add(2)
    fleet.assign()
    fleet.add(100, "large")
    #expect(fleet.assign().count == 2)
    fleet.add(5)
    #expect(fleet.assign().count == 5, "jobs of the other type go on")
  }

  @Test("A job waits for a free slot that has a limit itself, or its queue or its type, or a place", arguments: 0..<4)
  func limitedJobs(kind: Int) {
    let limits = [
      ResourceLimits(.queue("narrow"), concurrent: 100, rate: nil),
      ResourceLimits(.type("large"), concurrent: 100, rate: nil),
      ResourceLimits(.type("small"), concurrent: nil, rate: nil),
    ]
    var fleet = Fleet(limits: limits)
    fleet.warmUp()
    fleet.add(4)
    fleet.assign()
    let keys =
      switch kind {
      case 0: fleet.add(2) { $0.limit = JobLimit(key: "k", concurrent: 10) }
      case 1: fleet.add(2) { $0.queue = "narrow" }
      case 2: fleet.add(2, "large")
      default: fleet.add(2, place: "1")
      }
    #expect(fleet.assign().isEmpty, "two others wait for a worker")
    fleet.end(2)
    #expect(fleet.assign().isEmpty, "the workers go on with these")
    fleet.end(1)
    #expect(fleet.assign() == [keys.lowerBound])
    fleet.end(1)
    #expect(fleet.assign() == [keys.upperBound])
  }

  @Test("While a job waits for a free slot, none is put behind others on one host") func reservation() {
    var fleet = Fleet(hosts: 2)
    fleet.warmUpAll()
    fleet.add(8)
    fleet.assign()
    let limited = fleet.add(1) { $0.limit = JobLimit(key: "k", concurrent: 1) }.lowerBound
    fleet.add(4)
    // It is met only now.
    fleet.assign()
    let (first, second) = (fleet.count(on: 1), fleet.count(on: 2))
    fleet.add(4)
    fleet.assign()
    #expect(fleet.count(on: 1) == first || fleet.count(on: 2) == second)
    let host = fleet.count(on: 1) == first ? 1 : 2
    fleet.end(fleet.count(on: host) - 1, on: host)
    #expect(fleet.assign().contains(limited))
    #expect(fleet.runs[host]?.contains { $0.job == Fleet.id(limited) } == true)
    // The next one may be about to come.
    fleet.add(50)
    fleet.assign()
    #expect(fleet.count(on: host) == 2)
  }

  @Test("The host on which none waits is another one when it is drained") func drainedReservation() {
    var fleet = Fleet(hosts: 2)
    fleet.warmUpAll()
    fleet.add(8)
    fleet.assign()
    let limited = fleet.add(1) { $0.limit = JobLimit(key: "k", concurrent: 1) }.lowerBound
    fleet.add(20)
    fleet.assign()
    let first = fleet.count(on: 1)
    fleet.add(4)
    fleet.assign()
    let (drained, other) = fleet.count(on: 1) == first ? (1, 2) : (2, 1)
    fleet.order(.pause(.host("\(drained)"), true))
    fleet.assign()
    fleet.end(fleet.count(on: other) - 1, on: other)
    fleet.add(4)
    #expect(fleet.assign().contains(limited))
    #expect(fleet.runs[other]?.contains { $0.job == Fleet.id(limited) } == true)
  }

  @Test("A limit is kept exactly, whatever waits where") func concurrency() {
    var fleet = Fleet(hosts: 2)
    fleet.warmUpAll()
    fleet.add(200)
    let limited = fleet.add(30) { $0.limit = JobLimit(key: "k", concurrent: 1) }
    var seen = 0
    for _ in 0..<400 where seen < 30 {
      fleet.assign()
      let running = (1...2).flatMap { fleet.runs[$0] ?? [] }.count { limited.contains($0.job.key) }
      #expect(running <= 1)
      for host in 1...2 {
        if let first = fleet.runs[host]?.first {
          if limited.contains(first.job.key) { seen += 1 }
          fleet.end(1, on: host)
        }
      }
      fleet.pass(5)
    }
    #expect(seen == 30, "a limited job waits for ever")
  }

  @Test("A lead makes its schedule anew when other queues or types have limits than before") func newLimits() {
    let clock = Moment(steady: 0, wall: 0)
    let limit = { (name: Resource.Name, count: Int?) in [ResourceLimits(name, concurrent: count, rate: nil)] }
    var lead = Lead(term: 1, times: FleetTimes(), agingStep: 60_000, limits: limit(.queue("q"), 1))
    let state = FleetState(hosts: [:], runs: [], jobs: [], known: [:], paused: [])
    _ = lead.handle(.loaded(state), at: clock)
    lead.setLimits(limit(.queue("q"), 2), at: clock)
    #expect(lead.assigner != nil)
    lead.setLimits(limit(.type("small"), 2), at: clock)
    #expect(lead.assigner == nil)
  }
}

extension AssignmentAheadTests.Fleet {
  /// Has both hosts show that they end many small jobs in a moment.
  fileprivate mutating func warmUpAll() {
    add(80)
    while !assign().isEmpty { for host in 1...2 { end(count(on: host), on: host) } }
    #expect(lead.schedule.count == 0)
  }
}

extension AssignmentAheadTests {
  @Test("A lead that lives for long remembers no place that no job names any more, and goes on as before")
  func oldNeeds() {
    var fleet = Fleet()
    for number in 0..<1_000 {
      let key = fleet.add(1, place: "nowhere \(number)").lowerBound
      let row = FleetJob(id: Fleet.id(key), name: "", specification: JobSpecification(type: "small"), created: 0)
      let target = Order.Target(row.id, attempts: 1)
      fleet.order(.command(.cancel(reason: "nobody offers that"), [target]), jobs: [row])
      fleet.assign()
      fleet.add(1, place: "1")
      fleet.assign()
      fleet.end(1)
    }
    let places = fleet.lead.schedule.resourceViews.count { if case .place = $0.name { true } else { false } }
    #expect(fleet.lead.schedule.count == 0 && places < 300)
    let waiting = fleet.add(5, place: "1")
    #expect(fleet.assign() == Array(waiting.prefix(2)))
    fleet.end(2)
    #expect(fleet.assign() == Array(waiting.dropFirst(2).prefix(2)))
  }
}
