import ObjectModel
import SQLGeneration
import StoreInterface

/// Writes the rows of a packed batch as a plan says, many at a time.
struct PackedRun {
  private let batch: RowBatch
  private let rows: BatchRows
  private let writer: EntityWriter
  private let connection: Connection
  private let packed: PackedPlan
  /// The rows that have changed a stored object.
  private var changed: Set<Int> = []

  /// Overwrites that one statement can do: of different objects, in the same columns.
  private struct Form: Hashable {
    /// Counts the overwrites of an object before this one.
    let round: Int
    let columns: [Int]
  }

  init(_ batch: RowBatch, as packed: PackedPlan, _ plan: WritingPlan, on connection: Connection) {
    self.batch = batch
    self.packed = packed
    self.connection = connection
    rows = BatchRows(batch, plan)
    writer = plan.writer(UInt16(truncatingIfNeeded: batch.entity.index))
  }

  /// Writes new rows first, then overwrites; each object gets its values in the order of the rows.
  mutating func run() throws(StoreError) -> PackedResult {
    var inserted: [Int] = []
    var forms: [Form: [(row: Int, key: Int64)]] = [:]
    var rounds: [Int64: Int] = [:]
    for (row, fate) in packed.fates.enumerated() {
      switch fate {
      case .insert: inserted.append(row)
      case .overwrite(let key, let columns):
        let round = rounds[key, default: 0]
        rounds[key] = round + 1
        forms[Form(round: round, columns: columns), default: []].append((row, key))
      case .unchanged, .skip, .violation: break
      }
    }
    if !inserted.isEmpty { try rows.copy(inserted, firstKey: batch.firstKey, connection) }
    let ordered = forms.sorted { ($0.key.round, $0.value[0].row) < ($1.key.round, $1.value[0].row) }
    try overwrite(ordered.map { ($0.key.columns, $0.value) })
    return result
  }

  /// Writes row by row in their order, for values that go from one object to another.
  mutating func runInOrder() throws(StoreError) -> PackedResult {
    var nextKey = batch.firstKey
    var inserted: [Int] = []
    for (row, fate) in packed.fates.enumerated() {
      switch fate {
      case .insert: inserted.append(row)
      case .overwrite(let key, let columns):
        try copy(&inserted, &nextKey)
        try overwrite([(columns, [(row, key)])])
      case .unchanged, .skip, .violation: break
      }
    }
    try copy(&inserted, &nextKey)
    return result
  }

  private func copy(_ inserted: inout [Int], _ nextKey: inout Int64) throws(StoreError) {
    if inserted.isEmpty { return }
    try rows.copy(inserted, firstKey: nextKey, connection)
    nextKey += Int64(inserted.count)
    inserted = []
  }

  /// Runs overwrites with one wait.
  private mutating func overwrite(_ groups: [(columns: [Int], targets: [(row: Int, key: Int64)])]) throws(StoreError) {
    var requests: [Request] = []
    for (columns, targets) in groups {
      let fields = columns.map { rows.columns[$0].field }
      var arrays = ColumnArrays(EntityWriter.types(fields))
      for (row, key) in targets {
        arrays.integer(key)
        arrays.integer(Int64(row))
        for place in columns { try rows.write(place, row, to: &arrays) }
      }
      requests.append(Request(writer.overwriteSQL(fields), arrays.parameters))
    }
    if requests.isEmpty { return }
    for result in try connection.pipeline(requests) {
      for row in 0..<result.rowCount { changed.insert(Int(result.integer(row, 0))) }
    }
  }

  private var result: PackedResult {
    var result = PackedResult(batch)
    for (row, fate) in packed.fates.enumerated() {
      switch fate {
      case .insert: result.add(.inserted, key: result.insertedKeys.upperBound)
      case .overwrite(let key, _) where changed.contains(row):
        let entity = packed.entities[key] ?? batch.entity
        result.addUpdate(ManagedObjectID(key: key, entity: entity, coordinatorOrdinal: batch.coordinatorOrdinal))
      case .overwrite(let key, _), .unchanged(let key): result.add(.unchanged, key: key)
      case .skip(let key): result.add(.skipped, key: key)
      case .violation(let error): result.addViolation(key: result.insertedKeys.upperBound, error)
      }
    }
    return result
  }
}

extension SaveTransaction {
  /// The number of times that a batch is planned at most, because others have meanwhile written unique values of its rows.
  private static var planLimit: Int { 4 }

  /// Writes packed rows: each is looked for by the key, then inserted or overwritten; without a key, all are inserted.
  mutating func write(
    _ batch: RowBatch, key: [Property], onConflict conflict: PackedConflict
  ) throws(StoreError) -> PackedResult {
    var packed = PackedPlan(batch, key: key, conflict: conflict, plan)
    let changes = ChangedKeys(plan.derived.isEmpty ? [] : [try expectedChanges(batch, key)])
    let affected = try plan.derived.affected(by: changes, connection)
    let result = try write(batch, &packed)
    derivedValues += try plan.derived.compute(changes, affectedBefore: affected, connection)
    try noteHistory(result, batch)
    return result
  }

  private func write(_ batch: RowBatch, _ packed: inout PackedPlan) throws(StoreError) -> PackedResult {
    if packed.isPlain {
      try BatchRows(batch, plan).copy(0..<batch.count, firstKey: batch.firstKey, connection)
      var result = PackedResult(batch)
      result.addInserted(keys: batch.keys)
      return result
    }
    for attempt in 1... {
      connection.sendLater("SAVEPOINT packed")
      do throws(StoreError) {
        try packed.make(connection)
        var run = PackedRun(batch, as: packed, plan, on: connection)
        let result = attempt == 1 ? try run.run() : try run.runInOrder()
        connection.sendLater("RELEASE packed")
        return result
      } catch {
        guard error.code == .constraint, attempt < Self.planLimit, connection.isUsable else { throw error }
        try connection.control("ROLLBACK TO packed; RELEASE packed")
      }
    }
    preconditionFailure("the last attempt returns or throws")
  }

  /// The rows as changes, for what is derived from them.
  private func expectedChanges(_ batch: RowBatch, _ key: [Property]) throws(StoreError) -> ChangeSet {
    let found = key.isEmpty ? [] : try BatchFinder(batch, key: key, in: tables).run(connection)
    let known = Set(found.compactMap(\.self))
    return ChangeSet(known.map { RowChange(.update, $0, row: nil, base: nil) }, batches: [batch])
  }
}
