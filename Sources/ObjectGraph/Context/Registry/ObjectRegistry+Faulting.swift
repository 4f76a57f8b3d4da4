import ObjectModel

extension ObjectRegistry {
  /// Realizes a fault; if its row can't be read, the object reads as nil and the next save throws the error.
  func fire(_ object: ManagedObject) {
    checkExecutor()
    if takesFetchedRow(object) { return }
    do {
      if try !realize(object) { noteMissing(object) }
    } catch {
      failures.note(error)
      markInaccessible(object)
    }
  }

  /// Realizes a fault; returns false if its row does not exist.
  ///
  /// - Parameter trustsFetchedRow: true if a row that a fetch has just given the object is new enough in any case.
  func realize(_ object: ManagedObject, trustingFetchedRow trustsFetchedRow: Bool = false) throws -> Bool {
    guard object.isFault else { return !object.state.contains(.inaccessible) }
    if takesFetchedRow(object) { return true }
    let usesRow = trustsFetchedRow || mayUseFetchedRow(of: object)
    guard let row = usesRow ? try freshestRow(ofFault: object) : try row(ofFault: object) else { return false }
    object.faultGroup = nil
    object.row = row
    object.hasRow = true
    object.state.remove(.fault)
    awake(object)
    if object.isUpdated { noteUnchangedValues(of: object) }
    return true
  }

  /// Realizes a fault with its fetched row if nothing was saved since the fetch; returns false otherwise.
  @inline(__always)
  private func takesFetchedRow(_ object: ManagedObject) -> Bool {
    guard object.hasRow, ancestors.isEmpty,
      object.readMark == UInt32(truncatingIfNeeded: coordinator.sharedRows.saveCount),
      !limitsAge
    else { return false }
    object.state.remove(.fault)
    awake(object)
    if object.isUpdated { noteUnchangedValues(of: object) }
    return true
  }

  /// Returns the object's row as the levels above have it: pending in an ancestor, cached, or stored.
  func row(for id: ManagedObjectID) throws -> Row? {
    if let change = ancestorsChange(of: id) { return change.row }
    return try (usableCachedRow(for: id) ?? storedRow(for: id))?.row
  }

  /// Returns a fault's fetched row, or a newer one in memory; nil if it was deleted since.
  ///
  /// No I/O for rows that were fetched from the store. One from an ancestor's pending changes holds only while these
  /// wait there: later it is not known if they were saved as they were, changed or dropped.
  func freshestRow(ofFault object: ManagedObject) throws -> Row? {
    if !object.hasRow || object.row.version == 0 { return try row(ofFault: object) }
    if let change = ancestorsChange(of: object.objectID) { return change.row }
    guard !pin.isActive, let cached = coordinator.sharedRows.row(for: object.objectID) else { return object.row }
    return cached.version > object.row.version ? cached.row : object.row
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
    let (former, version) = (object.row.bufferID, object.row.version)
    let wasTouched = object.state.contains(.touched)
    object.state.insert(.touched)
    body()
    if !wasTouched { object.state.remove(.touched) }
    if object.row.bufferID == former { return }
    object.row.stamp(version: version)
    // Pending changes must equal the values that the object shows.
    if object.hasChanges && !wasTouched { touch(object) }
  }

  /// Drops the values of an object.
  func turnIntoFault(_ object: ManagedObject) {
    let wasFault = object.isFault
    if !wasFault { object.willTurnIntoFault() }
    object.state.forgetMissing()
    object.state.insert(.fault)
    object.hasRow = false
    object.toMany = nil
    if !wasFault { object.didTurnIntoFault() }
  }

  /// Marks an object whose row is gone: it reads as nil, and counts as deleted or makes the next save fail.
  private func noteMissing(_ object: ManagedObject) {
    let isNew = !object.state.contains(.inaccessible)
    markInaccessible(object)
    if settings.deletesInaccessibleFaults {
      object.state.insert(.deleted)
    } else if isNew {
      failures.note(ObjectNotFound(objectID: object.objectID))
    }
  }

  private func markInaccessible(_ object: ManagedObject) {
    object.row = Row(coordinator.layouts[object.entity.index])
    object.hasRow = true
    object.state.remove(.fault)
    object.state.insert(.inaccessible)
  }
}

// Stored rows come from the row cache, unless they may be too old or too new for this context, or from the state of the
// store that it reads.

extension ObjectRegistry {
  /// True if rows in the cache expire.
  var limitsAge: Bool { settings.stalenessInterval >= 0 }

  /// The earliest time at which a row must have been read or written to be used again.
  var oldestUsableTime: RowTime {
    if settings.stalenessInterval > 0 { return coordinator.sharedRows.now.before(seconds: settings.stalenessInterval) }
    return limitsAge ? .end : .beginning
  }

  /// Returns the cached row of an object, if this context may use it.
  func usableCachedRow(for id: ManagedObjectID) -> StoredRow? {
    pin.isActive ? nil : coordinator.sharedRows.row(for: id, since: oldestUsableTime)
  }

  /// Returns the cached destinations of a relationship, if this context may use them.
  func usableCachedDestinations(of id: ManagedObjectID, _ property: Property) -> [ManagedObjectID]? {
    pin.isActive ? nil : coordinator.sharedRows.destinations(of: id, property, since: oldestUsableTime)
  }

  /// True if a fault may use the row that a fetch gave it, if it has one, or a newer one in memory.
  func mayUseFetchedRow(of object: ManagedObject) -> Bool {
    pin.isActive ? object.readMark == pin.number : !limitsAge
  }

  /// Calls the body with a reader of the state that this context reads, and the number of its pin, if there is one.
  func readStore<Result>(_ body: (any StoreReader, UInt32?) throws -> Result) throws -> Result {
    let store = try coordinator.openStore()
    if let pinned = try pin.current(of: store) {
      return try pinned.snapshot.read { try body($0, pinned.number) }
    }
    return try store.read { try body($0, nil) }
  }

  /// Reads the row of an object from the store; nil if there is none.
  func storedRow(for id: ManagedObjectID) throws -> StoredRow? {
    if pin.isActive, let pinned = try pin.current(of: coordinator.openStore()) {
      return try pinned.snapshot.read { try $0.row(for: id) }
    }
    return try coordinator.row(for: id)
  }

  /// Reads the rows of objects of one family in one statement; nil for those that do not exist.
  func storedRows(for ids: [ManagedObjectID]) throws -> [StoredRow?] {
    if pin.isActive, let pinned = try pin.current(of: coordinator.openStore()) {
      return try pinned.snapshot.read { try $0.rows(for: ids) }
    }
    return try coordinator.rows(for: ids)
  }

  /// Gives a fault a row that was just read for this context; it will have it when fired.
  func give(_ object: ManagedObject, _ row: Row) {
    object.row = row
    object.hasRow = true
    if let number = pin.number { object.readMark = number }
  }
}

// Faults without values are read in groups, so that reading many objects takes few statements.

extension ObjectRegistry {
  /// Returns the objects with these IDs; those without values are read in groups of `batchSize`. Does no I/O.
  func objects(with ids: [ManagedObjectID], batchSize: Int) -> [ManagedObject] {
    let size = batchSize > 0 ? batchSize : FaultGroup.defaultSize
    var group = FaultGroup(size: size)
    return ids.enumerated().map { index, id in
      let object = object(with: id)
      // Groups begin where batches do, whichever objects have their values already.
      if index % size == 0 { group = FaultGroup(size: size) }
      if object.isFault && !object.hasRow {
        group.add(id)
        object.faultGroup = group
      }
      return object
    }
  }

  /// Returns the row of a fault that has none; reads the rows of its group with it.
  func row(ofFault object: ManagedObject) throws -> Row? {
    let id = object.objectID
    if let change = ancestorsChange(of: id) { return change.row }
    if let stored = usableCachedRow(for: id) { return stored.row }
    guard let group = object.faultGroup, group.ids.count > 1 else { return try storedRow(for: id)?.row }
    let others = group.ids.compactMap { $0 == id ? nil : registeredObject(for: $0) }.filter {
      $0.faultGroup === group && isUnread($0)
    }
    let rows = try storedRows(for: [id] + others.map(\.objectID))
    for (other, stored) in zip(others, rows.dropFirst()) {
      other.faultGroup = nil
      if let stored { give(other, stored.row) }
    }
    return rows[0]?.row
  }

  /// Reads rows for the objects that have none in memory, all in one statement.
  func preload(_ objects: [ManagedObject]) throws {
    let unread = objects.filter(isUnread)
    if unread.isEmpty { return }
    for (object, stored) in zip(unread, try storedRows(for: unread.map(\.objectID))) {
      object.faultGroup = nil
      if let stored { give(object, stored.row) }
    }
  }

  /// True if a fault's row would have to be read from the store.
  func isUnread(_ object: ManagedObject) -> Bool {
    object.isFault && !object.hasRow && ancestorsChange(of: object.objectID) == nil
      && usableCachedRow(for: object.objectID) == nil
  }

  /// Overwrites the values of a realized, unchanged object with the row that a fetch found.
  func refetch(_ id: ManagedObjectID, _ row: Row) {
    guard let object = registeredObject(for: id), !object.isFault, !object.hasChanges else { return }
    if object.row.isIdentical(to: row) || object.state.contains(.touched) { return }
    object.row = row
    object.toMany = nil
    object.state.forgetMissing()
  }
}

/// A group of faults without values: firing one reads the rows of all of them in one statement.
///
/// It names objects without holding them; those that are gone or have values by then are skipped.
final class FaultGroup {
  /// The number of faults read together, unless a fetch request says otherwise.
  ///
  /// A hundred rows cost hardly more than one, since most of the time goes into the statement; many more would make the
  /// reader of one object wait for rows that nobody asked for.
  static let defaultSize = 64

  private(set) var ids: [ManagedObjectID] = []
  let size: Int

  init(size: Int = FaultGroup.defaultSize) { self.size = size }

  var isFull: Bool { ids.count >= size }

  func add(_ id: ManagedObjectID) { ids.append(id) }
}

/// The groups of a context's faults.
final class FaultGroups {
  /// The group that the latest fault of a family belongs to, by the index of the root entity.
  private var latest: [UInt16: FaultGroup] = [:]

  /// Adds a new fault to its family's current group, so that its neighbours are read with it.
  func add(_ object: ManagedObject) {
    let id = object.objectID
    var group = latest[id.rootIndex]
    if group?.isFull ?? true {
      let made = FaultGroup()
      latest[id.rootIndex] = made
      group = made
    }
    group?.add(id)
    object.faultGroup = group
  }

  /// Starts new groups.
  func removeAll() { latest = [:] }
}
