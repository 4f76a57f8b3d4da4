import ObjectModel

extension ConflictResolver {
  /// Resolves violated uniqueness constraints: the object that was there first stays, under its ID, and new ones with
  /// the same values become part of it, or give way.
  ///
  /// - Parameters:
  ///   - error: what the store said, thrown if no violation can be found.
  ///   - reader: reads what the changes are to be written over.
  /// - Throws: ``SaveConflicts`` with a report for each violation if the policy has no answer.
  mutating func resolveConstraints(_ error: StoreError, _ reader: any StoreReader) throws {
    let violations = try ConstraintSearch(coordinator: coordinator, sets: outcome.sets).find(reader)
    if violations.isEmpty { throw error }
    let reports = violations.map(\.report)
    guard let resolution = policy.constraintResolution else { throw SaveConflicts(constraints: reports) }
    var keepers: [ManagedObjectID: RowChange] = [:]
    var replaced: [ManagedObjectID: ManagedObjectID] = [:]
    for violation in violations {
      guard let keeper = keeper(of: violation, keepers) else { throw SaveConflicts(constraints: reports) }
      var kept = keeper
      for change in violation.changes where change.id != keeper.id && replaced[change.id] == nil {
        guard change.kind == .insert, let row = change.row, let into = kept.row,
          row.entityIndex == into.entityIndex
        else { throw SaveConflicts(constraints: reports) }
        kept.row = merged(change.id, row, into: into, resolution)
        replaced[change.id] = keeper.id
      }
      keepers[keeper.id] = kept
    }
    apply(keepers, replaced)
  }

  /// The change of the object that stays; one that changes nothing yet if it is stored and not changed.
  private func keeper(of violation: ConstraintSearch.Violation, _ keepers: [ManagedObjectID: RowChange]) -> RowChange? {
    if let stored = violation.stored {
      return keepers[stored.id] ?? RowChange(.update, stored.id, row: stored.row, base: stored.row)
    }
    let first = violation.changes.first { $0.kind == .update } ?? violation.changes.first
    return first.map { keepers[$0.id] ?? $0 }
  }

  private func merged(_ id: ManagedObjectID, _ row: Row, into kept: Row, _ resolution: MergeResolution) -> Row {
    let entity = coordinator.model.entities[Int(row.entityIndex)]
    switch resolution {
    case .rollback, .storeTrump: return kept
    case .overwrite: return row.unversioned
    case .objectTrump:
      // What the new object was given; what it has by default says nothing.
      let layout = coordinator.layouts[entity.index]
      guard let slots = givenSlots[id] else {
        return kept.applying(changesFrom: coordinator.defaults[entity.index], to: row, layout: layout)
      }
      var merged = kept
      for slot in slots { merged.copyValue(of: row, slot, layout.storage[slot]) }
      return merged
    case .values(let values): return kept.with(values, entity: entity)
    }
  }

  /// Puts the keepers' changes in, takes the others out, and lets references lead to the keepers.
  private mutating func apply(
    _ keepers: [ManagedObjectID: RowChange], _ replaced: [ManagedObjectID: ManagedObjectID]
  ) {
    var redirected: [ManagedObjectID: RowChange] = [:]
    var added = keepers.filter { _, change in
      guard let row = change.row, let base = change.base else { return true }
      return !row.isIdentical(to: base)
    }
    let resolver = self
    replaceChanges { change in
      if replaced[change.id] != nil { return nil }
      let kept = added.removeValue(forKey: change.id)
      guard let leading = resolver.leading(kept ?? change, replaced) else { return kept ?? change }
      redirected[change.id] = leading
      return leading
    }
    let more = added.values.map { leading($0, replaced) ?? $0 }
    if !more.isEmpty { add(ChangeSet(more)) }
    for change in keepers.values where redirected[change.id] == nil { noteRewritten(change) }
    for change in Array(redirected.values) + more { noteRewritten(change) }
    replaceLinks { link in
      let key = LinkKey(
        table: link.key.table, left: replaced[link.key.left] ?? link.key.left,
        right: replaced[link.key.right] ?? link.key.right)
      return LinkChange(key, isPresent: link.isPresent, order: link.order, inverseOrder: link.inverseOrder)
    }
    for id in replaced.keys { noteDropped(id, stored: nil) }
  }

  /// A change whose references lead to what replaced their destinations; nil if none does.
  private func leading(_ change: RowChange, _ replaced: [ManagedObjectID: ManagedObjectID]) -> RowChange? {
    guard var row = change.row else { return nil }
    var isChanged = false
    for property in coordinator.model.entities[Int(row.entityIndex)].properties where property.storage == .reference {
      if let id = row.referenceIfPresent(property.slot), let keeper = replaced[id] {
        row.setReference(keeper, property.slot)
        isChanged = true
      }
    }
    if !isChanged { return nil }
    var result = change
    result.row = row
    return result
  }
}
