import ObjectModel

/// One fetch in one context: what the store says, under what has changed since in the context and its ancestors.
///
/// Ancestors are looked at from below, then the store. Changes only move upwards, so none is missed; if a save moved
/// some on in between, the fetch starts again, so that no older change hides a newer row.
struct FetchExecution {
  private let registry: ObjectRegistry
  private let query: FetchQuery
  private static let attemptLimit = 8

  /// Processes the context's pending changes, so that they count.
  init(_ registry: ObjectRegistry, _ query: FetchQuery) {
    self.registry = registry
    self.query = query
    if query.includesPendingChanges { registry.processPendingChanges() }
  }

  func objects() throws -> [ManagedObject] {
    // Objects are held until all are found, so that a row is not made into an object twice.
    try rows(wantsRows: true).map { id, row in
      if let row { registry.object(with: id, fetched: row) } else { registry.object(with: id) }
    }
  }

  func ids() throws -> [ManagedObjectID] { try rows(wantsRows: false).map(\.0) }

  func count() throws -> Int {
    if overlay().isEmpty {
      let store = try registry.coordinator.openStore()
      let counted = try store.read { try $0.count(storeQuery(wantsRows: false)) }
      if overlay().isEmpty { return counted }
    }
    return try ids().count
  }

  private func rows(wantsRows: Bool) throws -> [(ManagedObjectID, Row?)] {
    var attempt = 0
    while true {
      attempt += 1
      let movesBefore = moves
      let overlay = overlay()
      let saves = registry.coordinator.saveCount
      var result: [(ManagedObjectID, Row?)] = []
      let complete = try registry.coordinator.openStore().read { reader in
        // The reader's view of the store is fixed by its first read, so the check comes after the rows.
        result =
          overlay.isEmpty
          ? try stored(storeQuery(wantsRows: wantsRows), reader) : try merged(overlay, wantsRows: wantsRows, reader)
        return moves == movesBefore
      }
      if complete || attempt == Self.attemptLimit {
        keep(result, readBefore: saves)
        return result
      }
    }
  }

  private var moves: [Int] { ([registry.pending] + registry.ancestors).map(\.moves) }

  /// Keeps some of the rows for faults of other contexts; all of a large result would only push out the rest.
  private func keep(_ rows: [(ManagedObjectID, Row?)], readBefore saves: Int) {
    let kept = rows.prefix(1_000).compactMap { id, row in row.map { (id, $0) } }.filter { $0.1.version > 0 }
    registry.coordinator.keep(kept, readBefore: saves)
  }

  private func overlay() -> Overlay {
    var overlay = Overlay()
    guard query.includesPendingChanges else { return overlay }
    for level in [registry.pending] + registry.ancestors { level.addChanges(root: query.entity.root, to: &overlay) }
    return overlay
  }

  private func storeQuery(wantsRows: Bool) -> StoreQuery {
    StoreQuery(
      entity: query.entity, includesSubentities: query.includesSubentities, condition: query.condition,
      sortDescriptors: query.sorts, limit: query.limit, offset: query.offset, wantsRows: wantsRows,
      coordinatorOrdinal: registry.coordinator.ordinal)
  }

  private func stored(_ query: StoreQuery, _ reader: any StoreReader) throws -> [(ManagedObjectID, Row?)] {
    var rows: [(ManagedObjectID, Row?)] = []
    try reader.fetch(query) { id, row in
      rows.append((id, row))
      return true
    }
    return rows
  }

  /// The store's rows without those that have changed since, and those that have changed, in one order.
  private func merged(
    _ overlay: Overlay, wantsRows: Bool, _ reader: any StoreReader
  ) throws -> [(ManagedObjectID, Row?)] {
    var needed = storeQuery(wantsRows: wantsRows || !query.sorts.isEmpty)
    needed.offset = 0
    needed.limit = query.limit.map { $0 + query.offset + overlay.changes.count }
    var rows: [(ManagedObjectID, Row?)] = []
    try reader.fetch(needed) { id, row in
      if overlay.changes[id] == nil { rows.append((id, row)) }
      return true
    }
    rows += try pendingMatches(overlay)
    if !query.sorts.isEmpty { rows = try sorted(rows) }
    return Array(rows.dropFirst(query.offset).prefix(query.limit ?? .max))
  }

  private func pendingMatches(_ overlay: Overlay) throws -> [(ManagedObjectID, Row?)] {
    let family = Set(
      (query.includesSubentities ? query.entity.withDescendants : [query.entity]).map {
        UInt16(truncatingIfNeeded: $0.index)
      })
    let evaluator = try query.condition.map {
      try ConditionEvaluator($0, entity: query.entity, related: { try registry.visibleRow(for: $0) })
    }
    var matches: [(ManagedObjectID, Row?)] = []
    for id in overlay.order {
      guard let row = overlay.changes[id]?.row, family.contains(row.entityIndex) else { continue }
      if try evaluator?.matches(id: id, row: row) ?? true { matches.append((id, row)) }
    }
    return matches
  }

  private func sorted(_ rows: [(ManagedObjectID, Row?)]) throws -> [(ManagedObjectID, Row?)] {
    let comparator = try RowComparator(
      query.sorts, entity: query.entity, related: { try registry.visibleRow(for: $0) })
    let complete = rows.compactMap { id, row in row.map { (id, $0) } }
    return try complete.sorted { try comparator.areInIncreasingOrder($0, $1) }.map { ($0.0, $0.1) }
  }
}
