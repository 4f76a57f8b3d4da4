/// An event of a change of a controller's result; they are sent in this order for each change.
public enum FetchedResultsEvent: Sendable, Hashable {
  /// The events of a change begin.
  case willChange
  /// A section was inserted or deleted: deletes first, with their old index, from last to first; then inserts with
  /// their new index, from first to last.
  case section(SectionChange)
  /// An object was inserted, deleted, moved or updated.
  case object(ObjectChange)
  /// The change is complete, and the controller has the new result.
  case didChange

  /// An inserted or deleted section.
  public struct SectionChange: Sendable, Hashable {
    /// The kind of a section's change.
    public enum Kind: Sendable, Hashable {
      /// The section is new.
      case insert
      /// The section is gone.
      case delete
    }
    /// The kind of the change.
    public let kind: Kind
    /// The section's name, as in ``FetchedResultsSnapshot/Section/name``.
    public let name: String
    /// The index before the change for a delete, after it for an insert.
    public let index: Int
  }

  /// An object was inserted, deleted, moved or updated.
  public struct ObjectChange: Sendable, Hashable {
    /// The kind of an object's change.
    public enum Kind: Sendable, Hashable {
      /// The object is new in the result.
      case insert
      /// The object is no longer in the result.
      case delete
      /// The object moved, and its values may have changed.
      case move
      /// The object's values changed; it kept its place among the objects that stayed.
      case update
    }
    /// The kind of the change.
    public let kind: Kind
    /// The object's ID; the object may not exist if it was deleted.
    public let objectID: ManagedObjectID
    /// The index path before the change; nil for an insert.
    public let indexPath: ResultsIndexPath?
    /// The index path after the change; nil for a delete.
    public let newIndexPath: ResultsIndexPath?
  }
}
