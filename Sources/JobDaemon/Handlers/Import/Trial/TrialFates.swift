import ObjectGraph
import ObjectModel

/// What would become of the records of a dry run that are good in themselves.
struct TrialFates {
  /// Values that have to be unique.
  private struct Constraint {
    let properties: [Property]
    /// Whether an object that has them is the record's own, as the mode sees it.
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

  /// Counts the records of a chunk; answers those that the store would reject.
  mutating func add(
    _ chunk: ImportChunk, _ coordinator: PersistentStoreCoordinator
  ) throws -> [RejectedRecord] {
    try coordinator.openStore().read { try add(chunk, coordinator, $0) }
  }

  private mutating func add(
    _ chunk: ImportChunk, _ coordinator: PersistentStoreCoordinator, _ reader: any StoreReader
  ) throws -> [RejectedRecord] {
    var (rejects, lacking) = try chunk.lookUp(coordinator, reader)
    self.lacking.merge(lacking) { $0 + $1 }
    let batch = coordinator.lookupBatch(chunk.columns, count: chunk.count, of: plan.entity)
    let lookups = try constraints.indices.compactMap { try lookUp($0, batch, chunk, reader) }
    for row in 0..<chunk.count where rejects[row] == nil {
      if let taken = settle(row, lookups) {
        let names = taken.map(\.name)
        rejects[row] = chunk.origins?.reject(
          row, column: plan.label(of: names), rule: PackedResult.rule, batch.takenKey(taken).message)
      }
    }
    return Array(rejects.values)
  }

  /// What a chunk's rows have for a constraint, and the stored objects that have the same.
  private struct Lookup {
    let index: Int
    let columns: [RowBatch.Column]
    let stored: [ManagedObjectID?]
  }

  /// Nil if the input has no values for it.
  private func lookUp(
    _ index: Int, _ batch: RowBatch, _ chunk: ImportChunk, _ reader: any StoreReader
  ) throws -> Lookup? {
    let properties = constraints[index].properties
    let columns = properties.compactMap { property in chunk.columns.first { $0.slot == property.slot } }
    guard columns.count == properties.count else { return nil }
    // Where all objects are deleted first, none is met.
    let stored = plan.mode == .replaceAll ? [] : try reader.find(batch, key: properties)
    return Lookup(index: index, columns: columns, stored: stored)
  }

  /// Counts a record; answers the properties because of which the store would reject it.
  private mutating func settle(_ row: Int, _ lookups: [Lookup]) -> [Property]? {
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

  /// How many objects the import would delete, and how many there are.
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
