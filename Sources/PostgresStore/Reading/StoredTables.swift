import ObjectModel
import SQLGeneration
import StoreInterface
import Synchronization

/// Returns the large value of a name that a column holds, without reading it.
typealias LargeValueReader = @Sendable (_ name: String) -> Blob

/// The tables of an open store as its readers need them.
final class StoredTables: Sendable {
  let schema: Schema
  let coordinatorOrdinal: UInt32
  private let largeValue: LargeValueReader
  /// Decoders of whole rows and the statements of these, by the index of the family's root.
  private let families: [Int: (select: String, decoder: FamilyDecoder)]
  /// The work that SQL leaves to memory.
  let residuals = ResidualCount()

  /// - Parameters:
  ///   - schema: the tables, in PostgreSQL's dialect.
  ///   - coordinatorOrdinal: the ordinal that goes into the IDs of objects.
  ///   - largeValue: what makes a blob of the name of a large value.
  init(_ schema: Schema, coordinatorOrdinal: UInt32, largeValue: @escaping LargeValueReader) {
    self.schema = schema
    self.coordinatorOrdinal = coordinatorOrdinal
    self.largeValue = largeValue
    var families: [Int: (select: String, decoder: FamilyDecoder)] = [:]
    for table in schema.tables {
      var decoder = FamilyDecoder(table, columns: table.columnNames, schema: schema, largeValue: largeValue)
      decoder.prepare()
      families[table.root.index] = (table.selectSQL, decoder)
    }
    self.families = families
  }

  /// A decoder for results of a table with some of its columns, or with others.
  func decoder(_ table: SchemaTable, columns: [String]) -> FamilyDecoder {
    FamilyDecoder(table, columns: columns, schema: schema, largeValue: largeValue)
  }

  /// The row of an object under its stored version, or nil if there is none.
  func row(for id: ManagedObjectID, _ connection: Connection) throws(StoreError) -> StoredRow? {
    try rows(for: [id], connection)[0]
  }

  /// The rows of objects of one family, each nil where there is none.
  func rows(for ids: [ManagedObjectID], _ connection: Connection) throws(StoreError) -> [StoredRow?] {
    guard let first = ids.first, let (select, prepared) = families[Int(first.rootIndex)] else { return [] }
    var family = prepared
    var found: [Int64: StoredRow] = [:]
    found.reserveCapacity(ids.count)
    var start = 0
    while start < ids.count {
      let chunk = ids[start..<min(start + Self.chunk, ids.count)]
      start = chunk.endIndex
      var keys = Parameters()
      keys.add(integers: chunk.lazy.map(\.key))
      let result = try connection.queryByKey(Request(select, keys))
      for row in 0..<result.rowCount {
        guard let decoder = family.decoder(result, row) else { continue }
        found[result.integer(row, 0)] = decoder.row(result, row, ordinal: coordinatorOrdinal)
      }
    }
    return ids.map { found[$0.key] }
  }

  /// Rows per result: as many as are held in memory at once.
  static let chunk = 1_000
}

/// Counts what SQL left to memory, so that tests notice a condition that it no longer answers.
package final class ResidualCount: Sendable {
  private let counts = Mutex<(queries: Int, rows: Int)>((0, 0))

  /// The number of queries whose rows were tested or sorted in memory.
  package var queries: Int { counts.withLock { $0.queries } }
  /// The number of rows that were read for that.
  package var rows: Int { counts.withLock { $0.rows } }

  func add(rows: Int) { counts.withLock { $0 = ($0.queries + 1, $0.rows + rows) } }
}
