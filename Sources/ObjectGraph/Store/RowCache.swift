import ObjectModel

/// The rows that were read or saved lately, shared by the contexts of a coordinator; bounded by the bytes that they and
/// their tables take.
///
/// Two generations instead of a list of uses: when the young one is full it becomes the old one, and what is read from
/// the old one becomes young again.
struct RowCache {
  private struct Entry {
    let row: StoredRow
    let time: RowTime

    var byteCount: Int { row.row.byteCount }
  }

  private var young: [ManagedObjectID: Entry] = [:]
  private var old: [ManagedObjectID: Entry] = [:]
  private var youngBytes = 0
  private let generationBytes: Int
  /// The tests for rows that nobody will read again, by the index of their entity.
  private var exclusions: [UInt16: Exclusion] = [:]

  // @unchecked: used under the cache's lock only, and what it holds looks at nothing but the row.
  private struct Exclusion: @unchecked Sendable {
    let evaluator: ConditionEvaluator
  }
  /// Counts saves, so that a reader does not put rows here that a save has overtaken.
  private let saveCount: SaveCount
  /// The objects that saves have deleted, which have no rows here.
  private(set) var departed = RecentObjects()
  /// The deleted objects that have been stored again.
  private(set) var returned = RecentObjects()
  /// Destinations of to-many relationships; any save may change them.
  var relationships = RelationshipCache()

  init(byteLimit: Int, saveCount: SaveCount) {
    generationBytes = byteLimit / 2
    self.saveCount = saveCount
  }

  /// A row that was read or written at that time or later.
  mutating func row(for id: ManagedObjectID, since oldest: RowTime) -> StoredRow? {
    if let entry = young[id] { return entry.time >= oldest ? entry.row : nil }
    guard let entry = old[id], entry.time >= oldest else { return nil }
    old[id] = nil
    insert(entry.row, for: id, entry.time)
    return entry.row
  }

  /// The row without making it young again, however long ago it was read.
  func peek(_ id: ManagedObjectID) -> StoredRow? { (young[id] ?? old[id])?.row }

  func contains(_ id: ManagedObjectID) -> Bool { young[id] != nil || old[id] != nil }

  /// All rows that are kept.
  var all: [ManagedObjectID: StoredRow] { old.merging(young) { $1 }.mapValues(\.row) }

  /// Keeps a row, unless it is one that nobody will read again.
  ///
  /// - Parameter time: when the read of it began, or when it was written.
  mutating func insert(_ row: StoredRow, for id: ManagedObjectID, _ time: RowTime) {
    if !exclusions.isEmpty, isExcluded(row, id) { return remove(id) }
    if youngBytes + Self.tableBytes(young) >= generationBytes {
      old = young
      young = [:]
      youngBytes = 0
    }
    let replaced = young.updateValue(Entry(row: row, time: time), forKey: id)
    youngBytes += row.row.byteCount - (replaced?.byteCount ?? 0)
  }

  private static func tableBytes(_ rows: [ManagedObjectID: Entry]) -> Int {
    Allocation.byteCount(
      ofTable: rows.capacity, entry: MemoryLayout<ManagedObjectID>.stride + MemoryLayout<Entry>.stride)
  }

  mutating func remove(_ id: ManagedObjectID) {
    if let entry = young.removeValue(forKey: id) { youngBytes -= entry.byteCount }
    old.removeValue(forKey: id)
  }

  /// The size of the rows and their tables, in bytes.
  var byteCount: Int {
    youngBytes + old.values.reduce(0) { $0 + $1.byteCount } + Self.tableBytes(young) + Self.tableBytes(old)
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
    func isStale(_ entry: (key: ManagedObjectID, value: Entry)) -> Bool { roots.contains(Int(entry.key.rootIndex)) }
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

  /// The number of new rows that a save may add; all of a large one would only push out the rest.
  private static let newRowLimit = 1_000

  /// Takes notice of what a save wrote: rows that were here are replaced.
  ///
  /// - Parameters:
  ///   - returns: inserts of objects that have been in the store before.
  ///   - transientSlots: by entity index, what others must not see.
  ///   - time: when it was written.
  mutating func apply(
    _ committed: CommittedRows, returns: [RowChange], transientSlots: [[Int]], _ time: RowTime
  ) {
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
      insert(row.without(transients: transientSlots[Int(row.row.entityIndex)]), for: id, time)
    }
  }
}

/// A moment of a coordinator's clock, which is never set back. Half of what an `Instant` takes, since each row has one.
struct RowTime: Comparable {
  private let nanoseconds: Int64

  /// Before all rows.
  static let beginning = RowTime(nanoseconds: .min)
  /// After all rows.
  static let end = RowTime(nanoseconds: .max)

  private init(nanoseconds: Int64) { self.nanoseconds = nanoseconds }

  /// - Parameter uptime: how long the clock has run.
  init(_ uptime: Duration) {
    let (seconds, attoseconds) = uptime.components
    nanoseconds = seconds * 1_000_000_000 + attoseconds / 1_000_000_000
  }

  /// The moment so many seconds before; ``beginning`` if the clock did not run then.
  func before(seconds: Double) -> RowTime {
    let start = Double(nanoseconds) - seconds * 1e9
    return start < 0 ? .beginning : RowTime(nanoseconds: Int64(start))
  }

  static func < (left: RowTime, right: RowTime) -> Bool { left.nanoseconds < right.nanoseconds }
}

/// The state before a read whose rows are to be kept.
struct ReadStart {
  /// The number of saves so far.
  let saveCount: Int
  let time: RowTime
}
