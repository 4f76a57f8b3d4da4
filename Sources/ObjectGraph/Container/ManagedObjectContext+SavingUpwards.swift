extension ManagedObjectContext {
  /// Saves one level up, on the context's executor.
  ///
  /// - Throws: errors of ``save()``.
  public nonisolated func saveOnlySelf() async throws { try await perform { try $0.save() } }

  /// Saves this context, then its parent, and so on up to the store, each on its own executor.
  ///
  /// The caller's executor is never blocked. It stops at a level that can't be saved: those above are not saved, those
  /// below have been.
  /// - Throws: errors of that level's ``save()``.
  public nonisolated func saveToPersistentStore() async throws {
    var next: ManagedObjectContext? = self
    while let context = next {
      try await context.saveOnlySelf()
      next = context.parent
    }
  }
}
