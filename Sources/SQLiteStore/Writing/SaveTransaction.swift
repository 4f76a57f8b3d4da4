import CSQLite
import ObjectModel
import SQLGeneration
import StoreInterface

/// One save on the writer's connection: everything in one transaction, or nothing.
struct SaveTransaction {
  let connection: Connection
  let statements: [EntityStatements]
  let links: [LinkTable]
  let deletes: DeleteStatements
  let derived: DerivedColumns
  let keys: KeyBlocks
  let decoder: RowSource
  let openFiles: OpenFiles
  let failure: (@Sendable (FaultPoint) -> StoreFault?)?
  let model: ManagedObjectModel
  var files: SaveFiles
  var history: HistoryWriter
  /// The number of steps made so far; see ``FaultPoint``.
  var stepCount = 0
  private var conflicts: [StoreConflict] = []
  /// Updates to unique values that others have, who may give them up in this save.
  private var postponed: [(change: RowChange, binaries: [RowBinder.Binary])] = []
  /// The derived values that were computed from what was written.
  var derivedValues: [DerivedValue] = []

  init(
    connection: Connection, schema: Schema, statements: [EntityStatements], deletes: DeleteStatements,
    derived: DerivedColumns, keys: KeyBlocks, decoder: RowSource, files: SaveFiles, history: HistoryWriter,
    openFiles: OpenFiles, failure: (@Sendable (FaultPoint) -> StoreFault?)?
  ) {
    self.connection = connection
    self.statements = statements
    links = schema.linkTables
    self.deletes = deletes
    self.derived = derived
    self.keys = keys
    self.decoder = decoder
    self.files = files
    self.history = history
    self.openFiles = openFiles
    model = schema.model
    self.failure = failure
  }

  mutating func run(_ request: StoreSaveRequest) throws(StoreError) -> StoreSaveResult {
    var reserved: [Range<Int64>] = []
    do throws(StoreError) {
      try begin()
      for change in request.checks { try checkVersion(of: change) }
      for id in request.changes.newDestinations(model) where try decoder.row(for: id, connection) == nil {
        conflicts.append(StoreConflict(missingDestination: id))
      }
      try writeChanges(request.changes)
      if conflicts.isEmpty { conflicts = try leadingToDeleted(request.changes) }
      if !conflicts.isEmpty {
        undo()
        return StoreSaveResult(conflicts: conflicts)
      }
      for reservation in request.reservations { reserved.append(try reserve(reservation)) }
    } catch {
      undo(after: error)
      throw error
    }
    try commit()
    return StoreSaveResult(CommittedRows(request.changes), reserved: reserved, derived: derivedValues)
  }

  mutating func begin() throws(StoreError) { try control(connection.beginSQL, .begin) }

  mutating func reserve(_ reservation: KeyReservation) throws(StoreError) -> Range<Int64> {
    try check(.reserve)
    return try keys.reserve(reservation)
  }

  /// Writes one of several sets; where it meets conflicts or a violated constraint, nothing of the set is written.
  mutating func write(_ set: ChangeSet) throws(StoreError) -> [StoreConflict] {
    let before = (files: files, history: history)
    conflicts = []
    postponed = []
    try connection.control("SAVEPOINT step")
    do throws(StoreError) {
      try writeChanges([set])
    } catch {
      try revert(to: before.files, before.history)
      throw error
    }
    if conflicts.isEmpty {
      try connection.control("RELEASE step")
      _ = CommittedRows([set])
    } else {
      try revert(to: before.files, before.history)
    }
    return conflicts
  }

  private mutating func revert(to earlier: SaveFiles, _ history: HistoryWriter) throws(StoreError) {
    self.history = history
    // Some failures, such as a full disk, end the transaction by themselves.
    if connection.isInTransaction {
      try connection.control("ROLLBACK TO step")
      try connection.control("RELEASE step")
    }
    files.undo(to: earlier)
  }

  /// Takes everything back.
  ///
  /// - Parameter error: the failure that was met, if it was one.
  func undo(after error: (any Error)? = nil) {
    connection.rollBack(after: error)
    files.undo()
  }

  mutating func commit() throws(StoreError) {
    do throws(StoreError) {
      try history.flush()
      try files.sync()
    } catch {
      undo(after: error)
      throw error
    }
    do throws(StoreError) { try control(connection.commitSQL, .commit) } catch {
      connection.rollBack(after: error)
      // A commit that failed to be written may be found on disk later, with rows that refer to the new files.
      if error.code != .inputOutput { files.undo() }
      throw error
    }
    // Afterwards, so that nobody is told of a commit in a file that was gone before it.
    try openFiles.check()
    _ = failure?(FaultPoint(step: .committed, index: stepCount))
    files.commit(removesDropped: !connection.isEnclosed)
  }

  /// Deletes first and inserts last, so that a unique value can move from one object to another in one save.
  private mutating func writeChanges(_ sets: [ChangeSet]) throws(StoreError) {
    let changes = ChangedKeys(derived.isEmpty ? [] : sets)
    let affected = try derived.affected(by: changes, connection)
    for set in sets where !set.isAllInserts {
      let changes = set.changes
      for index in changes.indices where changes[index].kind == .delete { try delete(changes[index]) }
    }
    for set in sets where !set.isAllInserts {
      let changes = set.changes
      for index in changes.indices where changes[index].kind == .update { try update(changes[index]) }
    }
    // Conflicts are told before violations, which resolving them may cure.
    if !conflicts.isEmpty { return }
    try writePostponed()
    for set in sets {
      try insert(set.changes)
      for batch in set.batches where batch.count > 0 { try insert(batch) }
    }
    try writeLinks(sets)
    derivedValues += try derived.compute(changes, affectedBefore: affected, connection)
    try noteHistory(sets)
  }

  private mutating func delete(_ change: RowChange) throws(StoreError) {
    let entity = statements[Int(change.base?.entityIndex ?? change.id.entityIndex)]
    let oldNames = try fileNames(change, entity)
    let sql = entity.table.deleteSQL
    let count = try write(sql, .delete) { statement in
      statement.bind(change.id.key, 1)
      statement.bind(change.base?.version ?? 0, 2)
      return statement.step()
    }
    guard count == 1 else { return try addConflict(change) }
    try deleteLinks(of: change.id)
    for case let name? in oldNames { files.drop(name) }
  }

  private mutating func update(_ change: RowChange) throws(StoreError) {
    guard let row = change.row else { return }
    let entity = statements[Int(row.entityIndex)]
    let binaries = try binaries(change, row, binder: entity.update, oldNames: try fileNames(change, entity))
    do throws(StoreError) {
      try update(change, row, entity: entity, binaries: binaries)
    } catch  where error.code == .constraint && entity.freeUniqueSQL != nil {
      postponed.append((change, binaries))
    }
  }

  private mutating func update(
    _ change: RowChange, _ row: Row, entity: EntityStatements, binaries: [RowBinder.Binary]
  ) throws(StoreError) {
    let count = try write(entity.updateSQL, .update) { statement in
      withExtendedLifetime(row) {
        statement.bind(change.id.key, 1)
        statement.bind(change.base?.version ?? 0, 2)
        entity.update.bind(row, to: statement)
        return entity.update.step(statement, binding: binaries[...])
      }
    }
    if count != 1 { try addConflict(change) }
  }

  /// Writes what was postponed when nobody who is to give a unique value up has it any more; what fails now is an error.
  private mutating func writePostponed() throws(StoreError) {
    for (change, _) in postponed {
      guard let row = change.row, let sql = statements[Int(row.entityIndex)].freeUniqueSQL else { continue }
      _ = try write(sql, .update) { statement in
        statement.bind(change.id.key, 1)
        return statement.step()
      }
    }
    for (change, binaries) in postponed {
      guard let row = change.row else { continue }
      try update(change, row, entity: statements[Int(row.entityIndex)], binaries: binaries)
    }
  }

  private mutating func insert(_ changes: [RowChange]) throws(StoreError) {
    var start = changes.startIndex
    while start < changes.endIndex {
      guard changes[start].kind == .insert, let first = changes[start].row else {
        start += 1
        continue
      }
      // Rows of one entity that follow each other share a statement.
      let entityIndex = first.entityIndex
      let end = changes[start...].firstIndex { $0.kind != .insert || $0.row?.entityIndex != entityIndex }
      try insert(changes[start..<(end ?? changes.endIndex)], statements[Int(entityIndex)])
      start = end ?? changes.endIndex
    }
  }

  private mutating func insert(_ changes: ArraySlice<RowChange>, _ entity: EntityStatements) throws(StoreError) {
    let binder = entity.insert
    // The memory of binary values is lent for one row at a time.
    let rows = binder.blobs.isEmpty ? changes.count : 1
    let statements = try InsertStatements(entity.insertSQL, rows: rows, connection)
    defer { statements.recycle(connection) }
    var rest = changes
    while let many = statements.many, rest.count >= statements.groupSize {
      try insert(rest.prefix(statements.groupSize), binder, statement: many, parameterCount: statements.parameterCount)
      rest = rest.dropFirst(statements.groupSize)
    }
    while !rest.isEmpty {
      try insert(rest.prefix(1), binder, statement: statements.one, parameterCount: statements.parameterCount)
      rest = rest.dropFirst()
    }
    for index in changes.indices where changes[index].base != nil { try setVersion(of: changes[index], entity) }
  }

  /// Lets the versions of a row that was in the store before go on from the later one that the change says.
  private mutating func setVersion(of change: RowChange, _ entity: EntityStatements) throws(StoreError) {
    _ = try write(entity.table.setVersionSQL, .update) { statement in
      statement.bind(change.id.key, 1)
      statement.bind(change.version, 2)
      return statement.step()
    }
  }

  /// Inserts as many rows as the statement is for.
  private mutating func insert(
    _ changes: ArraySlice<RowChange>, _ binder: RowBinder, statement: Statement, parameterCount: Int32
  ) throws(StoreError) {
    for _ in changes { try check(.insert) }
    let start = connection.started()
    var binaries: [RowBinder.Binary] = []
    var offset: Int32 = 0
    for index in changes.indices {
      guard let row = changes[index].row else { preconditionFailure("an insert without values") }
      if !binder.blobs.isEmpty { binaries = try self.binaries(changes[index], row, binder: binder, oldNames: []) }
      statement.bind(changes[index].id.key, 1 + offset)
      binder.bind(row, to: statement, offset: offset)
      offset += parameterCount
    }
    // The changes hold the rows, whose memory is bound.
    let code = withExtendedLifetime(changes) { binder.step(statement, binding: binaries[...]) }
    guard code == SQLITE_DONE else { throw failed(statement, code) }
    statement.reset()
    connection.finished(statement.sql, start, rowCount: changes.count)
  }

  private mutating func insert(_ batch: RowBatch) throws(StoreError) {
    let entity = statements[batch.entity.index]
    let binder = BatchBinder(batch)
    let inserter = try BatchInserter(
      batch, binder.properties, table: entity.table, names: keys.names, connection: connection)
    defer { inserter.recycle(connection) }
    let start = connection.started()
    let failed = inserter.insertAll(of: batch, binder) { [failure, stepCount] row in
      failure?(FaultPoint(step: .insert, index: stepCount + row))?.code
    }
    stepCount += batch.count
    if failed != SQLITE_OK { throw self.failed(inserter.statement, failed) }
    connection.finished(inserter.statement.sql, start, rowCount: batch.count)
  }

  /// Runs a statement once and returns the number of rows that it wrote.
  mutating func write(
    _ sql: String, _ step: FaultPoint.Step, body: (Statement) -> Int32
  ) throws(StoreError) -> Int {
    try check(step)
    let statement = try connection.prepare(sql)
    defer { connection.recycle(statement) }
    let start = connection.started()
    let code = body(statement)
    guard code == SQLITE_DONE else { throw failed(statement, code) }
    let count = connection.changedRowCount
    connection.finished(sql, start, rowCount: count)
    return count
  }

  func failed(_ statement: Statement, _ code: Int32) -> StoreError {
    let error = connection.error(code, sql: statement.sql)
    statement.reset()
    return error
  }

  private mutating func control(_ sql: String, _ step: FaultPoint.Step) throws(StoreError) {
    try check(step)
    try connection.control(sql)
  }

  /// Fails if a test wants it to; see ``FaultPoint``.
  private mutating func check(_ step: FaultPoint.Step) throws(StoreError) {
    if let failure, let fault = failure(FaultPoint(step: step, index: stepCount)) {
      throw connection.error(fault.code, sql: nil)
    }
    stepCount += 1
  }

  private mutating func checkVersion(of change: RowChange) throws(StoreError) {
    let stored = try decoder.row(for: change.id, connection)
    if stored == nil || stored?.version != change.base?.version {
      conflicts.append(StoreConflict(change, stored: stored))
    }
  }

  private mutating func addConflict(_ change: RowChange) throws(StoreError) {
    conflicts.append(StoreConflict(change, stored: try decoder.row(for: change.id, connection)))
  }

  /// The names of the files that the stored row refers to, by the order of the entity's binary values.
  private func fileNames(_ change: RowChange, _ entity: EntityStatements) throws(StoreError) -> [String?] {
    guard let sql = entity.filesSQL else { return [] }
    let columns = Int32(entity.update.blobs.count)
    return try connection.first(sql, { $0.bind(change.id.key, 1) }) { statement in
      (0..<columns).map { statement.isNull($0) ? nil : statement.text($0) }
    } ?? []
  }

  private mutating func binaries(
    _ change: RowChange, _ row: Row, binder: RowBinder, oldNames: [String?]
  ) throws(StoreError) -> [RowBinder.Binary] {
    var binaries: [RowBinder.Binary] = []
    for (place, field) in binder.blobs.enumerated() {
      func blob(_ row: Row?) -> Blob? { row.flatMap { $0.isNull(field.slot) ? nil : $0.blob(field.slot) } }
      let property = statements[Int(row.entityIndex)].entity.properties[field.slot]
      if property.attribute?.allowsExternalBinaryDataStorage == true, !row.isNull(field.slot) { try check(.file) }
      binaries.append(
        try files.prepare(
          blob(row), property, base: blob(change.base), oldName: place < oldNames.count ? oldNames[place] : nil))
    }
    return binaries
  }
}
