import Foundation
import ObjectModel

extension ObjectRegistry {
  /// Restores objects and links to their state before a record.
  ///
  /// - Returns: the record that reverts this again.
  func revert(_ record: UndoRecord) -> UndoRecord {
    checkExecutor()
    publishChanges()
    return undo.withoutRecording { revertUnrecorded(record) }
  }

  private func revertUnrecorded(_ record: UndoRecord) -> UndoRecord {
    let saveCount = undo.saveCount
    var inverse = UndoRecord(saveCount: saveCount)
    inverse.isOfUndo = !record.isOfUndo
    let isSaved = record.saveCount != saveCount
    for link in record.links {
      inverse.links.append(undo.state(of: link.before.key, in: self))
      if isSaved || link.wasPending {
        relationships.replace(link.before)
      } else {
        pending.removeLink(link.before.key)
      }
    }
    undo.forgetPublishedLinks()
    relationships.invalidateCaches()
    var cleaned: [ManagedObject] = []
    var awoken: [(ManagedObject, SnapshotEventType)] = []
    let linked = pending.linkedObjects.union(relationships.changedLinks.flatMap { [$0.left, $0.right] })
    for change in record.objects.reversed() {
      guard let object = instance(of: change) else { continue }
      let now = object.isDeleted ? nil : object.row
      let wasClean = !object.hasChanges
      let mayBecomeClean = change.wasClean && !linked.contains(change.id)
      switch (change.before, change.after) {
      case (nil, _): remove(object)
      case (let before?, nil):
        restore(object, before)
        if mayBecomeClean, !isSaved, becomesClean(object, before, reportedAs: .insert) { cleaned.append(object) }
      case (let before?, let after?):
        let row = object.row.applying(changesFrom: after, to: before, layout: layout(of: object))
        if mayBecomeClean, becomesClean(object, row, reportedAs: .update) {
          cleaned.append(object)
        } else {
          touch(object)
          object.row = row
        }
      }
      object.toMany = nil
      if !object.isDeleted { dropLostFiles(of: object) }
      awoken.append((object, record.event(of: change)))
      inverse.objects.append(
        UndoRecord.ObjectChange(
          id: change.id, object: object, before: now, after: object.isDeleted ? nil : object.row, wasClean: wasClean))
    }
    letGo(of: cleaned)
    for object in cleaned { adoptStoredRow(of: object) }
    for (object, event) in awoken where !object.isDeleted && object.registry === self { awake(object, from: event) }
    publishChanges()
    assertInvariants()
    return inverse
  }

  /// Returns the realized object of a change; nil if it is gone, or present again, for another reason than this change.
  private func instance(of change: UndoRecord.ObjectChange) -> ManagedObject? {
    if registeredObject(for: change.id) == nil, change.after == nil, pending.currentChange(of: change.id) == nil,
      let row = change.before
    {
      if isBack(change.id) { return nil }
      // Its delete was saved.
      guard let object = change.object, object.registry == nil else {
        return register(change.id, row: row, state: [.inserted, .deleted])
      }
      return readopt(object)
    }
    let object = object(with: change.id)
    if change.after == nil { return object.isDeleted || object.isFault ? object : nil }
    guard (try? realize(object)) == true, !object.isDeleted else { return nil }
    return object
  }

  /// True if an object whose delete was saved exists again: an ancestor undid the delete, or the object was stored
  /// again. Does I/O only if the delete is not known to have reached the store.
  private func isBack(_ id: ManagedObjectID) -> Bool {
    if let change = ancestorsChange(of: id) { return change.row != nil }
    if coordinator.sharedRows.hasDeparted(id) { return false }
    do { return try usableCachedRow(for: id) != nil || storedRow(for: id) != nil } catch {
      failures.note(error)
      return false
    }
  }

  private func remove(_ object: ManagedObject) {
    touch(object)
    object.state.insert(.deleted)
  }

  /// Undeletes an object; as a new one if the delete was saved.
  private func restore(_ object: ManagedObject, _ row: Row) {
    withdrawDelete(of: object)
    let isPending = pending.currentChange(of: object.objectID)?.kind == .delete
    if isPending { pending.remove(object.objectID) }
    object.published = nil
    object.state.subtract([.deleted, .fault, .inaccessible])
    object.hasRow = true
    if isPending || (object.isInserted && object.state.contains(.held)) {
      if !object.isInserted, object.base == nil { object.base = object.row }
      touch(object)
      object.row = row
    } else {
      object.base = nil
      object.row = row.unversioned
      object.state.insert(.inserted)
      touch(object)
    }
  }

  /// True if an object has no changes once it has these values; if so, it gets its fetched row back.
  private func becomesClean(_ object: ManagedObject, _ row: Row, reportedAs kind: RowChange.Kind) -> Bool {
    guard !object.isInserted, let base = object.base,
      row.changedSlots(from: base, layout: layout(of: object)).isEmpty
    else { return false }
    report.append(
      ChangeSet([RowChange(kind, object.objectID, row: base, base: kind == .insert ? nil : object.row)]))
    pending.remove(object.objectID)
    object.row = base
    object.base = nil
    object.published = nil
    return true
  }

  /// Gives an object without changes the stored row that a merge found in conflict with them.
  private func adoptStoredRow(of object: ManagedObject) {
    switch conflicts.removeStored(of: object.objectID) {
    case nil: break
    case .some(nil): orphan(object)
    case .some(let stored?): object.row = stored
    }
  }

  /// Clears large values whose file was removed by a save, and makes the next save throw.
  private func dropLostFiles(of object: ManagedObject) {
    for property in object.entity.properties where property.storage == .blob && !object.row.isNull(property.slot) {
      guard case .stored(let path, _) = object.row.blob(property.slot).content,
        !FileManager.default.fileExists(atPath: path)
      else { continue }
      touch(object)
      object.row.setNull(property.slot)
      failures.note(LostValue(entityName: object.entity.name, property: property.name, path: path))
    }
  }
}

/// The error of an undo that would restore a large value whose file a save has removed.
struct LostValue: Error, CustomStringConvertible {
  let entityName: String
  let property: String
  let path: String

  var description: String {
    "\(entityName).\(property) can't be brought back, because a save has removed its file \(path); it is nil now"
  }
}
