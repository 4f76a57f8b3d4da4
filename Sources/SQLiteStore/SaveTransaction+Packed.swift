internal import CSQLite
import ObjectModel
import SQLGeneration
import StoreInterface

extension SaveTransaction {
  /// Writes packed rows: each is looked for by the key, then inserted or overwritten; without a key, all are inserted.
  mutating func write(
    _ batch: RowBatch, key: [Property], onConflict conflict: PackedConflict
  ) throws(StoreError) -> PackedResult {
    let changes = ChangedKeys(derived.isEmpty ? [] : [try expectedChanges(batch, key)])
    let affected = try derived.affected(by: changes, connection)
    let binder = BatchBinder(batch)
    let table = statements[batch.entity.index].table
    var run = try PackedRun(batch, key, conflict, table, binder.properties, keys.names, connection)
    defer { run.recycle(connection) }
    let start = connection.started()
    let code = binder.withSources { [failure, stepCount] sources in
      run.write(sources, connection, model) { row in
        failure?(FaultPoint(step: .insert, index: stepCount + row))?.code
      }
    }
    stepCount += batch.count
    if code != SQLITE_OK { throw failed(run.statement, code) }
    connection.finished(run.statement.sql, start, rowCount: batch.count)
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
    let inserted = result.insertedKeys
    if !inserted.isEmpty { try history.note(.insert, batch.entity, inserted.lowerBound...(inserted.upperBound - 1)) }
    let names = Set(properties.lazy.filter { !$0.isHidden }.map(\.name))
    for id in result.updates {
      try history.note(.update, model.entities[Int(id.entityIndex)], id.key...id.key, properties: names)
    }
  }
}
