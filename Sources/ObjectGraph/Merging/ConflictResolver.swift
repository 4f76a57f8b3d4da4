import ObjectModel

/// Turns the changes of a save that met conflicts into changes that can be written, as a policy says.
struct ConflictResolver {
  let coordinator: PersistentStoreCoordinator
  let policy: MergePolicy
  /// The number of the saving root context.
  let root: Int
  /// The changes still to be written, and what became of the others.
  private(set) var outcome: SaveOutcome
  /// Rows that only must not have changed, by object.
  private(set) var checks: [ManagedObjectID: RowChange]
  private(set) var rewritten: [ManagedObjectID: RowChange] = [:]
  /// The inserts of objects that have been in the store before.
  private(set) var returns: [RowChange] = []
  /// What new objects were given, by slot, where that is known; else it is what differs from their defaults.
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

  /// What was saved, once it was, with the updates that changed no row.
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

  /// The changes still to be written, with later versions for objects that have been in the store before and are inserted
  /// again. Cost: a look at the keys, unless there are such objects.
  mutating func setsToWrite() -> [ChangeSet] {
    returns = []
    return outcome.sets.map { coordinator.areTemporary($0.insertedKeys) ? $0 : withLaterVersions($0) }
  }

  private mutating func withLaterVersions(_ set: ChangeSet) -> ChangeSet {
    var changes = set.changes
    for index in changes.indices where changes[index].kind == .insert && !coordinator.isTemporary(changes[index].id) {
      let past = Row(coordinator.layouts[Int(changes[index].row?.entityIndex ?? changes[index].id.entityIndex)])
      // Of the clock, so later than whatever this or another process has counted up to.
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
  /// - Throws: ``SaveConflicts`` with all those that are errors.
  mutating func resolve(_ all: [StoreConflict], kind: (StoreConflict) -> MergeConflict.Kind) throws {
    // What is to be made again can be led to; if it is not, that shows when the rest is tried again.
    let changed = Set(all.filter { !$0.isMissingDestination }.map(\.change.id))
    let found = all.filter { !$0.isMissingDestination || !changed.contains($0.change.id) }
    var decisions: [ManagedObjectID: Decision] = [:]
    var errors: [MergeConflict] = []
    for found in found {
      let conflict = MergeConflict(found.change, stored: found.stored?.row, kind: kind(found), model: coordinator.model)
      if checks[found.change.id] == nil, let merged = mergedWithinStack(found) {
        decisions[found.change.id] = .write(merged)
      } else if let resolution = try policy.resolution(of: conflict) {
        // What is gone can't be led to, whoever wins.
        if found.isMissingDestination, isRequired(found.change.id) { errors.append(conflict) }
        decisions[found.change.id] = found.isMissingDestination ? .drop : decision(resolution, conflict)
      } else {
        errors.append(conflict)
      }
    }
    if !errors.isEmpty { throw SaveConflicts(errors) }
    for found in found {
      let id = found.change.id
      // What was only to be checked has nothing to write, whatever the policy says.
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

  /// The relationships of a row that lead to one of these objects.
  private func slots(of row: Row, leadingTo gone: Set<ManagedObjectID>) -> [Property] {
    coordinator.model.entities[Int(row.entityIndex)].properties.filter { property in
      property.storage == .reference && row.referenceIfPresent(property.slot).map(gone.contains) == true
    }
  }

  /// Whether a change can't do without a reference to that object.
  private func isRequired(_ id: ManagedObjectID) -> Bool {
    outcome.sets.contains { set in
      set.changes.contains { $0.row.map { slots(of: $0, leadingTo: [id]).contains { !$0.isOptional } } ?? false }
    }
  }

  /// Lets nothing lead to objects that are not there.
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

  /// The change against what is stored, if the conflict only looks like one because this stack saved in between.
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
    guard let stored = conflict.stored else { return decisionOnDeleted(resolution, conflict, mine) }
    let base = conflict.change.base ?? stored
    let layout = layout(of: stored)
    switch resolution {
    case .rollback: return .drop
    case .overwrite: return .write(update(conflict, stored, mine))
    case .objectTrump:
      return .write(update(conflict, stored, stored.applying(changesFrom: base, to: mine, layout: layout)))
    case .storeTrump:
      // The context's values under those that the store changed.
      let merged = mine.applying(changesFrom: base, to: stored, layout: layout)
      return merged.changedSlots(from: stored, layout: layout).isEmpty
        ? .drop : .write(update(conflict, stored, merged))
    case .values(let values):
      return .write(update(conflict, stored, stored.with(values, entity: conflict.entity)))
    }
  }

  /// The context deletes what others have changed or deleted.
  private func decisionOnDelete(_ resolution: MergeResolution, _ conflict: MergeConflict) -> Decision {
    guard let stored = conflict.stored else { return .drop }
    switch resolution {
    case .rollback, .storeTrump: return .drop
    case .objectTrump, .overwrite:
      return .write(RowChange(.delete, conflict.objectID, row: nil, base: stored))
    case .values(let values):
      return .write(update(conflict, stored, stored.with(values, entity: conflict.entity)))
    }
  }

  /// The context has changed what others have deleted.
  private func decisionOnDeleted(_ resolution: MergeResolution, _ conflict: MergeConflict, _ mine: Row) -> Decision {
    switch resolution {
    case .rollback, .storeTrump: .drop
    case .objectTrump, .overwrite: .write(RowChange(.insert, conflict.objectID, row: mine.unversioned, base: nil))
    case .values(let values):
      .write(
        RowChange(.insert, conflict.objectID, row: mine.unversioned.with(values, entity: conflict.entity), base: nil))
    }
  }

  private func update(_ conflict: MergeConflict, _ stored: Row, _ row: Row) -> RowChange {
    RowChange(.update, conflict.objectID, row: row.unversioned, base: stored)
  }

  private func layout(of row: Row) -> RowLayout { coordinator.layouts[Int(row.entityIndex)] }

  /// Changes, or leaves out, each change that is not of a batch.
  mutating func replaceChanges(_ replacement: (RowChange) -> RowChange?) {
    outcome.sets = outcome.sets.map {
      ChangeSet($0.changes.compactMap(replacement), batches: $0.batches, links: $0.links)
    }
    .filter { !$0.isEmpty }
  }

  /// Makes changes of packed rows, so that each can be resolved by itself.
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

  /// Changes, or leaves out, each link.
  mutating func replaceLinks(_ replacement: (LinkChange) -> LinkChange?) {
    outcome.sets = outcome.sets.map { set in
      set.links.isEmpty
        ? set : ChangeSet(set.changes, batches: set.batches, links: set.links.compactMap(replacement))
    }
  }

  mutating func add(_ set: ChangeSet) { outcome.sets.append(set) }

  /// Notes a change with other values than it came with.
  mutating func noteRewritten(_ change: RowChange) {
    rewritten[change.id] = change
    outcome.dropped[change.id] = nil
  }

  /// Notes an object whose change gave way.
  mutating func noteDropped(_ id: ManagedObjectID, stored: Row?) {
    rewritten[id] = nil
    outcome.dropped[id] = .some(stored)
  }
}

extension Row {
  /// A copy with the attributes of these names set; those that can't take their value stay.
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
