import CPostgres
import Dispatch
import SQLGeneration
package import StoreInterface

/// A connection to the database, with its prepared statements.
package final class Connection: @unchecked Sendable {
  // @unchecked: one thread uses it at a time: a writer under the store's lock, a reader while it is out of the pool.

  /// The settings that all connections of a store have in common.
  package struct Settings: Sendable {
    let target: ConnectionTarget
    var noticeLog: (@Sendable (String) -> Void)?
    var statementLog: (@Sendable (StatementEvent) -> Void)?
    /// Counts what comes and goes on the connections that write.
    let traffic = Traffic()
    /// The uniqueness constraints of the model, by the names of their indexes.
    var constraints: [String: UniqueConstraint] = [:]
  }

  /// A statement is prepared once for each combination of types.
  private struct PreparedKey: Hashable {
    let sql: String
    let types: [UInt32]
  }

  let link: ServerLink
  private let settings: Settings
  /// The name by which the server's other sessions know it.
  private var name: String
  /// SQL that makes the settings of each transaction, behind a pooler.
  private var transactionSettings: String?
  private let role: StatementEvent.Role
  private var prepared: [PreparedKey: String] = [:]
  private var preparedCount = 0
  /// True if transactions are parts of one that somebody else has begun and will end.
  var isEnclosed = false
  /// Prepared statements take the server's memory, for each connection.
  private static let preparedLimit = 256

  package init(_ settings: Settings, _ role: StatementEvent.Role = .writer) throws(StoreError) {
    self.settings = settings
    self.role = role
    name = settings.target.applicationName
    transactionSettings = settings.target.transactionSettings(ofSession: name)
    link = try ServerLink(
      settings.target, noticeLog: settings.noticeLog, traffic: role == .writer ? settings.traffic : nil)
  }

  /// Makes another connection of a store that is open.
  ///
  /// - Throws: ``StoreError/Code/unavailable`` also where the server refuses it, as after a change of a password: it has
  ///   let one in before, and what is not written yet waits until it does again.
  package static func another(
    _ settings: Settings, _ role: StatementEvent.Role = .writer
  ) throws(StoreError) -> Connection {
    do throws(StoreError) { return try Connection(settings, role) } catch {
      guard error.code == .cannotOpen else { throw error }
      throw StoreError(.unavailable, error.message, path: error.path, detail: error.detail)
    }
  }

  /// The servers and the database, for messages.
  package var place: String { settings.target.place }

  /// False once the connection broke: it is never used again.
  package var isUsable: Bool { link.isOpen }

  /// Statements such as BEGIN that go ahead of the next ones, without a wait of their own.
  private var due: [Request] = []

  package func close() { link.close() }

  /// Runs a statement and returns its whole result.
  func query(_ sql: String, _ bindings: [SQLBinding] = []) throws(StoreError) -> QueryResult {
    try query(sql, Parameters(bindings))
  }

  /// Runs a statement and returns its whole result.
  func query(_ sql: String, _ parameters: Parameters) throws(StoreError) -> QueryResult {
    try pipeline([Request(sql, parameters)])[0]
  }

  /// Runs a statement that the server plans for these values, and returns its whole result.
  ///
  /// For those whose best plan depends on how much there is; a plan takes 0.1 to 0.3 ms.
  func queryOnce(_ sql: String, _ parameters: Parameters) throws(StoreError) -> QueryResult {
    try pipeline([Request(sql, parameters).once])[0]
  }

  /// Runs a statement that names its rows by their keys, and returns its whole result.
  ///
  /// While its table is small, going through all of it is the quickest way to any row, and the server keeps a plan that was
  /// made then when the table has grown. So it is not let choose that way; transactions that write are begun so.
  func queryByKey(_ request: Request) throws(StoreError) -> QueryResult {
    guard role == .reader else { return try pipeline([request])[0] }
    return try pipeline([IndexSearch.preferred, request, IndexSearch.notPreferred])[1]
  }

  /// Runs statements one after the other with one wait for all of them; they are prepared once and kept.
  ///
  /// Where no transaction is open they are one.
  /// - Throws: the error of the first statement that failed; those behind it did not run.
  @discardableResult
  package func pipeline(_ requests: [Request]) throws(StoreError) -> [QueryResult] {
    let ahead = takeDue()
    let all = ahead + requests
    guard let setting = transactionSettings else { return Array(try sendTogether(all).dropFirst(ahead.count)) }
    if link.isInTransaction { return Array(try sendTogether(all.map(\.once)).dropFirst(ahead.count)) }
    // The way of a transaction is decided before its first statement.
    let place = all.first?.sql.hasPrefix("BEGIN") == true ? 1 : 0
    var results = try sendTogether((all[..<place] + [Request(setting, isLogged: false)] + all[place...]).map(\.once))
    results.remove(at: place)
    return Array(results.dropFirst(ahead.count))
  }

  func takeDue() -> [Request] {
    defer { due = [] }
    return due
  }

  private func sendTogether(_ requests: [Request]) throws(StoreError) -> [QueryResult] {
    if prepared.count > Self.preparedLimit { try dropPrepared() }
    let start = started()
    let handle = try link.handle()
    link.restartClock()
    guard PQenterPipelineMode(handle) == 1 else { throw link.fail() }
    var made: [PreparedKey] = []
    var preparing: [Bool] = []
    for request in requests {
      guard request.isKept else {
        preparing.append(false)
        try send(request, on: handle)
        continue
      }
      let key = PreparedKey(sql: request.sql, types: request.parameters.types)
      preparing.append(prepared[key] == nil)
      try send(request, as: key, on: handle, made: &made)
    }
    guard PQpipelineSync(handle) == 1 else { throw link.fail() }
    try link.flush()
    let (results, failure) = try results(requests, preparing)
    guard PQexitPipelineMode(handle) == 1 else { throw link.fail() }
    if let failure {
      // Which of them the server has is not worth to be found out.
      for key in made { prepared[key] = nil }
      throw misled(failure) ?? failure
    }
    if settings.statementLog != nil {
      for (request, result) in zip(requests, results) where request.isLogged {
        log(request.sql, since: start, rowCount: max(result.rowCount, result.changedRowCount))
      }
    }
    return results
  }

  /// The time at which a statement begins, for the log.
  private func started() -> UInt64 { settings.statementLog == nil ? 0 : DispatchTime.now().uptimeNanoseconds }

  private func log(_ sql: String, since start: UInt64, rowCount: Int) {
    let duration = DispatchTime.now().uptimeNanoseconds - start
    settings.statementLog?(StatementEvent(sql: sql, role: role, duration: duration, rowCount: rowCount))
  }

  private func send(
    _ request: Request, as key: PreparedKey, on handle: OpaquePointer, made: inout [PreparedKey]
  ) throws(StoreError) {
    let name: String
    if let known = prepared[key] {
      name = known
    } else {
      preparedCount += 1
      name = "s\(preparedCount)"
      guard PQsendPrepare(handle, name, request.sql, Int32(key.types.count), key.types) == 1 else { throw link.fail() }
      prepared[key] = name
      made.append(key)
    }
    let sent = request.parameters.withValues { values, lengths, formats in
      PQsendQueryPrepared(handle, name, Int32(request.parameters.count), values, lengths, formats, 1)
    }
    guard sent == 1 else { throw link.fail() }
  }

  /// Sends a statement that is used this once.
  private func send(_ request: Request, on handle: OpaquePointer) throws(StoreError) {
    let types = request.parameters.types
    let sent = request.parameters.withValues { values, lengths, formats in
      PQsendQueryParams(handle, request.sql, Int32(types.count), types, values, lengths, formats, 1)
    }
    guard sent == 1 else { throw link.fail() }
  }

  /// Reads the results of a pipeline up to its end; the second value is the first failure.
  private func results(
    _ requests: [Request], _ preparing: [Bool]
  ) throws(StoreError) -> (results: [QueryResult], failure: StoreError?) {
    var results: [QueryResult] = []
    var failure: StoreError?
    for (request, isPrepared) in zip(requests, preparing) {
      if isPrepared { _ = try result(of: request.sql, &failure) }
      if let result = try result(of: request.sql, &failure) { results.append(result) }
    }
    guard let end = try link.nextResult() else { throw link.fail("the end of a pipeline is missing") }
    defer { PQclear(end) }
    guard PQresultStatus(end) == PGRES_PIPELINE_SYNC else { throw link.fail("a pipeline ends otherwise than expected") }
    return (results, failure)
  }

  /// Reads the one result of a statement, and what ends it.
  private func result(of sql: String, _ failure: inout StoreError?) throws(StoreError) -> QueryResult? {
    guard let handle = try link.nextResult() else { throw link.fail("a result is missing") }
    let result = QueryResult(handle)
    switch PQresultStatus(handle) {
    case PGRES_TUPLES_OK, PGRES_COMMAND_OK, PGRES_EMPTY_QUERY: break
    case PGRES_PIPELINE_ABORTED: break
    default: if failure == nil { failure = error(of: handle, sql) }
    }
    if let next = try link.nextResult() {
      PQclear(next)
      throw link.fail("a statement has more results than one")
    }
    return failure == nil ? result : nil
  }

  /// The failure of a pooler that leads to a standby, as while it is told of a failover; ends the connection.
  private func misled(_ failure: StoreError) -> StoreError? {
    guard settings.isPooled, failure.code == .readOnly, failure.detail?.hasPrefix("25006") == true else { return nil }
    close()
    return StoreError(.unavailable, failure.message, path: failure.path, detail: failure.detail)
  }

  private func error(of result: OpaquePointer, _ sql: String?) -> StoreError {
    ServerFailure.error(of: result, place: place, role: link.role, constraints: settings.constraints, sql: sql)
  }

  /// Gives the prepared statements up, also because their tables have changed.
  func dropPrepared() throws(StoreError) {
    if prepared.isEmpty { return }
    prepared = [:]
    try control("DEALLOCATE ALL")
  }
}

extension Connection.Settings {
  /// True if the address leads to a pooler, which passes on no notifications.
  package var isPooled: Bool { target.isPooled }

  /// The settings of connections that are no store's.
  package init(_ url: String, options: PostgresStoreOptions) throws(StoreError) {
    self.init(
      target: try ConnectionTarget(url, options: options), noticeLog: options.noticeLog,
      statementLog: options.statementLog)
  }
}

/// Statements that are the store's own housekeeping: not prepared, not logged.
extension Connection {
  /// Runs statements without parameters, such as BEGIN; answers how the last one was executed.
  @discardableResult
  package func control(_ sql: String) throws(StoreError) -> String {
    if due.contains(where: { $0.parameters.count > 0 }) { try sendDue() }
    let handle = try link.handle()
    link.restartClock()
    let sql = withSettings((takeDue().map(\.sql) + [sql]).joined(separator: "; "))
    guard PQsendQuery(handle, sql) == 1 else { throw link.fail() }
    try link.flush()
    return try finish(sql)
  }

  /// The statements with the settings of their transaction, if they begin one and the connection does not keep them.
  private func withSettings(_ sql: String) -> String {
    guard let setting = transactionSettings, !link.isInTransaction else { return sql }
    guard sql.hasPrefix("BEGIN") else { return "\(setting); \(sql)" }
    let end = sql.firstIndex(of: ";") ?? sql.endIndex
    return "\(sql[..<end]); \(setting)\(sql[end...])"
  }

  /// Reads the results of a simple statement to the end.
  private func finish(_ sql: String) throws(StoreError) -> String {
    var command = ""
    var failure: StoreError?
    while let handle = try link.nextResult() {
      let result = QueryResult(handle)
      switch PQresultStatus(handle) {
      case PGRES_TUPLES_OK, PGRES_COMMAND_OK, PGRES_EMPTY_QUERY: command = result.command
      default: if failure == nil { failure = error(of: handle, sql) }
      }
    }
    if let failure { throw misled(failure) ?? failure }
    return command
  }

  /// Sends a statement that has no answer of interest ahead of the next one, which fails if it does.
  func sendLater(_ sql: String) { sendLater(Request(sql, isKept: false, isLogged: false)) }

  func sendLater(_ request: Request) { due.append(request) }

  /// Sends what is to go ahead of the next statement, and waits for it.
  func sendDue() throws(StoreError) { if !due.isEmpty { try pipeline([]) } }

  /// Runs statements that, if they are to, end with a `CancellationError` when the task that runs them is cancelled.
  func endingEarly<Result>(_ isCancellable: Bool, _ body: () throws -> Result) throws -> Result {
    guard isCancellable else { return try body() }
    try Task.checkCancellation()
    let outer = link.isInterrupted
    link.isInterrupted = { Task.isCancelled }
    defer { link.isInterrupted = outer }
    do { return try body() } catch {
      try Task.checkCancellation()
      throw error
    }
  }
}

/// The name by which others see this session, and the notifications that they send.
extension Connection {
  /// Has other sessions know this one by a name, such as those who may have to end it.
  func rename(_ name: String) throws(StoreError) {
    if name == self.name { return }
    if transactionSettings == nil { try control("SET application_name = \(SchemaName.literal(name))") }
    self.name = name
    transactionSettings = settings.target.transactionSettings(ofSession: name)
  }

  /// A copy of the socket's descriptor, to wait on; nil once the connection broke.
  package var copyOfSocket: DescriptorCopy? { link.socket.flatMap { DescriptorCopy(of: $0) } }

  /// The texts of the notifications that have arrived, without waiting for more.
  ///
  /// - Throws: ``StoreError/Code/unavailable`` if the connection broke.
  package func arrivedNotifications() throws(StoreError) -> [String] { try link.arrivedNotifications() }
}

extension Connection {
  /// Waits until other sessions notify a channel that this one listens to, or a descriptor can be read; true for the first.
  ///
  /// - Parameters:
  ///   - other: the descriptor.
  ///   - limit: the longest wait, in milliseconds.
  func awaitNotices(orInputOf other: Int32, limit: Int32) throws(StoreError) -> Bool {
    try link.awaitNotices(orInputOf: other, limit: limit)
  }
}

/// Bulk loading.
extension Connection {
  /// Runs `COPY ... FROM STDIN (FORMAT binary)` with the rows that the body writes; returns how many they were.
  func copy(
    _ sql: String, _ body: (inout CopyWriter) throws(StoreError) -> Void
  ) throws(StoreError) -> Int {
    try sendDue()
    let start = started()
    let handle = try link.handle()
    link.restartClock()
    guard PQsendQuery(handle, sql) == 1 else { throw link.fail() }
    try link.flush()
    guard let answer = try link.nextResult() else { throw link.fail("COPY does not begin") }
    let state = PQresultStatus(answer)
    defer { PQclear(answer) }
    guard state == PGRES_COPY_IN else {
      let failure = error(of: answer, sql)
      _ = try? finish(sql)
      throw misled(failure) ?? failure
    }
    var writer = CopyWriter(link)
    do throws(StoreError) {
      try body(&writer)
      try writer.finish()
    } catch {
      if isUsable {
        PQputCopyEnd(handle, "the rows can't be written")
        // What ended it is what is told.
        _ = try? finish(sql)
      }
      throw error
    }
    _ = try finish(sql)
    if settings.statementLog != nil { log(sql, since: start, rowCount: writer.rowCount) }
    return writer.rowCount
  }
}
