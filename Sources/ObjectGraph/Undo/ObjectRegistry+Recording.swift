import ObjectModel

// Records for the undo manager, made where changes are published.

extension ObjectRegistry {
  func setUndoManager(_ manager: UndoManager?) {
    if manager === undoManager { return }
    publishChanges()
    undoManager?.setCheckpoint(of: self, nil)
    undoManager?.removeAllActions(withTarget: self)
    undoManager = manager
    manager?.setCheckpoint(of: self) { [weak self] in
      guard let self else { return }
      if propagatesDeletesAtEndOfEvent { propagateDeletes() }
      publishChanges()
    }
  }

  /// True if changes are recorded.
  var isRecording: Bool { !isReverting && undoManager?.isUndoRegistrationEnabled ?? false }

  /// Registers a record with the undo manager.
  func register(_ record: UndoRecord) {
    if record.isEmpty { return }
    undoManager?.register(for: self) { [weak self] in
      guard let self else { return }
      register(revert(record))
    }
  }

  /// Returns the change that is about to be published for an object.
  func undoChange(of object: ManagedObject) -> UndoRecord.ObjectChange? {
    let before = object.published ?? (object.isInserted ? nil : object.base ?? object.row)
    let after = object.isDeleted ? nil : object.row
    if before == nil && after == nil { return nil }
    return UndoRecord.ObjectChange(
      id: object.objectID, object: object, before: before, after: after,
      wasClean: object.published == nil && !object.isInserted)
  }

  /// Notes the state of a link before its first change since changes were published.
  func noteForUndo(_ key: LinkKey) {
    if isRecording, linksBefore[key] == nil { linksBefore[key] = state(of: key) }
  }

  /// Removes and returns the former state of the changed links.
  func takeLinksBefore() -> [UndoRecord.Link] {
    defer { linksBefore = [:] }
    publishedLinks = [:]
    return Array(linksBefore.values)
  }

  /// Returns a link as it was last published or stored.
  func state(of key: LinkKey) -> UndoRecord.Link {
    let table = coordinator.model.joinTables[key.table]
    let orders = publishedLinks(of: key.left, table.left.property(named: table.relationship))
    var before = LinkChange(key, isPresent: orders[key.right] != nil)
    if before.isPresent {
      before.order = orders[key.right] ?? nil
      if table.isInverseOrdered, !table.isSymmetric, let inverse = table.inverse {
        before.inverseOrder = publishedLinks(of: key.right, table.right.property(named: inverse))[key.left] ?? nil
      }
    }
    return UndoRecord.Link(before: before, wasPending: pending.currentLink(key) != nil)
  }

  /// Returns the published destinations of an object with their places; one fetch until changes are published again.
  private func publishedLinks(of id: ManagedObjectID, _ property: Property?) -> [ManagedObjectID: Int64?] {
    guard let property, let table = property.joinTable else { return [:] }
    let side = LinkSide(object: id, table: table.index, isLeft: property.isLeftEnd)
    if let known = publishedLinks[side] { return known }
    do {
      let execution = FetchExecution(self, FetchQuery(entity: table.left))
      let links = try execution.links(of: id, property, includingDeleted: true)
      let orders = Dictionary(links.map { ($0.destination, $0.order) }) { first, _ in first }
      publishedLinks[side] = orders
      return orders
    } catch {
      noteFaultFailure(error)
      return [:]
    }
  }

  /// Records children's changes that are about to become current.
  func record(of news: [ChangeSet]) -> UndoRecord {
    var record = UndoRecord(saveCount: saveCount)
    for set in news {
      for change in set.changes {
        record.objects.append(
          UndoRecord.ObjectChange(
            id: change.id, object: registeredObject(for: change.id), before: change.base, after: change.row,
            wasClean: pending.currentChange(of: change.id) == nil))
      }
      for batch in set.batches {
        for index in 0..<batch.count {
          record.objects.append(
            UndoRecord.ObjectChange(
              id: batch.id(at: index), object: nil, before: nil, after: batch.copy(of: index), wasClean: true))
        }
      }
      record.links += set.links.map { state(of: $0.key) }
    }
    publishedLinks = [:]
    return record
  }
}

/// One end of a join table, as seen from an object.
struct LinkSide: Hashable {
  let object: ManagedObjectID
  let table: Int
  let isLeft: Bool
}
