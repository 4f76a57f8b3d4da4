/// What became of a context's objects and links, with what was before: enough to take it back.
struct UndoRecord {
  struct ObjectChange {
    let id: ManagedObjectID
    /// The instance, so that it is the same one that comes back; nil if the context had none.
    let object: ManagedObject?
    /// The values before the change; nil if the object did not exist.
    let before: Row?
    /// The values after it; nil if it was deleted.
    let after: Row?
    /// Whether the object had no changes before.
    let wasClean: Bool
  }

  struct Link {
    /// What was so before the change.
    let before: LinkChange
    /// Whether the link had a change before that was not saved.
    let wasPending: Bool
  }

  var objects: [ObjectChange] = []
  var links: [Link] = []
  /// How many saves of the context came before.
  let saveCount: Int

  /// Whether taking it back does something again that was undone.
  var isOfUndo = false

  var isEmpty: Bool { objects.isEmpty && links.isEmpty }

  /// What an object is told when its change is taken back: an insert that is done again came back as a delete would.
  func event(of change: ObjectChange) -> SnapshotEventType {
    if change.before != nil && change.after != nil { return .undoUpdate }
    return (change.before == nil) != isOfUndo ? .undoInsertion : .undoDeletion
  }
}
