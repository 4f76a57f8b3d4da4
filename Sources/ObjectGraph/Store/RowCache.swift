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
  /// The objects that saves have deleted, which have no rows here.
  private var departed = RecentObjects()
  /// The deleted objects that have been stored again.
  private var returned = RecentObjects()
  private var changes = RecentChanges()
  private var relationships = RelationshipCache()

  init(byteLimit: Int) { generationBytes = byteLimit / 2 }

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

  /// Returns true if a save has lately deleted an object.
  func hasDeparted(_ id: ManagedObjectID) -> Bool { departed.contains(id) }

  /// Returns true if an object was stored again since a save deleted it.
  func hasReturned(_ id: ManagedObjectID) -> Bool { returned.contains(id) }

  /// The destinations of a relationship that were read at that time or later, and after the last save.
  func destinations(of owner: ManagedObjectID, _ property: Property, since oldest: RowTime) -> [ManagedObjectID]? {
    relationships.destinations(of: owner, property, since: oldest)
  }

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

  /// Keeps a row that was read, unless it was changed since, or another read that began later was quicker.
  ///
  /// - Parameter save: the number of the last save before the read.
  mutating func insert(_ row: StoredRow, for id: ManagedObjectID, readAfter save: Int, _ time: RowTime) {
    if let known = young[id] ?? old[id], known.time > time, known.row.version >= row.version { return }
    if changes.isUnchanged(id, since: save) { return insert(row, for: id, time) }
    // It is not known which of the two is stored now, but the older one is not.
    if let known = peek(id), known.version < row.version { remove(id) }
  }

  /// Begins to follow a save.
  mutating func begin(save number: Int) {
    changes.save = number
    // Any save may change what relationships lead to.
    relationships = RelationshipCache()
  }

  /// Keeps the destinations of a relationship until the next save.
  mutating func insert(
    _ ids: [ManagedObjectID], asDestinationsOf owner: ManagedObjectID, property: Property, _ time: RowTime
  ) { relationships.insert(ids, of: owner, property: property, time: time) }

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
  mutating func exclude(_ condition: Condition, _ entity: Entity) throws {
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

  /// Removes rows that others have changed.
  mutating func forget(_ ids: some Sequence<ManagedObjectID>) {
    for id in ids {
      remove(id)
      changes.note(id)
    }
  }

  /// Removes all rows of some families, by the indexes of their root entities.
  mutating func forget(roots: Set<Int>) {
    changes.noteAny()
    func isStale(_ entry: (key: ManagedObjectID, value: Entry)) -> Bool { roots.contains(Int(entry.key.rootIndex)) }
    for entry in young where isStale(entry) { remove(entry.key) }
    if old.contains(where: isStale) { old = old.filter { !isStale($0) } }
  }

  mutating func removeAll() {
    changes.noteAny()
    young = [:]
    old = [:]
    youngBytes = 0
  }

  /// The number of new rows that a save may add; all of a large one would only push out the rest.
  private static let newRowLimit = 1_000

  /// Takes notice of what a save wrote and computed: rows that were here are replaced.
  ///
  /// - Parameters:
  ///   - returns: inserts of objects that have been in the store before.
  ///   - transientSlots: by entity index, what others must not see.
  ///   - time: when it was written.
  mutating func apply(
    _ result: StoreSaveResult, returns: [RowChange], transientSlots: [[Int]], _ time: RowTime
  ) {
    for change in returns { returned.insert(change.id) }
    var newRows = 0
    result.committed.forEachChange(skippingInserts: true) { change, row in
      let id = change.id
      changes.note(id)
      if change.kind == .delete {
        remove(id)
        departed.insert(id)
        if !returned.isEmpty { returned.remove(id) }
      }
      guard change.kind == .update, let row else { return }
      // Others have changed it since, and it was read before this is noted; what was computed here is not of that row.
      if let known = peek(id), known.version > row.version { return remove(id) }
      let isKnown = contains(id)
      if !isKnown, newRows >= Self.newRowLimit { return }
      newRows += isKnown ? 0 : 1
      old.removeValue(forKey: id)
      insert(row.without(transients: transientSlots[Int(row.row.entityIndex)]), for: id, time)
    }
    for value in result.derived {
      changes.note(value.id)
      guard let row = peek(value.id) else { continue }
      insert(row.with(derived: value.value, value.slot), for: value.id, time)
    }
  }
}

/// The objects that the last saves have changed, by which a row that was read meanwhile is known to be what is stored;
/// bounded.
private struct RecentChanges {
  /// The number of the save that is being followed.
  var save = 0
  private var lastSaves: [ManagedObjectID: Int] = [:]
  /// The save up to which changes are not known one by one.
  private var horizon = 0
  private static let limit = 1 << 12

  mutating func note(_ id: ManagedObjectID) {
    if horizon == save { return }
    if lastSaves.count >= Self.limit { return noteAny() }
    lastSaves[id] = save
  }

  /// Notes that any object may have been changed.
  mutating func noteAny() {
    horizon = save
    lastSaves = [:]
  }

  /// Returns true if an object is known to be as it was after a save.
  func isUnchanged(_ id: ManagedObjectID, since save: Int) -> Bool {
    save >= horizon && (lastSaves[id] ?? 0) <= save
  }
}

/// The destinations of to-many relationships as the store has them; bounded.
private struct RelationshipCache {
  private struct Key: Hashable {
    let owner: ManagedObjectID
    let slot: Int
  }

  private struct Entry {
    let ids: [ManagedObjectID]
    let time: RowTime
  }

  private var destinations: [Key: Entry] = [:]
  /// The size of the lists, without their table.
  private var byteCount = 0
  /// The bytes that lists and table may take together; one list more drops all.
  private static let limit = 4 << 20

  /// The destinations in their order, or nil if nobody has asked for them since the last save, or since `oldest`.
  func destinations(of owner: ManagedObjectID, _ property: Property, since oldest: RowTime) -> [ManagedObjectID]? {
    destinations[Key(owner: owner, slot: property.slot)].flatMap { $0.time >= oldest ? $0.ids : nil }
  }

  /// - Parameter time: when the read of them began.
  mutating func insert(_ ids: [ManagedObjectID], of owner: ManagedObjectID, property: Property, time: RowTime) {
    let bytes = Allocation.byteCount(ofElements: ids.capacity * MemoryLayout<ManagedObjectID>.stride)
    let table = Allocation.byteCount(
      ofTable: destinations.capacity, entry: MemoryLayout<Key>.stride + MemoryLayout<Entry>.stride)
    if byteCount + table + bytes > Self.limit { self = RelationshipCache() }
    guard bytes <= Self.limit else { return }
    let replaced = destinations.updateValue(
      Entry(ids: ids, time: time), forKey: Key(owner: owner, slot: property.slot))
    byteCount += bytes
    if let replaced {
      byteCount -= Allocation.byteCount(ofElements: replaced.ids.capacity * MemoryLayout<ManagedObjectID>.stride)
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
