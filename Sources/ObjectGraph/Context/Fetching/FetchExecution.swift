import ObjectModel

/// One fetch in one context: the store's rows under pending changes of the context and its ancestors.
///
/// If pending changes touch destinations of the condition's or the sorts' relationships, all rows are tested and sorted
/// in memory, since the store can't know which of them match, or in which order.
struct FetchExecution {
  typealias Rows = [(id: ManagedObjectID, row: FetchedRow?)]

  private let registry: ObjectRegistry
  private let query: FetchQuery
  /// The number of tries if saves keep moving changes on between two looks; each look takes microseconds.
  private static let attemptLimit = 64
  /// The number of rows cached for faults of other contexts; a large result would only evict the rest.
  private static let keptRowLimit = 1_000

  /// - Parameter registry: must have published the changes to include.
  init(_ registry: ObjectRegistry, _ query: FetchQuery) {
    self.registry = registry
    self.query = query
  }

  /// Returns the objects, checked one by one to be of the requested class.
  func objects<Object: ManagedObject>(as type: Object.Type) throws -> [Object] {
    if query.batchSize > 0 || !query.includesPropertyValues {
      return registry.objects(with: try ids(), batchSize: query.batchSize).map { $0.typed(as: type) }
    }
    let start = registry.coordinator.sharedRows.readStart
    let hasChanges = registry.pending.hasCurrentChanges
    var list = ObjectList<Object>()
    var kept: [(ManagedObjectID, StoredRow)] = []
    // If rows may be too old, an object can't rely on its fetched row.
    var keptLimit = query.keepsAllRows || registry.limitsAge ? .max : Self.keptRowLimit
    var mark = UInt32(truncatingIfNeeded: start.saveCount)
    func append(_ id: ManagedObjectID, _ row: Row) {
      if query.refreshesObjects { registry.refetch(id, row) }
      list.append(registry.object(with: id, fetched: row, hasChanges: hasChanges, readMark: mark))
    }
    try read { view in
      if let number = view.pinNumber {
        mark = number
        keptLimit = 0
      }
      guard try isAnsweredByStore(view) else {
        for case (let id, let row?) in try merged(view, wantsRows: true) {
          append(id, row.values)
          if case .stored(let stored) = row, kept.count < keptLimit { kept.append((id, stored)) }
        }
        return
      }
      try view.reader.fetch(storeQuery(wantsRows: true)) { id, row in
        guard let row else { return true }
        append(id, row.row)
        if kept.count < keptLimit { kept.append((id, row)) }
        return true
      }
    }
    if !kept.isEmpty { registry.coordinator.sharedRows.keep(kept, start) }
    let objects = list.drain()
    for path in query.prefetching { try registry.prefetch(path, for: objects) }
    return objects
  }

  /// Calls the body with each row of the result, and with a reader of related objects in the same state.
  func forEachRow(_ body: (ManagedObjectID, Row, RelatedObjects) throws -> Void) throws {
    try read { view in
      let related = RelatedObjects(
        row: query.includesPendingChanges ? view.row(for:) : { try view.reader.row(for: $0)?.row },
        destinations: { try view.destinations(of: $0, $1) })
      if try isAnsweredByStore(view) {
        try view.reader.fetch(storeQuery(wantsRows: true)) { id, row in
          if let row { try body(id, row.row, related) }
          return true
        }
      } else {
        for (id, row) in try merged(view, wantsRows: true) {
          if let row { try body(id, row.values, related) }
        }
      }
    }
  }

  func ids() throws -> [ManagedObjectID] {
    try read { view in
      guard try isAnsweredByStore(view) else { return try merged(view, wantsRows: false).map(\.id) }
      var ids: [ManagedObjectID] = []
      try view.reader.fetch(storeQuery(wantsRows: false)) { id, _ in
        ids.append(id)
        return true
      }
      return ids
    }
  }

  func count() throws -> Int {
    try read { view in
      try isAnsweredByStore(view)
        ? try view.reader.count(storeQuery(wantsRows: false)) : try merged(view, wantsRows: false).count
    }
  }

  /// Returns the destinations of a to-many relationship, in its order if it has one.
  ///
  /// Those that no pending change affects are cached for all contexts until the next save.
  func destinations(of id: ManagedObjectID, _ property: Property) throws -> [ManagedObjectID] {
    let coordinator = registry.coordinator
    let families = RelatedFamilies(destinationsOf: property)
    func isStored(_ levels: [[Pending]]) -> Bool { !levels.joined().contains { $0.touches(families) } }
    if isStored(levels), let known = registry.usableCachedDestinations(of: id, property) { return known }
    let start = coordinator.sharedRows.readStart
    let found = try read { view in
      let ids =
        if property.joinTable != nil {
          try view.links(of: id, property).map(\.destination)
        } else if try isAnsweredByStore(view) {
          try stored(storeQuery(wantsRows: false), view.reader).map(\.id)
        } else {
          try merged(view, wantsRows: false).map(\.id)
        }
      return (ids: ids, isStored: view.pinNumber == nil && isStored(view.levels))
    }
    if found.isStored { coordinator.sharedRows.keep(found.ids, asDestinationsOf: id, property: property, start: start) }
    return found.ids
  }

  /// Returns the links of an object in its relationship's order.
  func links(of id: ManagedObjectID, _ property: Property, includingDeleted: Bool = false) throws -> [Link] {
    try read { try $0.links(of: id, property, includingDeleted: includingDeleted) }
  }
}

// MARK: - One view of contexts and store

extension FetchExecution {
  /// Calls the body with a consistent pair of pending changes and a store's reader.
  ///
  /// The store's state is fixed before the pending changes are read, from below; changes only move upwards, so none is
  /// missed and those seen twice are the same. If a save moved changes on in between, a newer change could have reached
  /// the store together with others: then both are read again.
  private func read<Result>(_ body: (PendingView) throws -> Result) throws -> Result {
    for _ in 0..<Self.attemptLimit {
      let movesBefore = moves
      let result: Result? = try registry.readStore { reader, pinNumber in
        let levels = levels
        guard moves == movesBefore else { return nil }
        return try body(
          PendingView(
            registry.coordinator, reader: reader, levels: levels, pinNumber: pinNumber,
            usesRowCache: !registry.limitsAge))
      }
      if let result { return result }
    }
    throw StoreError(
      .busy, "the contexts above keep saving; fetch again", path: try registry.coordinator.openStore().path)
  }

  private var moves: [Int] {
    query.includesPendingChanges ? ([registry.pending] + registry.ancestors).map(\.moves) : []
  }

  /// The pending changes of the context and its ancestors, nearest first.
  private var levels: [[Pending]] {
    guard query.includesPendingChanges else { return [] }
    return [registry.pending.layers(withArrivals: false)] + registry.ancestors.map { $0.layers(withArrivals: true) }
  }

}

// MARK: - Rows

extension FetchExecution {
  private func storeQuery(wantsRows: Bool) -> StoreQuery {
    StoreQuery(
      entity: query.entity, includesSubentities: query.includesSubentities, condition: query.condition,
      sortDescriptors: query.sorts, limit: query.limit, offset: query.offset, wantsRows: wantsRows,
      coordinatorOrdinal: registry.coordinator.ordinal, isCancellable: query.isCancellable)
  }

  private func stored(_ query: StoreQuery, _ reader: any StoreReader) throws -> Rows {
    var rows: Rows = []
    try reader.fetch(query) { id, row in
      rows.append((id, row.map(FetchedRow.stored)))
      return true
    }
    return rows
  }

  /// Returns the store's unchanged rows and the changed ones, in one order.
  private func merged(_ view: PendingView, wantsRows: Bool) throws -> Rows {
    let overlay = view.overlay(of: query.entity.root)
    let needsRows = wantsRows || !query.sorts.isEmpty
    var rows =
      try isDisturbed(view)
      ? try tested(overlay, view) : try unchanged(overlay, wantsRows: needsRows, view.reader)
    rows += try changed(overlay, view)
    rows += try packed(overlay, view, wantsRows: needsRows)
    if !query.sorts.isEmpty { rows = try sorted(rows) }
    let wanted = rows.dropFirst(query.offset).prefix(query.limit ?? .max)
    if !wantsRows { return Array(wanted) }
    return wanted.map { ($0.id, overlay.lastingRow(of: $0.id).map(FetchedRow.pending) ?? $0.row) }
  }

  /// Returns as many of the store's unchanged rows as may be needed.
  private func unchanged(_ overlay: Overlay, wantsRows: Bool, _ reader: any StoreReader) throws -> Rows {
    let most = (query.limit ?? .max).saturatingAdd(query.offset)
    if most == 0 { return [] }
    var needed = storeQuery(wantsRows: wantsRows)
    needed.offset = 0
    // The changed ones among them are skipped.
    needed.limit = query.limit.map { _ in most.saturatingAdd(overlay.objectCount) }
    var rows: Rows = []
    try reader.fetch(needed) { id, row in
      if !overlay.contains(id) { rows.append((id, row.map(FetchedRow.stored))) }
      return rows.count < most
    }
    return rows
  }

  private func changed(_ overlay: Overlay, _ view: PendingView) throws -> Rows {
    let evaluator = try evaluator(view)
    let family = family
    var matches: Rows = []
    for id in overlay.order {
      guard let row = overlay.changes[id]?.row, family.contains(row.entityIndex) else { continue }
      if try evaluator?.matches(id: id, row: row) ?? true { matches.append((id, .pending(row))) }
    }
    return matches
  }

  private func packed(_ overlay: Overlay, _ view: PendingView, wantsRows: Bool) throws -> Rows {
    let evaluator = try evaluator(view)
    let family = family
    var matches: Rows = []
    for batch in overlay.batches where family.contains(batch.layout.entityIndex) {
      for index in 0..<batch.count {
        let id = batch.id(at: index)
        if overlay.changes[id] != nil { continue }
        let row = wantsRows || evaluator != nil ? batch.copy(of: index) : nil
        if let evaluator, let row, try !evaluator.matches(id: id, row: row) { continue }
        matches.append((id, row.map(FetchedRow.pending)))
      }
    }
    return matches
  }

  private func evaluator(_ view: PendingView) throws -> ConditionEvaluator? {
    let related = RelatedObjects(
      row: { try registry.visibleRow(for: $0) }, destinations: { try view.destinations(of: $0, $1) }
    ).stoppingWhenCancelled(query.isCancellable)
    return try query.condition.map { try ConditionEvaluator($0, entity: query.entity, related: related) }
  }

  private func isAnsweredByStore(_ view: PendingView) throws -> Bool {
    try view.overlay(of: query.entity.root).isEmpty && !isDisturbed(view)
  }

  /// True if pending changes touch objects that the condition's or the sorts' relationships lead to.
  private func isDisturbed(_ view: PendingView) throws -> Bool {
    guard view.levels.contains(where: { !$0.isEmpty }) else { return false }
    let families = try RelatedFamilies(query.condition, query.sorts, entity: query.entity)
    return view.levels.joined().contains { $0.touches(families) }
  }

  /// Returns the store's unchanged rows that match, tested one by one. Cost: a pass over the entity's rows.
  private func tested(_ overlay: Overlay, _ view: PendingView) throws -> Rows {
    var all = storeQuery(wantsRows: true)
    all.condition = nil
    all.limit = nil
    all.offset = 0
    let evaluator = try evaluator(view)
    var rows: Rows = []
    try view.reader.fetch(all) { id, row in
      if !overlay.contains(id) { rows.append((id, row.map(FetchedRow.stored))) }
      return true
    }
    return try rows.filter { id, row in
      if query.isCancellable { try Task.checkCancellation() }
      return try row.map { try evaluator?.matches(id: id, row: $0.values) ?? true } ?? false
    }
  }

  /// The indices of the query's entities.
  private var family: Set<UInt16> {
    let entities = query.includesSubentities ? query.entity.withDescendants : [query.entity]
    return Set(entities.map { UInt16(truncatingIfNeeded: $0.index) })
  }

  private func sorted(_ rows: Rows) throws -> Rows {
    let comparator = try RowComparator(
      query.sorts, entity: query.entity, related: { try registry.visibleRow(for: $0) })
    let complete = rows.compactMap { id, row in row.map { (id: id, row: $0) } }
    return try complete.sorted {
      try comparator.areInIncreasingOrder(($0.id, $0.row.values), ($1.id, $1.row.values))
    }.map { ($0.id, $0.row) }
  }
}

/// A row of a result; only stored ones may be shared with other contexts.
enum FetchedRow {
  case stored(StoredRow)
  case pending(Row)

  var values: Row {
    switch self {
    case .stored(let stored): stored.row
    case .pending(let row): row
    }
  }
}

extension Int {
  fileprivate func saturatingAdd(_ other: Int) -> Int {
    let (sum, overflow) = addingReportingOverflow(other)
    return overflow ? .max : sum
  }
}
