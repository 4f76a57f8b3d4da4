import ObjectModel

extension ObjectRegistry {
  /// Ends an event: propagates deletes, and makes the changes of the event visible to children and fetches.
  ///
  /// - Returns: the changes, for those who observe.
  @discardableResult
  func processPendingChanges() -> ChangeSet? {
    checkExecutor()
    propagateDeletes()
    if touched.isEmpty { return nil }
    var changes: [RowChange] = []
    changes.reserveCapacity(touched.count)
    for object in takeTouched() {
      if let change = publish(object) { changes.append(change) }
    }
    if changes.isEmpty { return nil }
    let set = ChangeSet(changes)
    pending.append(set)
    return set
  }

  /// The change that an object made since its values were last published.
  private func publish(_ object: ManagedObject) -> RowChange? {
    let id = object.objectID
    let wasPublished = object.published
    if object.isDeleted {
      if object.isInserted {
        object.published = nil
        return wasPublished == nil ? nil : RowChange(.forget, id, row: nil, base: nil)
      }
      return RowChange(.delete, id, row: nil, base: object.base ?? object.row)
    }
    object.published = object.row
    if let wasPublished { return RowChange(.update, id, row: object.row, base: wasPublished) }
    if object.isInserted { return RowChange(.insert, id, row: object.row, base: nil) }
    return RowChange(.update, id, row: object.row, base: object.base)
  }

  /// Shows the objects what children have saved into this context.
  ///
  /// - Returns: what the children saved, for those who observe.
  func takeNoticeOfChildren() -> [ChangeSet] {
    let sets = pending.takeInbox()
    if sets.isEmpty { return sets }
    relationshipGeneration += 1
    if objects.isEmpty { return sets }
    for set in sets {
      if set.objectCount > objects.count {
        for object in Array(objects.values.map { $0.takeUnretainedValue() }) {
          if let change = set.change(of: object.objectID) { apply(change, to: object) }
        }
      } else {
        for change in set.changes {
          if let object = registeredObject(for: change.id) { apply(change, to: object) }
        }
        for batch in set.batches {
          for index in 0..<batch.count {
            let id = batch.id(at: index)
            guard let object = registeredObject(for: id) else { continue }
            apply(RowChange(.insert, id, row: batch.row(at: index), base: nil), to: object)
          }
        }
      }
    }
    return sets
  }

  /// Gives an object the values that a child saved; changes of other properties made here meanwhile stay.
  private func apply(_ change: RowChange, to object: ManagedObject) {
    hold(object)
    switch change.kind {
    case .insert:
      object.state.remove(.fault)
      object.state.insert(.inserted)
      setRow(of: object, to: change.row)
    case .update:
      if !object.isInserted && object.base == nil { object.base = object.isFault ? change.base : object.row }
      object.state.remove(.fault)
      object.state.insert(.updated)
      let merged = pending.change(of: change.id)?.row ?? change.row
      if object.state.contains(.touched), let before = object.published ?? object.base, let merged {
        let layout = coordinator.layouts[object.entity.index]
        object.row = merged.applying(changesFrom: before, to: object.row, layout: layout)
        object.published = merged
      } else {
        setRow(of: object, to: merged)
      }
    case .delete, .forget:
      if object.base == nil { object.base = object.row }
      object.state.remove(.fault)
      object.state.insert(.deleted)
    }
  }

  private func setRow(of object: ManagedObject, to row: Row?) {
    guard let row else { return }
    object.row = row
    object.hasRow = true
    object.published = row
  }
}
