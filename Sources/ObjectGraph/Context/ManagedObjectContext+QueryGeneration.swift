extension ManagedObjectContext {
  /// The state of the store that this context reads: nil for whatever is stored, which is the default;
  /// ``QueryGeneration/current`` until the first read pins it; and for children, which read what their root reads.
  public var queryGeneration: QueryGeneration? {
    parent == nil ? pin.generation(ordinal: coordinator.ordinal) : nil
  }

  /// Lets this context and its children read one state of the store until it is told to go on, whatever others save.
  ///
  /// With ``QueryGeneration/current`` that is the state of the next fetch or fault. The context goes on to the newest
  /// state with its next read after it has saved, merged changes (also by itself), or was reset; nil unpins it. Objects
  /// show the values that they have until they are refreshed or fetched with `shouldRefreshRefetchedObjects`;
  /// ``refreshAllObjects()`` reads the pinned state anew and does not go on. What is not saved counts as ever, and a save
  /// looks for conflicts in the newest state. Batch requests and the history know nothing of pins.
  ///
  /// Cost: in SQLite a connection with an open transaction, which reads one at a time for the context and its children;
  /// what is written meanwhile stays in the `-wal` file, which grows until the state is let go of. In memory a copy of each
  /// table that is written. No row comes from the row cache, or goes there.
  ///
  /// - Parameter generation: ``QueryGeneration/current``, the ``queryGeneration`` of another context of the coordinator, or
  ///   nil for whatever is stored.
  /// - Throws: ``StoreError`` with the code `unsupported` if this is a child, or the generation is of another coordinator.
  public func setQueryGeneration(from generation: QueryGeneration?) throws {
    guard parent == nil else {
      throw StoreError(
        .unsupported, "the context \"\(name)\" reads what its parent reads; set the query generation of the root")
    }
    if case .kept(_, let ordinal) = generation?.kind, ordinal != coordinator.ordinal {
      throw StoreError(.unsupported, "the query generation is of another coordinator's store")
    }
    enter()
    pin.set(generation)
    registry.forgetFetchedRows()
  }
}

extension ObjectRegistry {
  /// Lets faults forget what a fetch gave them, which was of another state of the store.
  func forgetFetchedRows() {
    for object in allObjects where object.isFault && object.hasRow { forgetRow(of: object) }
  }
}
