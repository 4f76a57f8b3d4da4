import ObjectModel

// Faults without values are read in groups, so that reading many objects takes few statements.

extension ObjectRegistry {
  /// Adds a new fault to its family's current group, so that its neighbours are read with it.
  func addToGroup(_ object: ManagedObject) {
    let id = object.objectID
    var group = faultGroups[id.rootIndex]
    if group?.isFull ?? true {
      let made = FaultGroup()
      faultGroups[id.rootIndex] = made
      group = made
    }
    group?.add(id)
    object.faultGroup = group
  }

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
    object.state.remove(.inaccessible)
  }
}
