import CSQLite
import ObjectModel
import SQLGeneration
import StoreInterface

/// Reads rows by their keys.
struct RowSource: Sendable {
  private struct Family {
    let table: SchemaTable
    let decoder: FamilyDecoder
    let selectOne: String
    let selectChunk: String
  }

  private let families: [Family]
  /// The place of an entity's family, by the index of its root.
  private let places: [Int]
  let coordinatorOrdinal: UInt32
  /// Keys per statement; measured with 64, 256 and 1,024: the same within 7 %.
  private static let chunk = 256

  init(schema: Schema, files: ExternalFiles, coordinatorOrdinal: UInt32) {
    self.coordinatorOrdinal = coordinatorOrdinal
    var places = Array(repeating: 0, count: schema.model.entities.count)
    for (place, table) in schema.tables.enumerated() { places[table.root.index] = place }
    self.places = places
    families = schema.tables.map { table in
      var decoder = FamilyDecoder(table, columns: table.columnNames, schema: schema, files: files)
      decoder.prepare()
      return Family(
        table: table, decoder: decoder, selectOne: table.selectSQL(keyCount: 1),
        selectChunk: table.selectSQL(keyCount: Self.chunk))
    }
  }

  /// The row of an object under its stored version, or nil if there is none.
  func row(for id: ManagedObjectID, _ connection: Connection) throws(StoreError) -> StoredRow? {
    let family = families[places[Int(id.rootIndex)]]
    var decoder = family.decoder
    let row = try connection.first(
      family.selectOne, { $0.bind(id.key, 1) }, read: { decoder.row($0, ordinal: coordinatorOrdinal) })
    return row ?? nil
  }

  /// The rows of objects of one family, each nil where there is none.
  func rows(for ids: [ManagedObjectID], _ connection: Connection) throws(StoreError) -> [StoredRow?] {
    guard let first = ids.first else { return [] }
    if ids.count == 1 { return [try row(for: first, connection)] }
    let family = families[places[Int(first.rootIndex)]]
    var decoder = family.decoder
    var found: [Int64: StoredRow] = [:]
    var start = 0
    while start < ids.count {
      // Full chunks, then powers of two: few texts of statements, so that most are prepared already.
      let left = ids.count - start
      let count = left >= Self.chunk ? Self.chunk : left.nextPowerOfTwo
      try connection.run(
        count == Self.chunk ? family.selectChunk : family.table.selectSQL(keyCount: count),
        { statement in
          for place in 0..<count { statement.bind(ids[start + min(place, left - 1)].key, Int32(place + 1)) }
        },
        read: { statement throws(StoreError) in
          if let row = decoder.row(statement, ordinal: coordinatorOrdinal) { found[statement.integer(0)] = row }
          return true
        })
      start += count
    }
    return ids.map { found[$0.key] }
  }
}

extension Int {
  fileprivate var nextPowerOfTwo: Int { self <= 1 ? 1 : 1 << (Int.bitWidth - (self - 1).leadingZeroBitCount) }
}

/// Looks for the stored objects that have the values of a batch's rows in some columns.
struct BatchFinder {
  private let batch: RowBatch
  private let key: [Property]
  private let table: SchemaTable
  private let model: ManagedObjectModel

  init(_ batch: RowBatch, key: [Property], table: SchemaTable, model: ManagedObjectModel) {
    self.batch = batch
    self.key = key
    self.table = table
    self.model = model
  }

  func run(_ connection: Connection, names: EntityNames) throws(StoreError) -> [ManagedObjectID?] {
    let binder = BatchBinder(batch)
    guard !key.isEmpty, key.allSatisfy({ property in binder.properties.contains { $0 === property } }) else {
      return Array(repeating: nil, count: batch.count)
    }
    let statement = try connection.prepare(table.findSQL(batch.entity, binder.properties, key: key))
    defer { connection.recycle(statement) }
    let start = connection.started()
    var found: [ManagedObjectID?] = []
    found.reserveCapacity(batch.count)
    let code = binder.withSources { sources in
      let sources = sources.filter { source in key.contains { $0.slot == source.slot } }
      for row in 0..<batch.count {
        for source in sources { BatchBinder.bind(source, row, statement: statement, names: names) }
        let code = statement.step()
        switch code {
        case SQLITE_ROW: found.append(id(statement))
        case SQLITE_DONE: found.append(nil)
        default: return code
        }
        statement.reset()
      }
      return SQLITE_OK
    }
    if code != SQLITE_OK {
      let error = connection.error(code, sql: statement.sql)
      statement.reset()
      throw error
    }
    connection.finished(statement.sql, start, rowCount: found.count)
    return found
  }

  private func id(_ statement: Statement) -> ManagedObjectID {
    let entity = table.tellsEntity ? model.entitiesByName[statement.text(1)] ?? batch.entity : batch.entity
    return ManagedObjectID(
      key: statement.integer(0), entity: entity, coordinatorOrdinal: batch.coordinatorOrdinal)
  }
}
