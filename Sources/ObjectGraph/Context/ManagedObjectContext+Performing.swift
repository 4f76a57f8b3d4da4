extension ManagedObjectContext {
  /// Runs a block on the context's executor and returns its result; what leaves the block is `Sendable`.
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
  /// For synchronous code; it blocks the calling thread, so `perform` is the better choice in a task.
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
    enter()
    depth += 1
  }

  func endEvent() {
    depth -= 1
    if depth == 0 { processPendingChanges() }
  }

  /// Called first by whatever may be called from outside: between events, what children saved is taken notice of.
  func enter() {
    if depth == 0 { takeNoticeOfChildren() }
  }

  func takeNoticeOfChildren() {
    guard pending.hasNews else { return }
    let sets = registry.takeNoticeOfChildren()
    if !sets.isEmpty { observers.post(.didChange(ObjectsDidChange(context: self, sets))) }
  }

  /// Tells this context that a child has saved into it; at once where that is safe, else with its next event.
  nonisolated func childDidSave(isFirst: Bool) {
    if executor.isCurrent {
      assumeIsolated { $0.takeNoticeOfChildren() }
    } else if isFirst {
      executor.async { self.assumeIsolated { $0.enter() } }
    }
  }
}
