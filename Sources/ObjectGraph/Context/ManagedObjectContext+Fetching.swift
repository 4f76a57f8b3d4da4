extension ManagedObjectContext {
  /// Fetches objects: those in the store, with what has changed since in this context and its ancestors.
  ///
  /// Objects come as faults whose values are at hand. Cost: one statement, and a pass over the pending changes of the
  /// entity's family.
  /// - Throws: ``ConditionError`` if the request names what does not exist, ``StoreError`` if the store can't be read.
  public func fetch<Object: ManagedObject>(_ request: FetchRequest<Object>) throws -> [Object] {
    let objects = try execution(request).objects()
    if !request.returnsObjectsAsFaults {
      for object in objects { _ = try registry.realize(object) }
    }
    return objects.map { object in
      guard let typed = object as? Object else {
        preconditionFailure("\(request.entityName) has objects of \(type(of: object)), not of \(Object.self)")
      }
      return typed
    }
  }

  /// Fetches IDs only: no object is made, and the order of the request is kept.
  public func fetchIDs<Object: ManagedObject>(_ request: FetchRequest<Object>) throws -> [ManagedObjectID] {
    try execution(request).ids()
  }

  /// The number of objects that the same fetch would return.
  public func count<Object: ManagedObject>(for request: FetchRequest<Object>) throws -> Int {
    try execution(request).count()
  }

  private func execution<Object: ManagedObject>(_ request: FetchRequest<Object>) throws -> FetchExecution {
    enter()
    let query = try FetchQuery(request, coordinator.model)
    if query.includesPendingChanges { registry.processPendingChanges() }
    return FetchExecution(registry, query)
  }
}
