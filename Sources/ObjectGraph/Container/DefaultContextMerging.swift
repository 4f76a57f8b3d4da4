/// A default context that merges what the root context saves, and what others commit, until it is replaced.
struct DefaultContextMerging: Sendable {
  let context: ManagedObjectContext
  private let observations: [ContextObservation]

  init(from root: ManagedObjectContext, into context: ManagedObjectContext) {
    self.context = context
    // Only saves that have reached the store: one merge for each, whichever levels it passed through.
    let saves = root.observe { [weak context] event in
      guard case .didSave(let save) = event, let context else { return }
      context.perform { $0.mergeChanges(fromContextDidSave: save) }
    }
    let remote = root.coordinator.observeRemoteChanges { [weak root, weak context] change in
      // In this order, since the default context's objects build on the root's unsaved changes.
      root?.perform { [weak context] root in
        root.mergeChanges(fromRemoteChange: change)
        context?.mergeSoon(change)
      }
    }
    observations = [saves, remote]
  }

  /// Stops merging; a merge that has begun may still finish.
  func end() { for observation in observations { observation.cancel() } }
}
