import Fleet
import JobSchedule
import PostgresStore
import StoreInterface

/// Carries out requests on one connection: each is one transaction, and most are one pipeline with one wait.
struct LedgerTransaction {
  let connection: Connection
  let jobs: JobRows
  /// The name of the fleet, with which the names of its sessions begin.
  let fleet: String
  let release: LedgerRelease

  /// The error of a transaction that was written, and of which not all could be read.
  static let answerLost = StoreError.Code(rawValue: "answer-lost")

  func perform(_ request: LedgerRequest) throws(StoreError) -> LedgerReply {
    switch request {
    case .join(let host): return try join(host)
    case .beat(let host, let floors): return try beat(host, above: floors)
    case .readRuns(let host, let number):
      let found = try connection.pipeline(LedgerStatements.runs(of: host, after: number))
      let last = found[0].rowCount == 0 ? number : found[0].integer(found[0].rowCount - 1, 3)
      return .runs(jobs.runs(found[0]), stops: jobs.stops(found[1]), last: last)
    case .admit(let new, let orders, let receipt):
      let placed = orders.map { LedgerStatements.place($0.order, ticket: $0.ticket, by: receipt.host) }
      try commit([LedgerStatements.fence(receipt)] + placed + [JobRows.admit(new)] + InputRows.keep(inputsOf: new))
      return .written
    case .order(let order, let ticket, let receipt):
      var statements = [LedgerStatements.fence(receipt)]
      if case .pause(let resource, let isPaused) = order {
        statements.append(LedgerStatements.pause(resource.record, isPaused))
      }
      try commit(statements + [LedgerStatements.place(order, ticket: ticket, by: receipt.host)])
      return .written
    case .flush(let ended, let receipt):
      try commit(
        [LedgerStatements.fence(receipt)] + JobRows.keepStops(of: ended) + [
          LedgerStatements.endRuns(ended), JobRows.record(ended),
          LedgerStatements.tell(.ended, NewsText.text(of: ended)),
        ])
      return .written
    case .replaceSlot(let host, let old, let new):
      try commit(LedgerStatements.replaceSlot(host, old: old, new: new))
      return .written
    case .outcome(let receipt):
      let found = try commit([LedgerStatements.outcome(of: receipt)])[0]
      // A number before the last one that was answered: a failover has lost what this host goes by.
      guard found.rowCount > 0, found.integer(0, 0) >= receipt.number - 1 else { throw fenced() }
      return .outcome(isWritten: found.integer(0, 0) >= receipt.number)
    case .lead(let term, let silence, let receipt):
      let statements =
        [LedgerStatements.fence(receipt), LedgerStatements.candidacy(after: term, of: receipt.host)]
        + Takeover.lead(silentFor: silence, fleet: fleet) + [LedgerStatements.become(lead: receipt.host)]
      return .leads(term: try commit(statements).last?.integer(0, 0) ?? 0)
    case .load(let first, let receipt): return .loaded(try load(first, receipt))
    case .loadJobs(let ids, let receipt):
      return .loadedJobs(
        jobs.jobs(try commit([LedgerStatements.fence(receipt), JobRows.scheduled(ids.map(\.key))])[1]))
    case .loadRest(let names, let receipt):
      let results = try commit([LedgerStatements.fence(receipt), JobRows.named(names), Self.readOrders])
      return .loadedRest(known: jobs.named(results[1]), orders: orders(results[2]))
    case .readNews(let floor, let known):
      let results = try connection.pipeline([LedgerStatements.server, Self.readNews(above: floor, besides: known)])
      return .readNews(try news(results[1]), timeline: server(results[0]).timeline)
    case .round(let round, let receipt): return try perform(round, receipt)
    case .remove(let final, let receipt):
      return .removed(try commit([LedgerStatements.fence(receipt), JobRows.remove(final)])[1].rowCount)
    case .fence(let host, let silence, let receipt):
      let results = try commit(
        [LedgerStatements.fence(receipt)] + Takeover.silent(host, for: silence, fleet: fleet))
      return .tookOver(jobs.runs(results[1 + Takeover.runsPlace]))
    case .bury(let root, let host):
      try commit(Takeover.burial(under: root, of: host, fleet: fleet, sparesIdle: true))
      return .written
    }
  }

  private func join(_ host: FleetHost) throws(StoreError) -> LedgerReply {
    let statements =
      [LedgerFormat.demand(of: release)] + Takeover.burial(under: host.root, fleet: fleet) + [
        LedgerStatements.dropOldHosts, LedgerStatements.enter(host, of: release),
      ]
    do throws(StoreError) {
      let entered = try commit(statements)[statements.count - 1]
      return .joined(host: Int(entered.integer(0, 0)), time: entered.integer(0, 1))
    } catch  where error.code == LedgerFormat.unfit {
      connection.rollBack()
      // Tells the reason; the next attempt finds a ledger that was made anew meanwhile.
      _ = try LedgerFormat(connection: connection, release: release).isPresent()
      throw error
    }
  }

  /// Runs statements as one transaction, with one wait; returns their results.
  @discardableResult
  func commit(_ statements: [Request]) throws(StoreError) -> [QueryResult] {
    Array(try connection.pipeline([Self.begin] + statements + [Request("COMMIT")])[1...].dropLast())
  }

  /// Behind a pooler connections have the default of the role; a statement has to see what was committed before it.
  private static let begin = Request("BEGIN ISOLATION LEVEL READ COMMITTED")

  private func fenced() -> StoreError { StoreError(.fenced, "the host was fenced") }

  func horizon(_ result: QueryResult) -> TransactionHorizon {
    TransactionHorizon(
      own: result.integer(0, 0), oldest: result.integer(0, 1), timeline: result.integer(0, 2),
      writers: result.textIfPresent(0, 3).map { Set($0.split(separator: " ").map(String.init)) })
  }

  // MARK: Beats

  private func beat(_ host: Int, above floors: BeatFloors) throws(StoreError) -> LedgerReply {
    let results = try connection.pipeline(LedgerStatements.beat(host, above: floors))
    guard results[0].rowCount == 1 else { throw fenced() }
    let (fleet, others) = (results[1], results[2])
    var beat = Beat(
      time: fleet.integer(0, 8), server: server(results[0]), term: fleet.integer(0, 0),
      lead: fleet.isNull(0, 1) ? nil : Int(fleet.integer(0, 1)),
      leadSilence: fleet.integer(0, 3) == 1 ? fleet.integer(0, 2) : nil,
      silences: (0..<others.rowCount).map { (host: Int(others.integer($0, 0)), time: others.integer($0, 1)) },
      runCount: Int(fleet.integer(0, 4)), stopCount: Int(fleet.integer(0, 5)),
      news: fleet.isNull(0, 6) ? nil : fleet.integer(0, 6),
      outcome: fleet.isNull(0, 7) ? nil : fleet.integer(0, 7), paused: pauses(results[3]))
    beat.log = Self.log(results[4])
    return .beaten(beat)
  }

  static func log(_ read: QueryResult) -> LedgerLog {
    var log = LedgerLog()
    log.position = read.integer(0, 0)
    log.followedTo = read.isNull(0, 1) ? nil : read.integer(0, 1)
    (log.standbyCount, log.isHidden) = (Int(read.integer(0, 2)), read.integer(0, 3) == 1)
    return log
  }

  func server(_ read: QueryResult) -> LedgerServer {
    LedgerServer(timeline: read.integer(0, 0), isReplicated: read.integer(0, 1) == 1)
  }

  private func pauses(_ read: QueryResult) -> Set<Resource.Name> {
    Set((0..<read.rowCount).compactMap { Resource.Name(kind: read.text($0, 0), name: read.text($0, 1)) })
  }

  // MARK: The lead

  /// The orders that have no answer, with the rows of their jobs; the body comes once, since it is long where they are many.
  static let readOrders = Request(
    """
    SELECT o.host, o.ticket, CASE WHEN row_number() OVER jobs = 1 THEN o.body END, \(JobRows.columns(of: "j")), \
    \(JobRows.orderedArguments) FROM _order AS o \
    LEFT JOIN LATERAL unnest(o.keys) AS k (key) ON true LEFT JOIN "Job" AS j ON j._key = k.key \
    WHERE o.answer IS NULL WINDOW jobs AS (PARTITION BY o.host, o.ticket ORDER BY j._key) \
    ORDER BY o.host, o.ticket, row_number() OVER jobs
    """)
  private func load(_ first: FirstJobs, _ receipt: Receipt) throws(StoreError) -> FleetState {
    let results = try connection.pipeline([
      Request("BEGIN ISOLATION LEVEL REPEATABLE READ"), LedgerStatements.fence(receipt), IndexSearch.end,
      Request("DELETE FROM _inbox"), LedgerStatements.livingHosts, LedgerStatements.allRuns, LedgerStatements.pauses,
      JobRows.scheduledKeys(agingStep: first.agingStep), LedgerStatements.starts, IndexSearch.begin, Self.readOrders,
    ])
    let runs = jobs.runs(results[5])
    let assigned = Set(runs.map(\.job.key))
    let waiting = (0..<results[7].rowCount).lazy.map { results[7].integer($0, 0) }.filter { !assigned.contains($0) }
    let rest = waiting.dropFirst(first.count)
    let rows = try connection.pipeline([JobRows.scheduled(assigned.sorted() + waiting.prefix(first.count))])[0]
    let read = jobs.jobs(rows)
    let names = rest.isEmpty ? JobRows.names(in: read) : []
    let end = try connection.pipeline([JobRows.named(names), Request("COMMIT")])
    var hosts: [Int: FleetHost] = [:]
    for row in 0..<results[4].rowCount { hosts[Int(results[4].integer(row, 0))] = host(results[4], row, from: 1) }
    return FleetState(
      hosts: hosts, runs: runs, stops: jobs.stops(results[5]), jobs: read, rest: rest.map(jobs.id),
      known: jobs.named(end[0]), paused: pauses(results[6]), starts: starts(results[8]), orders: orders(results[10]))
  }

  private func starts(_ read: QueryResult) -> [RateStarts] {
    (0..<read.rowCount).compactMap { row in
      Resource.Name(kind: read.text(row, 0), name: read.text(row, 1)).map {
        RateStarts($0, count: Int(read.integer(row, 2)), age: read.integer(row, 3))
      }
    }
  }

  func host(_ result: QueryResult, _ row: Int, from first: Int) -> FleetHost {
    FleetHost(
      root: result.text(row, first), slots: result.integer(row, first + 1), types: result.text(row, first + 2),
      places: result.text(row, first + 3))
  }

  private func perform(_ round: LeadRound, _ receipt: Receipt) throws(StoreError) -> LedgerReply {
    var statements = [LedgerStatements.fence(receipt)]
    if !round.gone.isEmpty {
      statements.append(JobRows.deleteRuns(ofHosts: "SELECT unnest($1)", [.integers(round.gone)]))
    }
    statements += JobRows.record(round.changes)
    if !round.runs.isEmpty { statements.append(LedgerStatements.assign(round.runs)) }
    if round.forgetsStarts { statements.append(LedgerStatements.forgetStarts) }
    if !round.starts.isEmpty { statements.append(LedgerStatements.noteStarts(round.starts)) }
    if !round.stops.isEmpty { statements += LedgerStatements.stop(round.stops) }
    if !round.answers.isEmpty { statements.append(LedgerStatements.answer(round.answers)) }
    // Behind the answers: a record stays while an order for it has none.
    if !round.deleted.isEmpty { statements.append(JobRows.remove(round.deleted)) }
    // Last, so that the rows that come with orders know of these changes.
    let reading = [
      LedgerStatements.readHorizon(of: "_inbox", withWriters: round.asksForWriters),
      Self.takeNews(above: round.floor, besides: round.knownNews),
    ]
    let results = Array(try commit(statements + reading)[statements.count...])
    // It is written by now: a lead that can't have the news loads what they say.
    do throws(StoreError) { return .news(try news(results[1]), horizon(results[0])) } catch {
      throw StoreError(Self.answerLost, error.message, path: error.path, detail: error.detail)
    }
  }

  private func orders(_ read: QueryResult) -> [PlacedOrder] {
    var orders: [PlacedOrder] = []
    for row in 0..<read.rowCount {
      if let body = read.textIfPresent(row, 2) {
        orders.append(order(body, ticket: read.integer(row, 1), of: Int(read.integer(row, 0))))
      }
      if !read.isNull(row, 3) { orders[orders.count - 1].jobs.append(jobs.orderedJob(read, row, from: 3)) }
    }
    return orders
  }

  func order(_ text: String, ticket: Int64, of host: Int) -> PlacedOrder {
    PlacedOrder(host: host, ticket: ticket, order: OrderText.order(text, id: jobs.id), jobs: [])
  }
}
