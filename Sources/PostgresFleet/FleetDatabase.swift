package import Fleet
package import ObjectModel
package import PostgresStore
package import StoreInterface

/// The database of a fleet: the schema of a store, in which the ledger lies as well.
package struct FleetDatabase: Sendable {
  private let url: String
  /// True if a pooler is between, which passes on no hints.
  let isPooled: Bool
  private let options: PostgresStoreOptions
  private let jobs: JobRows
  private let release: LedgerRelease
  /// The name of the fleet among all on the server, with which the names of its sessions and channels begin.
  let fleet: String
  /// True if jobs of a store that was copied here are still bound to the founder, which this host is.
  package let hasBoundJobs: Bool

  /// The time for an answer whether a transaction is written: it asks for a row for which it may have to wait ten seconds, and
  /// each question without an answer tells the watchdog that the writer is not stuck.
  private static let receiptLimit = Duration.seconds(12)

  /// Finds the ledger in the schema of a store, or makes it.
  ///
  /// - Parameters:
  ///   - url: the address of the store.
  ///   - options: the options of the store, which the ledger's connections have as well.
  ///   - job: the entity Job of the coordinator's model.
  ///   - coordinatorOrdinal: the ordinal that goes into the IDs of jobs.
  ///   - release: the release of this host.
  ///   - founder: the host that takes over the jobs of a store that was copied here, if it is the first.
  /// - Throws: ``StoreError`` that says what is wrong with the way to it, or with its format.
  package init(
    _ url: String, options: PostgresStoreOptions = .init(), job: Entity, coordinatorOrdinal: UInt32,
    release: LedgerRelease, founder: FleetFounder? = nil
  ) throws(StoreError) {
    self.url = url
    self.release = release
    self.options = options
    jobs = JobRows(job, coordinatorOrdinal: coordinatorOrdinal)
    let settings = try Connection.Settings(url, options: options)
    isPooled = settings.isPooled
    let connection = try Connection(settings)
    defer { connection.close() }
    let tables = LedgerTables(connection: connection, release: release, founder: founder)
    try tables.make()
    hasBoundJobs = try tables.hasBoundJobs()
    fleet = try Self.fleet(connection)
  }

  private static func fleet(_ connection: Connection) throws(StoreError) -> String {
    let found = try connection.pipeline([Request("SELECT value FROM _metadata WHERE key = 'uuid'")])[0]
    guard found.rowCount == 1 else {
      throw StoreError(.corrupt, "the store has no identifier; restore it from a backup", path: connection.place)
    }
    return "bobbin-" + found.text(0, 0).lowercased().prefix(8)
  }

  /// Has the host of a root count as gone at once; its jobs wait again, and others are told.
  ///
  /// - Parameters:
  ///   - root: the root, whose lock the caller holds.
  ///   - limit: the time after which each request is given up.
  /// - Returns: false if there is no fleet, or no such host is alive.
  package static func bury(
    _ root: String, url: String, by release: LedgerRelease, limit: Duration
  ) throws(StoreError) -> Bool {
    var options = PostgresStoreOptions()
    options.applicationName = "bobbind"
    options.answerLimit = limit
    let connection = try Connection(Connection.Settings(url, options: options))
    defer { connection.close() }
    do throws(StoreError) {
      guard try LedgerFormat(connection: connection, release: release).isPresent() else { return false }
    } catch {
      if error.code == .notAStore { return false }
      throw error
    }
    let alive = try connection.pipeline([LedgerStatements.livingHosts(under: root)])[0]
    if alive.integer(0, 0) == 0 { return false }
    let name = try Self.fleet(connection)
    try connection.pipeline(
      [Request("BEGIN"), LedgerFormat.demand(of: release)] + Takeover.burial(under: root, fleet: name)
        + [Request("COMMIT")])
    try connection.pipeline([Hints.sendingToLead(of: name)])
    return true
  }

  /// Gives jobs that were bound to their spool other places, and has the lead load them anew, if there is one already.
  ///
  /// - Parameters:
  ///   - places: the jobs with their places; nil for any host.
  ///   - isLast: true if these are the last that ``hasBoundJobs`` tells of.
  /// - Throws: ``StoreError/Code/unavailable`` also if others have the tables for themselves.
  package func setPlaces(
    _ places: [(job: ManagedObjectID, place: String?)], isLast: Bool
  ) throws(StoreError) {
    let connection = try Connection(Connection.Settings(url, options: options))
    defer { connection.close() }
    let end = isLast ? [LedgerTables.forgetBoundJobs] : []
    do throws(StoreError) {
      try connection.pipeline(
        [Request("BEGIN"), JobRows.setPlaces(places), LedgerStatements.tellOfChange] + end + [Request("COMMIT")])
    } catch {
      if error.code != .busy { throw error }
      throw StoreError(.unavailable, error.message, path: error.path, detail: error.detail)
    }
  }

  /// Ends an upgrade host by host: the ledger takes the newest format that all living hosts work in.
  ///
  /// - Parameter isTrial: true to change nothing.
  package func finishUpgrade(isTrial: Bool) throws(StoreError) -> UpgradeEnd {
    var options = options
    options.applicationName = session("upgrade", of: nil)
    let connection = try Connection(Connection.Settings(url, options: options))
    defer { connection.close() }
    return try LedgerFormat(connection: connection, release: release).finishUpgrade(isTrial: isTrial)
  }

  /// The time in milliseconds since which a host that was not taken over must have been heard of to count as alive: its
  /// database may have been away meanwhile.
  private static let presence: Int64 = 600_000

  /// The sharing of the schema with the other hosts that are alive, for the options with which a host opens its store.
  ///
  /// - Parameters:
  ///   - spool: the root of its own spool, under which nobody else is alive.
  ///   - url: the address of the store.
  ///   - release: the release of this host, which must work in the ledger's format.
  package static func sharing(besides spool: String, at url: String, by release: LedgerRelease) -> SchemaSharing {
    // Asked for seldom, so that a connection for it is no matter.
    SchemaSharing { () throws(StoreError) in
      let connection = try Connection(Connection.Settings(url, options: PostgresStoreOptions()))
      defer { connection.close() }
      if try !LedgerFormat(connection: connection, release: release).isPresent() { return [] }
      let hosts = try connection.pipeline([LedgerStatements.hosts(besides: spool, heardFor: presence)])[0]
      return (0..<hosts.rowCount).map { hosts.text($0, 0) }
    }
  }

  /// A ledger on a connection of its own.
  ///
  /// - Parameters:
  ///   - name: the role of the connection, for those who look at the server's sessions.
  ///   - host: the host whose connection it is, which a takeover ends; nil before the host has joined.
  ///   - answerLimit: the time after which a request is given up that has no answer; nil for the store's.
  ///   - listener: told of hints for the host.
  ///   - log: told of the reason why a request has no answer.
  package func ledger(
    _ name: String, of host: Int? = nil, answerLimit: Duration? = nil, listener: PostgresLedger.HintListener? = nil,
    log: @escaping @Sendable (StoreError) -> Void = { _ in }
  ) throws(StoreError) -> PostgresLedger {
    var options = options
    options.answerLimit = answerLimit
    options.searchesByIndex = true
    options.applicationName = session(name, of: host)
    return PostgresLedger(
      try Connection.Settings(url, options: options), jobs: jobs, fleet: fleet, release: release,
      channel: host.map { Hints.channel(of: $0, fleet: fleet) }, listener: listener, log: log)
  }

  /// The name of a session. A takeover finds those of a host by it.
  private func session(_ name: String, of host: Int?) -> String {
    host.map { "\(fleet)/\($0)/\(name)" } ?? "\(fleet)//\(name)"
  }

  /// A host's part in all transactions of its store.
  ///
  /// - Parameters:
  ///   - host: the number of the host.
  ///   - spool: the root of its spool.
  ///   - log: told of the reasons why requests had no answer.
  ///   - recorded: called after each save that has ended runs, with their ends.
  package func participant(
    _ host: Int, spool: String, log: @escaping @Sendable (StoreError) -> Void = { _ in },
    recorded: @escaping @Sendable ([EndedRun]) -> Void
  ) throws(StoreError) -> StoreParticipant {
    StoreParticipant(
      host: host, spool: spool, job: jobs.entity,
      ledger: try ledger("receipts", of: host, answerLimit: Self.receiptLimit, log: log),
      sessionName: session("store", of: host), recorded: recorded)
  }
}
