import ObjectModel

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

  private func fetchIDsUnlessCancelled<Object: ManagedObject>(
    _ request: FetchRequest<Object>
  ) throws -> [ManagedObjectID] {
    enter()
    var query = try FetchQuery(request, coordinator.model)
    query.isCancellable = true
    return try FetchExecution(registry, query).ids()
  }
}
