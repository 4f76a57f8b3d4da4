import ObjectModel

// Deletes and references in memory: no pending change of a context may lead to an object that is gone.
//
// Changes that arrive are searched for references to objects already gone there; then the pending changes are searched
// for references to objects deleted by the arrivals. Either way the relationship's delete rule decides, as if it had
// been known at the time of the delete.

/// The effect on an object's reference when its destination is gone.
enum ReferenceEffect {
  case cleared
  /// The object is deleted too.
  case deletesOwner
  /// The reference stays: no rule forbids it, or a rule that denies the delete when it reaches the store.
  case stays
}

extension RowLayout.Reference {
  /// - Parameter isNew: true if the destination was gone before the reference was made, or was never stored.
  func effect(isNew: Bool) -> ReferenceEffect {
    switch deleteRule {
    case .cascade: .deletesOwner
    case .nullify: .cleared
    case .deny, .noAction, nil: isNew ? .cleared : .stays
    }
  }
}

/// A reference of one object with changes to another.
struct PendingReference: Hashable {
  let owner: ManagedObjectID
  let destination: ManagedObjectID
}

extension Row {
  mutating func clear(_ reference: RowLayout.Reference) {
    setNull(reference.slot)
    if let order = reference.orderSlot { setNull(order) }
  }
}

/// Changes adapted to a context where some objects are gone.
struct AdaptedChanges {
  /// The changes as they were made.
  let original: ChangeSet
  let set: ChangeSet
  /// The objects whose changes were altered or dropped.
  var altered: [ManagedObjectID] = []
  /// The objects to delete because their owner is gone.
  var doomed: [ManagedObjectID] = []

  /// True if other changes may lead to objects that these delete.
  var deletesObjects: Bool { !doomed.isEmpty || set.hasDeletes }

  init(
    _ set: ChangeSet, of original: ChangeSet? = nil, altered: [ManagedObjectID] = [], doomed: [ManagedObjectID] = []
  ) {
    self.original = original ?? set
    self.set = set
    self.altered = altered
    self.doomed = doomed
  }
}

extension ChangeSet {
  /// Returns the set adapted to gone objects: it changes none of them, and refers only to those it inserts again.
  func adapted(_ layouts: [RowLayout], isGone: (ManagedObjectID) -> Bool) -> AdaptedChanges {
    func isGoneHere(_ id: ManagedObjectID) -> Bool { isGone(id) && change(of: id)?.kind != .insert }
    func concernsGone(_ change: RowChange) -> Bool {
      if isGoneHere(change.id) { return true }
      guard let row = change.row else { return false }
      return layouts[Int(row.entityIndex)].references.contains {
        row.referenceIfPresent($0.slot).map(isGoneHere) ?? false
      }
    }
    func leadsToGone(_ link: LinkChange) -> Bool {
      link.isPresent && (isGoneHere(link.key.left) || isGoneHere(link.key.right))
    }
    let relinksGone = relinked.contains(where: isGoneHere)
    guard relinksGone || changes.contains(where: concernsGone) || links.contains(where: leadsToGone) else {
      return AdaptedChanges(self)
    }
    var altered: [ManagedObjectID] = []
    var doomed: [ManagedObjectID] = []
    let kept = changes.compactMap { change -> RowChange? in
      if !concernsGone(change) { return change }
      altered.append(change.id)
      if isGoneHere(change.id) { return nil }
      guard var row = change.row else { return change }
      for reference in layouts[Int(row.entityIndex)].references {
        guard let id = row.referenceIfPresent(reference.slot), isGoneHere(id) else { continue }
        switch reference.effect(isNew: change.base?.referenceIfPresent(reference.slot) != id) {
        case .deletesOwner:
          doomed.append(change.id)
          row.clear(reference)
        case .cleared: row.clear(reference)
        case .stays: break
        }
      }
      return RowChange(change.kind, change.id, row: row, base: change.base)
    }
    let set = ChangeSet(
      kept, batches: batches, links: links.filter { !leadsToGone($0) }, relinked: relinked.filter { !isGoneHere($0) })
    return AdaptedChanges(set, of: self, altered: altered, doomed: doomed)
  }
}

extension Pending {
  /// True if an object is known to be gone here; nil if nothing is known of it.
  func isGone(_ id: ManagedObjectID) -> Bool? {
    guard let kind = latestKind(of: id) else { return nil }
    return kind == .delete || kind == .forget
  }

  /// Clears references to objects that are gone, and applies cascades.
  ///
  /// Cost: a look at each change here, once; then one look-up for each object that is gone.
  /// - Parameters:
  ///   - late: the references that were made when their destination was gone already.
  ///   - below: an older layer, with its references indexed. What becomes of its changes is added here.
  ///   - unlinks: true to remove links of objects that are gone.
  /// - Returns: the objects whose changes were altered.
  mutating func clearReferences(
    toGone gone: [ManagedObjectID], doomed: [ManagedObjectID], late: Set<PendingReference> = [], below: Pending? = nil,
    unlinks: Bool = true, layouts: [RowLayout]
  ) -> [ManagedObjectID] {
    var queue = gone
    var altered: [ManagedObjectID] = []
    func delete(_ id: ManagedObjectID, _ row: Row, from pending: inout Pending) {
      pending.absorb(ChangeSet([RowChange(.delete, id, row: nil, base: row)]), layouts: layouts)
      queue.append(id)
      altered.append(id)
    }
    for id in doomed { if let row = row(of: id, over: below, layouts) { delete(id, row, from: &self) } }
    if queue.isEmpty { return altered }
    indexReferences(layouts)
    var all: Set<ManagedObjectID> = []
    while let id = queue.popLast() {
      guard all.insert(id).inserted else { continue }
      let wasNeverSaved = latestKind(of: id) == .forget || below?.change(of: id)?.kind == .insert
      let owners = owners(ofReferencesTo: id, layouts: layouts)
      for owner in owners + (below?.owners(ofReferencesTo: id, layouts: layouts) ?? []) {
        guard let row = row(of: owner, over: below, layouts) else { continue }
        var changed = row
        var isDoomed = false
        let isNew = wasNeverSaved || late.contains(PendingReference(owner: owner, destination: id))
        for reference in layouts[Int(row.entityIndex)].references
        where changed.referenceIfPresent(reference.slot) == id {
          switch reference.effect(isNew: isNew) {
          case .cleared: changed.clear(reference)
          case .deletesOwner: isDoomed = true
          case .stays: break
          }
        }
        if isDoomed {
          delete(owner, row, from: &self)
        } else if !changed.isIdentical(to: row) {
          absorb(ChangeSet([RowChange(.update, owner, row: changed, base: row)]), layouts: layouts)
          altered.append(owner)
        }
      }
    }
    if unlinks { unlink { all.contains($0.left) || all.contains($0.right) } }
    return altered
  }

  /// Returns the values that an object has with these changes on top of an older layer's.
  private func row(of id: ManagedObjectID, over below: Pending?, _ layouts: [RowLayout]) -> Row? {
    if let below { [self, below][...].change(of: id, layouts: layouts)?.row } else { change(of: id)?.row }
  }
}
