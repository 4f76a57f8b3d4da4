import ObjectModel

/// The rows that were read or saved lately, shared by the contexts of a coordinator; bounded by the bytes that they and
/// their tables take.
///
/// Two generations instead of a list of uses: when the young one is full it becomes the old one, and what is read from
/// the old one becomes young again.
struct RowCache {
  private var young: [ManagedObjectID: StoredRow] = [:]
  private var old: [ManagedObjectID: StoredRow] = [:]
  private var youngBytes = 0
  private let generationBytes: Int
  /// What tells the rows that nobody will read again, by the index of their entity.
  private var exclusions: [UInt16: Exclusion] = [:]

  // @unchecked: used under the cache's lock only, and what it holds looks at nothing but the row.
  private struct Exclusion: @unchecked Sendable {
    let evaluator: ConditionEvaluator
  }
  /// Counts saves, so that a reader does not put rows here that a save has overtaken.
  private let saveCount: SaveCount
  /// What saves have deleted, of which there are no rows to tell it.
  private(set) var departed = RecentObjects()
  /// What has been stored again after that.
  private(set) var returned = RecentObjects()
  /// Destinations of to-many relationships; any save may change them.
  var relationships = RelationshipCache()

  init(byteLimit: Int, saveCount: SaveCount) {
    generationBytes = byteLimit / 2
    self.saveCount = saveCount
  }

  mutating func row(for id: ManagedObjectID) -> StoredRow? {
    if let row = young[id] { return row }
    guard let row = old.removeValue(forKey: id) else { return nil }
    insert(row, for: id)
    return row
  }

  /// The row without making it young again.
  func peek(_ id: ManagedObjectID) -> StoredRow? { young[id] ?? old[id] }

  func contains(_ id: ManagedObjectID) -> Bool { young[id] != nil || old[id] != nil }

  /// All rows that are kept.
  var all: [ManagedObjectID: StoredRow] { old.merging(young) { $1 } }

  /// Keeps a row, unless it is one that nobody will read again.
  mutating func insert(_ row: StoredRow, for id: ManagedObjectID) {
    if !exclusions.isEmpty, isExcluded(row, id) { return remove(id) }
    if youngBytes + Self.tableBytes(young) >= generationBytes {
      old = young
      young = [:]
      youngBytes = 0
    }
    youngBytes += row.row.byteCount - (young.updateValue(row, forKey: id)?.row.byteCount ?? 0)
  }

  private static func tableBytes(_ rows: [ManagedObjectID: StoredRow]) -> Int {
    Allocation.byteCount(
      ofTable: rows.capacity, entry: MemoryLayout<ManagedObjectID>.stride + MemoryLayout<StoredRow>.stride)
  }

  mutating func remove(_ id: ManagedObjectID) {
    if let row = young.removeValue(forKey: id) { youngBytes -= row.row.byteCount }
    old.removeValue(forKey: id)
  }

  /// What the rows and their tables take.
  var byteCount: Int {
    youngBytes + old.values.reduce(0) { $0 + $1.row.byteCount } + Self.tableBytes(young) + Self.tableBytes(old)
  }

  /// Lets rows of an entity that meet a condition of their own attributes neither come in nor stay.
  mutating func exclude(_ condition: Condition, _ entity: Entity) throws(ConditionError) {
    for entity in entity.withDescendants {
      let evaluator = try ConditionEvaluator(condition, entity: entity) { _ in nil }
      exclusions[UInt16(truncatingIfNeeded: entity.index)] = Exclusion(evaluator: evaluator)
    }
    for (id, row) in all where isExcluded(row, id) { remove(id) }
  }

  private func isExcluded(_ row: StoredRow, _ id: ManagedObjectID) -> Bool {
    guard let evaluator = exclusions[row.row.entityIndex]?.evaluator else { return false }
    // A row that can't be judged is kept, which is always right.
    do { return try evaluator.matches(id: id, row: row.row) } catch { return false }
  }

  /// Removes rows that others have changed; readers that began before must not bring them back.
  mutating func forget(_ ids: some Sequence<ManagedObjectID>) {
    for id in ids { remove(id) }
    noteSave()
  }

  /// Removes all rows of some families, by the indexes of their root entities.
  mutating func forget(roots: Set<Int>) {
    func isStale(_ entry: (key: ManagedObjectID, value: StoredRow)) -> Bool { roots.contains(Int(entry.key.rootIndex)) }
    for entry in young where isStale(entry) { remove(entry.key) }
    if old.contains(where: isStale) { old = old.filter { !isStale($0) } }
    noteSave()
  }

  mutating func removeAll() {
    young = [:]
    old = [:]
    youngBytes = 0
    noteSave()
  }

  private mutating func noteSave() {
    saveCount.increment()
    relationships = RelationshipCache()
  }

  /// How many rows of a save are kept that were not here before; all of a large one would only push out the rest.
  private static let newRowLimit = 1_000

  /// Takes notice of what a save wrote: rows that were here are replaced.
  ///
  /// - Parameters:
  ///   - returns: inserts of objects that have been in the store before.
  ///   - transientSlots: by entity index, what others must not see.
  mutating func apply(_ committed: CommittedRows, returns: [RowChange], transientSlots: [[Int]]) {
    noteSave()
    for change in returns { returned.insert(change.id) }
    var newRows = 0
    committed.forEachChange(skippingInserts: true) { change, row in
      let id = change.id
      if change.kind == .delete {
        remove(id)
        departed.insert(id)
        if !returned.isEmpty { returned.remove(id) }
      }
      guard change.kind == .update, let row else { return }
      let isKnown = contains(id)
      if !isKnown, newRows >= Self.newRowLimit { return }
      newRows += isKnown ? 0 : 1
      old.removeValue(forKey: id)
      insert(row.without(transients: transientSlots[Int(row.row.entityIndex)]), for: id)
    }
  }
}
