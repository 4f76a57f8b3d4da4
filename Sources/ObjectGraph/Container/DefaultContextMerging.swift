/// A default context that takes over what the root context saves, and what others commit, until it is replaced.
struct DefaultContextMerging: Sendable {
  let context: ManagedObjectContext
  private let observations: [ContextObservation]

  init(from root: ManagedObjectContext, into context: ManagedObjectContext) {
    self.context = context
    // Only saves that have reached the store: one merge for each, whatever it went through before.
    let saves = root.observe { [weak context] event in
      guard case .didSave(let save) = event, let context else { return }
      context.perform { $0.mergeChanges(fromContextDidSave: save) }
    }
    let remote = root.coordinator.observeRemoteChanges { [weak root, weak context] change in
      // In this order, since the default context's objects are based on what the root has not saved.
      root?.perform { [weak context] root in
        root.mergeChanges(fromRemoteChange: change)
        context?.mergeSoon(change)
      }
    }
    observations = [saves, remote]
  }

  /// No save is taken over from now on; one that is under way may still be.
  func end() { for observation in observations { observation.cancel() } }
}
