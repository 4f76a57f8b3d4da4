import ObjectModel

extension ObjectRegistry {
  /// Gives a fault its values; where they can't be had, the object reads as nil and the failure is kept for the save.
  func fire(_ object: ManagedObject) {
    checkExecutor()
    do {
      if try !realize(object) { markInaccessible(object) }
    } catch {
      noteFaultFailure(error)
      markInaccessible(object)
    }
  }

  /// Gives a fault its values; returns false if there is no such row.
  func realize(_ object: ManagedObject) throws -> Bool {
    guard object.isFault else { return !object.state.contains(.inaccessible) }
    let row: Row? =
      if object.hasRow { coordinator.cachedRow(for: object.objectID) ?? object.row } else {
        try row(for: object.objectID)
      }
    guard let row else { return false }
    object.row = row
    object.hasRow = true
    object.state.remove(.fault)
    awake(object)
    return true
  }

  /// The values of an object as this context's next levels have them: pending in an ancestor, cached, or stored.
  func row(for id: ManagedObjectID) throws -> Row? {
    for ancestor in ancestors {
      if let change = ancestor.change(of: id) { return change.kind == .delete ? nil : change.row }
    }
    return try coordinator.row(for: id)
  }

  /// The values of any object as this context sees them, its own pending changes included.
  func visibleRow(for id: ManagedObjectID) throws -> Row? {
    if let object = registeredObject(for: id), !object.isFault { return object.isDeleted ? nil : object.row }
    if let change = pending.change(of: id) { return change.kind == .delete ? nil : change.row }
    return try row(for: id)
  }

  /// Runs the hook with change tracking off: what it sets is part of what was fetched.
  private func awake(_ object: ManagedObject) {
    object.state.insert(.touched)
    object.awakeFromFetch()
    object.state.remove(.touched)
  }

  private func markInaccessible(_ object: ManagedObject) {
    object.row = Row(coordinator.layouts[object.entity.index])
    object.hasRow = true
    object.state.remove(.fault)
    object.state.insert(.inaccessible)
  }
}
