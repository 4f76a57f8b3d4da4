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
  let set: ChangeSet
  /// The objects whose changes were altered or dropped.
  var altered: [ManagedObjectID] = []
  /// The objects to delete because their owner is gone.
  var doomed: [ManagedObjectID] = []

  init(_ set: ChangeSet, altered: [ManagedObjectID] = [], doomed: [ManagedObjectID] = []) {
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
    return AdaptedChanges(set, altered: altered, doomed: doomed)
  }
}
