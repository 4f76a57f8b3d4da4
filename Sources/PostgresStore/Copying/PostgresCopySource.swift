import Foundation
import ObjectModel
package import SQLGeneration
package import StoreInterface

/// A store in PostgreSQL that is copied or compared, which nothing is written to.
///
/// One that nobody uses is read in one snapshot. While a snapshot lasts the server removes no row that was deleted since, which
/// a fleet feels; so a store that may be in use is read in one after the other.
package final class PostgresCopySource: CopySource {
  package let place: String
  package let store: CopiedStore
  private let connection: Connection
  private let settings: Connection.Settings
  /// True if no daemon may use the store.
  private let isAlone: Bool
  private let hosts: Hosts
  private let snapshotLife: Duration
  /// The moment from which on the next snapshot may be taken.
  private var snapshotEnd = ContinuousClock.now

  /// The bytes of rows that are asked for at a time.
  private static let fetchedBytes: Int64 = 4 << 20
  private static let fetchedRows: Int64 = 5_000

  /// - Parameters:
  ///   - isAlone: true if nobody else may have the store open.
  ///   - snapshotLife: the time after which the rows of a store that others may have open are read from a new snapshot.
  /// - Throws: ``StoreError/Code/busy`` if a daemon has, and other codes if there is no store, or one of a newer release.
  package convenience init(
    url: String, isAlone: Bool, snapshotLife: Duration = .seconds(5)
  ) throws(StoreError) {
    let settings = try Connection.Settings(url, options: Self.options)
    try self.init(settings, isAlone: isAlone, isFinished: true, snapshotLife: snapshotLife)
  }

  init(
    _ settings: Connection.Settings, isAlone: Bool, isFinished: Bool, snapshotLife: Duration = .seconds(5)
  ) throws(StoreError) {
    self.settings = settings
    self.isAlone = isAlone
    self.snapshotLife = snapshotLife
    connection = try Connection(settings, .reader)
    place = connection.place
    let schemaName = Self.options.schemaName
    let inspection = StoreInspection(connection: connection, schemaName: schemaName)
    try inspection.checkServer()
    guard try inspection.isPresent() else {
      throw StoreError(.notAStore, "there is no store in the schema \(schemaName) of the database", path: place)
    }
    if isFinished { try inspection.checkFormat() }
    hosts = try Hosts(connection)
    if isAlone { try hosts.checkNone(place) }
    try connection.control(Self.begin)
    store = try Self.describe(connection, inspection)
  }

  private static let begin =
    "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; SET LOCAL idle_in_transaction_session_timeout = 0"

  /// Has the next statement take a new snapshot, if others may use the store.
  private func renewSnapshot() throws(StoreError) {
    if isAlone { return }
    try connection.control("COMMIT")
    try connection.control(Self.begin)
    snapshotEnd = .now + snapshotLife
  }

  /// The daemons that use the store at an address, or did so ten seconds ago, by the names of their spools.
  package static func users(url: String) throws(StoreError) -> [String] {
    let connection = try Connection(Connection.Settings(url, options: options), .reader)
    defer { connection.close() }
    return try Hosts(connection).spools
  }

  deinit { connection.close() }

  /// The options of connections that copy: large transactions take long.
  static var options: PostgresStoreOptions {
    var options = PostgresStoreOptions()
    options.applicationName = "bobbinctl"
    options.statementTimeout = 86_400
    return options
  }

  private static func describe(
    _ connection: Connection, _ inspection: StoreInspection
  ) throws(StoreError) -> CopiedStore {
    let stored = try StoredModel(connection)
    let model = try stored.copied(place: connection.place)
    let keys = try connection.query("SELECT root, next FROM _keys")
    var nextKeys: [String: Int64] = [:]
    for row in 0..<keys.rowCount { nextKeys[keys.text(row, 0)] = keys.integer(row, 1) }
    var history: CopiedStore.History?
    if try HistorySchema(connection: connection).isPresent {
      // Those without a number get the next ones, in the order in which they were drawn.
      let newest = try connection.query(
        "SELECT (SELECT value::bigint FROM _metadata WHERE key = '\(HistorySchema.numberedKey)') "
          + "+ (SELECT count(*) FROM _transaction WHERE number IS NULL)")
      history = CopiedStore.History(
        newest: newest.integer(0, 0), purged: try inspection.metadata(HistorySchema.purgedKey).flatMap { Int64($0) })
    }
    return CopiedStore(
      identifier: try PostgresStore.identifier(connection), model: model, nextKeys: nextKeys, history: history,
      foreignTables: try foreignTables(connection, besides: Schema(model, dialect: .postgres)),
      obstacles: stored.lostEntities(besides: model))
  }

  private static func foreignTables(_ connection: Connection, besides schema: Schema) throws(StoreError) -> [String] {
    let own = Set(schema.tables.map(\.name) + schema.linkTables.map(\.name))
    let library = [
      "_metadata", "_entity", "_keys", "_file", "_transaction", "_change", "_copy", "_host", "_beat", "_session",
      "_lead",
      "_run", "_inbox", "_order", "_outcome", "_pause",
    ]
    let found = try connection.query("SELECT tablename FROM pg_tables WHERE schemaname = current_schema() ORDER BY 1")
    return (0..<found.rowCount).map { found.text($0, 0) }.filter { !own.contains($0) && !library.contains($0) }
  }

  package func size(of table: CopiedTable) throws(StoreError) -> CopiedSize {
    let (rows, bytes, _) = try measure(table)
    return CopiedSize(rows: rows, bytes: bytes)
  }

  /// The number of rows, their bytes in texts and binary values, and those of the largest row but for large values.
  private func measure(_ table: CopiedTable) throws(StoreError) -> (rows: Int64, bytes: Int64, largest: Int64) {
    var inline = ["0"]
    var apart = ["0"]
    for column in table.columns where column.form == .text || column.form == .bytes {
      inline.append("coalesce(octet_length(\(SchemaName.quoted(column.storedName(in: .postgres)))), 0)")
      if let file = column.fileColumn.map(SchemaName.quoted) {
        apart.append("coalesce(split_part(\(file), '.', 2)::bigint, 0)")
      }
    }
    let row = inline.joined(separator: " + ")
    let found = try connection.query(
      "SELECT count(*), coalesce(sum(\(row) + \(apart.joined(separator: " + "))), 0)::bigint, "
        + "coalesce(max(\(row)), 0)::bigint FROM \(SchemaName.quoted(table.storedName(in: .postgres)))")
    return (found.integer(0, 0), found.integer(0, 1), found.integer(0, 2))
  }

  package func rows(of table: CopiedTable, after key: CopyKey?) throws(StoreError) -> any CopyRowReader {
    // Libpq holds all rows of an answer in memory.
    let largest = try measure(table).largest
    let count = min(max(1, Self.fetchedBytes / max(1, largest)), Self.fetchedRows)
    try renewSnapshot()
    try declareCursor(table, after: key)
    return PostgresRowReader(self, on: connection, of: table, rowsPerFetch: count)
  }

  private func declareCursor(_ table: CopiedTable, after key: CopyKey?) throws(StoreError) {
    try connection.control("DECLARE copied NO SCROLL CURSOR FOR \(Self.selectSQL(table, after: key))")
  }

  /// Goes on behind a key in a new snapshot, if the present one is old; false if it need not be.
  ///
  /// To be called where nothing of the rows that were read before is needed any more, neither their large values.
  fileprivate func renewCursor(_ table: CopiedTable, after key: CopyKey) throws(StoreError) -> Bool {
    if isAlone || ContinuousClock.now < snapshotEnd { return false }
    try renewSnapshot()
    try declareCursor(table, after: key)
    return true
  }

  private static func selectSQL(_ table: CopiedTable, after key: CopyKey?) -> String {
    var columns = table.columns.map { "t." + SchemaName.quoted($0.storedName(in: .postgres)) }
    columns += table.columns.compactMap { $0.fileColumn.map { "t." + SchemaName.quoted($0) } }
    let keys = columns.prefix(table.keyCount).joined(separator: ", ")
    let numbered = """
      (SELECT id, coalesce(number, (SELECT value::bigint FROM _metadata WHERE key = '\(HistorySchema.numberedKey)') \
      + row_number() OVER (PARTITION BY number IS NULL ORDER BY id)) AS number, time, author, context, process, writer \
      FROM _transaction)
      """
    let source =
      switch table.kind {
      case .family, .links: SchemaName.quoted(table.storedName(in: .postgres))
      case .transactions: numbered
      case .changes:
        "(SELECT n.number, c.place, c.entity, c.kind, c.first, c.last, c.properties, c.tombstone "
          + "FROM _change AS c JOIN \(numbered) AS n USING (id))"
      }
    let values = table.keyCount == 2 ? (key.map { "\($0.first), \($0.second)" }) : key.map { "\($0.first)" }
    let condition = values.map { " WHERE (\(keys)) > (\($0))" } ?? ""
    return "SELECT \(columns.joined(separator: ", ")) FROM \(source) AS t\(condition) ORDER BY \(keys)"
  }

  package func readLargeValue(
    _ name: String, _ body: (UnsafeRawBufferPointer) throws(StoreError) -> Void
  ) throws(StoreError) {
    var total = 0
    var part: Int64 = 0
    while true {
      let found = try connection.query(
        "SELECT bytes FROM _file WHERE name = $1 AND part = $2", [.text(name), .integer(part)])
      if found.rowCount == 0 { break }
      let bytes = found.bytes(0, 0)
      total += bytes.count
      part += 1
      try body(bytes)
    }
    guard total == LargeValueName.byteCount(name) else {
      throw StoreError(
        .corrupt, "the large value \(name) has \(total) bytes, and its name says otherwise; restore it from a backup",
        path: place)
    }
  }

  package func checkUnused() throws(StoreError) {
    guard isAlone else { return }
    let connection = try Connection(settings, .reader)
    defer { connection.close() }
    let now = try Hosts(connection)
    guard now.newest == hosts.newest else {
      throw StoreError(
        .busy, "a daemon has joined the fleet meanwhile, and may have written; stop it, and copy anew", path: place)
    }
    try now.checkNone(place)
  }
}

/// The hosts of the fleet that keeps its ledger beside a store.
private struct Hosts {
  /// The number of the last one that has joined; 0 if there was none.
  private(set) var newest: Int64 = 0
  /// The spools of those that live.
  private(set) var spools: [String] = []

  init(_ connection: Connection) throws(StoreError) {
    guard try connection.query("SELECT to_regclass('_beat') IS NOT NULL").integer(0, 0) == 1 else { return }
    newest = try connection.query("SELECT coalesce(max(number), 0) FROM _host").integer(0, 0)
    let found = try connection.query(
      "SELECT h.root FROM _host AS h JOIN _beat AS b ON b.host = h.number "
        + "WHERE h.state = 'alive' AND b.seen > now() - interval '10 s' ORDER BY h.number")
    spools = (0..<found.rowCount).map { found.text($0, 0) }
  }

  func checkNone(_ place: String) throws(StoreError) {
    guard let spool = spools.first else { return }
    throw StoreError(
      .busy, "the daemon of \(spool) uses the store, or did so 10 seconds ago; stop all daemons of the fleet first",
      path: place)
  }
}

/// The rows of one table of a store in PostgreSQL.
private final class PostgresRowReader: CopyRowReader {
  private let source: PostgresCopySource
  private let connection: Connection
  private let table: CopiedTable
  private let fetch: Request
  private let entityColumn: Int?
  /// The columns of the names of large values, by the columns of the values.
  private let fileColumns: [Int?]
  private var masks: EntityMasks
  private var result: QueryResult?
  private var row = 0
  private var isAtEnd = false
  /// The last row that was read.
  private var lastKey: CopyKey?

  init(_ source: PostgresCopySource, on connection: Connection, of table: CopiedTable, rowsPerFetch: Int64) {
    self.source = source
    self.connection = connection
    self.table = table
    // A prepared one would remember the columns of an earlier cursor.
    fetch = Request("FETCH \(rowsPerFetch) FROM copied", isKept: false)
    entityColumn = table.entityColumn
    masks = EntityMasks(table, place: connection.place)
    var next = table.columns.count
    fileColumns = table.columns.map { column in
      guard column.fileColumn != nil else { return nil }
      defer { next += 1 }
      return next
    }
  }

  deinit {
    // The transaction ends with the connection if that fails.
    if !isAtEnd { _ = try? connection.control("CLOSE copied") }
  }

  func read(into rows: inout CopiedRows, byteLimit: Int) throws(StoreError) {
    if !isAtEnd, let lastKey, try source.renewCursor(table, after: lastKey) { result = nil }
    while !isAtEnd, rows.byteCount < byteLimit {
      if result.map({ row >= $0.rowCount }) ?? true {
        result = nil
        let fetched = try connection.pipeline([fetch])[0]
        if fetched.rowCount == 0 {
          isAtEnd = true
          try connection.control("CLOSE copied")
          break
        }
        (result, row) = (fetched, 0)
      }
      guard let result else { break }
      try append(result, to: &rows)
      row += 1
    }
    if !rows.isEmpty { lastKey = rows.key(rows.count - 1, of: table) }
  }

  private func append(_ result: QueryResult, to rows: inout CopiedRows) throws(StoreError) {
    let mask = try mask(result)
    rows.beginRow()
    for (place, column) in table.columns.enumerated() {
      if mask?[place] == false {
        rows.appendNull()
      } else if let file = fileColumns[place], !result.isNull(row, file) {
        rows.append(largeValue: result.text(row, file))
      } else if result.isNull(row, place) {
        rows.appendNull()
      } else {
        switch column.form {
        case .integer: rows.append(result.integer(row, place))
        case .real: rows.append(result.real(row, place))
        case .text: rows.append(.text, result.bytes(row, place))
        case .bytes: rows.append(.bytes, result.bytes(row, place))
        case .uuid:
          let bytes = result.bytes(row, place)
          if bytes.count == 16 { rows.append(.bytes, bytes) } else { rows.appendNull() }
        }
      }
    }
  }

  private func mask(_ result: QueryResult) throws(StoreError) -> [Bool]? {
    guard let entityColumn else { return nil }
    return try masks.mask(of: result.text(row, entityColumn), key: result.integer(row, 0))
  }
}
