/// A default context that takes over what the root context saves, until it is replaced.
struct DefaultContextMerging: Sendable {
  let context: ManagedObjectContext
  private let observation: ContextObservation

  init(from root: ManagedObjectContext, into context: ManagedObjectContext) {
    self.context = context
    // Only saves that have reached the store: one merge for each, whatever it went through before.
    observation = root.observe { [weak context] event in
      guard case .didSave(let save) = event, let context else { return }
      context.perform { $0.mergeChanges(fromContextDidSave: save) }
    }
  }

  /// No save is taken over from now on; one that is under way may still be.
  func end() { observation.cancel() }
}
