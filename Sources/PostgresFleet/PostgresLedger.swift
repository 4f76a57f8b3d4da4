package import Dispatch
package import Fleet
import PostgresStore
package import StoreInterface
import Synchronization
import SystemSupport

/// The ledger of a fleet on one connection to PostgreSQL, which is made when it is first needed and again when it broke.
///
/// Requests block, and wait for each other; every wait has a limit.
package final class PostgresLedger: FleetLedger, Sendable {
  private struct State {
    var connection: Connection?
    /// A dispatch source is not marked as Sendable, but may be used from any thread; the mutex orders its replacement.
    nonisolated(unsafe) var arrivals: (any DispatchSourceRead)?
  }

  /// A listener for hints, on the queue on which the ledger's requests are made as well.
  package struct HintListener: Sendable {
    let queue: DispatchQueue
    let handler: @Sendable (Set<MemberHint>) -> Void

    package init(on queue: DispatchQueue, _ handler: @escaping @Sendable (Set<MemberHint>) -> Void) {
      self.queue = queue
      self.handler = handler
    }
  }

  private let settings: Connection.Settings
  private let jobs: JobRows
  private let fleet: String
  private let release: LedgerRelease
  private let channel: String?
  private let listener: HintListener?
  private let log: @Sendable (StoreError) -> Void
  private let state = Mutex(State())

  /// - Parameters:
  ///   - channel: the channel of the hints for the host, if it listens for them.
  ///   - log: told of the reason why a request has no answer.
  init(
    _ settings: Connection.Settings, jobs: JobRows, fleet: String, release: LedgerRelease, channel: String?,
    listener: HintListener?, log: @escaping @Sendable (StoreError) -> Void
  ) {
    self.settings = settings
    self.jobs = jobs
    self.fleet = fleet
    self.release = release
    self.channel = channel
    self.listener = listener
    self.log = log
  }

  deinit { close() }

  package func perform(_ request: LedgerRequest) throws(LedgerError) -> LedgerReply {
    do throws(StoreError) {
      let reply = try withConnection { (connection) throws(StoreError) in
        do throws(StoreError) { return try transaction(on: connection).perform(request) } catch {
          connection.rollBack()
          throw connection.isUsable ? error : Self.broken(error, during: request)
        }
      }
      for order in reply.unreadableOrders {
        let words = "an order of host \(order.host) can't be read: a newer release has written it"
        log(StoreError(.unreadableOrder, words))
      }
      return reply
    } catch {
      if error.code == LedgerStatements.refused { return .refused }
      if let known = LedgerError(error.code) { throw known }
      log(error)
      if error.isTakenKey { throw .fenced }
      if error.isFinalRefusal { throw .impossible("\(request.name): \(error.message)") }
      throw error.code == .inputOutput || error.code == LedgerTransaction.answerLost ? .unknown : .unavailable
    }
  }

  /// Makes a transaction that has nothing to do with what the member knows.
  func apart<Result: Sendable>(
    _ body: (LedgerTransaction) throws(StoreError) -> Result
  ) throws(StoreError) -> Result {
    try withConnection { (connection) throws(StoreError) in
      do throws(StoreError) {
        return try body(transaction(on: connection))
      } catch {
        connection.rollBack()
        throw error
      }
    }
  }

  private func transaction(on connection: Connection) -> LedgerTransaction {
    LedgerTransaction(connection: connection, jobs: jobs, fleet: fleet, release: release)
  }

  /// The error of a connection that broke during a request: whether it was written is unknown, if it writes.
  ///
  /// All statements are on their way at once, the commit as well.
  private static func broken(_ error: StoreError, during request: LedgerRequest) -> StoreError {
    switch request {
    case .beat, .readRuns, .outcome, .readNews: return error
    default:
      let words =
        "the answer of the database was lost (\(error.detail ?? "")); whether it was written is found out next"
      return StoreError(.inputOutput, words, path: error.path, detail: error.detail)
    }
  }

  /// Sends hints, in a transaction that writes nothing; one that can't be sent is lost.
  package func send(_ hints: Hints) {
    let requests = hints.sending(to: fleet)
    if !requests.isEmpty { send(requests) }
  }

  /// Sends a hint to the lead; one that can't be sent is lost.
  package func hintLead() { send([Hints.sendingToLead(of: fleet)]) }

  private func send(_ requests: [Request]) {
    do throws(StoreError) {
      try withConnection { (connection) throws(StoreError) in _ = try connection.pipeline(requests) }
    } catch { log(error) }
  }

  /// Opens the connection, so that hints arrive before the first request.
  package func connect() throws(StoreError) { try withConnection { _ in } }

  /// Closes the connection; the next request makes another one.
  package func close() { state.withLock { Self.drop(&$0) } }

  // MARK: The connection

  private func withConnection<Result: Sendable>(
    _ body: (Connection) throws(StoreError) -> Result
  ) throws(StoreError) -> Result {
    // No call goes out while the state is locked, hints least of all.
    let (result, hints) = try state.withLock { state throws(StoreError) in
      let connection = try open(&state)
      defer { if !connection.isUsable { Self.drop(&state) } }
      let result = try body(connection)
      return (result, listener == nil ? [] : takeHints(connection))
    }
    if !hints.isEmpty { listener?.handler(hints) }
    return result
  }

  private func open(_ state: inout State) throws(StoreError) -> Connection {
    if let known = state.connection, known.isUsable { return known }
    Self.drop(&state)
    let connection = try Connection.another(settings)
    state.connection = connection
    if let listener, let channel, !settings.isPooled {
      try connection.control("LISTEN \"\(channel)\"")
      state.arrivals = arrivals(on: connection, listener.queue)
    }
    return connection
  }

  /// Watches a connection's socket; of a copy, since libpq closes the socket when it wants to.
  private func arrivals(on connection: Connection, _ queue: DispatchQueue) -> (any DispatchSourceRead)? {
    guard let copy = connection.copyOfSocket else { return nil }
    let source = DispatchSource.makeReadSource(fileDescriptor: copy.number, queue: queue)
    source.setEventHandler { [weak self] in self?.receive() }
    source.setCancelHandler { withExtendedLifetime(copy) {} }
    source.activate()
    return source
  }

  /// Takes what has arrived while nobody was waiting for an answer.
  private func receive() {
    let hints = state.withLock { state -> Set<MemberHint> in
      guard let connection = state.connection, connection.isUsable else {
        Self.drop(&state)
        return []
      }
      let hints = takeHints(connection)
      if !connection.isUsable { Self.drop(&state) }
      return hints
    }
    if !hints.isEmpty { listener?.handler(hints) }
  }

  /// Takes the hints that have arrived; a connection that broke is closed by this.
  private func takeHints(_ connection: Connection) -> Set<MemberHint> {
    // One that only another release knows is about everything.
    Set(
      ((try? connection.arrivedNotifications()) ?? []).flatMap { text in
        MemberHint(rawValue: text).map { [$0] } ?? MemberHint.allCases
      })
  }

  private static func drop(_ state: inout State) {
    state.arrivals?.cancel()
    state.arrivals = nil
    state.connection?.close()
    state.connection = nil
  }
}

extension StoreError.Code {
  /// An order in the ledger can't be read; whoever has given it is told.
  package static let unreadableOrder = StoreError.Code(rawValue: "unreadable-order")
  /// The database has failed over, and may lack what the host goes by.
  package static let setBack = StoreError.Code(rawValue: "set-back")
}

extension StoreError {
  /// True if a row has a key that this host was given.
  ///
  /// Keys are given once; where two hosts have the same, a failover has lost that the first one got them.
  fileprivate var isTakenKey: Bool { code == .constraint && detail?.hasPrefix("23505") == true }

  /// True if the server refuses each time what it has refused now: nothing was written.
  fileprivate var isFinalRefusal: Bool { code == .unsupported || code == .constraint || code == .incompatibleModel }
}

extension LedgerRequest {
  /// The request in words, for people.
  fileprivate var name: String {
    switch self {
    case .join: "joining the fleet"
    case .beat, .readRuns, .outcome, .readNews: "reading the fleet's state"
    case .admit(let jobs, _, _):
      jobs.count == 1
        ? "writing the new job \(displayName(jobs[0].name))"
        : "writing \(jobs.count) new jobs, the first of them \(displayName(jobs.first?.name ?? ""))"
    case .order: "writing an order"
    case .flush(let ended, _): "writing the ends of \(ended.count) attempts"
    case .replaceSlot: "replacing a session"
    case .lead, .load, .loadJobs, .loadRest: "becoming the lead"
    case .round(let round, _):
      "writing the lead's decisions (\(round.runs.count) assignments, \(round.changes.count) changes of jobs)"
    case .remove(let jobs, _): "removing \(jobs.count) final jobs"
    case .fence, .bury: "taking over a host"
    }
  }
}

extension LedgerReply {
  fileprivate var unreadableOrders: [PlacedOrder] {
    let orders: [PlacedOrder] =
      switch self {
      case .loaded(let state): state.orders
      case .news(let news, _), .readNews(let news, _):
        news.compactMap { if case .ordered(let order) = $0.news { order } else { nil } }
      default: []
      }
    return orders.filter { $0.order == .unreadable }
  }
}

extension LedgerError {
  /// The ledger's error of a store's, if the store says that it has to do with the ledger.
  ///
  /// A save that carries a part of the ledger fails with these too.
  package init?(_ code: StoreError.Code) {
    switch code {
    case .stale: self = .stale
    case .fenced: self = .fenced
    case .contradiction: self = .contradiction
    case .setBack: self = .setBack
    default: return nil
    }
  }
}
