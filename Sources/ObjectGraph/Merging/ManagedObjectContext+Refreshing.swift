extension ManagedObjectContext {
  /// Makes all unchanged objects faults, which read their values anew; changed ones keep their changes and values.
  public func refreshAllObjects() {
    enter()
    registry.refreshAll()
  }
}
