extension ManagedObjectContext {
  /// Saves one level up, on the context's executor.
  ///
  /// - Throws: what ``save()`` throws.
  public nonisolated func saveOnlySelf() async throws { try await perform { try $0.save() } }

  /// Saves this context, then its parent, and so on up to the store, each on its own executor.
  ///
  /// The caller's executor is never blocked. A level that can't be saved ends it: those above are not saved, and those
  /// below have been.
  /// - Throws: what ``save()`` of that level throws.
  public nonisolated func saveToPersistentStore() async throws {
    var next: ManagedObjectContext? = self
    while let context = next {
      try await context.saveOnlySelf()
      next = context.parent
    }
  }
}
