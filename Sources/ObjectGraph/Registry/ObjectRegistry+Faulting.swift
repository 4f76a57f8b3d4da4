import ObjectModel

extension ObjectRegistry {
  /// Gives a fault its values; where they can't be had, the object reads as nil and the failure is kept for the save.
  func fire(_ object: ManagedObject) {
    checkExecutor()
    if takesFetchedRow(object) { return }
    do {
      if try !realize(object) { noteMissing(object) }
    } catch {
      noteFaultFailure(error)
      markInaccessible(object)
    }
  }

  /// Gives a fault its values; returns false if there is no such row.
  ///
  /// - Parameter trustsFetchedRow: whether a row that a fetch has just given the object is new enough at any rate.
  func realize(_ object: ManagedObject, trustingFetchedRow trustsFetchedRow: Bool = false) throws -> Bool {
    guard object.isFault else { return !object.state.contains(.inaccessible) }
    if takesFetchedRow(object) { return true }
    let usesRow = object.hasRow && (trustsFetchedRow || mayUseFetchedRow(of: object))
    let row = usesRow ? freshestKnownRow(of: object) : try row(ofFault: object)
    guard let row else { return false }
    object.faultGroup = nil
    object.row = row
    object.hasRow = true
    object.state.remove(.fault)
    awake(object)
    return true
  }

  /// Lets a fault keep the row that a fetch gave it, if nobody has saved since that was read: there is no newer one.
  @inline(__always)
  private func takesFetchedRow(_ object: ManagedObject) -> Bool {
    guard object.hasRow, ancestors.isEmpty, object.readMark == UInt32(truncatingIfNeeded: coordinator.saveCount),
      !limitsAge
    else { return false }
    object.state.remove(.fault)
    awake(object)
    return true
  }

  /// The values of an object as this context's next levels have them: pending in an ancestor, cached, or stored.
  func row(for id: ManagedObjectID) throws -> Row? {
    if let change = ancestorsChange(of: id) { return change.row }
    return try (usableCachedRow(for: id) ?? storedRow(for: id))?.row
  }

  /// The values of a fault that was fetched, or newer ones that are at hand; nil if it was deleted since. Does no I/O.
  func freshestKnownRow(of object: ManagedObject) -> Row? {
    if let change = ancestorsChange(of: object.objectID) { return change.row }
    guard !pin.isActive, let cached = coordinator.cachedRow(for: object.objectID) else { return object.row }
    // Rows that came from an ancestor's pending changes are newer than any that was stored before them.
    return cached.version > object.row.version && object.row.version > 0 ? cached.row : object.row
  }

  /// The nearest ancestor's pending change of an object; its row is nil if it was deleted there.
  func ancestorsChange(of id: ManagedObjectID) -> RowChange? {
    for ancestor in ancestors {
      if let change = ancestor.visibleChange(of: id) { return change }
    }
    return nil
  }

  /// The values of any object as this context sees them, its own pending changes included.
  func visibleRow(for id: ManagedObjectID) throws -> Row? {
    if let object = registeredObject(for: id), !object.isFault { return object.isDeleted ? nil : object.row }
    if let change = pending.currentChange(of: id) { return change.row }
    return try row(for: id)
  }

  /// Gives an object its transient defaults, which no store keeps, and runs the hook, with change tracking off: what is
  /// set is part of what was fetched, under the same version.
  func awake(_ object: ManagedObject) {
    setTransientDefaults(of: object)
    if hasHooks(object) { withoutTracking(object) { object.awakeFromFetch() } }
  }

  /// A row of an ancestor's pending changes has the values that the object has there.
  private func setTransientDefaults(of object: ManagedObject) {
    let slots = coordinator.transientSlots[object.entity.index]
    if slots.isEmpty || object.row.version == 0 { return }
    let defaults = coordinator.defaults[object.entity.index]
    let missing = slots.filter { object.row.isNull($0) && !defaults.isNull($0) }
    if missing.isEmpty { return }
    let storage = layout(of: object).storage
    withoutTracking(object) {
      for slot in missing { object.row.copyValue(of: defaults, slot, storage[slot]) }
    }
  }

  /// Tells an object that its values were replaced.
  func awake(_ object: ManagedObject, from event: SnapshotEventType) {
    withoutTracking(object) { object.awake(fromSnapshotEvents: event) }
  }

  /// What the body sets is written in place, or into a copy without a version if others have the row too.
  private func withoutTracking(_ object: ManagedObject, _ body: () -> Void) {
    let (former, version) = (ObjectIdentifier(object.row.storage), object.row.version)
    let wasTouched = object.state.contains(.touched)
    object.state.insert(.touched)
    body()
    if !wasTouched { object.state.remove(.touched) }
    if ObjectIdentifier(object.row.storage) == former { return }
    object.row.stamp(version: version)
    // What is pending for an object is what it shows.
    if object.hasChanges && !wasTouched { touch(object) }
  }

  /// Drops the values of an object.
  func turnIntoFault(_ object: ManagedObject) {
    let wasFault = object.isFault
    if !wasFault { object.willTurnIntoFault() }
    object.state.insert(.fault)
    object.hasRow = false
    object.toMany = nil
    if !wasFault { object.didTurnIntoFault() }
  }

  /// The object's row is gone: it reads as nil, and is a deleted object or an error of the next save.
  private func noteMissing(_ object: ManagedObject) {
    let isNew = !object.state.contains(.inaccessible)
    markInaccessible(object)
    if deletesInaccessibleFaults {
      object.state.insert(.deleted)
    } else if isNew {
      noteFaultFailure(ObjectNotFound(objectID: object.objectID))
    }
  }

  private func markInaccessible(_ object: ManagedObject) {
    object.row = Row(coordinator.layouts[object.entity.index])
    object.hasRow = true
    object.state.remove(.fault)
    object.state.insert(.inaccessible)
  }
}
