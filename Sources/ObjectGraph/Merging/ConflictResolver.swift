import ObjectModel

/// Turns the changes of a save that met conflicts into changes that can be written, as the merge policy decides.
struct ConflictResolver {
  let coordinator: PersistentStoreCoordinator
  let policy: MergePolicy
  /// The number of the saving root context.
  let root: Int
  /// The changes still to be written, and the fate of the others.
  private(set) var outcome: SaveOutcome
  /// Rows that must not have changed, by object; they are not written.
  private(set) var checks: [ManagedObjectID: RowChange]
  private(set) var rewritten: [ManagedObjectID: RowChange] = [:]
  /// The inserts of objects that were stored before.
  private(set) var returns: [RowChange] = []
  /// The slots that were set in new objects, if known; otherwise those that differ from the defaults count.
  var givenSlots: [ManagedObjectID: [Int]] = [:]

  init(
    _ coordinator: PersistentStoreCoordinator, policy: MergePolicy, root: Int, sets: [ChangeSet], checks: [RowChange]
  ) {
    self.coordinator = coordinator
    self.policy = policy
    self.root = root
    outcome = SaveOutcome(sets: sets)
    self.checks = Dictionary(checks.map { ($0.id, $0) }) { $1 }
  }

  var request: [RowChange] { Array(checks.values) }

  /// Returns the outcome of the completed save, including updates that changed no row.
  func finalOutcome(of sets: [ChangeSet]) -> SaveOutcome {
    var final = outcome
    final.rewritten = Array(rewritten.values)
    if rewritten.isEmpty && outcome.dropped.isEmpty {
      final.sets = sets
    } else {
      let empty = sets.flatMap {
        $0.changes.filter { $0.isEmptyUpdate && outcome.dropped[$0.id] == nil && rewritten[$0.id] == nil }
      }
      if !empty.isEmpty { final.sets.append(ChangeSet(empty)) }
    }
    return final
  }

  /// Returns the changes still to be written, with later versions for objects that were stored before and are inserted
  /// again. Cost: a look at the keys, unless there are such objects.
  mutating func setsToWrite() -> [ChangeSet] {
    returns = []
    return outcome.sets.map { coordinator.areTemporary($0.insertedKeys) ? $0 : withLaterVersions($0) }
  }

  private mutating func withLaterVersions(_ set: ChangeSet) -> ChangeSet {
    var changes = set.changes
    for index in changes.indices where changes[index].kind == .insert && !coordinator.isTemporary(changes[index].id) {
      let past = Row(coordinator.layouts[Int(changes[index].row?.entityIndex ?? changes[index].id.entityIndex)])
      // From the clock, so later than any version counted by this or another process.
      past.stamp(version: coordinator.drawOrder())
      changes[index].base = past
      returns.append(changes[index])
    }
    return ChangeSet(changes, batches: set.batches, links: set.links)
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
        rewritten[id] = change
      } else {
        noteDropped(id, stored: found.stored?.row)
      }
    }
    let gone = Set(found.filter { $0.stored == nil || $0.change.row == nil }.map(\.change.id)).filter { id in
      if case .drop = decisions[id] { true } else { false }
    }
    clearReferences(to: Set(found.filter(\.isMissingDestination).map(\.change.id)))
    if !gone.isEmpty { replaceLinks { gone.contains($0.key.left) || gone.contains($0.key.right) ? nil : $0 } }
    replaceChanges { change in
      switch decisions[change.id] {
      case .write(let rewritten): rewritten
      case .drop: nil
      case nil: change
      }
    }
    try partFormerPartners(
      found.map { conflict in
        if case .write(let change)? = decisions[conflict.change.id] { (conflict, change) } else { (conflict, nil) }
      })
  }

  /// Returns the relationships of a row that lead to one of these objects.
  private func slots(of row: Row, leadingTo gone: Set<ManagedObjectID>) -> [Property] {
    coordinator.model.entities[Int(row.entityIndex)].properties.filter { property in
      property.storage == .reference && row.referenceIfPresent(property.slot).map(gone.contains) == true
    }
  }

  /// True if a required relationship of a change leads to that object.
  private func isRequired(_ id: ManagedObjectID) -> Bool {
    outcome.sets.contains { set in
      set.changes.contains { $0.row.map { slots(of: $0, leadingTo: [id]).contains { !$0.isOptional } } ?? false }
    }
  }

  /// Clears references to objects that do not exist.
  private mutating func clearReferences(to gone: Set<ManagedObjectID>) {
    if gone.isEmpty { return }
    var cleared: [ManagedObjectID: RowChange] = [:]
    for change in outcome.sets.lazy.flatMap(\.changes) {
      guard var row = change.row else { continue }
      let slots = slots(of: row, leadingTo: gone).map(\.slot)
      if slots.isEmpty { continue }
      for slot in slots { row.setNull(slot) }
      cleared[change.id] = RowChange(change.kind, change.id, row: row, base: change.base)
    }
    replaceChanges { cleared[$0.id] ?? $0 }
    for change in cleared.values { noteRewritten(change) }
  }

  /// Returns the change rebased on the stored row, if this stack's own save in between caused the conflict.
  private func mergedWithinStack(_ conflict: StoreConflict) -> RowChange? {
    guard let base = conflict.change.base, let stored = conflict.stored?.row,
      coordinator.canMerge(conflict, base, stored, root)
    else { return nil }
    var change = conflict.change
    change.base = stored
    change.row = change.row.map { stored.applying(changesFrom: base, to: $0, layout: layout(of: stored)) }
    return change
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

  /// Replaces or drops each change that is not in a batch.
  mutating func replaceChanges(_ replacement: (RowChange) -> RowChange?) {
    outcome.sets = outcome.sets.map {
      ChangeSet($0.changes.compactMap(replacement), batches: $0.batches, links: $0.links)
    }
    .filter { !$0.isEmpty }
  }

  /// Turns packed rows into changes, so that each can be resolved by itself.
  mutating func unpackBatches() {
    let batches = outcome.sets.flatMap(\.batches)
    if batches.isEmpty { return }
    var sets = outcome.sets.map { ChangeSet($0.changes, links: $0.links) }
    for batch in batches {
      sets.append(
        ChangeSet(
          (0..<batch.count).map { index in
            RowChange(.insert, batch.id(at: index), row: batch.copy(of: index), base: nil)
          }))
      for index in 0..<batch.count { givenSlots[batch.id(at: index)] = batch.givenSlots(of: index) }
    }
    outcome.sets = sets
  }

  /// Replaces or drops each link.
  mutating func replaceLinks(_ replacement: (LinkChange) -> LinkChange?) {
    outcome.sets = outcome.sets.map { set in
      set.links.isEmpty
        ? set : ChangeSet(set.changes, batches: set.batches, links: set.links.compactMap(replacement))
    }
  }

  mutating func add(_ set: ChangeSet) { outcome.sets.append(set) }

  /// Notes a change whose values were altered.
  mutating func noteRewritten(_ change: RowChange) {
    rewritten[change.id] = change
    outcome.dropped[change.id] = nil
  }

  /// Notes an object whose change was dropped.
  mutating func noteDropped(_ id: ManagedObjectID, stored: Row?) {
    rewritten[id] = nil
    outcome.dropped[id] = .some(stored)
  }
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
