import JSONText
import Jobs
import ObjectGraph
import ObjectModel

/// The records of one import in the store beside its rows: its cursor and its rejects, written in the transactions of
/// the rows.
struct ImportRecords: Sendable {
  private let job: ManagedObjectID
  private let coordinator: PersistentStoreCoordinator
  private let state: Entity
  private let reject: Entity

  init(_ job: ManagedObjectID, _ coordinator: PersistentStoreCoordinator) {
    self.job = job
    self.coordinator = coordinator
    func entity(_ name: String) -> Entity {
      guard let entity = coordinator.model.entitiesByName[name] else {
        preconditionFailure("the daemon's own model has the entity \(name)")
      }
      return entity
    }
    state = entity("ImportState")
    reject = entity("ImportReject")
  }

  /// The cursor that the last transaction has left; nil if none has. Throws ``AttemptHold`` for one of a newer release.
  func cursor(_ reader: any StoreReader) throws -> ImportCursor? {
    guard let row = try stored(reader)?.row, let property = state.property(named: "cursor"),
      !row.isNull(property.slot)
    else { return nil }
    let text = row.text(property.slot)
    guard let cursor = ImportCursor(text) else { throw AttemptHold.unreadableProgress(text) }
    return cursor
  }

  /// The object with the cursor.
  func stateID() throws -> ManagedObjectID? { try coordinator.openStore().read { try stored($0)?.id } }

  /// Saves the cursor.
  ///
  /// - Parameters:
  ///   - header: the record that names the columns; nil leaves it as it is.
  ///   - form: how the input is written; nil leaves it as it is.
  func save(
    _ cursor: ImportCursor?, header: String?, form: JSONValue?, rejects: Int64, _ transaction: inout PackedTransaction
  ) throws {
    let found = try stored(transaction.reader)
    var row = found?.row ?? Row(coordinator.layouts[state.index])
    func slot(_ name: String) -> Int { state.property(named: name)?.slot ?? 0 }
    if let cursor { row.setText(cursor.text, slot("cursor")) } else { row.setNull(slot("cursor")) }
    if let header { row.setText(header, slot("header")) }
    if let form { row.setText(form.serialized(), slot("form")) }
    row.setInteger(rejects, slot("rejects"))
    row.setReference(job, slot("job"))
    if let found {
      try transaction.write([RowChange(.update, found.id, row: row, base: found.row)])
    } else {
      let key = try transaction.reserveKey(of: state)
      try transaction.write([RowChange(.insert, key, row: row, base: nil)])
    }
  }

  private func stored(_ reader: any StoreReader) throws -> (id: ManagedObjectID, row: Row)? {
    var found: (id: ManagedObjectID, row: Row)?
    try reader.fetch(try query(state, Condition(\ImportState.job, leadsTo: job), wantsRows: true)) { id, row in
      if let row { found = (id, row.row) }
      return false
    }
    return found
  }

  private func query(
    _ entity: Entity, _ condition: Condition, wantsRows: Bool, limit: Int? = nil
  ) throws -> StoreQuery {
    StoreQuery(
      entity: entity, condition: try condition.resolved(for: entity), limit: limit, wantsRows: wantsRows,
      coordinatorOrdinal: coordinator.ordinal)
  }

  // MARK: Rejects

  /// Saves records that were not imported.
  func add(_ rejects: [RejectedRecord], _ transaction: inout PackedTransaction) throws {
    if rejects.isEmpty { return }
    var columns: [RowBatch.Column] = []
    func slot(_ name: String) -> Int { reject.property(named: name)?.slot ?? 0 }
    columns.append(RowBatch.Column(slot: slot("line"), values: .integers(rejects.map { Int64($0.line) })))
    columns.append(
      RowBatch.Column(slot: slot("byteOffset"), values: .integers(rejects.map { Int64($0.byteOffset) })))
    columns.append(Self.texts(rejects.map { $0.column ?? "" }, slot("column"), emptyIsNull: true))
    columns.append(Self.texts(rejects.map(\.rule), slot("rule")))
    columns.append(Self.texts(rejects.map(\.message), slot("message")))
    columns.append(Self.texts(rejects.map(\.raw), slot("raw")))
    columns.append(.references(Array(repeating: job, count: rejects.count), slot: slot("job")))
    columns.sort { $0.slot < $1.slot }
    _ = try transaction.write(columns, count: rejects.count, of: reject)
  }

  private static func texts(_ texts: [String], _ slot: Int, emptyIsNull: Bool = false) -> RowBatch.Column {
    let arena = ByteArena(capacity: texts.reduce(0) { $0 + $1.utf8.count })
    var offsets: [UInt32] = [0]
    var nulls = emptyIsNull ? [UInt64](repeating: 0, count: (texts.count + 63) / 64) : []
    for (row, var text) in texts.enumerated() {
      text.withUTF8 { arena.append(UnsafeRawBufferPointer($0)) }
      offsets.append(UInt32(arena.count))
      if emptyIsNull && text.isEmpty { nulls[row >> 6] |= 1 << UInt64(row & 63) }
    }
    return RowBatch.Column(slot: slot, values: .bytes(offsets: offsets, arena: arena), nullBits: nulls)
  }

  /// Returns some of the job's rejects in the store; none if there are none left.
  func rejectIDs(limit: Int) throws -> [ManagedObjectID] {
    try coordinator.openStore().read { reader in
      var ids: [ManagedObjectID] = []
      try reader.fetch(try query(reject, Condition(\ImportReject.job, leadsTo: job), wantsRows: false, limit: limit)) {
        id, _ in
        ids.append(id)
        return true
      }
      return ids
    }
  }
}

extension RowBatch.Column {
  /// References to objects, one per row.
  static func references(_ ids: [ManagedObjectID?], slot: Int, givenBits: [UInt64] = []) -> RowBatch.Column {
    let arena = ByteArena(capacity: ids.count * MemoryLayout<ManagedObjectID>.size)
    var offsets: [UInt32] = [0]
    offsets.reserveCapacity(ids.count + 1)
    var nulls: [UInt64] = []
    for (row, id) in ids.enumerated() {
      if let id {
        withUnsafeBytes(of: id) { arena.append($0) }
      } else {
        if nulls.isEmpty { nulls = [UInt64](repeating: 0, count: (ids.count + 63) / 64) }
        nulls[row >> 6] |= 1 << UInt64(row & 63)
      }
      offsets.append(UInt32(arena.count))
    }
    return RowBatch.Column(
      slot: slot, values: .bytes(offsets: offsets, arena: arena), nullBits: nulls, givenBits: givenBits)
  }
}
