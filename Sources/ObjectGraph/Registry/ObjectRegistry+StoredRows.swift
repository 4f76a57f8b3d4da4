import ObjectModel

// How a context comes by stored rows: from the row cache, unless they may be too old or too new for it, or from the
// state of the store that it reads.

extension ObjectRegistry {
  /// Whether rows that were read before are too old some time.
  var limitsAge: Bool { stalenessInterval >= 0 }

  /// Since when a row must have been read, or written, to be used again.
  var oldestUsableTime: RowTime {
    if stalenessInterval > 0 { return coordinator.now.before(seconds: stalenessInterval) }
    return limitsAge ? .end : .beginning
  }

  /// Whether rows may come from the row cache whatever their age.
  var trustsRowCache: Bool { !limitsAge && !pin.isActive }

  /// The row that the coordinator keeps of an object, if it is one that this context may use.
  func usableCachedRow(for id: ManagedObjectID) -> StoredRow? {
    pin.isActive ? nil : coordinator.cachedRow(for: id, since: oldestUsableTime)
  }

  /// The stored destinations that the coordinator keeps, if they are ones that this context may use.
  func usableCachedDestinations(of id: ManagedObjectID, _ property: Property) -> [ManagedObjectID]? {
    pin.isActive ? nil : coordinator.cachedDestinations(of: id, property, since: oldestUsableTime)
  }

  /// Whether a fault may become what a fetch gave it, or newer values that are at hand.
  func mayUseFetchedRow(of object: ManagedObject) -> Bool {
    pin.isActive ? object.readMark == pin.number : !limitsAge
  }

  /// Calls the body with a reader of the state that this context reads, and with the number of its pin, if it is pinned.
  func readStore<Result>(_ body: (any StoreReader, UInt32?) throws -> Result) throws -> Result {
    let store = try coordinator.openStore()
    if let pinned = try pin.current(of: store) {
      return try pinned.snapshot.read { try body($0, pinned.number) }
    }
    return try store.read { try body($0, nil) }
  }

  /// The row of an object, from the store; nil if there is none.
  func storedRow(for id: ManagedObjectID) throws -> StoredRow? {
    if pin.isActive, let pinned = try pin.current(of: coordinator.openStore()) {
      return try pinned.snapshot.read { try $0.row(for: id) }
    }
    return try coordinator.row(for: id)
  }

  /// The rows of objects of one family, each nil where there is none, in one read of the store.
  func storedRows(for ids: [ManagedObjectID]) throws -> [StoredRow?] {
    if pin.isActive, let pinned = try pin.current(of: coordinator.openStore()) {
      return try pinned.snapshot.read { try $0.rows(for: ids) }
    }
    return try coordinator.rows(for: ids)
  }

  /// Gives a fault the row that it will have when it is fired; just read for this context.
  func give(_ object: ManagedObject, _ row: Row) {
    object.row = row
    object.hasRow = true
    if let number = pin.number { object.readMark = number }
  }
}
