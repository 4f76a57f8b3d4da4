import Configuration
import Dispatch
import Fleet
import Foundation
import JobSchedule
import Jobs
import ObjectGraph
import PostgresFleet
import PostgresStore
import Synchronization
import SystemSupport

/// This host's membership of a fleet: its driver, and what the daemon's parts have to do with it.
final class Membership: Sendable {
  private struct State {
    var driver: MemberDriver?
    /// The store whose transactions are fenced, once this host has joined.
    var store: PostgresStore?
    var number: Int?
    /// The spools of the jobs that run here and came to other hosts.
    var spools: [ManagedObjectID: String] = [:]
    /// The runs of this host that are to end.
    var stops: [Run: RunStop] = [:]
    /// Other spools' jobs for which files of this one wait.
    var watched: Set<ManagedObjectID> = []
    var isClosed = false
    /// The resources that operators have paused, as the last beat knew them.
    var paused: Set<Resource.Name>?
    var leads = false
  }

  /// The time after which a wait for the database to let this host join is told of once more.
  private static let joinPeriod = Duration.seconds(10)
  /// The time for an answer of the lead: another host may have to take its place first.
  static let answerLimit = Duration.seconds(10)

  /// The root of this host's spool, by which other hosts name it.
  let spool: String
  private let database: FleetDatabase
  private let agingStep: Int64
  private let events: DaemonEvents
  private let log: DaemonLog
  private let state = Mutex(State())
  private let answers = AnswerWaits()
  private let reading = Coalescer(queue: DispatchQueue(label: "answers"))
  /// The looks at what has ended on other hosts, one at a time.
  let looks = DispatchQueue(label: "ends elsewhere")
  private let removal = RemovalWait()
  private let admission = AdmissionWait()
  let meter = FleetMeter()
  private let troubles: DatabaseTroubles
  let types: OfferedTypes
  let standbys: StandbyWait

  /// - Parameters:
  ///   - database: the database that the hosts share.
  ///   - spool: the root of this host's spool.
  init(_ database: FleetDatabase, spool: String, agingStep: Duration, events: DaemonEvents, log: DaemonLog) {
    self.database = database
    self.spool = spool
    self.agingStep = agingStep.milliseconds
    self.events = events
    self.log = log
    troubles = DatabaseTroubles(log: log)
    types = OfferedTypes(log: log)
    standbys = StandbyWait(log: log)
  }

  /// The number with which this host has joined; nil before.
  var number: Int? { state.withLock { $0.number } }

  /// True once this host leads, which it does until it ends.
  var leads: Bool { state.withLock { $0.leads && !$0.isClosed } }

  /// This moment in the time of the fleet, which its database tells.
  var now: Moment { driver?.now ?? .now() }

  /// Durability of what the database has answered, as the last beat knows it.
  var durability: String { FleetMeter.durability(isReplicated: meter.figures.isReplicated) }

  /// True if this host may begin runs.
  func mayBegin(at moment: Moment) -> Bool { driver?.mayBegin(at: moment) ?? false }

  private var driver: MemberDriver? { state.withLock { $0.driver } }

  // MARK: Start and stop

  /// Joins the fleet, as soon as its database lets it; whoever was there under the same root is dead, and is buried.
  ///
  /// - Parameters:
  ///   - store: the store, whose transactions are fenced from then on.
  ///   - slots: the number of jobs that this host runs at a time.
  ///   - types: the types that it has handlers for.
  ///   - configuration: what else it offers, beside its own spool.
  /// - Throws: ``StoreError`` if the database refuses this host for good.
  func join(_ store: PostgresStore, slots: Int, types: [String], _ configuration: Configuration.Fleet) throws {
    let answered = Latch()
    let refusal = Mutex<String?>(nil)
    let host = FleetHost(
      root: spool, slots: slots, types: Set(types),
      places: FleetPlace.names(
        offered: configuration.places, spool: spool, userDomain: configuration.userDomain))
    let driver = MemberDriver(
      database, host: host, agingStep: agingStep, queue: DispatchQueue(label: "fleet"),
      log: { [troubles] in troubles.note($0) },
      report: { [weak self] report in
        if case .end(.refused(let reason)) = report, self?.number == nil {
          refusal.withLock { $0 = reason }
          return answered.open()
        }
        self?.handle(report, store)
        if case .joined = report { answered.open() }
      })
    state.withLock { $0.driver = driver }
    driver.start()
    while !answered.wait(for: Self.joinPeriod) { troubles.tellOfJoin(patience: Self.joinPeriod * 3) }
    if let reason = refusal.withLock({ $0 }) { throw StoreError(.unsupported, reason) }
    self.types.begin(host.types) { [weak self] (types, withheld) throws(StoreError) in
      if let self, let number { try reader().setTypes(types, withheld: withheld, of: number) }
    }
  }

  /// Begins the end: admissions are refused from now on, and those who wait for one are let go; its file is read again at the
  /// next start. So are those who wait for removals, and a lost answer is looked for ten seconds longer.
  func close() {
    state.withLock { $0.isClosed = true }
    admission.close()
    driver?.limitSearches()
    removal.close()
  }

  /// True once the daemon is ending.
  var isClosed: Bool { state.withLock { $0.isClosed } }

  /// Leaves the fleet: runs that have not ended are given to others at once.
  func leave() {
    close()
    do throws(LedgerError) { try driver?.leave() } catch {
      log.notice("the fleet's database was not told of the end (\(error)); the other hosts notice it in 4 seconds")
    }
  }

  /// A number that grows while the database takes and answers what the writer sends, and with each time that it is asked in
  /// vain whether the writer's transaction is there.
  var writerActivity: UInt64 { (driver?.searchCount ?? 0) &+ (state.withLock { $0.store }?.traffic ?? 0) }

  // MARK: Reports

  private func handle(_ report: MemberDriver.Report, _ store: PostgresStore) {
    switch report {
    case .joined(let number): noteJoined(number, store)
    case .assigned(let runs): events.send(.assigned(runs))
    case .member(let one): handle(one)
    case .beaten(let beat, let sent):
      standbys.note(beat, sentAt: sent)
      let wasAway = meter.note(beat, ofLead: leads)
      if wasAway {
        troubles.clear()
        log.notice("the database of the fleet is back")
        admission.setAway(false)
        events.send(.database(isAway: false))
      }
      note(paused: beat.paused)
      if wasAway || beat.outcome != nil || !watched.isEmpty { events.send(.outcomesKnown) }
      readAnswers()
      types.writeIfNeeded()
    case .missed:
      let reason = troubles.reason
      if !meter.noteMissedBeat(because: reason) {
        let why = reason.map { " (\($0))" } ?? ""
        log.warning("the fleet's database does not answer\(why); results wait", as: .fleetDatabaseAway)
        admission.setAway(true)
        events.send(.database(isAway: true))
      }
    case .recorded(let ended):
      state.withLock { state in for one in ended { state.stops[one.run] = nil } }
      hintSpools(of: ended)
    case .hinted(let hint):
      if hint == .runs { readAnswers() }
      if hint == .outcomes { events.send(.outcomesKnown) }
    case .end(.fenced), .end(.setBack): events.send(.fatal(.fenced))
    case .end(.contradiction):
      events.send(.fatal(.storeFailure("the ledger of the fleet contradicts what this host has begun")))
    case .end(.refused(let reason)):
      events.send(.fatal(.storeFailure("the fleet's database refuses what this host has to write: \(reason)")))
    }
  }

  private func handle(_ report: MemberReport) {
    switch report {
    case .stopped(let stop):
      // First, for whoever is just about to begin it.
      state.withLock { $0.stops[stop.run] = stop }
      events.send(.toldToEnd(stop))
    case .admitted(let jobs): admission.end(.written, of: jobs)
    case .notAdmitted(let jobs, let reason):
      admission.end(.refused(RefusedByServer(description: reason)), of: jobs)
    case .notPlaced(let ticket, let reason):
      answers.refuse(ticket, because: RefusedByServer(description: reason))
    case .leaseIsDoubtful: events.send(.leaseIsDoubtful)
    case .leads:
      state.withLock { $0.leads = true }
      events.send(.leads)
    case .ended(let counts): events.send(.endedInFleet(counts))
    case .removed(let count): removal.end(.success(count))
    case .notRemoved(let reason): removal.end(.failure(RefusedByServer(description: reason)))
    }
  }

  private func noteJoined(_ number: Int, _ store: PostgresStore) {
    guard let driver else { return }
    do throws(StoreError) { store.accompanyTransactions(by: try driver.participant(number)) } catch {
      return events.send(.fatal(.storeFailure("\(error)")))
    }
    state.withLock { ($0.number, $0.store) = (number, store) }
    log.notice("joined the fleet as host \(number)")
  }

  // MARK: Pauses

  /// The resources that operators have paused, and the hosts that they have drained; nil before the first beat.
  var knownPauses: Set<Resource.Name>? { state.withLock { $0.paused } }

  private func note(paused: Set<Resource.Name>) {
    let isNew = state.withLock { state in
      defer { state.paused = paused }
      return state.paused != paused
    }
    if isNew { events.send(.pausesChanged) }
  }

  /// Pauses or resumes something for the fleet.
  ///
  /// - Throws: ``NoAnswer`` after ten seconds; it may be obeyed later.
  func setPaused(_ isPaused: Bool, _ name: Resource.Name) throws {
    _ = try ask(.pause(name, isPaused))
    // The next beat says the same.
    note(paused: isPaused ? paused.union([name]) : paused.subtracting([name]))
  }

  // MARK: Events

  /// Tells the member of limits, which count for the fleet while this host leads, or of what this host has read.
  func tell(_ event: MemberEvent) { driver?.handle(event) }

  /// The reason why a run of this host is to end, if it is.
  func stop(of run: Run) -> RunStop? { state.withLock { $0.stops[run] } }

  /// Ends a run of which the store was told nothing.
  func end(_ run: Run, _ event: JobEvent) {
    state.withLock { state in
      state.spools[run.job] = nil
      state.stops[run] = nil
    }
    driver?.handle(.finished(EndedRun(run: run, event: event)))
  }

  // MARK: Orders

  /// Asks the lead, and waits for its answer.
  ///
  /// - Throws: ``NoAnswer`` after the limit, and then the lead does not answer any more.
  func ask(_ question: Order.Question, within limit: Duration = answerLimit) throws -> OrderAnswer.Content {
    try ask(.ask(question, until: now.wall + limit.milliseconds), within: limit)
  }

  /// Has the lead obey an order, and waits for its answer.
  ///
  /// - Throws: ``NoAnswer`` after the limit; it may be obeyed later.
  func ask(_ order: Order, within limit: Duration = answerLimit) throws -> OrderAnswer.Content {
    let answered = Latch()
    let answer = Mutex<Result<OrderAnswer.Content, any Error>?>(nil)
    let ticket = try place(order) { content in
      answer.withLock { $0 = content }
      answered.open()
    }
    _ = answered.wait(for: limit)
    answers.abandon(ticket)
    switch try answer.withLock({ $0 })?.get() {
    case nil, .late?: throw NoAnswer()
    case .unreadable?: throw NoAnswer.otherRelease
    case let content?: return content
    }
  }

  /// Puts an order on record, and calls back with the lead's answer, however late.
  ///
  /// - Throws: ``NoAnswer`` if the database is away already, so that nothing was written.
  @discardableResult
  func place(
    _ order: Order, _ answer: @escaping @Sendable (Result<OrderAnswer.Content, any Error>) -> Void
  ) throws -> Int64 {
    guard let order = try number([(order, answer)]).first else { throw NoAnswer() }
    place(order)
    return order.ticket
  }

  /// Puts an order on record that has its number.
  func place(_ order: NumberedOrder) { driver?.handle(.order(order.order, ticket: order.ticket)) }

  /// Gives orders their numbers, by which the lead's answers are known: all, or none.
  ///
  /// - Throws: ``NoAnswer`` if the database is away already.
  func number(_ orders: [NewOrder]) throws -> [NumberedOrder] {
    if driver == nil || isClosed || meter.figures.isAway { throw NoAnswer() }
    return answers.number(orders)
  }

  /// Takes the answers that the lead has given.
  private func readAnswers() {
    if answers.first == nil { return }
    reading.request { [weak self] in
      guard let self, let number, let first = answers.first else { return }
      do {
        let given = try reader().answers(to: number, from: first)
        answers.take(given)
        // Only now: this answer may be lost as well.
        if !given.isEmpty { try reader().forgetAnswers(to: number, given.keys.sorted()) }
      } catch {
        // The next beat that is answered leads here again.
        log.debug("answers of the fleet's lead can't be read: \(error)")
      }
    }
  }

  // MARK: Reading

  /// The connection for reading beside the member's requests; throws before the host has joined, and after its end.
  func reader() throws(StoreError) -> PostgresLedger {
    guard let reader = driver?.reader else { throw StoreError(.unavailable, "this host is not in the fleet now") }
    return reader
  }

  /// Has jobs written to the ledger, with orders that hold if they are, and waits for that; see ``AdmissionWait``.
  func admit(_ jobs: [FleetJob], placing orders: [NumberedOrder]) throws {
    var isBegun = false
    // What was not begun is not written.
    defer { if !isBegun { for order in orders { answers.forget(order.ticket) } } }
    guard let driver else { throw StoreError(.unavailable, "this host is not in the fleet now") }
    try admission.wait(for: jobs) { areNew in
      isBegun = areNew
      if areNew { driver.handle(.admit(jobs, placing: orders)) }
    }
  }

  /// Has the lead, which this host is, remove final jobs, as far as nothing needs their records; returns how many are gone.
  func remove(_ jobs: [FinalJob]) async throws -> Int {
    guard let driver else { throw NoAnswer() }
    return try await removal.wait { driver.handle(.remove(jobs)) }
  }

  /// True if jobs of a store that was copied are bound to this spool, and are to be given their places.
  var hasBoundJobs: Bool { database.hasBoundJobs }

  /// Gives jobs that were bound to this spool other places; nil for any host.
  func setPlaces(_ places: [(job: ManagedObjectID, place: String?)], isLast: Bool) throws(StoreError) {
    try database.setPlaces(places, isLast: isLast)
  }

  /// Ends an upgrade host by host.
  ///
  /// - Parameter isTrial: true to change nothing.
  func finishUpgrade(isTrial: Bool) throws(StoreError) -> UpgradeEnd { try database.finishUpgrade(isTrial: isTrial) }

  // MARK: Spools

  /// Notes to which spool the job of a run came.
  func note(_ spool: String, of job: ManagedObjectID) { state.withLock { $0.spools[job] = spool } }

  /// Hints to other spools that attempts at jobs of theirs, which ran here, are on record.
  private func hintSpools(of ended: [EndedRun]) {
    let spools = state.withLock { state in Set(ended.compactMap { state.spools.removeValue(forKey: $0.run.job) }) }
    if !spools.isEmpty { driver?.hint(spools: spools) }
  }

  /// Watches jobs of other spools for which a file of this one waits.
  func watch(_ jobs: some Sequence<ManagedObjectID>) { state.withLock { $0.watched.formUnion(jobs) } }

  /// Ends the watch of jobs; returns those that were watched.
  @discardableResult
  func unwatch(_ jobs: some Sequence<ManagedObjectID>) -> Set<ManagedObjectID> {
    state.withLock { state in
      let ended = state.watched.intersection(jobs)
      state.watched.subtract(ended)
      return ended
    }
  }

  /// The watched jobs.
  var watched: Set<ManagedObjectID> { state.withLock { $0.watched } }
}
