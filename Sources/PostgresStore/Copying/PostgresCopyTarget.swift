import Foundation
import Glibc
import ObjectModel
package import SQLGeneration
package import StoreInterface

/// A store in PostgreSQL that is being filled; no daemon opens it before it is complete.
package final class PostgresCopyTarget: CopyTarget {
  package let place: String
  package private(set) var progress: [String: CopyKey] = [:]
  private let source: CopiedStore
  private let settings: Connection.Settings
  private let connection: Connection
  private let updater: SchemaUpdater

  /// Begins a new store, or goes on with what an earlier copy of the same store has left.
  ///
  /// - Throws: ``StoreError/Code/cannotOpen`` if there is a store already, or the beginning of a copy of another one.
  package init(url: String, of source: CopiedStore) throws(StoreError) {
    self.source = source
    let options = PostgresCopySource.options
    let settings = try Connection.Settings(url, options: options)
    self.settings = settings
    let schema = Schema(source.model, dialect: .postgres)
    connection = try Connection(settings)
    place = connection.place
    updater = SchemaUpdater(connection: connection, settings: settings, schema: schema, options: options)
    try Self.checkNames(schema, place)
    let inspection = StoreInspection(connection: connection, schemaName: options.schemaName)
    try inspection.checkServer()
    if try inspection.isPresent() { try resume(inspection) } else { try begin(schema) }
  }

  deinit { connection.close() }

  /// Looks whether a copy could begin or go on; changes nothing.
  package static func check(url: String, for source: CopiedStore) throws(StoreError) {
    let options = PostgresCopySource.options
    let connection = try Connection(try Connection.Settings(url, options: options))
    defer { connection.close() }
    try checkNames(Schema(source.model, dialect: .postgres), connection.place)
    let inspection = StoreInspection(connection: connection, schemaName: options.schemaName)
    try inspection.checkServer()
    if try inspection.isPresent() { return try checkUnfinished(inspection, identity(source)) }
    let right = try connection.query("SELECT has_database_privilege(current_database(), 'CREATE'), current_user")
    guard right.integer(0, 0) == 1 else {
      throw StoreError(
        .readOnly,
        "the role \(right.text(0, 1)) may not make a schema in the database; its owner can GRANT CREATE ON "
          + "DATABASE", path: connection.place)
    }
  }

  private static func checkNames(_ schema: Schema, _ place: String) throws(StoreError) {
    guard let clash = schema.nameClash else { return }
    throw StoreError(
      .incompatibleModel, "\"\(clash)\" can't be a name in PostgreSQL: it is reserved, or used twice", path: place)
  }

  /// The store that is copied, and its model.
  private static func identity(_ source: CopiedStore) -> String {
    "\(source.identifier.uuidString) \(source.model.versionHash)"
  }

  private func begin(_ schema: Schema) throws(StoreError) {
    try connection.transaction { () throws(StoreError) in
      connection.isEnclosed = true
      defer { connection.isEnclosed = false }
      try updater.create()
      if source.history != nil { try HistorySchema(connection: connection).create() }
      // They are made when all rows are there, which is quicker.
      for index in schema.allIndexes { try connection.control("DROP INDEX \(SchemaName.quoted(index.name))") }
      try connection.control("CREATE TABLE _copy (name text PRIMARY KEY, last text NOT NULL)")
      try updater.setMetadata("uuid", source.identifier.uuidString)
      try updater.setMetadata(StoreInspection.copyKey, Self.identity(source))
      // Releases that don't know of copies see that it is no store of theirs.
      try updater.setMetadata("format", "copying")
    }
  }

  private static func checkUnfinished(_ inspection: StoreInspection, _ identity: String) throws(StoreError) {
    let remedy = "DROP SCHEMA \(inspection.schemaName) CASCADE removes it"
    guard let found = try inspection.metadata(StoreInspection.copyKey) else {
      throw StoreError(
        .cannotOpen, "there is a store already, and it is not overwritten; \(remedy)", path: inspection.connection.place
      )
    }
    guard found == identity else {
      throw StoreError(
        .cannotOpen,
        "an unfinished copy of another store, or of one with another model, is in the way; \(remedy)",
        path: inspection.connection.place)
    }
  }

  private func resume(_ inspection: StoreInspection) throws(StoreError) {
    try Self.checkUnfinished(inspection, Self.identity(source))
    let rows = try connection.query("SELECT name, last FROM _copy")
    for row in 0..<rows.rowCount { progress[rows.text(row, 0)] = CopyKey(rows.text(row, 1)) }
  }

  // MARK: Writing

  package func write(
    _ rows: CopiedRows, to table: CopiedTable, from source: any CopySource
  ) throws(StoreError) {
    let last = rows.key(rows.count - 1, of: table)
    let layout = Layout(table)
    try connection.transaction { () throws(StoreError) in
      var names: [String] = []
      _ = try connection.copy(layout.copySQL) { (writer) throws(StoreError) in
        for row in 0..<rows.count {
          try writer.beginRow(layout.fieldCount)
          try rows.withValues(ofRow: row) { (values) throws(StoreError) in
            try layout.write(&values, to: &writer, from: source, large: &names, place: place)
          }
        }
      }
      for name in names { try writeLargeValue(name, from: source) }
      _ = try connection.query(
        "INSERT INTO _copy VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET last = excluded.last",
        [.text(table.name), .text(last.description)])
    }
    progress[table.name] = last
  }

  private func writeLargeValue(_ name: String, from source: any CopySource) throws(StoreError) {
    var part: Int64 = 0
    _ = try connection.copy("COPY _file (name, part, bytes) FROM STDIN (FORMAT binary)") {
      (writer) throws(StoreError) in
      // Where a file is read in one piece, the parts are those of other large values.
      var rest: [UInt8] = []
      func write(_ bytes: UnsafeRawBufferPointer) throws(StoreError) {
        try writer.beginRow(3)
        writer.text(name)
        writer.integer(part)
        writer.bytes(bytes)
        part += 1
      }
      try source.readLargeValue(name) { (piece) throws(StoreError) in
        rest += piece
        while rest.count >= LargeValues.partSize {
          let failure = rest.withUnsafeBytes { all -> StoreError? in
            do throws(StoreError) { try write(UnsafeRawBufferPointer(rebasing: all[..<LargeValues.partSize])) } catch {
              return error
            }
            return nil
          }
          if let failure { throw failure }
          rest.removeFirst(LargeValues.partSize)
        }
      }
      let failure = rest.withUnsafeBytes { all -> StoreError? in
        do throws(StoreError) { if !all.isEmpty { try write(all) } } catch { return error }
        return nil
      }
      if let failure { throw failure }
    }
  }

  // MARK: The end

  package func reader() throws(StoreError) -> any CopySource {
    try PostgresCopySource(settings, isAlone: false, isFinished: false)
  }

  package func finish() throws(StoreError) {
    try connection.transaction { () throws(StoreError) in
      connection.isEnclosed = true
      defer { connection.isEnclosed = false }
      for (root, next) in source.nextKeys.sorted(by: { $0.key < $1.key }) {
        _ = try connection.query(
          "INSERT INTO _keys VALUES ($1, $2) ON CONFLICT (root) DO UPDATE SET next = excluded.next",
          [.text(root), .integer(next)])
      }
      if let history = source.history { try finish(history) }
      try updater.update()
      try updater.setMetadata("format", String(StoreOpener.formatVersion))
      _ = try connection.query("DELETE FROM _metadata WHERE key = $1", [.text(StoreInspection.copyKey)])
      try connection.control("DROP TABLE _copy")
    }
    // The planner knows nothing of the rows otherwise, until the server looks by itself.
    try connection.control("ANALYZE")
  }

  private func finish(_ history: CopiedStore.History) throws(StoreError) {
    // What is drawn next is behind it; a sequence begins at 1.
    _ = try connection.query(
      "SELECT setval(pg_get_serial_sequence('_transaction', 'id'), greatest($1, 1), $1 > 0)",
      [.integer(history.newest)])
    try updater.setMetadata(HistorySchema.numberedKey, String(history.newest))
    if let purged = history.purged { try updater.setMetadata(HistorySchema.purgedKey, String(purged)) }
  }
}

/// The columns of a table in the order in which COPY takes them.
private struct Layout {
  private let table: CopiedTable
  let copySQL: String
  let fieldCount: Int

  init(_ table: CopiedTable) {
    self.table = table
    var names: [String] = []
    for (place, column) in table.columns.enumerated() {
      let name = SchemaName.quoted(column.storedName(in: .postgres))
      // Here numbers of transactions come after identifiers, which other tables refer to.
      if place == 0, table.kind == .transactions { names.append("id") }
      names.append(place == 0 && table.kind == .changes ? "id" : name)
      if let file = column.fileColumn { names.append(SchemaName.quoted(file)) }
    }
    fieldCount = names.count
    copySQL =
      "COPY \(SchemaName.quoted(table.storedName(in: .postgres))) (\(names.joined(separator: ", "))) "
      + "FROM STDIN (FORMAT binary)"
  }

  /// Writes a row's values.
  ///
  /// - Parameter large: receives the names of values that lie elsewhere.
  func write(
    _ values: inout CopiedValues, to writer: inout CopyWriter, from source: any CopySource, large: inout [String],
    place: String
  ) throws(StoreError) {
    var key: Int64 = 0
    for (index, column) in table.columns.enumerated() {
      guard let value = values.next() else { break }
      switch value {
      case .null: writer.null()
      case .integer(let number):
        if index == 0 {
          key = number
          if table.kind == .transactions { writer.integer(number) }
        }
        writer.integer(number)
      case .real(let number): writer.real(number)
      case .text(let bytes):
        if let problem = TextProblem(in: bytes) {
          throw StoreError(.unsupported, problem.description(of: column, in: table, key: key), path: source.place)
        }
        writer.bytes(bytes)
      case .bytes(let bytes): writer.bytes(bytes)
      case .large(let name, let byteCount):
        if column.fileColumn == nil {
          var bytes: [UInt8] = []
          bytes.reserveCapacity(byteCount)
          try source.readLargeValue(name) { bytes += $0 }
          bytes.withUnsafeBytes { writer.bytes($0) }
        } else {
          large.append(name)
          writer.null()
          writer.text(name)
          continue
        }
      }
      if column.fileColumn != nil { writer.null() }
    }
  }
}
