extension PersistentContainer {
  /// The policy for conflicts in saves of this stack's contexts, unless a context has its own.
  public var mergePolicy: MergePolicy {
    get { coordinator.mergePolicy }
    set { coordinator.mergePolicy = newValue }
  }
}
