extension ManagedObjectContext {
  /// Runs a block on the context's executor and returns its result, which is `Sendable`.
  ///
  /// Blocks of one context run one at a time, in order. The block is an event: at its end, pending changes are
  /// processed.
  public func perform<Result: Sendable>(
    _ block: @Sendable (isolated ManagedObjectContext) throws -> Result
  ) async rethrows -> Result {
    beginEvent()
    defer { endEvent() }
    return try block(self)
  }

  /// Queues a block on the context's executor and returns at once.
  public nonisolated func perform(_ block: @escaping @Sendable (isolated ManagedObjectContext) -> Void) {
    executor.async {
      self.assumeIsolated { context in
        context.beginEvent()
        defer { context.endEvent() }
        block(context)
      }
    }
  }

  /// Runs a block on the context's executor while the caller waits; re-entrant on that executor.
  ///
  /// That includes blocks inside another context's block that this one waits for: from child to parent and back. For
  /// synchronous code; it blocks the calling thread, so `perform` is the better choice in a task.
  public nonisolated func performAndWait<Result: Sendable>(
    _ block: @Sendable (isolated ManagedObjectContext) throws -> Result
  ) rethrows -> Result {
    try executor.sync {
      try self.assumeIsolated { context in
        context.beginEvent()
        defer { context.endEvent() }
        return try block(context)
      }
    }
  }

  func beginEvent() {
    enterReading()
    depth += 1
  }

  func endEvent() {
    depth -= 1
    if depth == 0 { processPendingChanges() }
  }

  /// Called first by every entry point: processes what children have saved meanwhile.
  func enter() {
    guard pending.hasNews else { return }
    let news = registry.takeNoticeOfChildren()
    if depth == 0 { registry.undoManager?.endEvent() }
    if !news.isEmpty { observers.post(.didChange(ObjectsDidChange(context: self, news))) }
  }

  /// Called first by everything that reads the levels above: publishes their changes so far if their current events
  /// wait for the caller.
  func enterReading() {
    enter()
    var ancestor = parent
    while let context = ancestor {
      if context.executor.isOnCallersStack { context.publishChanges() }
      ancestor = context.parent
    }
  }

  private nonisolated func publishChanges() {
    executor.sync { assumeIsolated { $0.registryStorage?.publishChanges() } }
  }

  /// Reports published changes to observers.
  func reportChanges() {
    let sets = registry.takeUnreported()
    if sets.isEmpty { return }
    registry.reporting = sets
    observers.post(.didChange(ObjectsDidChange(context: self, sets)))
    registry.reporting = []
  }

  /// Makes this context process what children saved: at once if it can't be running other work, else soon.
  nonisolated func childDidSave() {
    if executor.isOnCallersStack {
      executor.sync { assumeIsolated { $0.enter() } }
    } else if !executor.isConfined {
      // A context confined to its thread does so when it is next used.
      executor.async { self.assumeIsolated { $0.enter() } }
    }
  }
}
