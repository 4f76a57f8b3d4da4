import ObjectGraph
import ObjectGraphTesting
import Testing

/// Saves an edit in a context and returns its did-save.
func didSave(
  in context: ManagedObjectContext, _ edit: @Sendable (isolated ManagedObjectContext) throws -> Void
) throws -> ContextDidSave {
  let events = EventRecorder(context)
  try context.performAndWait { context in
    try edit(context)
    try context.save()
  }
  return try #require(events.didSaves.last)
}
