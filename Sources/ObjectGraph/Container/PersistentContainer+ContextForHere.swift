extension PersistentContainer {
  /// Gives a task a context of its own, which ``contextForHere()`` returns anywhere in the block.
  ///
  /// Child tasks that call it get one each. The contexts are released when the block ends, and their unsaved changes
  /// with them, unless they are held elsewhere.
  public func withTaskContext<Result>(
    isolation: isolated (any Actor)? = #isolation, _ block: () async throws -> Result
  ) async rethrows -> Result {
    var contexts = TaskContexts.current
    contexts[ObjectIdentifier(self)] = TaskContexts()
    return try await TaskContexts.$current.withValue(contexts, operation: block)
  }

  /// Returns the context to use here: the default one on its executor, else the task's or the thread's own child of it.
  ///
  /// In a task the context is the same before and after a suspension; a thread's own is released with the thread.
  /// - Throws: ``ContainerError/Code/noTaskContext`` in a task outside of ``withTaskContext(isolation:_:)``, since a
  ///   task that moves between threads would find different contexts.
  public func contextForHere() throws(ContainerError) -> ManagedObjectContext {
    let context = defaultContext
    if context.executor.isCurrent { return context }
    let make = { ManagedObjectContext(parent: context, name: "here") }
    if let own = TaskContexts.current[ObjectIdentifier(self)] {
      return own.context(generation: threads.currentGeneration, make)
    }
    if withUnsafeCurrentTask(body: { $0 != nil }) {
      throw ContainerError(
        .noTaskContext,
        "contextForHere() is called in a task without a context; put the task's work into withTaskContext { … }")
    }
    return threads.context(make)
  }

  /// Makes the next ``contextForHere()`` of every task and thread return a new context.
  ///
  /// Contexts that are held elsewhere keep working.
  public func clearContexts() { threads.clear() }
}
