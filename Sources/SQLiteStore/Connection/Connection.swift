import CSQLite
import Dispatch
import StoreInterface
import Synchronization

/// A connection to the store's file, with its prepared statements.
final class Connection: @unchecked Sendable {
  // @unchecked: one thread uses it at a time: the writer under the store's lock, a reader while it is out of the pool.

  let path: String
  /// True if transactions are parts of one that somebody else has begun and will end.
  var isEnclosed = false
  let role: StatementEvent.Role
  private let handle: OpaquePointer
  private let busyTimeout: Int32
  private let log: (@Sendable (StatementEvent) -> Void)?
  private let counter: StatementCounter
  /// Statements that nobody uses just now.
  private var idle: [String: Statement] = [:]
  /// The one of them that was used last, at hand for the next row.
  private var latest: Statement?
  private static let idleLimit = 128

  /// The access of a connection to its file.
  enum Access {
    case write
    case create
    /// Nothing is made, changed or repaired. Alone means that nobody has the file open and there is no journal.
    case read(isAlone: Bool)
  }

  struct Settings {
    /// The time that a statement waits for other writers, in milliseconds.
    let busyTimeout: Int32
    /// Called after each statement on the thread that ran it.
    let statementLog: (@Sendable (StatementEvent) -> Void)?
  }

  /// Opens an existing file, or makes one.
  init(
    path: String, role: StatementEvent.Role, settings: Settings, counter: StatementCounter,
    access: Access = .write
  ) throws(StoreError) {
    self.path = path
    self.role = role
    self.counter = counter
    log = settings.statementLog
    var opened: OpaquePointer?
    let flags = SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE
    let code =
      switch access {
      case .write: sqlite3_open_v2(path, &opened, flags | SQLITE_OPEN_READWRITE, nil)
      case .create: sqlite3_open_v2(path, &opened, flags | SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, nil)
      case .read(let isAlone):
        sqlite3_open_v2(
          Self.uri(path, isAlone: isAlone), &opened, flags | SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, nil)
      }
    guard let opened, code == SQLITE_OK else {
      sqlite3_close_v2(opened)
      throw StoreFailure.error(code, message: String(cString: sqlite3_errstr(code)), path: path, sql: nil)
    }
    handle = opened
    busyTimeout = settings.busyTimeout
    sqlite3_busy_timeout(handle, busyTimeout)
    // They are for clients that know nothing of versions, and would cost an update two thirds more.
    sqlite_disable_triggers(handle)
    sqlite3_limit(handle, SQLITE_LIMIT_VARIABLE_NUMBER, 32_766)
  }

  /// The URI of a file that is opened for reading; one that nobody else has open is read without journal and locks.
  private static func uri(_ path: String, isAlone: Bool) -> String {
    let escaped = path.utf8.reduce(into: "") { text, byte in
      let isPlain = byte == 0x2f || (0x30...0x39 ~= byte) || (0x41...0x5a ~= byte) || (0x61...0x7a ~= byte)
      text += isPlain ? String(UnicodeScalar(byte)) : "%" + String(byte / 16, radix: 16) + String(byte % 16, radix: 16)
    }
    return "file:" + escaped + (isAlone ? "?immutable=1" : "")
  }

  deinit {
    idle = [:]
    latest = nil
    // Statements that outlive the connection are finalised by their holders; SQLite waits for them.
    sqlite3_close_v2(handle)
  }

  var isReadOnly: Bool { sqlite3_db_readonly(handle, "main") == 1 }

  /// True if a transaction is open.
  var isInTransaction: Bool { sqlite3_get_autocommit(handle) == 0 }

  /// Begins a transaction that writes.
  var beginSQL: String { isEnclosed ? "SAVEPOINT part" : "BEGIN IMMEDIATE" }

  var commitSQL: String { isEnclosed ? "RELEASE part" : "COMMIT" }

  /// The number of rows that the last statement wrote.
  var changedRowCount: Int { Int(sqlite3_changes64(handle)) }

  /// The key of the row that was last inserted.
  var lastInsertedKey: Int64 { sqlite3_last_insert_rowid(handle) }

  var rawHandle: OpaquePointer { handle }

  func setBusyTimeout(_ milliseconds: Int32) { sqlite3_busy_timeout(handle, milliseconds) }

  func resetBusyTimeout() { setBusyTimeout(busyTimeout) }

  /// A statement for the caller alone; give it back with ``recycle(_:)``.
  func prepare(_ sql: String) throws(StoreError) -> Statement {
    if let statement = latest, statement.sql == sql {
      latest = nil
      return statement
    }
    if let statement = idle.removeValue(forKey: sql) { return statement }
    var prepared: OpaquePointer?
    let code = sqlite3_prepare_v3(handle, sql, -1, UInt32(SQLITE_PREPARE_PERSISTENT), &prepared, nil)
    guard code == SQLITE_OK, let prepared else { throw error(code, sql: sql) }
    return Statement(handle: prepared, sql: sql)
  }

  /// Takes a statement back for its next use.
  func recycle(_ statement: Statement) {
    statement.reset()
    if let former = latest {
      if idle.count >= Self.idleLimit { idle = [:] }
      idle[former.sql] = former
    }
    latest = statement
  }

  /// Runs a statement that returns nothing.
  func execute(_ sql: String, _ bind: (Statement) -> Void = { _ in }) throws(StoreError) {
    _ = try first(sql, bind) { _ in }
  }

  /// The first row of a statement's result, or nil if there is none; the rest is not computed.
  func first<Result>(
    _ sql: String, _ bind: (Statement) -> Void = { _ in }, read: (Statement) -> Result
  ) throws(StoreError) -> Result? {
    var result: Result?
    try run(sql, bind) { statement throws(StoreError) in
      result = read(statement)
      return false
    }
    return result
  }

  /// Runs a statement and reads its rows until the body returns false.
  func run(
    _ sql: String, _ bind: (Statement) -> Void = { _ in }, read: (Statement) throws(StoreError) -> Bool
  ) throws(StoreError) {
    let statement = try prepare(sql)
    defer { recycle(statement) }
    let start = started()
    bind(statement)
    var rowCount = 0
    defer { finished(sql, start, rowCount: rowCount) }
    while try statement.stepToRow(of: self) {
      rowCount += 1
      if try !read(statement) { return }
    }
  }

  /// When a statement began; counts it.
  func started() -> UInt64 {
    counter.value.add(1, ordering: .relaxed)
    return log == nil ? 0 : DispatchTime.now().uptimeNanoseconds
  }

  func finished(_ sql: String, _ start: UInt64, rowCount: Int) {
    guard let log else { return }
    log(
      StatementEvent(
        sql: sql, role: role, duration: DispatchTime.now().uptimeNanoseconds - start, rowCount: rowCount))
  }

  /// The error of the last call on this connection.
  func error(_ code: Int32, sql: String?) -> StoreError {
    // The connection's message is of the last call, so it does not fit an injected code.
    let own = sqlite3_extended_errcode(handle) & 0xff == code & 0xff
    let message = String(cString: own ? sqlite3_errmsg(handle) : sqlite3_errstr(code))
    return StoreFailure.error(code, message: message, path: path, sql: sql)
  }

  /// Undoes the open transaction, if any, and gives back the room that it took in the log.
  ///
  /// - Parameter error: what ended it; SQLite may have undone it by itself.
  func rollBack(after error: (any Error)? = nil) {
    endTransaction()
    guard role == .writer, !isEnclosed else { return }
    if (error as? StoreError)?.code == .full { WriteAheadLog(self).release() } else { WriteAheadLog(self).cutBack() }
  }

  /// Undoes the open transaction, if any; it can't fail in a way that leaves one open.
  func endTransaction() {
    guard isInTransaction else { return }
    sqlite3_exec(handle, isEnclosed ? "ROLLBACK TO part; RELEASE part" : "ROLLBACK", nil, nil, nil)
  }
}

/// Statements that are the store's own housekeeping: neither counted nor logged.
extension Connection {
  func control(_ sql: String, _ bind: (Statement) -> Void = { _ in }) throws(StoreError) {
    try runControl(sql, bind) { _ in true }
  }

  func controlResult<Result>(_ sql: String, _ read: (Statement) -> Result) throws(StoreError) -> Result? {
    var result: Result?
    try runControl(sql) { statement in
      result = read(statement)
      return false
    }
    return result
  }

  func runControl(
    _ sql: String, _ bind: (Statement) -> Void = { _ in }, read: (Statement) -> Bool
  ) throws(StoreError) {
    let statement = try prepare(sql)
    defer { recycle(statement) }
    bind(statement)
    while try statement.stepToRow(of: self) { if !read(statement) { return } }
  }

  /// Runs a body in a transaction that writes; undoes it if the body or the commit fails.
  func transaction(_ body: () throws(StoreError) -> Void) throws(StoreError) {
    do throws(StoreError) {
      try control(beginSQL)
      try body()
      try control(commitSQL)
    } catch {
      rollBack(after: error)
      throw error
    }
  }
}

extension Connection {
  /// The number of steps of SQLite's machine between two checks of the task; they take some microseconds.
  private static let stepCount: Int32 = 1_000

  /// Runs statements that, if they are to, end with a `CancellationError` when the task that runs them is cancelled.
  func endingEarly<Result>(_ isCancellable: Bool, _ body: () throws -> Result) throws -> Result {
    guard isCancellable else { return try body() }
    try Task.checkCancellation()
    // Asked on the thread that runs the statement, so no statement of somebody else is ever interrupted.
    sqlite3_progress_handler(rawHandle, Self.stepCount, { _ in Task.isCancelled ? 1 : 0 }, nil)
    defer { sqlite3_progress_handler(rawHandle, 0, nil, nil) }
    do { return try body() } catch {
      try Task.checkCancellation()
      throw error
    }
  }
}
