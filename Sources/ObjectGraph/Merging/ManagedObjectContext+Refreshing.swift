extension ManagedObjectContext {
  /// Turns all unchanged objects into faults, which read their values again; changed ones keep their values.
  public func refreshAllObjects() {
    enter()
    registry.refreshAll()
  }
}
