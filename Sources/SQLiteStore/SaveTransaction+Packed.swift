internal import CSQLite
import ObjectGraph
import ObjectModel
import SQLGeneration

extension SaveTransaction {
  /// Writes packed rows one after another: looks for the key, then inserts or overwrites.
  mutating func write(
    _ batch: RowBatch, key: [Property], onConflict conflict: PackedConflict
  ) throws(StoreError) -> PackedResult {
    let changes = ChangedKeys(derived.isEmpty ? [] : [try expectedChanges(batch, key)])
    let affected = try derived.affected(by: changes, connection)
    let binder = BatchBinder(batch)
    let table = statements[batch.entity.index].table
    var run = PackedRun(batch, key, conflict)
    try run.prepare(connection, table, binder.properties)
    defer { run.recycle(connection) }
    let start = connection.started()
    let names = keys.names
    let code = binder.withSources { [failure, stepCount] sources in
      run.write(sources, names, connection, model) { row in
        failure?(FaultPoint(step: .insert, index: stepCount + row))?.code
      }
    }
    stepCount += batch.count
    if code != SQLITE_OK { throw failed(run.insert, code) }
    connection.finished(run.insert.sql, start, rowCount: batch.count)
    derivedValues += try derived.compute(changes, affectedBefore: affected, connection)
    try noteHistory(run.result, batch, binder.properties)
    return run.result
  }

  /// The rows as changes, for what is derived from them.
  private func expectedChanges(_ batch: RowBatch, _ key: [Property]) throws(StoreError) -> ChangeSet {
    let found = try BatchFinder(
      batch, key: key, table: statements[batch.entity.index].table, model: model
    ).run(connection, names: keys.names)
    let known = Set(found.compactMap(\.self))
    return ChangeSet(known.map { RowChange(.update, $0, row: nil, base: nil) }, batches: [batch])
  }

  private mutating func noteHistory(
    _ result: PackedResult, _ batch: RowBatch, _ properties: [Property]
  ) throws(StoreError) {
    guard try history.isActive() else { return }
    for run in result.insertedKeys {
      try history.note(.insert, batch.entity, run.lowerBound...(run.upperBound - 1))
    }
    let names = Set(properties.lazy.filter { !$0.isHidden }.map(\.name))
    for id in result.updates {
      try history.note(.update, model.entities[Int(id.entityIndex)], id.key...id.key, properties: names)
    }
  }
}

/// The statements of one batch and what they have done so far.
private struct PackedRun {
  private let batch: RowBatch
  private let key: [Property]
  private let conflict: PackedConflict
  /// What a stored object keeps: its key, and what the rows have only by default.
  private let keptSlots: Set<Int>
  private var find: Statement?
  private var overwrite: Statement?
  private var inserting: Statement?
  private var tellsEntity = false
  private(set) var result: PackedResult

  init(_ batch: RowBatch, _ key: [Property], _ conflict: PackedConflict) {
    self.batch = batch
    self.key = key
    self.conflict = conflict
    keptSlots = Set(key.map(\.slot) + batch.columns.filter(\.hasOnlyDefaults).map(\.slot))
    result = PackedResult(capacity: batch.count)
  }

  var insert: Statement {
    guard let inserting else { preconditionFailure("a run is prepared before it is used") }
    return inserting
  }

  mutating func prepare(
    _ connection: Connection, _ table: SchemaTable, _ properties: [Property]
  ) throws(StoreError) {
    tellsEntity = table.tellsEntity
    inserting = try connection.prepare(table.insertSQL(batch.entity, properties))
    if key.isEmpty { return }
    find = try connection.prepare(table.findSQL(batch.entity, properties, key: key))
    let given = properties.filter { !keptSlots.contains($0.slot) }
    guard conflict == .update, let sql = table.overwriteSQL(properties, given: given) else { return }
    overwrite = try connection.prepare(sql)
  }

  func recycle(_ connection: Connection) {
    for statement in [overwrite, find, inserting] { if let statement { connection.recycle(statement) } }
  }

  mutating func write(
    _ sources: UnsafeBufferPointer<BatchBinder.Source>, _ names: EntityNames, _ connection: Connection,
    _ model: ManagedObjectModel, failure: (Int) -> Int32?
  ) -> Int32 {
    let insert = insert
    let keySources = sources.filter { source in key.contains { $0.slot == source.slot } }
    let valueSources = sources.filter { !keptSlots.contains($0.slot) }
    for row in 0..<batch.count {
      if let code = failure(row) { return code }
      if let find {
        for source in keySources { BatchBinder.bind(source, row, find, names) }
        let code = find.step()
        if code == SQLITE_ROW {
          let code = meet(find, row, valueSources, names, connection, model)
          find.reset()
          guard code == SQLITE_OK else { return code }
          continue
        }
        guard code == SQLITE_DONE else { return code }
        find.reset()
      }
      let own = batch.firstKey + Int64(row)
      insert.bind(own, 1)
      for source in sources { BatchBinder.bind(source, row, insert, names) }
      let code = insert.step()
      if code == SQLITE_DONE {
        result.add(.inserted, key: own)
      } else if code & 0xff == SQLITE_CONSTRAINT {
        result.addViolation(key: own, connection.error(code, sql: nil).message)
      } else {
        return code
      }
      insert.reset()
    }
    return SQLITE_OK
  }

  /// Writes a row whose key the found row has.
  private mutating func meet(
    _ find: Statement, _ row: Int, _ values: [BatchBinder.Source], _ names: EntityNames, _ connection: Connection,
    _ model: ManagedObjectModel
  ) -> Int32 {
    let stored = find.integer(0)
    switch conflict {
    case .violation: result.addViolation(key: batch.firstKey + Int64(row), PackedResult.isTaken)
    case .skip: result.add(.skipped, key: stored)
    case .update:
      guard let overwrite else {
        result.add(.unchanged, key: stored)
        break
      }
      let entity = tellsEntity ? model.entitiesByName[find.text(1)] ?? batch.entity : batch.entity
      overwrite.bind(stored, 1)
      for source in values { BatchBinder.bind(source, row, overwrite, names) }
      let code = overwrite.step()
      if code == SQLITE_DONE {
        if connection.changedRowCount == 0 {
          result.add(.unchanged, key: stored)
        } else {
          let id = ManagedObjectID(
            key: stored, entity: entity, coordinatorOrdinal: batch.coordinatorOrdinal)
          result.addUpdate(id)
        }
      } else if code & 0xff == SQLITE_CONSTRAINT {
        result.addViolation(key: batch.firstKey + Int64(row), connection.error(code, sql: nil).message)
      } else {
        return code
      }
      overwrite.reset()
    }
    return SQLITE_OK
  }
}
