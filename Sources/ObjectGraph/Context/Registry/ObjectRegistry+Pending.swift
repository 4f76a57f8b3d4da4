import ObjectModel

extension ObjectRegistry {
  /// Ends an event: propagates deletes, and makes the changes of the event visible to children and fetches.
  func processPendingChanges() {
    checkExecutor()
    if settings.propagatesDeletesAtEndOfEvent { propagateDeletes() }
    publishChanges()
    if !hasQueuedDeletes { clearGoneReferences() }
    assertInvariants()
  }

  /// Clears references from this context's changes to objects that are gone, once deletes have been propagated.
  func clearGoneReferences() {
    pending.clearGoneReferences()
    if let altered = adjustAltered() { report.append(altered) }
  }

  /// Makes the objects' changes visible to children and fetches.
  func publishChanges() {
    if touchedObjects.isEmpty, relationships.hasNoLinks { return }
    let links = relationships.drainLinks()
    let touched = drainTouchedObjects()
    var changes: [RowChange] = []
    var relinked: [ManagedObjectID] = []
    changes.reserveCapacity(touched.count)
    var record = undo.isRecording ? UndoRecord(saveCount: undo.saveCount) : nil
    for object in touched {
      if record != nil, let undone = undo.change(of: object) { record?.objects.append(undone) }
      if isRelinked(object) {
        object.published = object.row
        relinked.append(object.objectID)
      } else if let change = publish(object) {
        changes.append(change)
      }
    }
    record?.links = undo.drainLinks()
    for set in Self.sets(of: changes, links, relinked: relinked) {
      pending.append(set)
      report.append(set)
    }
    if let record { undo.register(record, in: self) }
  }

  /// Makes one set of the changes; many inserts go into a set of their own, which stays whole.
  private static func sets(
    of changes: [RowChange], _ links: [LinkChange], relinked: [ManagedObjectID]
  ) -> [ChangeSet] {
    let together = ChangeSet(changes, links: links, relinked: relinked)
    if together.isEmpty { return [] }
    let isMixed = together.hasInserts && !(together.isAllInserts && links.isEmpty && relinked.isEmpty)
    if changes.count < Pending.bulkThreshold || !isMixed { return [together] }
    let inserts = changes.filter { $0.kind == .insert }
    let others = ChangeSet(changes.filter { $0.kind != .insert }, links: links, relinked: relinked)
    return [ChangeSet(inserts), others].filter { !$0.isEmpty }
  }

  /// True if an object was touched in this event for a relationship only that no column of its row tells of.
  private func isRelinked(_ object: ManagedObject) -> Bool {
    if object.isDeleted { return false }
    let before = object.published ?? (object.isInserted ? nil : object.base)
    return before?.isIdentical(to: object.row) ?? false
  }

  /// True if an object has values that were not published yet.
  func hasUnpublishedValues(_ object: ManagedObject) -> Bool {
    object.state.contains(.touched) && !object.isDeleted && !isRelinked(object)
  }

  /// Returns the row that an object had when the event began, if it has changed since; `.some(nil)` if it is new.
  func rowBeforeEvent(of object: ManagedObject) -> Row?? {
    if let change = report.firstChange(of: object.objectID) {
      return .some(change.kind == .insert ? nil : change.base)
    }
    guard object.state.contains(.touched) else {
      return report.isRelinked(object.objectID) ? .some(object.row) : nil
    }
    return .some(object.published ?? (object.isInserted ? nil : object.base))
  }

  /// Returns the object's change since its values were last published, and publishes it.
  private func publish(_ object: ManagedObject) -> RowChange? {
    let id = object.objectID
    let wasPublished = object.published
    if object.isDeleted {
      object.published = nil
      if !object.isInserted { return RowChange(.delete, id, row: nil, base: object.base ?? object.row) }
      return wasPublished.map { RowChange(.delete, id, row: nil, base: $0) }
    }
    object.published = object.row
    if let wasPublished { return RowChange(.update, id, row: object.row, base: wasPublished) }
    return RowChange(object.isInserted ? .insert : .update, id, row: object.row, base: object.base)
  }
}

// MARK: - Changes from children

extension ObjectRegistry {
  /// Brings the objects in line with what children have saved into this context.
  ///
  /// - Returns: the children's changes, for observers.
  func mergeNews() -> [ChangeSet] {
    checkExecutor()
    let news = drainNews()
    if news.isEmpty { return news }
    relationships.invalidateCaches()
    for set in news where hasRegisteredObjects { adjustObjects(of: set) }
    let altered = adjustAltered()
    assertInvariants()
    return news + (altered.map { [$0] } ?? [])
  }

  /// Brings objects in line with what deletes have done to their changes.
  ///
  /// - Returns: the effects, for observers.
  private func adjustAltered() -> ChangeSet? {
    let altered = pending.drainAltered()
    if altered.isEmpty { return nil }
    relationships.invalidateCaches()
    return ChangeSet(
      altered.map { id in
        let change = pending.currentChange(of: id)
        if let object = registeredObject(for: id) {
          adjust(object)
        } else if let row = change?.row, lacksDestination(row) {
          // Registered and held, so that the save's validation finds it.
          _ = object(with: id)
        }
        return RowChange(change?.row == nil ? .delete : .update, id, row: change?.row, base: nil)
      })
  }

  /// True if a required relationship of the row has no destination.
  private func lacksDestination(_ row: Row) -> Bool {
    let properties = coordinator.model.entities[Int(row.entityIndex)].properties
    return coordinator.layouts[Int(row.entityIndex)].references.contains {
      row.isNull($0.slot) && !properties[$0.slot].isOptional
    }
  }

  /// Makes the children's changes current, and records them if undo is on.
  private func drainNews() -> [ChangeSet] {
    guard undo.isRecording else { return pending.drainNews() }
    while true {
      // The former state of links is known only until the news is current; more may arrive meanwhile.
      let expected = pending.news
      let record = undo.record(of: expected, in: self)
      guard let news = pending.drainNews(count: expected.count) else { continue }
      undo.register(record, in: self)
      return news
    }
  }

  private func adjustObjects(of set: ChangeSet) {
    if set.objectCount > registeredCount {
      let relinked = Set(set.relinked)
      for object in allObjects where set.change(of: object.objectID) != nil || relinked.contains(object.objectID) {
        adjust(object)
      }
      return
    }
    for id in set.changes.lazy.map(\.id) + set.relinked {
      if let object = registeredObject(for: id) { adjust(object) }
    }
    for batch in set.batches {
      for index in 0..<batch.count {
        if let object = registeredObject(for: batch.id(at: index)) { adjust(object) }
      }
    }
  }

  /// Brings an object in line with its pending change; unpublished edits stay on top.
  private func adjust(_ object: ManagedObject) {
    let waiting = pending.currentState(of: object.objectID)
    if case .relinked? = waiting { return markRelinked(object) }
    hold(object)
    guard case .changed(let change)? = waiting else {
      // Inserted here, and deleted by a child.
      object.published = nil
      return markDeleted(object, base: nil)
    }
    guard let row = change.row else {
      object.published = nil
      return markDeleted(object, base: change.base)
    }
    let before = object.published ?? object.base
    if change.kind == .update, object.base == nil { object.base = object.isFault ? change.base : object.row }
    object.published = row
    if object.state.contains(.touched), let before {
      object.row = row.applying(changesFrom: before, to: object.row, layout: layout(of: object))
    } else if !object.isDeleted || !object.state.contains(.touched) {
      // Was deleted, and brought back by a child's undo.
      object.state.remove(.deleted)
      object.row = row
    }
    object.hasRow = true
    object.state.subtract([.fault, .inaccessible])
    object.state.insert(change.kind == .insert ? .inserted : .updated)
  }

  private func markDeleted(_ object: ManagedObject, base: Row?) {
    if object.isFault, let row = base { object.row = row }
    // A rollback gives back what the object showed here, not what who deleted it knew.
    if object.base == nil, !object.isInserted { object.base = object.row }
    object.hasRow = true
    object.state.remove(.fault)
    object.state.insert(.deleted)
  }

  func layout(of object: ManagedObject) -> RowLayout { coordinator.layouts[object.entity.index] }
}

/// The unpublished links and the changed to-many relationships of one context.
///
/// Accesses never overlap, as those of ``ObjectRegistry``: no check at run time.
final class RelationshipChanges {
  @exclusivity(unchecked) private var links: [LinkKey: LinkChange] = [:]
  /// The slots of to-many relationships whose destinations were changed since the last save.
  @exclusivity(unchecked) private var slots: [ManagedObjectID: Set<Int>] = [:]
  /// A counter of changes from outside; each makes cached to-many relationships stale.
  @exclusivity(unchecked) private(set) var generation = 0

  /// The same counter as new objects store it; 0 only once in four billion.
  var birthGeneration: UInt32 { UInt32(truncatingIfNeeded: generation &+ 1) }

  /// Makes all cached to-many relationships stale.
  func invalidateCaches() { generation += 1 }

  // MARK: Links

  /// True if no link was changed since changes were published.
  var hasNoLinks: Bool { links.isEmpty }

  /// The links changed since changes were published.
  var changedLinks: some Collection<LinkKey> { links.keys }

  /// Adds a change on top of an earlier one of the same link.
  func record(_ change: LinkChange) { links[change.key] = links[change.key]?.followed(by: change) ?? change }

  /// Sets the change of a link, whatever was changed before.
  func replace(_ change: LinkChange) { links[change.key] = change }

  /// Removes and returns the links changed since the last call.
  func drainLinks() -> [LinkChange] {
    if links.isEmpty { return [] }
    defer { links = [:] }
    return Array(links.values)
  }

  // MARK: To-many relationships

  /// Notes that a to-many relationship of an object was changed.
  func noteChange(of id: ManagedObjectID, _ slot: Int) { slots[id, default: []].insert(slot) }

  /// Returns the slots of an object's to-many relationships that were changed since the last save.
  func changedSlots(of id: ManagedObjectID) -> Set<Int> { slots[id] ?? [] }

  /// Forgets the changed to-many relationships of an object.
  func forgetSlots(of id: ManagedObjectID) { slots[id] = nil }

  /// Forgets the changed to-many relationships of all objects.
  func forgetSlots() { slots = [:] }

  /// Forgets all changes; caches stay as they are.
  func removeAll() {
    links = [:]
    slots = [:]
  }
}
