/// A record of changed objects and links with their former state, from which the change can be reverted.
struct UndoRecord {
  struct ObjectChange {
    let id: ManagedObjectID
    /// The instance, so that the same one can be restored; nil if the context had none.
    let object: ManagedObject?
    /// The values before the change; nil if the object did not exist.
    let before: Row?
    /// The values after it; nil if it was deleted.
    let after: Row?
    /// True if the object had no changes before.
    let wasClean: Bool
  }

  struct Link {
    /// The state before the change.
    let before: LinkChange
    /// True if the link already had an unsaved change before.
    let wasPending: Bool
  }

  var objects: [ObjectChange] = []
  var links: [Link] = []
  /// The number of saves of the context before this.
  let saveCount: Int

  /// True if reverting this record redoes something.
  var isOfUndo = false

  var isEmpty: Bool { objects.isEmpty && links.isEmpty }

  /// Returns the event that reverting a change causes; redoing an insert equals undoing a delete.
  func event(of change: ObjectChange) -> SnapshotEventType {
    if change.before != nil && change.after != nil { return .undoUpdate }
    return (change.before == nil) != isOfUndo ? .undoInsertion : .undoDeletion
  }
}
