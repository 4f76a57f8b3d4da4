import ObjectModel

/// Records a context's published changes for its undo manager.
final class UndoRecorder {
  /// The manager that records changes for undo, if there is one.
  private(set) var manager: UndoManager?
  /// True while changes are made that an undo must not record.
  private var isPaused = false
  /// The number of saves of the context.
  private(set) var saveCount = 0
  /// The former state of links that were changed since changes were published.
  private var linksBefore: [LinkKey: UndoRecord.Link] = [:]
  /// Published links that were looked up for that.
  private var publishedLinks: [LinkSide: [ManagedObjectID: Int64?]] = [:]

  /// One end of a join table, as seen from an object.
  private struct LinkSide: Hashable {
    let object: ManagedObjectID
    let table: Int
    let isLeft: Bool
  }

  /// Replaces the manager; the former one forgets this context's actions.
  func setManager(_ manager: UndoManager?, of registry: ObjectRegistry) {
    if manager === self.manager { return }
    registry.publishChanges()
    self.manager?.setCheckpoint(of: registry, nil)
    self.manager?.removeAllActions(withTarget: registry)
    self.manager = manager
    manager?.setCheckpoint(of: registry) { [weak registry] in
      guard let registry else { return }
      if registry.settings.propagatesDeletesAtEndOfEvent { registry.propagateDeletes() }
      registry.publishChanges()
    }
  }

  /// True if changes are recorded.
  var isRecording: Bool { !isPaused && manager?.isUndoRegistrationEnabled ?? false }

  /// Makes changes that an undo does not record.
  func withoutRecording<Result>(_ body: () -> Result) -> Result {
    let wasPaused = isPaused
    isPaused = true
    defer { isPaused = wasPaused }
    return body()
  }

  /// Counts a save: reverting earlier records makes new changes from then on.
  func noteSave() { saveCount += 1 }

  /// Registers a record with the manager.
  func register(_ record: UndoRecord, in registry: ObjectRegistry) {
    if record.isEmpty { return }
    manager?.register(for: registry) { [weak registry] in
      guard let registry else { return }
      registry.undo.register(registry.revert(record), in: registry)
    }
  }

  /// Returns the change that is about to be published for an object.
  func change(of object: ManagedObject) -> UndoRecord.ObjectChange? {
    let before = object.published ?? (object.isInserted ? nil : object.base ?? object.row)
    let after = object.isDeleted ? nil : object.row
    if before == nil && after == nil { return nil }
    return UndoRecord.ObjectChange(
      id: object.objectID, object: object, before: before, after: after,
      wasClean: object.published == nil && !object.isInserted)
  }

  /// Records children's changes that are about to become current.
  func record(of news: [ChangeSet], in registry: ObjectRegistry) -> UndoRecord {
    var record = UndoRecord(saveCount: saveCount)
    for set in news {
      for change in set.changes {
        record.objects.append(
          UndoRecord.ObjectChange(
            id: change.id, object: registry.registeredObject(for: change.id), before: change.base, after: change.row,
            wasClean: registry.pending.currentState(of: change.id) == nil))
      }
      for batch in set.batches {
        for index in 0..<batch.count {
          record.objects.append(
            UndoRecord.ObjectChange(
              id: batch.id(at: index), object: nil, before: nil, after: batch.copy(of: index), wasClean: true))
        }
      }
      record.links += set.links.map { state(of: $0.key, in: registry) }
    }
    forgetPublishedLinks()
    return record
  }

  // MARK: Links

  /// Notes the state of a link before its first change since changes were published.
  func noteLink(_ key: LinkKey, in registry: ObjectRegistry) {
    if isRecording, linksBefore[key] == nil { linksBefore[key] = state(of: key, in: registry) }
  }

  /// Removes and returns the former state of the changed links.
  func drainLinks() -> [UndoRecord.Link] {
    defer { linksBefore = [:] }
    publishedLinks = [:]
    return Array(linksBefore.values)
  }

  /// Forgets the former state of links.
  func forgetLinks() {
    linksBefore = [:]
    publishedLinks = [:]
  }

  /// Forgets the published links, which are about to change.
  func forgetPublishedLinks() { publishedLinks = [:] }

  /// Returns a link as it was last published or stored.
  func state(of key: LinkKey, in registry: ObjectRegistry) -> UndoRecord.Link {
    let table = registry.coordinator.model.joinTables[key.table]
    let orders = publishedLinks(of: key.left, table.left.property(named: table.relationship), in: registry)
    var before = LinkChange(key, isPresent: orders[key.right] != nil)
    if before.isPresent {
      before.order = orders[key.right] ?? nil
      if table.isInverseOrdered, !table.isSymmetric, let inverse = table.inverse {
        before.inverseOrder =
          publishedLinks(of: key.right, table.right.property(named: inverse), in: registry)[key.left] ?? nil
      }
    }
    return UndoRecord.Link(before: before, wasPending: registry.pending.currentLink(key) != nil)
  }

  /// Returns the published destinations of an object with their places; one fetch until changes are published again.
  private func publishedLinks(
    of id: ManagedObjectID, _ property: Property?, in registry: ObjectRegistry
  ) -> [ManagedObjectID: Int64?] {
    guard let property, let table = property.joinTable else { return [:] }
    let side = LinkSide(object: id, table: table.index, isLeft: property.isLeftEnd)
    if let known = publishedLinks[side] { return known }
    do {
      let execution = FetchExecution(registry, FetchQuery(entity: table.left))
      let links = try execution.links(of: id, property, includingDeleted: true)
      let orders = Dictionary(links.map { ($0.destination, $0.order) }) { first, _ in first }
      publishedLinks[side] = orders
      return orders
    } catch {
      registry.failures.note(error)
      return [:]
    }
  }
}

/// A record of changed objects and links with their former state, from which the change can be reverted.
struct UndoRecord {
  struct ObjectChange {
    let id: ManagedObjectID
    /// The instance, so that the same one can be restored; nil if the context had none.
    let object: ManagedObject?
    /// The values before the change; nil if the object did not exist.
    let before: Row?
    /// The values after it; nil if it was deleted.
    let after: Row?
    /// True if the object had no changes before.
    let wasClean: Bool
  }

  struct Link {
    /// The state before the change.
    let before: LinkChange
    /// True if the link already had an unsaved change before.
    let wasPending: Bool
  }

  var objects: [ObjectChange] = []
  var links: [Link] = []
  /// The number of saves of the context before this.
  let saveCount: Int

  /// True if reverting this record redoes something.
  var isOfUndo = false

  var isEmpty: Bool { objects.isEmpty && links.isEmpty }

  /// Returns the event that reverting a change causes; redoing an insert equals undoing a delete.
  func event(of change: ObjectChange) -> SnapshotEventType {
    if change.before != nil && change.after != nil { return .undoUpdate }
    return (change.before == nil) != isOfUndo ? .undoInsertion : .undoDeletion
  }
}
