import ObjectModel

extension ObjectRegistry {
  /// Realizes a fault; if its row can't be read, the object reads as nil and the next save throws the error.
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

  /// Realizes a fault; returns false if its row does not exist.
  ///
  /// - Parameter trustsFetchedRow: true if a row that a fetch has just given the object is new enough in any case.
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

  /// Realizes a fault with its fetched row if nothing was saved since the fetch; returns false otherwise.
  @inline(__always)
  private func takesFetchedRow(_ object: ManagedObject) -> Bool {
    guard object.hasRow, ancestors.isEmpty, object.readMark == UInt32(truncatingIfNeeded: coordinator.saveCount),
      !limitsAge
    else { return false }
    object.state.remove(.fault)
    awake(object)
    return true
  }

  /// Returns the object's row as the levels above have it: pending in an ancestor, cached, or stored.
  func row(for id: ManagedObjectID) throws -> Row? {
    if let change = ancestorsChange(of: id) { return change.row }
    return try (usableCachedRow(for: id) ?? storedRow(for: id))?.row
  }

  /// Returns a fetched fault's row, or a newer one in memory; nil if it was deleted since. Does no I/O.
  func freshestKnownRow(of object: ManagedObject) -> Row? {
    if let change = ancestorsChange(of: object.objectID) { return change.row }
    guard !pin.isActive, let cached = coordinator.cachedRow(for: object.objectID) else { return object.row }
    // Rows that came from an ancestor's pending changes are newer than any that was stored before them.
    return cached.version > object.row.version && object.row.version > 0 ? cached.row : object.row
  }

  /// Returns the nearest ancestor's pending change of an object; its row is nil if it was deleted there.
  func ancestorsChange(of id: ManagedObjectID) -> RowChange? {
    for ancestor in ancestors {
      if let change = ancestor.visibleChange(of: id) { return change }
    }
    return nil
  }

  /// Returns the row of any object as this context sees it, its own pending changes included.
  func visibleRow(for id: ManagedObjectID) throws -> Row? {
    if let object = registeredObject(for: id), !object.isFault { return object.isDeleted ? nil : object.row }
    if let change = pending.currentChange(of: id) { return change.row }
    return try row(for: id)
  }

  /// Sets transient defaults, which no store keeps, and runs `awakeFromFetch` with change tracking off. What is set
  /// counts as fetched, under the same version.
  func awake(_ object: ManagedObject) {
    setTransientDefaults(of: object)
    if hasHooks(object) { withoutTracking(object) { object.awakeFromFetch() } }
  }

  /// A row from an ancestor's pending changes has its transient values already.
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

  /// Runs the body without change tracking: it writes in place, or into an unversioned copy of a shared row.
  private func withoutTracking(_ object: ManagedObject, _ body: () -> Void) {
    let (former, version) = (ObjectIdentifier(object.row.storage), object.row.version)
    let wasTouched = object.state.contains(.touched)
    object.state.insert(.touched)
    body()
    if !wasTouched { object.state.remove(.touched) }
    if ObjectIdentifier(object.row.storage) == former { return }
    object.row.stamp(version: version)
    // Pending changes must equal the values that the object shows.
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

  /// Marks an object whose row is gone: it reads as nil, and counts as deleted or makes the next save fail.
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
