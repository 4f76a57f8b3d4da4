import CSQLite
import ObjectModel
import SQLGeneration
import StoreInterface

/// The statements of one packed batch and what they have done so far.
struct PackedRun {
  private let batch: RowBatch
  private let key: [Property]
  private let conflict: PackedConflict
  private let names: EntityNames
  private let inserter: BatchInserter
  private let tellsEntity: Bool
  private let find: Statement?
  private let overwrites: Overwrites
  private(set) var result: PackedResult

  init(
    _ batch: RowBatch, _ key: [Property], conflict: PackedConflict, table: SchemaTable, properties: [Property],
    names: EntityNames, connection: Connection
  ) throws(StoreError) {
    self.batch = batch
    self.key = key
    self.conflict = conflict
    self.names = names
    result = PackedResult(batch)
    tellsEntity = table.tellsEntity
    inserter = try BatchInserter(batch, properties, table: table, names: names, connection: connection)
    find = key.isEmpty ? nil : try connection.prepare(table.findSQL(batch.entity, properties, key: key))
    overwrites =
      find != nil && conflict == .update
      ? try Overwrites(batch, key, table: table, properties: properties, connection: connection) : Overwrites()
  }

  /// The statement that errors are told of.
  var statement: Statement { inserter.statement }

  func recycle(_ connection: Connection) {
    overwrites.recycle(connection)
    if let find { connection.recycle(find) }
    inserter.recycle(connection)
  }

  mutating func write(
    _ sources: UnsafeBufferPointer<BatchBinder.Source>, _ connection: Connection, model: ManagedObjectModel,
    failure: (Int) -> Int32?
  ) -> Int32 {
    let keySources = sources.filter { source in key.contains { $0.slot == source.slot } }
    let valueSources = overwrites.forms.map { form in sources.filter { form.slots.contains($0.slot) } }
    var row = 0
    while row < batch.count {
      let next = find == nil && batch.count - row >= inserter.groupSize ? row + inserter.groupSize : row + 1
      for row in row..<next { if let code = failure(row) { return code } }
      if next > row + 1 {
        let own = nextKey
        let code = inserter.insertGroup(at: row, key: own, sources)
        if code == SQLITE_DONE {
          result.addInserted(keys: own..<own + Int64(next - row))
          row = next
          continue
        }
        guard code & 0xff == SQLITE_CONSTRAINT else { return code }
      }
      // One by one, to tell which of them breaks a constraint.
      for row in row..<next {
        let found = lookUp(row, keySources, values: valueSources, connection: connection, model: model)
        let code = found == SQLITE_DONE ? insert(row, sources, connection: connection) : found
        guard code == SQLITE_OK else { return code }
      }
      row = next
    }
    return SQLITE_OK
  }

  /// The key of the next new object; without gaps, so that whoever keeps them keeps one range.
  private var nextKey: Int64 { result.insertedKeys.upperBound }

  /// Writes a row whose key an object has; answers SQLITE_DONE if there is none.
  private mutating func lookUp(
    _ row: Int, _ key: [BatchBinder.Source], values: [[BatchBinder.Source]], connection: Connection,
    model: ManagedObjectModel
  ) -> Int32 {
    guard let find else { return SQLITE_DONE }
    for source in key { BatchBinder.bind(source, row, statement: find, names: names) }
    let code = find.step()
    guard code == SQLITE_ROW || code == SQLITE_DONE else { return code }
    defer { find.reset() }
    return code == SQLITE_ROW ? meet(find, row, values: values, connection: connection, model: model) : code
  }

  private mutating func insert(
    _ row: Int, _ sources: UnsafeBufferPointer<BatchBinder.Source>, connection: Connection
  ) -> Int32 {
    let own = nextKey
    let code = inserter.insert(row, key: own, sources)
    if code == SQLITE_DONE {
      result.add(.inserted, key: own)
    } else if code & 0xff == SQLITE_CONSTRAINT {
      result.addViolation(key: own, connection.error(code, sql: nil))
    } else {
      return code
    }
    inserter.statement.reset()
    return SQLITE_OK
  }

  /// Writes a row whose key the found row has.
  private mutating func meet(
    _ find: Statement, _ row: Int, values: [[BatchBinder.Source]], connection: Connection,
    model: ManagedObjectModel
  ) -> Int32 {
    let stored = find.integer(0)
    switch conflict {
    case .violation: result.addViolation(key: nextKey, batch.takenKey(key))
    case .skip: result.add(.skipped, key: stored)
    case .update:
      let form = overwrites.form(of: row)
      guard let overwrite = overwrites.forms[form].statement else {
        result.add(.unchanged, key: stored)
        break
      }
      let entity = tellsEntity ? model.entitiesByName[find.text(1)] ?? batch.entity : batch.entity
      overwrite.bind(stored, 1)
      for source in values[form] { BatchBinder.bind(source, row, statement: overwrite, names: names) }
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
        result.addViolation(key: nextKey, connection.error(code, sql: nil))
      } else {
        return code
      }
      overwrite.reset()
    }
    return SQLITE_OK
  }
}

/// The statements that give stored objects the values of a batch's rows: one for all rows that were given values of the
/// same properties.
private struct Overwrites {
  struct Form {
    /// The slots that a stored object takes over: not its key, and not what the row has only by default.
    let slots: Set<Int>
    /// Nil if there is nothing.
    let statement: Statement?
  }

  private(set) var forms: [Form] = []
  /// The number of each row's form; empty if there is only one.
  private var formOfRow: [Int] = []

  init() {}

  init(
    _ batch: RowBatch, _ key: [Property], table: SchemaTable, properties: [Property], connection: Connection
  ) throws(StoreError) {
    let keySlots = Set(key.map(\.slot))
    let columns = batch.columns.filter { !keySlots.contains($0.slot) && !$0.hasOnlyDefaults }
    let partial = columns.filter { !$0.givenBits.isEmpty }
    let whole = Set(columns.map(\.slot)).subtracting(partial.map(\.slot))
    func form(_ slots: Set<Int>) throws(StoreError) -> Form {
      let sql = table.overwriteSQL(properties, given: properties.filter { slots.contains($0.slot) })
      return Form(slots: slots, statement: try sql.map { (sql) throws(StoreError) in try connection.prepare(sql) })
    }
    if partial.isEmpty {
      forms = [try form(whole)]
      return
    }
    var known: [[Bool]: Int] = [:]
    for row in 0..<batch.count {
      let given = partial.map { $0.isGiven(row) }
      if let number = known[given] {
        formOfRow.append(number)
        continue
      }
      known[given] = forms.count
      formOfRow.append(forms.count)
      forms.append(try form(whole.union(zip(partial, given).compactMap { $1 ? $0.slot : nil })))
    }
  }

  func form(of row: Int) -> Int { formOfRow.isEmpty ? 0 : formOfRow[row] }

  func recycle(_ connection: Connection) {
    for form in forms { if let statement = form.statement { connection.recycle(statement) } }
  }
}

extension SaveTransaction {
  /// Writes packed rows: each is looked for by the key, then inserted or overwritten; without a key, all are inserted.
  mutating func write(
    _ batch: RowBatch, key: [Property], onConflict conflict: PackedConflict
  ) throws(StoreError) -> PackedResult {
    let changes = ChangedKeys(derived.isEmpty ? [] : [try expectedChanges(batch, key)])
    let affected = try derived.affected(by: changes, connection)
    let binder = BatchBinder(batch)
    let table = statements[batch.entity.index].table
    var run = try PackedRun(
      batch, key, conflict: conflict, table: table, properties: binder.properties, names: keys.names,
      connection: connection)
    defer { run.recycle(connection) }
    let start = connection.started()
    let code = binder.withSources { [failure, stepCount] sources in
      run.write(sources, connection, model: model) { row in
        failure?(FaultPoint(step: .insert, index: stepCount + row))?.code
      }
    }
    stepCount += batch.count
    if code != SQLITE_OK { throw failed(run.statement, code) }
    connection.finished(run.statement.sql, start, rowCount: batch.count)
    derivedValues += try derived.compute(changes, affectedBefore: affected, connection)
    try noteHistory(run.result, batch)
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
}
