import Foundation
import ObjectModel

/// The tables of an in-memory store and what keeps their rules.
struct InMemoryState {
  typealias Table = [Int64: StoredRow]

  /// Values that are to be unique together, in the rows of one entity and its heirs.
  struct Constraint {
    let entity: Entity
    let properties: [String]
  }

  /// A row's values in a constraint.
  struct Entry: Hashable {
    let constraint: Int
    let values: [[UInt8]]
  }

  /// Rows by key, by the index of the root entity.
  private(set) var tables: [Table]
  /// Links by the index of their join table.
  private(set) var links: [InMemoryLinks]
  private(set) var isClosed = false
  private var nextKeys: [Int64]
  let model: ManagedObjectModel
  let coordinatorOrdinal: UInt32
  let derived: [DerivedAttribute]
  let layouts: [RowLayout]
  private let constraints: [Constraint]
  /// The keys of rows by their values.
  private var entries: [Entry: Int64] = [:]

  init(_ model: ManagedObjectModel, coordinatorOrdinal: UInt32) {
    self.model = model
    self.coordinatorOrdinal = coordinatorOrdinal
    derived = DerivedAttribute.all(model)
    layouts = model.entities.map(RowLayout.init)
    tables = Array(repeating: [:], count: model.entities.count)
    links = Array(repeating: InMemoryLinks(), count: model.joinTables.count)
    nextKeys = Array(repeating: 1, count: model.entities.count)
    constraints = model.entities.flatMap { entity in
      entity.entityDescription.uniquenessConstraints.filter { !$0.isEmpty }
        .map { Constraint(entity: entity, properties: $0) }
    }
  }

  /// Replaces a row by one with other derived values.
  mutating func replaceRow(of key: Int64, root: Int, by row: StoredRow) { tables[root][key] = row }

  mutating func close() {
    isClosed = true
    tables = []
    links = []
  }

  mutating func reserve(_ request: KeyReservation) throws(StoreError) -> Range<Int64> {
    let first = nextKeys[request.root.index]
    let (end, overflow) = first.addingReportingOverflow(Int64(request.count))
    guard request.count >= 0, !overflow else {
      throw StoreError(.constraint, "the table \(request.root.name) has no primary keys left")
    }
    nextKeys[request.root.index] = end
    return first..<end
  }

  func missingDestinations(of sets: [ChangeSet]) -> [StoreConflict] {
    sets.newDestinations(model).filter { tables[Int($0.rootIndex)][$0.key] == nil }
      .map(StoreConflict.init(missingDestination:))
  }

  func conflicts(of rows: InMemoryRows) -> [StoreConflict] {
    (rows.deletes + rows.updates + rows.checks).compactMap { change in
      let stored = tables[Int(change.id.rootIndex)][change.id.key]
      return stored != nil && stored?.version == change.base?.version ? nil : StoreConflict(change, stored: stored)
    }
  }

  /// The entries that new rows will have; throws if one is another row's already, or a key is.
  func uniqueEntries(of rows: InMemoryRows) throws(StoreError) -> [Entry: Int64] {
    var freed: Set<ManagedObjectID> = []
    for change in rows.deletes { freed.insert(change.id) }
    for change in rows.updates { freed.insert(change.id) }
    var added: [Entry: Int64] = [:]
    func add(_ row: Row, _ id: ManagedObjectID) throws(StoreError) {
      for entry in try entries(of: row) {
        let holder = entries[entry].map {
          ManagedObjectID(
            key: $0, entity: constraints[entry.constraint].entity, coordinatorOrdinal: id.coordinatorOrdinal)
        }
        if let holder, !freed.contains(holder) { throw violation(entry) }
        if added.updateValue(id.key, forKey: entry) != nil { throw violation(entry) }
      }
    }
    for change in rows.updates { if let row = change.row { try add(row, change.id) } }
    var newKeys: Set<ManagedObjectID> = []
    for change in rows.inserts {
      let id = change.id
      guard tables[Int(id.rootIndex)][id.key] == nil || freed.contains(id), newKeys.insert(id).inserted else {
        let name = model.entities[Int(id.rootIndex)].name
        throw StoreError(.constraint, "another row has the primary key of a new one in \(name)")
      }
      if let row = change.row { try add(row, id) }
    }
    return added
  }

  /// Writes rows with their links, and computes what is derived from them.
  mutating func write(
    _ rows: InMemoryRows, _ added: [Entry: Int64]
  ) throws(StoreError) -> [DerivedValue] {
    let changes = ChangedKeys(derived.isEmpty ? [] : rows.sets)
    var affected: [Set<Int64>] = []
    for attribute in derived { affected.append(try self.affected(attribute, by: changes)) }
    // Found before anything is written, so that what can't be read leaves all as it was.
    let freed = try storedEntries(of: rows)
    write(rows, freed, added: added)
    return try computeDerived(changes, affectedBefore: affected)
  }

  /// Returns the entries of rows that are deleted or updated.
  private func storedEntries(of rows: InMemoryRows) throws(StoreError) -> [Entry] {
    if constraints.isEmpty { return [] }
    var found: [Entry] = []
    for change in rows.deletes { if let row = stored(change.id) { found += try entries(of: row) } }
    for change in rows.updates { if let row = stored(change.id) { found += try entries(of: row) } }
    return found
  }

  private func stored(_ id: ManagedObjectID) -> Row? { tables[Int(id.rootIndex)][id.key]?.row }

  private mutating func write(_ rows: InMemoryRows, _ freed: [Entry], added: [Entry: Int64]) {
    for entry in freed { entries[entry] = nil }
    rows.committed().forEachChange { change, row in tables[Int(change.id.rootIndex)][change.id.key] = row }
    entries.merge(added) { $1 }
    writeLinks(rows)
  }

  /// Links follow the rows: those of deleted objects go with them, and none is made to an object that is not there.
  private mutating func writeLinks(_ rows: InMemoryRows) {
    for table in model.joinTables {
      for change in rows.deletes {
        let root = Int(change.id.rootIndex)
        let sides = (root == table.left.root.index, root == table.right.root.index)
        if sides.0 || sides.1 { links[table.index].removeAll(of: change.id.key, onLeft: sides.0, onRight: sides.1) }
      }
    }
    for change in rows.links {
      let (left, right) = (change.key.left, change.key.right)
      let exist = tables[Int(left.rootIndex)][left.key] != nil && tables[Int(right.rootIndex)][right.key] != nil
      if exist || !change.isPresent { links[change.key.table].apply(change) }
    }
  }

  private func violation(_ entry: Entry) -> StoreError {
    let constraint = constraints[entry.constraint]
    return StoreError(violated: constraint.properties, of: constraint.entity.root.name)
  }

  /// Returns a row's entries in the constraints; none where one of its values is nil.
  private func entries(of row: Row) throws(StoreError) -> [Entry] {
    if constraints.isEmpty { return [] }
    let entity = model.entities[Int(row.entityIndex)]
    var found: [Entry] = []
    for (index, constraint) in constraints.enumerated() where entity.isKind(of: constraint.entity) {
      var values: [[UInt8]] = []
      for name in constraint.properties {
        guard let property = entity.property(named: name), !row.isNull(property.slot) else { break }
        values.append(try Self.bytes(row, property))
      }
      if values.count == constraint.properties.count { found.append(Entry(constraint: index, values: values)) }
    }
    return found
  }

  static func bytes(_ row: Row, _ property: Property) throws(StoreError) -> [UInt8] {
    switch property.storage {
    case .integer: withUnsafeBytes(of: row.integer(property.slot)) { Array($0) }
    // Both zeros are the same value.
    case .real: withUnsafeBytes(of: row.real(property.slot) + 0) { Array($0) }
    case .text, .bytes: Array(row.unsafeBytes(property.slot))
    case .reference: withUnsafeBytes(of: row.reference(property.slot).key) { Array($0) }
    case .blob: try load(row.blob(property.slot))
    case .toMany: []
    }
  }

  private static func load(_ blob: Blob) throws(StoreError) -> [UInt8] {
    do { return Array(try blob.load()) } catch {
      throw StoreError(.inputOutput, "the file of a binary value can't be read", detail: "\(error)")
    }
  }
}

extension InMemoryState {
  /// The rows that a save would leave with a reference to an object that it deletes and that has to do with them.
  ///
  /// Cost: a pass over the rows that can lead there.
  func leadingToDeleted(_ rows: InMemoryRows) -> [StoreConflict] {
    let deleted = Set(rows.deletes.map(\.id))
    if deleted.isEmpty { return [] }
    var found: [StoreConflict] = []
    var known = deleted
    for change in rows.updates + rows.inserts {
      known.insert(change.id)
      if let row = change.row, leads(row, to: deleted) {
        found.append(StoreConflict(leadingToDeleted: change.id, stored: nil))
      }
    }
    for root in rootsLeading(to: Set(deleted.map { Int($0.rootIndex) })) {
      for (key, stored) in tables[root] where leads(stored.row, to: deleted) {
        let entity = model.entities[Int(stored.row.entityIndex)]
        let id = ManagedObjectID(key: key, entity: entity, coordinatorOrdinal: coordinatorOrdinal)
        if !known.contains(id) { found.append(StoreConflict(leadingToDeleted: id, stored: stored)) }
      }
    }
    return found
  }

  private func leads(_ row: Row, to deleted: Set<ManagedObjectID>) -> Bool {
    layouts[Int(row.entityIndex)].references.contains { reference in
      reference.isRuled && row.referenceIfPresent(reference.slot).map(deleted.contains) ?? false
    }
  }

  /// The families that have relationships to others.
  private func rootsLeading(to destinations: Set<Int>) -> Set<Int> {
    var roots: Set<Int> = []
    for (entity, layout) in zip(model.entities, layouts) {
      let leads = layout.references.contains { reference in
        guard reference.isRuled, let destination = entity.properties[reference.slot].destination else { return false }
        return destinations.contains(destination.rootIndex)
      }
      if leads { roots.insert(entity.rootIndex) }
    }
    return roots
  }
}

/// The links of one join table in memory, found from either side.
struct InMemoryLinks {
  private struct Orders {
    var order: Int64?
    var inverseOrder: Int64?
  }

  private var fromLeft: [Int64: [Int64: Orders]] = [:]
  private var fromRight: [Int64: Set<Int64>] = [:]

  /// The keys at the other end, and their places.
  func links(of key: Int64, isLeft: Bool) -> [(key: Int64, order: Int64?)] {
    if isLeft { return fromLeft[key]?.map { ($0.key, $0.value.order) } ?? [] }
    return fromRight[key]?.map { ($0, fromLeft[$0]?[key]?.inverseOrder) } ?? []
  }

  mutating func apply(_ change: LinkChange) {
    let (left, right) = (change.key.left.key, change.key.right.key)
    guard change.isPresent else { return remove(left, right) }
    var orders = fromLeft[left]?[right] ?? Orders()
    orders.order = change.order ?? orders.order
    orders.inverseOrder = change.inverseOrder ?? orders.inverseOrder
    fromLeft[left, default: [:]][right] = orders
    fromRight[right, default: []].insert(left)
  }

  private mutating func remove(_ left: Int64, _ right: Int64) {
    fromLeft[left]?[right] = nil
    if fromLeft[left]?.isEmpty == true { fromLeft[left] = nil }
    fromRight[right]?.remove(left)
    if fromRight[right]?.isEmpty == true { fromRight[right] = nil }
  }

  /// Removes the links of an object that is deleted.
  mutating func removeAll(of key: Int64, onLeft: Bool, onRight: Bool) {
    if onLeft { for right in fromLeft[key].map({ Array($0.keys) }) ?? [] { remove(key, right) } }
    if onRight { for left in fromRight[key] ?? [] { remove(left, key) } }
  }
}

/// The changes of a save as an in-memory store keeps them: without files, and without NaN, which no store keeps.
struct InMemoryRows {
  var deletes: [RowChange] = []
  /// Updates and inserts with the rows to keep.
  var updates: [RowChange] = []
  var inserts: [RowChange] = []
  var links: [LinkChange] = []

  let checks: [RowChange]
  /// The changes with the rows that contexts hold.
  let sets: [ChangeSet]

  init(_ request: StoreSaveRequest, model: ManagedObjectModel) throws(StoreError) {
    checks = request.checks
    sets = request.changes
    for set in request.changes {
      links += set.links
      for var change in set.changes {
        change.row = try change.row.map { row throws(StoreError) in try Self.kept(row, model) }
        switch change.kind {
        case .delete: deletes.append(change)
        case .update: updates.append(change)
        case .insert: inserts.append(change)
        case .forget: break
        }
      }
      for batch in set.batches {
        for index in 0..<batch.count {
          let row = try Self.kept(batch.row(at: index), model)
          inserts.append(RowChange(.insert, batch.id(at: index), row: row, base: nil))
        }
      }
    }
  }

  /// The rows to keep, once nothing can refuse them any more; tells those that contexts hold, too.
  func committed() -> CommittedRows {
    _ = CommittedRows(sets)
    return CommittedRows([ChangeSet(deletes + updates + inserts)])
  }

  /// The row itself, or a copy if it has files or NaN.
  private static func kept(_ row: Row, _ model: ManagedObjectModel) throws(StoreError) -> Row {
    var kept = row
    for property in model.entities[Int(row.entityIndex)].properties where !row.isNull(property.slot) {
      switch property.storage {
      case .blob:
        let blob = row.blob(property.slot)
        switch blob.content {
        case .data, .object: continue
        case .staged, .stored, .remote: break
        }
        do { kept.setBlob(Blob(try blob.load()), property.slot) } catch {
          throw StoreError(.inputOutput, "the file of a binary value can't be read", detail: "\(error)")
        }
      case .real: if row.real(property.slot).isNaN { kept.setNull(property.slot) }
      case .integer, .text, .bytes, .reference, .toMany: break
      }
    }
    return kept
  }
}
