extension ManagedObjectContext {
  /// What records this context's changes; nil by default, and then nothing can be undone.
  ///
  /// What children save into this context is recorded too, what is merged from contexts beside it is not. A rollback
  /// and a reset forget what was recorded, a save does not.
  /// - Note: Cost: the values of changed objects before and after each event are kept in memory until they are
  ///   forgotten. Large values that were replaced or deleted and whose file a save has removed can't be had back.
  public var undoManager: UndoManager? {
    get { registry.undoManager }
    set {
      enter()
      registry.setUndoManager(newValue)
    }
  }

  /// Takes the last event's changes back, or those made since; does nothing without an ``undoManager``.
  ///
  /// Values, inserts, deletes and relationships become what they were, also if they were saved since: then the next
  /// save writes them. An object whose deletion was saved comes back as the same object with the same ID.
  public func undo() {
    enter()
    registry.undoManager?.undo()
    reportChanges()
  }

  /// Does again what ``undo()`` took back; does nothing without an ``undoManager``.
  public func redo() {
    enter()
    registry.undoManager?.redo()
    reportChanges()
  }
}
