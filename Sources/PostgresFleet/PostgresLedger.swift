package import Dispatch
package import Fleet
import PostgresStore
package import StoreInterface
import Synchronization

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
    let handler: @Sendable () -> Void

    package init(on queue: DispatchQueue, _ handler: @escaping @Sendable () -> Void) {
      self.queue = queue
      self.handler = handler
    }
  }

  private let settings: Connection.Settings
  private let jobs: JobRows
  private let fleet: String
  private let channel: String?
  private let listener: HintListener?
  private let log: @Sendable (StoreError) -> Void
  private let state = Mutex(State())

  /// - Parameters:
  ///   - channel: the channel of the hints for the host, if it listens for them.
  ///   - log: told of the reason why a request has no answer.
  init(
    _ settings: Connection.Settings, jobs: JobRows, fleet: String, channel: String?, listener: HintListener?,
    log: @escaping @Sendable (StoreError) -> Void
  ) {
    self.settings = settings
    self.jobs = jobs
    self.fleet = fleet
    self.channel = channel
    self.listener = listener
    self.log = log
  }

  deinit { close() }

  package func perform(_ request: LedgerRequest) throws(LedgerError) -> LedgerReply {
    do throws(StoreError) {
      return try withConnection { (connection) throws(StoreError) in
        let transaction = LedgerTransaction(connection: connection, jobs: jobs, fleet: fleet)
        do throws(StoreError) { return try transaction.perform(request) } catch {
          connection.rollBack()
          throw connection.isUsable ? error : Self.broken(error, during: request)
        }
      }
    } catch {
      if error.code == LedgerStatements.refused { return .refused }
      if let known = LedgerError(error.code) { throw known }
      log(error)
      throw error.code == .inputOutput || error.code == LedgerTransaction.answerLost ? .unknown : .unavailable
    }
  }

  /// Reads how the fleet is, for people.
  package func overview() throws(StoreError) -> FleetOverview {
    try apart { (transaction) throws(StoreError) in try transaction.overview() }
  }

  /// Reads which jobs that came to a spool have ended on other hosts.
  package func outcomes(of spool: String) throws(StoreError) -> [Outcome] {
    try apart { (transaction) throws(StoreError) in try transaction.outcomes(of: spool) }
  }

  /// Forgets outcomes on which the spool's host has acted.
  package func forget(_ outcomes: [Outcome]) throws(StoreError) {
    try apart { (transaction) throws(StoreError) in try transaction.forget(outcomes) }
  }

  /// Takes the answers to orders of a host, by their numbers; they are gone then.
  package func takeAnswers(of host: Int) throws(StoreError) -> [Int64: OrderAnswer.Content] {
    try apart { (transaction) throws(StoreError) in try transaction.takeAnswers(of: host) }
  }

  /// Reads which hosts run some of these jobs.
  package func places(of jobs: [ManagedObjectID]) throws(StoreError) -> [ManagedObjectID: RunPlace] {
    try apart { (transaction) throws(StoreError) in try transaction.places(of: jobs) }
  }

  /// Makes a transaction that has nothing to do with what the member knows.
  private func apart<Result: Sendable>(
    _ body: (LedgerTransaction) throws(StoreError) -> Result
  ) throws(StoreError) -> Result {
    try withConnection { (connection) throws(StoreError) in
      do throws(StoreError) {
        return try body(LedgerTransaction(connection: connection, jobs: jobs, fleet: fleet))
      } catch {
        connection.rollBack()
        throw error
      }
    }
  }

  /// The error of a connection that broke during a request: whether it was written is unknown, if it writes.
  ///
  /// All statements are on their way at once, the commit as well.
  private static func broken(_ error: StoreError, during request: LedgerRequest) -> StoreError {
    switch request {
    case .beat, .readRuns, .outcome: return error
    default: return StoreError(.inputOutput, error.message, path: error.path, detail: error.detail)
    }
  }

  /// Sends hints to hosts, in a transaction that writes nothing; one that can't be sent is lost.
  package func hint(_ hosts: [Int]) {
    if hosts.isEmpty { return }
    let channels = hosts.map { FleetDatabase.channel(of: $0, fleet: fleet) }
    do throws(StoreError) {
      try withConnection { (connection) throws(StoreError) in
        _ = try connection.pipeline([
          Request("SELECT pg_notify(channel, '') FROM unnest($1) AS channel", [.texts(channels)])
        ])
      }
    } catch { log(error) }
  }

  /// Sends hints to the living hosts of spools.
  package func hint(spools: Set<String>) {
    do throws(StoreError) {
      try withConnection { (connection) throws(StoreError) in
        _ = try connection.pipeline([
          Request(
            "SELECT pg_notify($2 || '/' || number, '') FROM _host WHERE root = ANY($1) AND state = 'alive'",
            [.texts(spools.sorted()), .text(fleet)])
        ])
      }
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
    let (result, isHinted) = try state.withLock { state throws(StoreError) in
      let connection = try open(&state)
      defer { if !connection.isUsable { Self.drop(&state) } }
      let result = try body(connection)
      return (result, listener != nil && takeHints(connection))
    }
    if isHinted { listener?.handler() }
    return result
  }

  private func open(_ state: inout State) throws(StoreError) -> Connection {
    if let known = state.connection, known.isUsable { return known }
    Self.drop(&state)
    let connection = try Connection(settings)
    state.connection = connection
    if let listener, let channel {
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
    let isHinted = state.withLock { state in
      guard let connection = state.connection, connection.isUsable else {
        Self.drop(&state)
        return false
      }
      let isHinted = takeHints(connection)
      if !connection.isUsable { Self.drop(&state) }
      return isHinted
    }
    if isHinted { listener?.handler() }
  }

  /// True if hints have arrived; a connection that broke is closed by this.
  private func takeHints(_ connection: Connection) -> Bool {
    ((try? connection.arrivedNotifications()) ?? []).isEmpty == false
  }

  private static func drop(_ state: inout State) {
    state.arrivals?.cancel()
    state.arrivals = nil
    state.connection?.close()
    state.connection = nil
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
    default: return nil
    }
  }
}
