extension ManagedObjectContext {
  /// The manager that records this context's changes for undo; nil by default, which disables undo.
  ///
  /// Saves of children into this context are recorded too; merges from sibling contexts are not. A rollback and a reset
  /// discard the records, a save does not.
  /// - Note: Cost: the values of changed objects before and after each event are kept in memory until they are
  ///   discarded. Large values whose file a save has removed can't be restored.
  public var undoManager: UndoManager? {
    get { registry.undoManager }
    set {
      enter()
      registry.setUndoManager(newValue)
    }
  }

  /// Undoes the last event's changes, or those made since; does nothing without an ``undoManager``.
  ///
  /// Values, inserts, deletes and relationships become what they were, also if they were saved since: then the next
  /// save writes them. An object whose deletion was saved comes back as the same object with the same ID.
  public func undo() {
    enter()
    registry.undoManager?.undo()
    reportChanges()
  }

  /// Redoes what ``undo()`` undid; does nothing without an ``undoManager``.
  public func redo() {
    enter()
    registry.undoManager?.redo()
    reportChanges()
  }
}
