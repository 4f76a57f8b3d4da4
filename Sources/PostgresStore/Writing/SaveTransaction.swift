import Foundation
import ObjectModel
import SQLGeneration
import StoreInterface

/// One save on the writer's connection: everything in one transaction, or nothing.
struct SaveTransaction {
  let connection: Connection
  let plan: WritingPlan
  var history: HistoryWriter
  /// The derived values that were computed from what was written.
  var derivedValues: [DerivedValue] = []
  let tables: StoredTables
  private let companion: (any TransactionCompanion)?
  /// All that was written, for the companion.
  private var written: [ChangeSet] = []
  /// Large values of rows that are written, until they are.
  private var largeValues: [(name: String, bytes: Data)] = []

  /// From so many rows of an entity on, COPY is quicker than arrays in the same round trip as everything else.
  private static let copyThreshold = 256

  init(
    _ connection: Connection, _ plan: WritingPlan, tables: StoredTables, history: HistoryWriter,
    companion: (any TransactionCompanion)?
  ) {
    self.connection = connection
    self.plan = plan
    self.tables = tables
    self.history = history
    self.companion = companion
  }

  /// - Parameter reserve: reserves keys outside the transaction.
  mutating func run(
    _ request: StoreSaveRequest, reserve: (KeyReservation) throws(StoreError) -> Range<Int64>
  ) throws(StoreError) -> StoreSaveResult {
    var reserved: [Range<Int64>] = []
    do throws(StoreError) {
      try begin()
      var conflicts = try staleChecks(request.checks) + missingDestinations(request.changes)
      let written = try write(request.changes, isFinal: !conflicts.isEmpty)
      let met = Set(conflicts.map(\.change.id))
      conflicts += written.filter { !met.contains($0.change.id) }
      if conflicts.isEmpty { conflicts = try leadingToDeleted(request.changes) }
      if !conflicts.isEmpty {
        undo()
        return StoreSaveResult(conflicts: conflicts)
      }
      for reservation in request.reservations { reserved.append(try reserve(reservation)) }
    } catch {
      undo()
      throw error
    }
    written = request.changes
    try commit()
    return StoreSaveResult(CommittedRows(request.changes), reserved: reserved, derived: derivedValues)
  }

  func begin() throws(StoreError) {
    guard let companion else {
      // What somebody else has begun has other statements, too.
      return connection.begin(connection.isEnclosed ? [] : [IndexSearch.preferred])
    }
    try connection.rename(companion.sessionName)
    connection.begin([IndexSearch.preferred] + (try companion.opening()))
  }

  /// Waits until the companion has let the transaction pass, if there is one and it was not asked yet.
  func awaitOpening() throws(StoreError) {
    if companion != nil, !connection.link.isInTransaction { try connection.sendDue() }
  }

  func undo() { connection.rollBack() }

  mutating func commit() throws(StoreError) {
    let closing: [Request]
    do throws(StoreError) {
      try history.flush()
      // A transaction that has written nothing would be executed late, as a whole, after a lost answer: its opening holds
      // what whoever asks for the outcome waits for.
      try awaitOpening()
      closing = try companion?.closing(written) ?? []
    } catch {
      undo()
      throw error
    }
    do throws(StoreError) { try connection.commit(after: closing) } catch {
      undo()
      guard error.code == .inputOutput, let companion else { throw error }
      guard try companion.isWritten(error) else {
        throw StoreError(.unavailable, "the connection broke before the commit: nothing was written", path: error.path)
      }
    }
    companion?.noteWritten()
  }

  /// The notes of what was written, which are undone with it.
  private var noted: (history: HistoryWriter, derived: [DerivedValue], largeValues: [(name: String, bytes: Data)]) {
    get { (history, derivedValues, largeValues) }
    set { (history, derivedValues, largeValues) = newValue }
  }

  /// Writes one of several sets; where it meets conflicts or a violated constraint, nothing of the set is written.
  mutating func write(_ set: ChangeSet) throws(StoreError) -> [StoreConflict] {
    let before = noted
    var conflicts: [StoreConflict] = []
    do throws(StoreError) {
      connection.sendLater("SAVEPOINT step")
      conflicts = try write([set])
      if conflicts.isEmpty {
        connection.sendLater("RELEASE step")
        _ = CommittedRows([set])
        written.append(set)
        return []
      }
    } catch {
      noted = before
      if connection.isUsable { try connection.control("ROLLBACK TO step; RELEASE step") }
      throw error
    }
    noted = before
    try connection.control("ROLLBACK TO step; RELEASE step")
    return conflicts
  }

  /// Writes sets; if a unique value is in the way, which another change of them may give up, once more and with care.
  ///
  /// - Parameter isFinal: true if the save has failed already and only wants to know of more conflicts.
  private mutating func write(
    _ sets: [ChangeSet], isFinal: Bool = false
  ) throws(StoreError) -> [StoreConflict] {
    let writes = Writes(sets, plan.model)
    if isFinal { return try lockedConflicts(writes) }
    guard writes.mayMoveUniqueValues(plan) else { return try attempt(writes, carefully: false) }
    let before = noted
    connection.sendLater("SAVEPOINT attempt")
    do throws(StoreError) { return try attempt(writes, carefully: false) } catch {
      guard error.code == .constraint, connection.isUsable else { throw error }
    }
    noted = before
    try connection.control("ROLLBACK TO attempt; RELEASE attempt")
    return try attempt(writes, carefully: true)
  }

  /// Deletes first and inserts last, so that a unique value can move from one object to another in one save.
  ///
  /// - Parameter carefully: true to look for conflicts first, since they are told before violations, which resolving
  ///   them may cure; and to free all unique values that updates are about to replace.
  private mutating func attempt(_ writes: Writes, carefully: Bool) throws(StoreError) -> [StoreConflict] {
    let changes = ChangedKeys(plan.derived.isEmpty ? [] : writes.sets)
    let affected = try plan.derived.affected(by: changes, connection)
    if carefully {
      let conflicts = try lockedConflicts(writes)
      if !conflicts.isEmpty { return conflicts }
    }
    var steps = PipelinedSteps()
    steps.asksForHistory = !history.knowsIfKept
    for (root, changes) in writes.deletes { steps.expect(changes, plan.deletes.requests(root, changes)) }
    if carefully { steps.add(freeing(writes)) }
    for group in writes.updates { steps.expect(group.changes, try update(group)) }
    let large = writes.inserts.filter { $0.changes.count >= Self.copyThreshold }
    for group in writes.inserts where group.changes.count < Self.copyThreshold { steps.add([try insert(group)]) }
    let hasMore = !large.isEmpty || writes.batches.contains { $0.count > 0 }
    if !hasMore { steps.add(linking(writes)) }
    let conflicts = try conflicts(of: try steps.run(connection) { history.learn($0) })
    if !conflicts.isEmpty { return conflicts }
    for group in large { try copy(group) }
    for batch in writes.batches where batch.count > 0 { try copy(batch) }
    if hasMore { _ = try connection.pipeline(linking(writes)) }
    try LargeValues.write(largeValues, connection)
    largeValues = []
    derivedValues += try plan.derived.compute(changes, affectedBefore: affected, connection)
    try noteHistory(writes.sets)
    return []
  }

  private func freeing(_ writes: Writes) -> [Request] {
    writes.updates.compactMap { group in
      let writer = plan.writer(group.entityIndex)
      guard let sql = writer.freeUniqueSQL(writer.fields(of: group.slots)) else { return nil }
      return Request(sql, Self.keys(group.changes))
    }
  }

  private func linking(_ writes: Writes) -> [Request] {
    writes.links.flatMap { table, changes in plan.links[table].requests(changes) }
  }

  private static func keys(_ changes: [RowChange]) -> Parameters {
    var keys = Parameters()
    keys.add(integers: changes.lazy.map(\.id.key))
    return keys
  }

  // MARK: Rows

  private mutating func update(_ group: Writes.Updates) throws(StoreError) -> [Request] {
    let writer = plan.writer(group.entityIndex)
    let fields = writer.fields(of: group.slots)
    var arrays = ColumnArrays(EntityWriter.types(fields))
    for change in group.changes {
      guard let row = change.row else { preconditionFailure("an update without values") }
      arrays.integer(change.id.key)
      arrays.integer(change.base?.version ?? 0)
      try write(row, fields, to: &arrays)
    }
    let update = Request(writer.updateSQL(fields), arrays.parameters)
    guard let drop = writer.dropLargeValuesSQL(fields) else { return [update] }
    return [Request(drop, Self.keys(group.changes)), update]
  }

  private mutating func insert(_ group: Writes.Inserts) throws(StoreError) -> Request {
    let writer = plan.writer(group.entityIndex)
    var arrays = ColumnArrays(EntityWriter.types(writer.fields))
    for change in group.changes {
      guard let row = change.row else { preconditionFailure("an insert without values") }
      arrays.integer(change.id.key)
      arrays.integer(change.version)
      try write(row, writer.fields, to: &arrays)
    }
    return Request(writer.insertSQL, arrays.parameters)
  }

  private mutating func copy(_ group: Writes.Inserts) throws(StoreError) {
    let writer = plan.writer(group.entityIndex)
    let count = 2 + (writer.tellsEntity ? 1 : 0) + writer.fields.reduce(0) { $0 + $1.columns.count }
    var transaction = self
    _ = try connection.copy(writer.copySQL) { (rows) throws(StoreError) in
      for change in group.changes {
        guard let row = change.row else { preconditionFailure("an insert without values") }
        try rows.beginRow(count)
        rows.integer(change.id.key)
        rows.integer(change.version)
        if writer.tellsEntity { rows.text(writer.entity.name) }
        try transaction.write(row, writer.fields, to: &rows)
      }
    }
    self = transaction
  }

  private func copy(_ batch: RowBatch) throws(StoreError) {
    let rows = BatchRows(batch, plan)
    try rows.copy(0..<batch.count, firstKey: batch.firstKey, connection)
  }

  @inline(__always)
  private mutating func write(
    _ row: Row, _ fields: [StoredField], to sink: inout some ValueSink
  ) throws(StoreError) {
    for field in fields {
      if field.property.storage == .blob, !row.isNull(field.slot) {
        field.write(try place(row.blob(field.slot), field), to: &sink)
      } else {
        try field.write(row, to: &sink, plan.model)
      }
    }
  }

  /// Decides where a binary value goes.
  private mutating func place(_ blob: Blob, _ field: StoredField) throws(StoreError) -> PlacedValue {
    if blob.object != nil { return .null }
    let data: Data
    do {
      if case .staged(let file) = blob.content {
        data = try Data(contentsOf: URL(fileURLWithPath: file.currentPath), options: .mappedIfSafe)
      } else {
        data = try blob.load()
      }
    } catch {
      throw StoreError(
        .inputOutput, "a binary value of \(field.property.declaringEntity).\(field.property.name) can't be read",
        path: connection.place, detail: "\(error)")
    }
    guard field.fileColumn != nil, data.count > plan.threshold else { return .inline(data) }
    let name = LargeValues.newName(byteCount: data.count)
    largeValues.append((name, data))
    return .apart(name)
  }

  // MARK: Conflicts

  /// Changes with the rows that are stored now.
  private func conflicts(of changes: [RowChange]) throws(StoreError) -> [StoreConflict] {
    var stored: [ManagedObjectID: StoredRow] = [:]
    for (_, changes) in Dictionary(grouping: changes, by: \.id.rootIndex) {
      let ids = changes.map(\.id)
      for (id, row) in zip(ids, try tables.rows(for: ids, connection)) { stored[id] = row }
    }
    return changes.map { StoreConflict($0, stored: stored[$0.id]) }
  }

  /// The updates and deletes whose rows have other versions than expected; the others can't change any more.
  private func lockedConflicts(_ writes: Writes) throws(StoreError) -> [StoreConflict] {
    try conflicts(of: try stale(writes.deletes.flatMap(\.changes) + writes.updates.flatMap(\.changes), lock: "UPDATE"))
  }

  private func staleChecks(_ checks: [RowChange]) throws(StoreError) -> [StoreConflict] {
    try conflicts(of: try stale(checks, lock: "SHARE"))
  }

  /// The changes whose rows are gone or have another version than their base's.
  private func stale(_ changes: [RowChange], lock: String) throws(StoreError) -> [RowChange] {
    if changes.isEmpty { return [] }
    let families = Dictionary(grouping: changes, by: \.id.rootIndex).sorted { $0.key < $1.key }
    let requests = families.map { root, changes in
      let table = SchemaName.quoted(plan.table(ofRoot: Int(root)).name)
      return Request("SELECT _key, _version FROM \(table) WHERE _key = ANY($1) FOR \(lock)", Self.keys(changes))
    }
    var stale: [RowChange] = []
    for ((_, changes), result) in zip(families, try connection.pipeline(requests)) {
      var versions: [Int64: Int64] = [:]
      for row in 0..<result.rowCount { versions[result.integer(row, 0)] = result.integer(row, 1) }
      stale += changes.filter { versions[$0.id.key] == nil || versions[$0.id.key] != $0.base?.version }
    }
    return stale
  }

  /// The objects that changes lead to and that are not there; the others can't be deleted before the commit.
  private func missingDestinations(_ sets: [ChangeSet]) throws(StoreError) -> [StoreConflict] {
    let families = Dictionary(grouping: sets.newDestinations(plan.model), by: \.rootIndex).sorted { $0.key < $1.key }
    if families.isEmpty { return [] }
    let requests = families.map { root, ids in
      let table = SchemaName.quoted(plan.table(ofRoot: Int(root)).name)
      var keys = Parameters()
      keys.add(integers: ids.map(\.key).sorted())
      return Request("SELECT _key FROM \(table) WHERE _key = ANY($1) FOR KEY SHARE", keys)
    }
    var missing: [StoreConflict] = []
    for ((_, ids), result) in zip(families, try connection.pipeline(requests)) {
      let found = Set((0..<result.rowCount).map { result.integer($0, 0) })
      missing += ids.filter { !found.contains($0.key) }.map { StoreConflict(missingDestination: $0) }
    }
    return missing
  }

  /// The rows that still lead to deleted ones, now that all is written.
  private func leadingToDeleted(_ sets: [ChangeSet]) throws(StoreError) -> [StoreConflict] {
    var deleted: [Int: [RowChange]] = [:]
    for set in sets where set.hasDeletes {
      for change in set.changes where change.kind == .delete {
        deleted[Int(change.id.rootIndex), default: []].append(change)
      }
    }
    if deleted.isEmpty { return [] }
    var found: [StoreConflict] = []
    for (root, key) in try plan.deletes.owners(ofReferencesTo: deleted, connection) {
      let id = plan.id(key, root)
      found.append(StoreConflict(leadingToDeleted: id, stored: try tables.row(for: id, connection)))
    }
    return found
  }
}
