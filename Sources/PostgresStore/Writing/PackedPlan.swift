import ObjectModel
import SQLGeneration
import StoreInterface

/// Decides what becomes of each row of a batch, as if they were written one after another.
///
/// The stored objects that have to do with it are looked for once, by a statement for the key and one for each uniqueness
/// constraint; what earlier rows write is kept in mind. So the rows can be written many at a time.
struct PackedPlan {
  /// The fate of one row.
  enum Fate {
    case insert
    /// Gives a stored object, or one of an earlier row, the values in some columns, by their places.
    case overwrite(Int64, columns: [Int])
    case unchanged(Int64)
    case skip(Int64)
    case violation(StoreError)
  }

  /// Values that only one object of some entities may have.
  private struct Constraint {
    let places: [Int]
    let error: StoreError
    /// The entities that are meant.
    let family: Entity
    var owners: [[UInt8]: Int64] = [:]
  }

  private(set) var fates: [Fate] = []
  /// The entity of each stored object that a row has met, if there are several.
  private(set) var entities: [Int64: Entity] = [:]
  private let batch: RowBatch
  private let rows: BatchRows
  private let plan: WritingPlan
  private let conflict: PackedConflict
  private let keyPlaces: [Int]?
  private let keyError: StoreError
  private var keyOwners: [[UInt8]: Int64] = [:]
  private var constraints: [Constraint] = []
  /// The values in columns of constraints that objects have, by key and place; only if rows may overwrite them.
  private var present: [Int64: [Int: [UInt8]]] = [:]
  private let overwritable: [(place: Int, isPartial: Bool)]
  private let tracksValues: Bool

  init(_ batch: RowBatch, key: [Property], conflict: PackedConflict, _ plan: WritingPlan) {
    self.batch = batch
    self.plan = plan
    self.conflict = conflict
    let rows = BatchRows(batch, plan)
    self.rows = rows
    func places(_ names: [String], of entity: Entity) -> [Int]? {
      let places = names.compactMap { name in
        entity.property(named: name).flatMap { property in rows.columns.firstIndex { $0.column.slot == property.slot } }
      }
      return places.count == names.count && !names.isEmpty ? places : nil
    }
    // A column that the batch does not have is null throughout, and null is found nowhere.
    keyPlaces = places(key.map(\.name), of: batch.entity)
    keyError = batch.takenKey(key)
    let keySlots = Set(key.map(\.slot))
    overwritable = rows.columns.enumerated().compactMap { place, entry in
      keySlots.contains(entry.column.slot) || entry.column.hasOnlyDefaults
        ? nil : (place, !entry.column.givenBits.isEmpty)
    }
    for entity in sequence(first: batch.entity, next: \.parent) {
      for names in entity.entityDescription.uniquenessConstraints {
        guard let places = places(names, of: batch.entity) else { continue }
        constraints.append(
          Constraint(
            places: places, error: StoreError(violated: names, of: entity.name), family: entity))
      }
    }
    let changing = Set(overwritable.map(\.place))
    tracksValues =
      keyPlaces != nil && conflict == .update && constraints.contains { !changing.isDisjoint(with: $0.places) }
  }

  /// True if rows can meet nothing: all of them are inserted.
  var isPlain: Bool { keyPlaces == nil && constraints.isEmpty }

  /// Looks for the stored objects, and decides.
  mutating func make(_ connection: Connection) throws(StoreError) {
    keyOwners = [:]
    present = [:]
    if let keyPlaces {
      // Those that are to be overwritten stay as they are found until the commit.
      let lock = conflict == .update ? " FOR UPDATE OF r" : ""
      keyOwners = try find(keyPlaces, in: batch.entity, lock: lock, connection)
    }
    for place in constraints.indices {
      let constraint = constraints[place]
      // The usual key is that of the constraint.
      let isKey = constraint.places == keyPlaces && constraint.family === batch.entity
      constraints[place].owners =
        isKey ? keyOwners : try find(constraint.places, in: constraint.family, lock: "", connection)
    }
    if tracksValues { try readValues(connection) }
    decide()
  }

  // MARK: What is stored

  /// The stored objects of a family that have the values of rows in some columns; of several the one of the lowest key.
  private mutating func find(
    _ places: [Int], in family: Entity, lock: String, _ connection: Connection
  ) throws(StoreError) -> [[UInt8]: Int64] {
    let fields = places.map { rows.columns[$0].field }
    var arrays = ColumnArrays([.integer] + fields.map { $0.property.storage.parameterType })
    for row in 0..<batch.count where rows.tuple(places, row) != nil {
      arrays.integer(Int64(row))
      for place in places { try rows.writeKey(place, row, to: &arrays) }
    }
    if arrays.rowCount == 0 { return [:] }
    let table = plan.schema.table(of: batch.entity)
    var conditions = fields.enumerated().map { "r.\($1.column) = v.c\($0)" }
    if table.tellsEntity, family !== table.root {
      let names = family.withDescendants.map { SchemaName.literal($0.name) }.joined(separator: ", ")
      conditions.append("r.\(SchemaName.entity) IN (\(names))")
    }
    let parameters = (0...fields.count).map { "$\($0 + 1)" }.joined(separator: ", ")
    let aliases = (["n"] + fields.indices.map { "c\($0)" }).joined(separator: ", ")
    // A plan is made for each batch: the table may have been empty at the last one.
    let result = try connection.queryOnce(
      """
      SELECT v.n, r._key\(table.tellsEntity ? ", r._entity" : "") FROM unnest(\(parameters)) AS v (\(aliases)) \
      JOIN \(SchemaName.quoted(table.name)) AS r ON \(conditions.joined(separator: " AND ")) ORDER BY r._key DESC\(lock)
      """, arrays.parameters)
    var owners: [[UInt8]: Int64] = [:]
    for found in 0..<result.rowCount {
      guard let tuple = rows.tuple(places, Int(result.integer(found, 0))) else { continue }
      let key = result.integer(found, 1)
      owners[tuple] = key
      if table.tellsEntity { entities[key] = plan.model.entitiesByName[result.text(found, 2)] }
    }
    return owners
  }

  /// Reads what the found objects have in columns of constraints.
  private mutating func readValues(_ connection: Connection) throws(StoreError) {
    let places = Set(constraints.flatMap(\.places)).sorted()
    let fields = places.map { rows.columns[$0].field }
    let keys = Set(keyOwners.values)
    if keys.isEmpty { return }
    var parameters = Parameters()
    parameters.add(integers: keys.sorted())
    let table = SchemaName.quoted(plan.schema.table(of: batch.entity).name)
    let result = try connection.query(
      "SELECT _key, \(fields.map(\.column).joined(separator: ", ")) FROM \(table) WHERE _key = ANY($1)", parameters)
    for row in 0..<result.rowCount {
      var values: [Int: [UInt8]] = [:]
      for (column, (place, field)) in zip(places, fields).enumerated() where !result.isNull(row, column + 1) {
        var tuple = TupleSink()
        switch field.property.storage {
        case .integer, .reference: tuple.integer(result.integer(row, column + 1))
        case .real: tuple.real(result.real(row, column + 1))
        case .text, .bytes, .blob, .toMany: tuple.bytes(result.bytes(row, column + 1))
        }
        values[place] = tuple.content
      }
      present[result.integer(row, 0)] = values
    }
  }

  // MARK: Row by row

  private mutating func decide() {
    fates = []
    fates.reserveCapacity(batch.count)
    var nextKey = batch.firstKey
    for row in 0..<batch.count {
      let tuple = keyPlaces.flatMap { rows.tuple($0, row) }
      let fate: Fate
      if let tuple, let stored = keyOwners[tuple] {
        fate = meet(stored, row)
      } else if let violated = violation(row) {
        fate = .violation(violated)
      } else {
        fate = .insert
        if let tuple { keyOwners[tuple] = nextKey }
        own(row, nextKey)
        nextKey += 1
      }
      fates.append(fate)
    }
  }

  /// The error of a new row that has a unique value of another object.
  private func violation(_ row: Int) -> StoreError? {
    constraints.first { constraint in
      rows.tuple(constraint.places, row).map { constraint.owners[$0] != nil } ?? false
    }?.error
  }

  /// Notes that a new object has a row's unique values.
  private mutating func own(_ row: Int, _ key: Int64) {
    for place in constraints.indices {
      if let tuple = rows.tuple(constraints[place].places, row) { constraints[place].owners[tuple] = key }
    }
    guard tracksValues else { return }
    var values: [Int: [UInt8]] = [:]
    for place in Set(constraints.flatMap(\.places)) { values[place] = rows.tuple([place], row) }
    present[key] = values
  }

  private mutating func meet(_ stored: Int64, _ row: Int) -> Fate {
    switch conflict {
    case .violation: return .violation(keyError)
    case .skip: return .skip(stored)
    case .update: break
    }
    let columns = overwritable.compactMap { place, isPartial in
      !isPartial || rows.columns[place].column.isGiven(row) ? place : nil
    }
    if columns.isEmpty { return .unchanged(stored) }
    guard tracksValues else { return .overwrite(stored, columns: columns) }
    let former = present[stored] ?? [:]
    var values = former
    for place in columns where former.keys.contains(place) || constraints.contains(where: { $0.places.contains(place) })
    {
      values[place] = rows.tuple([place], row)
    }
    func tuple(_ constraint: Constraint, _ values: [Int: [UInt8]]) -> [UInt8]? {
      let parts = constraint.places.compactMap { values[$0] }
      return parts.count == constraint.places.count ? Array(parts.joined()) : nil
    }
    for constraint in constraints {
      if let tuple = tuple(constraint, values), let owner = constraint.owners[tuple], owner != stored {
        return .violation(constraint.error)
      }
    }
    for place in constraints.indices {
      let (old, new) = (tuple(constraints[place], former), tuple(constraints[place], values))
      if let old, constraints[place].owners[old] == stored { constraints[place].owners[old] = nil }
      if let new { constraints[place].owners[new] = stored }
    }
    present[stored] = values
    return .overwrite(stored, columns: columns)
  }
}
