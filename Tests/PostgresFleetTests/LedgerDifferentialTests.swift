import Foundation
import JobSchedule
import Jobs
import ObjectGraph
import PostgresTesting
import Testing

@testable import Fleet
@testable import FleetSimulation
@testable import PostgresFleet
@testable import PostgresStore

/// Random histories on both ledgers: the same requests have the same replies, and leave the same tables.
@Suite("Ledgers in memory and on PostgreSQL", .enabled(if: PostgresCluster.isAvailable()))
struct LedgerDifferentialTests {
  private static var seedCount: UInt64 {
    ProcessInfo.processInfo.environment["BOBBIN_LEDGER_SEEDS"].flatMap { UInt64($0) } ?? 200
  }

  @Test(
    "answer alike, whatever is asked, also behind a pooler",
    arguments: PostgresCluster.hasPooler() ? [false, true] : [false])
  func alike(isPooled: Bool) throws {
    let fixture = try FleetFixture(isPooled: isPooled)
    let ledger = try fixture.ledger()
    let raw = try fixture.connection(named: "raw", isDirect: true)
    for seed in 0..<Self.seedCount {
      let history = RandomHistory(seed: seed, fixture, ledger, raw)
      guard let difference = try history.run() else { continue }
      Issue.record("seed \(seed): \(difference)")
      return
    }
  }
}

/// A history of a seed, which is made while it goes: what may be asked next depends on what memory's tables hold.
private final class RandomHistory {
  private let memory = MemoryLedger()
  private let fixture: FleetFixture
  private let postgres: PostgresLedger
  /// A connection past the ledger.
  private let raw: Connection
  private var random: RandomSource
  private var numbers: [Receipt: Int64] = [:]
  private var slots: [Int: [Int]] = [:]
  private var hosts: [Int] = []
  private var lastKey: Int64 = 0
  private var lastTicket: Int64 = 0
  private var highest: (memory: Int64, postgres: Int64) = (0, 0)
  private var log: [String] = []

  init(seed: UInt64, _ fixture: FleetFixture, _ postgres: PostgresLedger, _ raw: Connection) {
    random = RandomSource(seed: seed)
    self.fixture = fixture
    self.postgres = postgres
    self.raw = raw
    memory.now = 1_000_000
  }

  /// The first difference; nil if there is none.
  func run() throws -> String? {
    for table in ["_host", "_beat", "_session", "_run", "_inbox", "_order", "_pause", "_start", "\"Job\""] {
      try raw.control("DELETE FROM \(table)")
      // Nobody else removes what histories leave behind.
      try raw.control("VACUUM \(table)")
    }
    for table in ["_host", "_inbox"] { try raw.control("ALTER TABLE \(table) ALTER number RESTART") }
    try raw.control("UPDATE _lead SET term = 0, host = NULL")
    for _ in 0..<60 {
      memory.now += 1
      if random.chance(6) {
        memory.now += 7_200_000
        try raw.control("UPDATE _beat SET seen = seen - interval '2 h'")
        try raw.control("UPDATE _start SET started = started - interval '2 h', until = until - interval '2 h'")
      }
      let request = nextRequest()
      log.append("\(request)")
      let expected = Result { () throws(LedgerError) in try memory.perform(request) }
      let found = Result { () throws(LedgerError) in try postgres.perform(inPostgres(request)) }
      note(expected, found, of: request)
      let (left, right) = (text(expected), text(found))
      if left != right { return "\(request)\n memory:   \(left)\n postgres: \(right)\n\(log.joined(separator: "\n"))" }
    }
    let (left, right) = (memoryTables(), try postgresTables())
    return left == right ? nil : "tables\n memory:   \(left)\n postgres: \(right)\n\(log.joined(separator: "\n"))"
  }

  // MARK: Requests

  private func pick<Element>(_ elements: [Element]) -> Element? {
    elements.isEmpty ? nil : elements[random.number(0..<elements.count)]
  }

  private func receipt(_ role: Int) -> Receipt {
    let host = pick(hosts) ?? 1
    let slot = slots[host]?[role] ?? role
    let number = memory.sessions.row(.init(host: host, slot: slot), for: 0) ?? 0
    // Now and then the number is another one than the next.
    return Receipt(host: host, slot: slot, number: number + (random.chance(92) ? 1 : random.chance(50) ? 0 : 2))
  }

  private func id(_ key: Int64) -> ManagedObjectID {
    ManagedObjectID(key: key, entity: fixture.job, coordinatorOrdinal: FleetFixture.ordinal)
  }

  private func nextRequest() -> LedgerRequest {
    if hosts.count < 2 { return .join(newHost()) }
    let host = pick(hosts) ?? 1
    switch random.number(0..<100) {
    case ..<4: return .join(newHost())
    case ..<14: return .beat(host: host)
    case ..<20: return .readRuns(host: host)
    case ..<36: return .admit(newJobs(), receipt(1))
    case ..<42:
      lastTicket += 1
      return .order(newOrder(), ticket: lastTicket, receipt(1))
    case ..<54: return .flush(ends(), receipt(0))
    case ..<58:
      let role = random.number(0..<3)
      let old = slots[host]?[role] ?? role
      return .replaceSlot(host: host, old: old, new: old + 3)
    case ..<64: return .outcome(of: receipt(random.number(0..<3)))
    case ..<70:
      let term = memory.lead.row(0, for: 0)?.term ?? 0
      return .lead(after: term + (random.chance(90) ? 0 : 1), silence: Silence(silence()), receipt(2))
    case ..<74:
      // Ages are not alike: either they count alone, or nothing beside a priority.
      let first = FirstJobs(random.number(0..<6), agingStep: random.chance(50) ? 0 : 100_000_000_000)
      return .load(first: random.chance(50) ? first : FirstJobs(), receipt(2))
    case ..<75: return .loadJobs(someJobs(), receipt(2))
    case ..<76: return .loadRest(names: ["job\(random.number(0..<40))", "job\(random.number(0..<40))"], receipt(2))
    case ..<88: return .round(newRound(), receipt(2))
    case ..<90: return .readNews(above: random.chance(70) ? 0 : highest.memory, besides: someNews())
    case ..<92: return .remove(someFinalJobs(), receipt(2))
    case ..<97: return .fence(host: host, silence: Silence(silence()), receipt(2))
    default:
      let root = "root\(random.number(0..<4))"
      return .bury(root: root, host: random.chance(50) ? host : nil)
    }
  }

  private func silence() -> Int64 { random.chance(40) ? 0 : 3_600_000 }

  private func newHost() -> FleetHost {
    FleetHost(
      root: "root\(random.number(0..<4))", slots: random.number(1..<9), types: ["a", "\"b\", {c}"],
      places: random.chance(50) ? [] : ["place \(random.number(0..<3))"])
  }

  private func newJobs() -> [FleetJob] {
    (0..<random.number(1..<5)).map { _ in
      lastKey += 1
      var specification = JobSpecification(type: "type\(random.number(0..<2))", queue: "q\(random.number(0..<2))")
      specification.priority = random.number(-5..<6)
      specification.maxAttempts = random.number(1..<4)
      if random.chance(20) { specification.notBefore = Date(timeIntervalSince1970: 1_700_000_000.25) }
      if random.chance(30) { specification.after = ["job\(random.number(0..<40))"] }
      if random.chance(20) { specification.afterAny = ["job\(random.number(0..<40))"] }
      if random.chance(20) { specification.batch = "batch" }
      if random.chance(10) { specification.afterBatch = "batch" }
      if random.chance(10) { specification.unique = "it's \"unique\"" }
      // Some names come twice.
      let name = random.chance(85) ? Int(lastKey) : random.number(0..<40)
      return FleetJob(
        id: id(lastKey), name: "job\(name)", specification: specification,
        place: random.chance(30) ? "place 1" : nil, created: 0)
    }
  }

  private func someJob() -> ManagedObjectID {
    pick(memory.jobs.all(for: 0).map(\.key).sorted { $0.key < $1.key }) ?? id(1)
  }

  private func someJobs() -> [ManagedObjectID] {
    Set((0..<random.number(1..<4)).map { _ in someJob() }).sorted { $0.key < $1.key }
  }

  private func someFinalJobs() -> [FinalJob] {
    let jobs = memory.jobs.all(for: 0).map(\.row).sorted { $0.id.key < $1.id.key }
    return jobs.filter { _ in random.chance(60) }.map { FinalJob(id: $0.id, name: $0.name) }
  }

  private func newOrder() -> Order {
    switch random.number(0..<7) {
    case 6:
      return random.chance(50)
        ? .ask(.resources, until: 5) : .pause(.host("root\(random.number(0..<4))"), random.chance(60))
    case 0: return .pause(.queue("q\(random.number(0..<2))"), random.chance(60))
    case 1: return .pause(pick([.everything, .type("t"), .key("k"), .place("p")]) ?? .everything, random.chance(60))
    case 2: return .ask(random.chance(50) ? .explain(someJob()) : .states([someJob(), someJob()]), until: 5)
    case 3:
      let page = random.chance(50) ? Schedule.Page.newest(offset: 3, limit: 9) : .following(-7, limit: 2)
      return .ask(
        .find(Order.Selection(queue: "q", type: nil, batch: "\"", states: [.held], page: page)), until: 1_000_000)
    default:
      let command: JobCommand? = pick([
        .cancel(reason: "it's \"over\""), .hold, .release, .retry, .redrive, .setPriority(-7),
      ])
      return .command(command ?? .hold, someJobs().map { Order.Target($0, attempts: random.number(1..<5)) })
    }
  }

  private func newChange() -> JobChange {
    let (job, other) = (someJob(), someJob())
    var specification = random.chance(50) ? memory.jobs.row(job, for: 0)?.specification : nil
    specification?.earlierAttempts = -1
    let kinds: [JobChange.Kind] = [
      .state(.cancelled, .text("by order")), .state(.cancelled, .end(of: other)), .state(.held, nil),
      .state(.available, nil), .stop(.cancelled, "a host is needed"), .priority(random.number(-9..<10)),
      .again(attempts: random.number(1..<4), specification),
    ]
    return JobChange(job, pick(kinds) ?? .priority(0))
  }

  private func newAnswer() -> OrderAnswer? {
    guard let key = pick(memory.orders.all(for: 0).map(\.key).sorted { ($0.host, $0.ticket) < ($1.host, $1.ticket) })
    else { return nil }
    let contents: [OrderAnswer.Content] = [
      .done, .outcomes([.done, .unknown, .impossible(.held), .keyTaken(.cancelled, owner: someJob())]),
      .explanation(.waiting, [.held, .job(someJob()), .rate(.key("k"), 12), .queue(0), .place(.place("a at b"))]),
      .explanation(nil, []),
      .resources([
        Schedule.ResourceView(name: .queue("q"), isPaused: true, concurrent: 3, running: 1, counts: [.waiting: 2]),
        Schedule.ResourceView(name: .everything, isPaused: false, concurrent: nil, running: 0, counts: [:]),
      ]), .found([.init(job: someJob(), state: .retryable)], total: 77),
    ]
    return OrderAnswer(host: key.host, ticket: key.ticket, content: pick(contents) ?? .done)
  }

  private func currentRuns() -> [Run] { memory.runs.all(for: 0).map(\.row).sorted { $0.job.key < $1.job.key } }

  private func ends() -> [EndedRun] {
    var runs = currentRuns().filter { _ in random.chance(40) }
    if random.chance(5) { runs.append(Run(job: someJob(), host: 1, attempt: 77)) }
    return runs.map { run in
      let event = pick([JobEvent.succeeded, .succeeded, .failed, .gaveUp, .interrupted]) ?? .succeeded
      return EndedRun(run: run, event: event, retryTime: event == .failed ? random.time(1..<1_000_000_000) : nil)
    }
  }

  private func newRound() -> LeadRound {
    var round = LeadRound(floor: random.chance(85) ? 0 : highest.memory)
    round.knownNews = someNews()
    let waiting = memory.jobs.all(for: 0).map(\.row).filter { memory.runs.row($0.id, for: 0) == nil }
      .sorted { $0.id.key < $1.id.key }
    for job in waiting where random.chance(35) {
      round.runs.append(Run(job: job.id, host: pick(hosts) ?? 1, attempt: job.attempt + 1))
    }
    if random.chance(3), let run = currentRuns().first { round.runs.append(run) }
    if random.chance(30) {
      let names = [Resource.Name.key("it's"), .queue("q"), .type("t")].filter { _ in random.chance(50) }
      for name in names {
        round.starts[name] = (random.number(1..<5), pick([3_600_000, 10_800_000, 18_000_000]) ?? 0)
      }
    }
    for _ in 0..<random.number(0..<4) where !memory.jobs.isEmpty { round.changes.append(newChange()) }
    for run in currentRuns() + round.runs where random.chance(15) {
      let isHeld = random.chance(40)
      round.stops.append(RunStop(run: run, event: isHeld ? .held : .cancelled, reason: isHeld ? nil : "no longer"))
    }
    // One whose attempt has ended meanwhile.
    if random.chance(20) {
      round.stops.append(RunStop(run: Run(job: someJob(), host: 1, attempt: 78), event: .cancelled, reason: "late"))
    }
    if random.chance(60), let answer = newAnswer() { round.answers.append(answer) }
    if random.chance(10) { round.gone = [pick(hosts) ?? 1] }
    return round
  }

  private func someNews() -> [Int64] { random.chance(50) ? [] : [highest.memory] }

  /// The same request; numbers of news are drawn by each ledger for itself.
  private func inPostgres(_ request: LedgerRequest) -> LedgerRequest {
    let own = { [highest] (number: Int64) in number > 0 ? highest.postgres : 0 }
    switch request {
    case .round(var round, let receipt):
      round.floor = own(round.floor)
      round.knownNews = round.knownNews.map(own)
      return .round(round, receipt)
    case .readNews(let floor, let known): return .readNews(above: own(floor), besides: known.map(own))
    default: return request
    }
  }

  private func note(
    _ expected: Result<LedgerReply, LedgerError>, _ found: Result<LedgerReply, LedgerError>, of request: LedgerRequest
  ) {
    guard case .success(let reply) = expected else { return }
    switch (request, reply) {
    case (_, .joined(let number, _)):
      hosts.append(number)
      slots[number] = [0, 1, 2]
    case (.replaceSlot(let host, let old, let new), .written):
      if let role = slots[host]?.firstIndex(of: old) { slots[host]?[role] = new }
    case (_, .news(let news, _)), (_, .readNews(let news, _)):
      highest.memory = max(highest.memory, news.last?.number ?? 0)
      switch found {
      case .success(.news(let news, _)), .success(.readNews(let news, _)):
        highest.postgres = max(highest.postgres, news.last?.number ?? 0)
      default: break
      }
    default: break
    }
  }

  // MARK: Texts

  private func text(_ result: Result<LedgerReply, LedgerError>) -> String {
    switch result {
    case .failure(let error): "\(error)"
    case .success(.joined(let number, _)): "joined \(number)"
    case .success(.beaten(let beat)):
      "beat \(beat.term) \(beat.lead ?? 0) \(beat.leadSilence != nil) \(beat.silences.map(\.host).sorted()) "
        + "\(beat.runCount) \(beat.stopCount) \(beat.news != nil) \(beat.paused.map { "\($0)" }.sorted())"
    case .success(.loaded(let state)):
      "hosts \(state.hosts.sorted { $0.key < $1.key }.map { "\($0.key): \(text($0.value))" }) "
        + "runs \(state.runs.sorted { $0.job.key < $1.job.key }.map(text)) jobs \(state.jobs.map(text)) "
        + "known \(text(state.known)) paused \(state.paused.map { "\($0)" }.sorted()) "
        + "starts \(text(state.starts)) stops \(state.stops.map(text).sorted()) orders \(state.orders.map(text)) rest \(state.rest.map(\.key))"
    case .success(.loadedJobs(let jobs)): "jobs \(jobs.map(text))"
    case .success(.loadedRest(let known, let orders)): "known \(text(known)) orders \(orders.map(text))"
    case .success(.news(let news, _)), .success(.readNews(let news, _)): "news \(news.map { text($0.news) })"
    case .success(.runs(let runs, let stops, _)): "runs \(runs.map(text)) stops \(stops.map(text))"
    case .success(.tookOver(let runs)): "took over \(runs.sorted { $0.job.key < $1.job.key }.map(text))"
    case .success(let reply): "\(reply)"
    }
  }

  private func text(_ news: News) -> String {
    switch news {
    case .joined(let number, let host): "joined \(number): \(text(host))"
    case .buried(let number): "buried \(number)"
    case .admitted(let jobs, let known): "admitted \(jobs.map(text)) known \(text(known))"
    case .ended(let ended): "ended \(ended.map { "\(text($0.run)) \($0.event) \($0.retryTime ?? -1)" })"
    case .ordered(let order): "ordered \(text(order))"
    case .changed: "changed"
    }
  }

  /// The starts of each rate, with the even hours since then; those of less than one are of now.
  private func text(_ starts: [RateStarts]) -> [String] {
    starts.map { "\($0.name) \($0.count) \($0.age / 7_200_000)" }.sorted()
  }

  private func text(_ stop: RunStop) -> String { "\(text(stop.run)) \(stop.event) \(stop.reason ?? "-")" }

  private func text(_ order: PlacedOrder) -> String {
    "\(order.host)/\(order.ticket) \(order.order) of \(order.jobs.map(text))"
  }

  private func text(_ run: Run) -> String { "\(run.job.key)@\(run.host)#\(run.attempt)" }

  private func text(_ host: FleetHost) -> String {
    "\(host.root) \(host.slots) \(host.types.sorted()) \(host.places.sorted())"
  }

  private func text(_ known: [String: NamedJob]) -> String {
    "\(known.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value.id.key) \($0.value.state)" })"
  }

  private func text(_ job: FleetJob) -> String {
    let specification = job.specification
    // An attempt ends the wait for a moment, and a lost one is made up for.
    let moment = job.attempt == 0 ? specification.notBefore?.timeIntervalSince1970 : nil
    return "\(job.id.key) \(job.name) \(job.state) \(job.attempt) \(job.retryTime ?? -1) \(job.place ?? "-") "
      + "\(specification.type) \(specification.queue) \(specification.priority) \(moment ?? 0) "
      + "\(specification.after) \(specification.afterAny) \(specification.batch ?? "-") "
      + "\(specification.afterBatch ?? "-") \(specification.unique ?? "-") \(specification.earlierAttempts) "
      + (job.stop.map { "\($0.event) \($0.reason ?? "-")" } ?? "-")
  }

  private func memoryTables() -> [String] {
    let lead = memory.lead.row(0, for: 0)
    return [
      memory.hosts.all(for: 0).sorted { $0.key < $1.key }.map { "\($0.key) \($0.row.isAlive)" }.joined(separator: ","),
      memory.beats.all(for: 0).map(\.key).sorted().map { "\($0)" }.joined(separator: ","),
      memory.sessions.all(for: 0).sorted { ($0.key.host, $0.key.slot) < ($1.key.host, $1.key.slot) }
        .map { "\($0.key.host)/\($0.key.slot)=\($0.row)" }.joined(separator: ","),
      "\(lead?.term ?? 0) \(lead?.host ?? 0)", currentRuns().map(text).joined(separator: ","),
      memory.jobs.all(for: 0).map(\.row).sorted { $0.id.key < $1.id.key }
        .map { "\($0.id.key) \($0.name) \($0.state) \($0.attempt)" }.joined(separator: ","),
      memory.inbox.all(for: 0).count.description,
      memory.orders.all(for: 0).map(\.key).sorted { ($0.host, $0.ticket) < ($1.host, $1.ticket) }
        .map { "\($0.host)/\($0.ticket) \(text(memory.answers.row($0, for: 0)?.content))" }.joined(separator: ","),
    ]
  }

  private func text(_ answer: OrderAnswer.Content?) -> String { answer.map { "\($0)" } ?? "-" }

  private func orders() throws -> String {
    let found = try raw.pipeline([Request("SELECT host, ticket, answer FROM _order ORDER BY host, ticket")])[0]
    return (0..<found.rowCount).map { row in
      let answer = found.textIfPresent(row, 2).map { OrderText.answer($0, id: id) }
      return "\(found.integer(row, 0))/\(found.integer(row, 1)) \(text(answer))"
    }.joined(separator: ",")
  }

  private func postgresTables() throws -> [String] {
    func list(_ text: String, _ order: String, _ rest: String) throws -> String {
      try raw.pipeline([Request("SELECT coalesce(string_agg(\(text), ',' ORDER BY \(order)), '') FROM \(rest)")])[0]
        .text(0, 0)
    }
    return [
      try list("number || ' ' || (state = 'alive')::text", "number", "_host"), try list("host::text", "host", "_beat"),
      try list("host || '/' || slot || '=' || number", "host, slot", "_session WHERE slot >= 0"),
      try list("term || ' ' || coalesce(host, 0)", "term", "_lead"),
      try list("job || '@' || host || '#' || attempt", "job", "_run"),
      try list(#"_key || ' ' || "id" || ' ' || "state" || ' ' || "attempt""#, "_key", #""Job""#),
      try list("number::text", "number", "_inbox").split(separator: ",").count.description, try orders(),
    ]
  }
}
