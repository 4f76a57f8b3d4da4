import ObjectModel

extension ObjectRegistry {
  /// Drops all changes: objects get their committed values back, inserted ones leave.
  func rollback() {
    checkExecutor()
    let changed = held
    pending.removeAll()
    forgetChanges()
    relationshipGeneration += 1
    for object in changed {
      if object.isInserted {
        orphan(object)
      } else {
        revert(object)
      }
    }
  }

  /// Makes an object a fault again, or puts its changes on top of newer values.
  func refresh(_ object: ManagedObject, mergeChanges: Bool) {
    checkExecutor()
    guard !object.isInserted else { return }
    object.toMany = nil
    if object.hasChanges && mergeChanges {
      guard let base = object.base, let fresh = try? row(for: object.objectID) else { return }
      let layout = coordinator.layouts[object.entity.index]
      let changes = object.row
      touch(object)
      object.base = fresh
      object.row = fresh.applying(changesFrom: base, to: changes, layout: layout)
      pending.remove(object.objectID)
      object.published = nil
      return
    }
    if object.hasChanges { pending.remove(object.objectID) }
    revert(object)
    object.state.insert(.fault)
    object.hasRow = false
  }

  private func revert(_ object: ManagedObject) {
    if let base = object.base { object.row = base }
    object.base = nil
    object.published = nil
    object.toMany = nil
    object.state.subtract([.updated, .deleted, .touched, .held, .inaccessible])
  }
}
