import ObjectModel

/// Turns the changes of a save that met conflicts into changes that can be written, as the merge policy decides.
struct ConflictResolver {
  let coordinator: PersistentStoreCoordinator
  let policy: MergePolicy
  /// The number of the saving root context.
  let root: Int
  /// The changes still to be written, and the fate of the others.
  var draft: SaveDraft
  /// Rows that must not have changed, by object; they are not written.
  private var checks: [ManagedObjectID: RowChange]
  /// The inserts of objects that were stored before.
  private(set) var returns: [RowChange] = []

  init(
    _ coordinator: PersistentStoreCoordinator, policy: MergePolicy, root: Int, sets: [ChangeSet], checks: [RowChange],
    givenSlots: [ManagedObjectID: [Int]] = [:]
  ) {
    self.coordinator = coordinator
    self.policy = policy
    self.root = root
    draft = SaveDraft(sets: sets, givenSlots: givenSlots)
    self.checks = Dictionary(checks.map { ($0.id, $0) }) { $1 }
  }

  /// True if rows must be checked that are not written.
  var hasChecks: Bool { !checks.isEmpty }

  /// The rows that must not have changed, as the store expects them.
  var request: [RowChange] { Array(checks.values) }

  /// Returns the changes still to be written, with later versions for objects that were stored before and are inserted
  /// again. Cost: a look at the keys, unless there are such objects.
  mutating func setsToWrite() -> [ChangeSet] {
    returns = []
    return draft.sets.map { coordinator.keys.areTemporary($0.insertedKeys) ? $0 : withLaterVersions($0) }
  }

  private mutating func withLaterVersions(_ set: ChangeSet) -> ChangeSet {
    var changes = set.changes
    for index in changes.indices
    where changes[index].kind == .insert && !coordinator.keys.isTemporary(changes[index].id) {
      let past = Row(coordinator.layouts[Int(changes[index].row?.entityIndex ?? changes[index].id.entityIndex)])
      // From the clock, so later than any version counted by this or another process.
      past.stamp(version: coordinator.drawOrder())
      changes[index].base = past
      returns.append(changes[index])
    }
    return ChangeSet(changes, batches: set.batches, links: set.links)
  }

  /// Returns the returning objects that are still stored: their delete was taken back above, and not only undone.
  func conflictsOfReturns(_ reader: any StoreReader) throws -> [StoreConflict] {
    try Dictionary(grouping: returns, by: \.id.rootIndex).values.flatMap { changes in
      zip(changes, try reader.rows(for: changes.map(\.id))).compactMap { change, stored in
        stored.map { StoreConflict(RowChange(.insert, change.id, row: change.row, base: nil), stored: $0) }
      }
    }
  }

  private enum Decision {
    case write(RowChange)
    case drop
  }

  /// Resolves version conflicts.
  ///
  /// - Throws: ``SaveConflicts`` with all conflicts that the policy does not resolve.
  mutating func resolve(_ all: [StoreConflict], kind: (StoreConflict) -> MergeConflict.Kind) throws {
    // An object that is inserted again can be referred to; if it is not, the next try will report it.
    let changed = Set(all.filter { !$0.isMissingDestination }.map(\.change.id))
    let found = all.filter { !$0.isMissingDestination || !changed.contains($0.change.id) }
    var decisions: [ManagedObjectID: Decision] = [:]
    var errors: [MergeConflict] = []
    for found in found {
      let conflict = MergeConflict(found.change, stored: found.stored?.row, kind: kind(found), model: coordinator.model)
      if checks[found.change.id] == nil, let merged = mergedWithinStack(found) {
        decisions[found.change.id] = .write(merged)
      } else if let resolution = try policy.resolution(of: conflict) {
        // A gone object can't be referred to, whoever wins.
        if found.isMissingDestination, isRequired(found.change.id) { errors.append(conflict) }
        decisions[found.change.id] = found.isMissingDestination ? .drop : decision(resolution, conflict)
      } else {
        errors.append(conflict)
      }
    }
    if !errors.isEmpty { throw SaveConflicts(errors) }
    for found in found {
      let id = found.change.id
      // A row that was only checked has nothing to write, whatever the policy says.
      if checks.removeValue(forKey: id) != nil { decisions[id] = .drop }
      if case .write(let change) = decisions[id] {
        draft.noteRewritten(change)
      } else {
        draft.noteDropped(id, stored: found.stored?.row)
      }
    }
    let gone = Set(found.filter { $0.stored == nil || $0.change.row == nil }.map(\.change.id)).filter { id in
      if case .drop = decisions[id] { true } else { false }
    }
    if !gone.isEmpty { draft.replaceLinks { gone.contains($0.key.left) || gone.contains($0.key.right) ? nil : $0 } }
    draft.replaceChanges { change in
      switch decisions[change.id] {
      case .write(let rewritten): rewritten
      case .drop: nil
      case nil: change
      }
    }
    // Last, so that only what is still to be written counts as rewritten, with its resolved values.
    clearReferences(to: Set(found.filter(\.isMissingDestination).map(\.change.id)))
    try partFormerPartners(
      found.map { conflict in
        if case .write(let change)? = decisions[conflict.change.id] { (conflict, change) } else { (conflict, nil) }
      })
  }

  /// Returns the relationships that a change makes lead to one of these objects.
  private func slots(of change: RowChange, leadingTo gone: Set<ManagedObjectID>) -> [Property] {
    guard let row = change.row else { return [] }
    return coordinator.model.entities[Int(row.entityIndex)].properties.filter { property in
      guard property.storage == .reference, let id = row.referenceIfPresent(property.slot) else { return false }
      return gone.contains(id) && change.base?.referenceIfPresent(property.slot) != id
    }
  }

  /// True if a required relationship of a change leads to that object.
  private func isRequired(_ id: ManagedObjectID) -> Bool {
    draft.sets.contains { set in
      set.changes.contains { slots(of: $0, leadingTo: [id]).contains { !$0.isOptional } }
    }
  }

  /// Clears references to objects that do not exist.
  private mutating func clearReferences(to gone: Set<ManagedObjectID>) {
    if gone.isEmpty { return }
    var cleared: [ManagedObjectID: RowChange] = [:]
    for change in draft.sets.lazy.flatMap(\.changes) {
      guard var row = change.row else { continue }
      let slots = slots(of: change, leadingTo: gone).map(\.slot)
      if slots.isEmpty { continue }
      for slot in slots { row.setNull(slot) }
      cleared[change.id] = RowChange(change.kind, change.id, row: row, base: change.base)
    }
    draft.replaceChanges { cleared[$0.id] ?? $0 }
    for change in cleared.values { draft.noteRewritten(change) }
  }

  /// Returns the change rebased on the stored row, if this stack's own save in between caused the conflict.
  private func mergedWithinStack(_ conflict: StoreConflict) -> RowChange? {
    guard let stored = conflict.stored?.row else { return nil }
    if conflict.change.kind == .insert {
      // The values are those of an object that nobody else has changed since it was stored.
      let isOurs =
        stored.version == 1
        || coordinator.ownWrites.contain(stored.version...stored.version, of: conflict.change.id, root: root)
      return isOurs
        ? conflict.change.row.map { RowChange(.update, conflict.change.id, row: $0.unversioned, base: stored) } : nil
    }
    guard let base = conflict.change.base, isWithinStack(conflict, base, stored: stored) else { return nil }
    var change = conflict.change
    change.base = stored
    change.row = change.row.map { $0.rebased(from: base, onto: stored, layout: layout(of: stored)) }
    return change
  }

  /// Returns true if a conflict only looks like one, because another context of the same stack saved in between.
  private func isWithinStack(_ conflict: StoreConflict, _ base: Row, stored: Row) -> Bool {
    // Who holds values of an object that never were stored has them from the stack that inserted it.
    if base.version == 0 && stored.version == 1 { return true }
    let first = base.version == 0 ? stored.version : base.version + 1
    if first <= stored.version,
      coordinator.ownWrites.contain(first...stored.version, of: conflict.change.id, root: root)
    {
      return true
    }
    // A base that never was stored itself, because a parent had merged it: its changed values must be the stored ones.
    guard base.version == 0, let row = conflict.change.row else { return false }
    let layout = layout(of: stored)
    return row.changedSlots(from: base, layout: layout).allSatisfy {
      base.hasSameValue(as: stored, $0, layout.storage[$0])
    }
  }

  private func decision(_ resolution: MergeResolution, _ conflict: MergeConflict) -> Decision {
    guard let mine = conflict.change.row else { return decisionOnDelete(resolution, conflict) }
    guard let stored = conflict.stored else { return decisionOnDeleted(resolution, conflict, row: mine) }
    let base = conflict.change.base ?? stored
    let layout = layout(of: stored)
    switch resolution {
    case .rollback: return .drop
    case .overwrite: return .write(update(conflict, stored, to: mine))
    case .objectTrump:
      return .write(update(conflict, stored, to: stored.applying(changesFrom: base, to: mine, layout: layout)))
    case .storeTrump where conflict.change.base == nil: return .drop
    case .storeTrump:
      // The store's changes win over the context's.
      let merged = mine.applying(changesFrom: base, to: stored, layout: layout)
      return merged.changedSlots(from: stored, layout: layout).isEmpty
        ? .drop : .write(update(conflict, stored, to: merged))
    case .values(let values):
      return .write(update(conflict, stored, to: stored.with(values, entity: conflict.entity)))
    }
  }

  /// Decides about a context's delete of an object that others have changed or deleted.
  private func decisionOnDelete(_ resolution: MergeResolution, _ conflict: MergeConflict) -> Decision {
    guard let stored = conflict.stored else { return .drop }
    switch resolution {
    case .rollback, .storeTrump: return .drop
    case .objectTrump, .overwrite:
      return .write(RowChange(.delete, conflict.objectID, row: nil, base: stored))
    case .values(let values):
      return .write(update(conflict, stored, to: stored.with(values, entity: conflict.entity)))
    }
  }

  /// Decides about a context's change of an object that others have deleted.
  private func decisionOnDeleted(
    _ resolution: MergeResolution, _ conflict: MergeConflict, row mine: Row
  ) -> Decision {
    switch resolution {
    case .rollback, .storeTrump: .drop
    case .objectTrump, .overwrite: .write(RowChange(.insert, conflict.objectID, row: mine.unversioned, base: nil))
    case .values(let values):
      .write(
        RowChange(.insert, conflict.objectID, row: mine.unversioned.with(values, entity: conflict.entity), base: nil))
    }
  }

  private func update(_ conflict: MergeConflict, _ stored: Row, to row: Row) -> RowChange {
    RowChange(.update, conflict.objectID, row: row.unversioned, base: stored)
  }

  private func layout(of row: Row) -> RowLayout { coordinator.layouts[Int(row.entityIndex)] }
}

extension Row {
  /// Returns a copy with the attributes of these names set; those that can't hold their value keep the old one.
  func with(_ values: [String: Value], entity: Entity) -> Row {
    var row = self
    for (name, value) in values {
      guard let property = entity.property(named: name), let attribute = property.attribute else { continue }
      if value.isNull {
        row.setNull(property.slot)
      } else if let converted = value.converted(to: attribute.type) {
        row.set(converted, property.slot)
      }
    }
    return row
  }
}

extension ConflictResolver {
  /// Applies delete rules to objects that others have related to a deleted object since it was deleted.
  ///
  /// That is no conflict of values: the rules apply to every object that refers to the deleted one when the delete is
  /// saved.
  /// - Throws: ``ValidationError`` or ``ValidationErrors`` if a rule denies the delete, or a required relationship
  ///   would be empty.
  mutating func applyDeleteRules(_ found: [StoreConflict]) throws {
    draft.unpackBatches()
    var changes: [ManagedObjectID: RowChange] = [:]
    var gone: Set<ManagedObjectID> = []
    for change in draft.sets.lazy.flatMap(\.changes) {
      changes[change.id] = change
      if change.kind == .delete { gone.insert(change.id) }
    }
    var errors: [any Error] = []
    var results: [ManagedObjectID: RowChange?] = [:]
    var added: [RowChange] = []
    for found in found {
      let id = found.change.id
      guard let change = changes[id] ?? found.stored.map({ RowChange(.update, id, row: $0.row, base: $0.row) }) else {
        continue
      }
      let outcome = try outcome(of: change, gone, &errors)
      if changes[id] != nil { results[id] = .some(outcome) } else if let outcome { added.append(outcome) }
      if let outcome, outcome.kind != .delete {
        draft.noteRewritten(outcome)
      } else {
        draft.noteDropped(id, stored: nil)
      }
    }
    if errors.count == 1 { throw errors[0] }
    if !errors.isEmpty { throw ValidationErrors(errors: errors) }
    draft.replaceChanges { results[$0.id] ?? $0 }
    draft.replaceLinks { link in
      let leaves = [link.key.left, link.key.right].contains { id in results[id].map { $0 == nil } ?? false }
      return leaves ? nil : link
    }
    if !added.isEmpty { draft.add(ChangeSet(added)) }
  }

  /// Returns an object's change after delete rules; nil if it is new and is deleted by a cascade.
  private func outcome(
    of change: RowChange, _ gone: Set<ManagedObjectID>, _ errors: inout [any Error]
  ) throws -> RowChange? {
    guard var row = change.row else { return change }
    let entity = coordinator.model.entities[Int(row.entityIndex)]
    var refusals: [any Error] = []
    for reference in coordinator.layouts[entity.index].references {
      guard let destination = row.referenceIfPresent(reference.slot), gone.contains(destination) else { continue }
      let property = entity.properties[reference.slot]
      switch reference.deleteRule {
      case .cascade:
        return change.kind == .insert ? nil : RowChange(.delete, change.id, row: nil, base: change.base)
      case .nullify:
        if !property.isOptional { refusals.append(ValidationError.missing(property, of: change.id, entity)) }
        row.clear(reference)
      case .deny:
        let owner = coordinator.model.entities[Int(destination.entityIndex)]
        guard let inverse = property.inverse else { continue }
        refusals.append(ValidationError.deniedDelete(of: destination, owner, by: inverse, count: 1))
      case .noAction, nil: continue
      }
    }
    errors += refusals
    return RowChange(change.kind, change.id, row: row, base: change.base)
  }
}

// One-to-one relationships in conflicts: where a resolution relates an object to another one than a side wanted, the
// other end of the former relationship is cleared.

extension ConflictResolver {
  /// Clears one-to-one references to objects that refer to others once their conflicts are resolved.
  ///
  /// - Parameter resolved: the conflicts with their resolved changes; nil for dropped ones.
  mutating func partFormerPartners(_ resolved: [(conflict: StoreConflict, change: RowChange?)]) throws {
    for (conflict, change) in resolved {
      guard let stored = conflict.stored?.row, let final = change == nil ? stored : change?.row else { continue }
      for reference in coordinator.layouts[Int(stored.entityIndex)].partners {
        guard let slot = reference.inverseSlot else { continue }
        let goal = final.referenceIfPresent(reference.slot)
        for row in [stored, conflict.change.row] {
          guard let other = row?.referenceIfPresent(reference.slot), other != goal else { continue }
          try part(other, slot, from: conflict.change.id)
        }
      }
    }
  }

  private mutating func part(_ id: ManagedObjectID, _ slot: Int, from other: ManagedObjectID) throws {
    var pending: RowChange?
    for set in draft.sets { pending = set.change(of: id) ?? pending }
    if pending?.kind == .delete { return }
    guard var row = try pending?.row ?? coordinator.row(for: id)?.row, row.referenceIfPresent(slot) == other else {
      return
    }
    let base = pending == nil ? row : pending?.base
    row.setNull(slot)
    let parted = RowChange(pending?.kind ?? .update, id, row: row, base: base)
    if pending == nil { draft.add(ChangeSet([parted])) } else { draft.replaceChanges { $0.id == id ? parted : $0 } }
    draft.noteRewritten(parted)
  }
}
