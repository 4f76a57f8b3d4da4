public import ObjectModel

extension ManagedObjectContext {
  /// Fetches objects: those in the store, with what has changed since in this context and its ancestors.
  ///
  /// Objects are faults that have their rows. Cost: one statement, and a pass over the pending changes of the entity's
  /// family.
  /// - Throws: ``ConditionError`` if the request uses unknown names, ``StoreError`` if the store can't be read.
  public func fetch<Object: ManagedObject>(_ request: FetchRequest<Object>) throws -> [Object] {
    let objects = try execution(request).objects(as: Object.self)
    if !request.returnsObjectsAsFaults {
      for object in objects { _ = try registry.realize(object, trustingFetchedRow: true) }
    }
    return objects
  }

  /// Fetches objects as a collection that makes them and reads their rows batch by batch, on first use.
  ///
  /// The number of objects and their order are known at once. At most ``FetchRequest/fetchBatchSize`` rows are read by
  /// one statement; 64 if the request leaves it at 0. Cost: one statement for the IDs.
  public func fetchLazily<Object: ManagedObject>(_ request: FetchRequest<Object>) throws -> LazyObjects<Object> {
    enterReading()
    let query = try FetchQuery(request, coordinator.model)
    return LazyObjects(registry, request, ids: try fetchIDs(request), prefetching: query.prefetching)
  }

  /// Fetches IDs only: no object is made, and the order of the request is kept.
  public func fetchIDs<Object: ManagedObject>(_ request: FetchRequest<Object>) throws -> [ManagedObjectID] {
    try execution(request).ids()
  }

  /// Returns the number of objects that the same fetch would return.
  public func count<Object: ManagedObject>(for request: FetchRequest<Object>) throws -> Int {
    try execution(request).count()
  }

  /// Fetches dictionaries: values of rows, or aggregates over groups of rows; no object is made.
  ///
  /// Their contents are set by the request's `propertiesToFetch`, `propertiesToGroupBy`, `havingCondition` and
  /// `returnsDistinctResults`. Groups are sorted by entries of their dictionaries.
  /// - Parameters:
  ///   - request: the objects, and the contents of the dictionaries.
  ///   - includingPendingChanges: true to include unsaved changes; by default the result is the store's.
  /// - Throws: ``ConditionError`` for unknown names, and for properties of which a group has no single value;
  ///   ``StoreError``.
  public func fetchDictionaries<Object: ManagedObject>(
    _ request: FetchRequest<Object>, includingPendingChanges: Bool = false
  ) throws -> [[String: Value]] {
    enterReading()
    let fetch = try DictionaryFetch(request, includingPendingChanges: includingPendingChanges, registry)
    if includingPendingChanges { registry.processPendingChanges() }
    return try fetch.run()
  }

  func execution<Object: ManagedObject>(_ request: FetchRequest<Object>) throws -> FetchExecution {
    enterReading()
    let query = try FetchQuery(request, coordinator.model)
    if query.includesPendingChanges { registry.processPendingChanges() }
    return FetchExecution(registry, query)
  }
}

extension ManagedObjectContext {
  /// Fetches objects without blocking the context, and passes them to a closure on its executor.
  ///
  /// The search runs on an executor of its own and sees the changes of this context up to its last event. Cancelling
  /// the calling task interrupts it, whatever the store is doing. The objects are faults that are read together; one
  /// whose row is deleted before it is read is an inaccessible fault.
  ///
  ///     let names = try await main.fetch(asynchronously: request) { _, people in people.map(\.name) }
  ///
  /// - Parameters:
  ///   - request: the objects to fetch.
  ///   - body: called on the context's executor with the objects in the request's order.
  /// - Throws: `CancellationError`; ``ConditionError`` if the request uses unknown names; ``StoreError``; errors of the
  ///   closure.
  public nonisolated func fetch<Object: ManagedObject, Result: Sendable>(
    asynchronously request: FetchRequest<Object>,
    _ body: @Sendable (isolated ManagedObjectContext, [Object]) throws -> Result
  ) async throws -> Result {
    let searcher = ManagedObjectContext(parent: self, name: "\(name), search")
    let ids = try await searcher.perform { try $0.fetchIDsUnlessCancelled(request) }
    try Task.checkCancellation()
    return try await perform { context in
      let query = try FetchQuery(request, context.coordinator.model)
      let objects = context.registry.objects(with: ids, batchSize: query.batchSize)
      for path in query.prefetching { try context.registry.prefetch(path, for: objects) }
      if !request.returnsObjectsAsFaults { for object in objects { _ = try context.registry.realize(object) } }
      return try body(context, objects.map { $0.typed(as: Object.self) })
    }
  }

  /// Fetches IDs only.
  ///
  /// - Throws: `CancellationError` when the calling task is cancelled, whatever the store is doing.
  package func fetchIDsUnlessCancelled<Object: ManagedObject>(
    _ request: FetchRequest<Object>
  ) throws -> [ManagedObjectID] {
    try cancellableExecution(request).ids()
  }

  /// Returns the number of objects that the same fetch would return.
  ///
  /// - Throws: `CancellationError` when the calling task is cancelled, whatever the store is doing.
  package func countUnlessCancelled<Object: ManagedObject>(_ request: FetchRequest<Object>) throws -> Int {
    try cancellableExecution(request).count()
  }

  private func cancellableExecution<Object: ManagedObject>(_ request: FetchRequest<Object>) throws -> FetchExecution {
    enter()
    var query = try FetchQuery(request, coordinator.model)
    query.isCancellable = true
    return FetchExecution(registry, query)
  }
}
