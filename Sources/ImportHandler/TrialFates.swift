import ObjectGraph
import ObjectModel

/// The outcomes that the good records of a dry run would have.
struct TrialFates {
  /// Values that have to be unique.
  private struct Constraint {
    let properties: [Property]
    /// True if an object that has them is the record's own, as the mode sees it.
    let isKey: Bool
    /// Those of the records so far.
    var seen = RowHashes()
  }

  private let plan: ImportPlan
  private var constraints: [Constraint]
  /// Objects that are there and have the key of a record.
  private var met = SeenKeys()
  private(set) var inserted: Int64 = 0
  /// With those that have the values already.
  private(set) var updated: Int64 = 0
  private(set) var skipped: Int64 = 0
  /// By the relationship: values that no object has.
  private(set) var lacking: [String: Int64] = [:]

  init(_ plan: ImportPlan) {
    self.plan = plan
    let key = Set(plan.key.map(\.slot))
    let others = ImportKey.constraints(of: plan.entity).map { $0.compactMap(plan.entity.property(named:)) }
    constraints =
      (plan.key.isEmpty ? [] : [Constraint(properties: plan.key, isKey: true)])
      + others.filter { Set($0.map(\.slot)) != key }.map { Constraint(properties: $0, isKey: false) }
  }

  /// Counts the records of a chunk; returns those that the store would reject.
  mutating func add(
    _ chunk: ImportChunk, _ coordinator: PersistentStoreCoordinator
  ) throws -> [RejectedRecord] {
    try coordinator.openStore().read { try add(chunk, coordinator, reader: $0) }
  }

  private mutating func add(
    _ chunk: ImportChunk, _ coordinator: PersistentStoreCoordinator, reader: any StoreReader
  ) throws -> [RejectedRecord] {
    var (rejects, lacking) = try chunk.lookUp(coordinator, reader)
    self.lacking.merge(lacking) { $0 + $1 }
    let batch = coordinator.lookupBatch(chunk.columns, count: chunk.count, of: plan.entity)
    let lookups = try constraints.indices.compactMap { try lookUp($0, in: batch, of: chunk, reader: reader) }
    for row in 0..<chunk.count where rejects[row] == nil {
      if let taken = count(row, lookups) {
        let names = taken.map(\.name)
        rejects[row] = chunk.origins?.reject(
          row, column: plan.label(of: names), rule: PackedResult.rule, batch.takenKey(taken).message)
      }
    }
    return Array(rejects.values)
  }

  /// The values of a chunk's rows for a constraint, and the stored objects with the same values.
  private struct Lookup {
    let index: Int
    let columns: [RowBatch.Column]
    let stored: [ManagedObjectID?]
  }

  /// Nil if the input has no values for it.
  private func lookUp(
    _ index: Int, in batch: RowBatch, of chunk: ImportChunk, reader: any StoreReader
  ) throws -> Lookup? {
    let properties = constraints[index].properties
    let columns = properties.compactMap { property in chunk.columns.first { $0.slot == property.slot } }
    guard columns.count == properties.count else { return nil }
    // Where all objects are deleted first, none is met.
    let stored = plan.mode == .replaceAll ? [] : try reader.find(batch, key: properties)
    return Lookup(index: index, columns: columns, stored: stored)
  }

  /// Counts a record; returns the properties because of which the store would reject it.
  private mutating func count(_ row: Int, _ lookups: [Lookup]) -> [Property]? {
    var hasObject = false
    var hashes: [(index: Int, hash: UInt64)] = []
    for lookup in lookups {
      guard let hash = lookup.columns.hash(row) else { continue }
      hashes.append((lookup.index, hash))
      let stored = lookup.stored.isEmpty ? nil : lookup.stored[row]
      let isTaken = stored != nil || constraints[lookup.index].seen.contains(hash)
      if constraints[lookup.index].isKey {
        hasObject = isTaken
        if let stored { met.insert(stored.key) }
      } else if isTaken && !hasObject {
        return constraints[lookup.index].properties
      }
    }
    if hasObject && plan.mode == .skip {
      skipped += 1
      return nil
    }
    for (index, hash) in hashes { constraints[index].seen.insert(hash) }
    if hasObject { updated += 1 } else { inserted += 1 }
    return nil
  }

  /// Returns the number of objects that the import would delete, and of those that exist.
  ///
  /// - Parameter hasRejects: whether some records are bad.
  func deleted(
    _ coordinator: PersistentStoreCoordinator, hasRejects: Bool
  ) throws -> (deleted: Int64, before: Int64) {
    guard plan.mode == .replaceAll || (plan.mode == .mirror && !hasRejects) else { return (0, 0) }
    let query = StoreQuery(entity: plan.entity, wantsRows: false, coordinatorOrdinal: coordinator.ordinal)
    let stored = try coordinator.openStore().read { try $0.count(query) }
    return (Int64(plan.mode == .mirror ? stored - met.count : stored), Int64(stored))
  }
}

/// The hashes of values that were seen: eight to sixteen bytes for each, however long the values are.
///
/// Two of ten million values have the same hash once in some hundred thousand files.
struct RowHashes {
  /// Zero where nothing is.
  private var slots = [UInt64](repeating: 0, count: 1024)
  private var count = 0

  func contains(_ hash: UInt64) -> Bool { slots[place(of: hash)] == hash }

  mutating func insert(_ hash: UInt64) {
    if (count + 1) * 8 > slots.count * 7 { grow() }
    let place = place(of: hash)
    if slots[place] == hash { return }
    slots[place] = hash
    count += 1
  }

  private func place(of hash: UInt64) -> Int {
    let mask = slots.count - 1
    var place = Int(truncatingIfNeeded: hash) & mask
    while slots[place] != 0 && slots[place] != hash { place = (place + 1) & mask }
    return place
  }

  private mutating func grow() {
    let old = slots
    slots = [UInt64](repeating: 0, count: old.count * 2)
    for hash in old where hash != 0 { slots[place(of: hash)] = hash }
  }
}

extension Sequence<RowBatch.Column> {
  /// The hash of a row's values, never zero; nil if one of them is missing.
  func hash(_ row: Int) -> UInt64? {
    var hasher = Hasher()
    for column in self {
      if column.isNull(row) { return nil }
      switch column.values {
      case .integers(let values): hasher.combine(values[row])
      case .reals(let values): hasher.combine(values[row])
      case .bytes(let offsets, let arena):
        let bytes = arena.bytes(Int(offsets[row])..<Int(offsets[row + 1]))
        hasher.combine(bytes.count)
        hasher.combine(bytes: bytes)
      }
    }
    return UInt64(bitPattern: Int64(hasher.finalize())) | 1
  }
}
