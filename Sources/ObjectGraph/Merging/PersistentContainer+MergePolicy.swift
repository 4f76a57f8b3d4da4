extension PersistentContainer {
  /// What saves of all this stack's contexts do about conflicts, unless a context has a policy of its own.
  public var mergePolicy: MergePolicy {
    get { coordinator.mergePolicy }
    set { coordinator.mergePolicy = newValue }
  }
}
