import ObjectModel

// Stored rows come from the row cache, unless they may be too old or too new for this context, or from the state of the
// store that it reads.

extension ObjectRegistry {
  /// True if rows in the cache expire.
  var limitsAge: Bool { stalenessInterval >= 0 }

  /// The earliest time at which a row must have been read or written to be used again.
  var oldestUsableTime: RowTime {
    if stalenessInterval > 0 { return coordinator.now.before(seconds: stalenessInterval) }
    return limitsAge ? .end : .beginning
  }

  /// True if rows may come from the row cache whatever their age.
  var trustsRowCache: Bool { !limitsAge && !pin.isActive }

  /// Returns the cached row of an object, if this context may use it.
  func usableCachedRow(for id: ManagedObjectID) -> StoredRow? {
    pin.isActive ? nil : coordinator.cachedRow(for: id, since: oldestUsableTime)
  }

  /// Returns the cached destinations of a relationship, if this context may use them.
  func usableCachedDestinations(of id: ManagedObjectID, _ property: Property) -> [ManagedObjectID]? {
    pin.isActive ? nil : coordinator.cachedDestinations(of: id, property, since: oldestUsableTime)
  }

  /// True if a fault may use the row that a fetch gave it, or a newer one in memory.
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
