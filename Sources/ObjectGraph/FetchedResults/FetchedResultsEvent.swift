/// What a results controller tells of a change of its result, in this order for each change.
public enum FetchedResultsEvent: Sendable, Hashable {
  /// The events of a change begin.
  case willChange
  /// A section came or went: deletes first, with their old place, from the last to the first; then inserts with their
  /// new place, from the first to the last.
  case section(SectionChange)
  /// An object came, went, moved or changed.
  case object(ObjectChange)
  /// The change is complete, and the controller's result is the new one.
  case didChange

  /// A section came or went.
  public struct SectionChange: Sendable, Hashable {
    /// Whether a section came or went.
    public enum Kind: Sendable, Hashable {
      /// The section is new.
      case insert
      /// The section is gone.
      case delete
    }
    /// Whether the section came or went.
    public let kind: Kind
    /// The section's name, as in ``FetchedResultsSnapshot/Section/name``.
    public let name: String
    /// The place before the change for a delete, after it for an insert.
    public let index: Int
  }

  /// An object came, went, moved or changed.
  public struct ObjectChange: Sendable, Hashable {
    /// What became of an object of the result.
    public enum Kind: Sendable, Hashable {
      /// The object is in the result now and was not before.
      case insert
      /// The object was in the result and is not any more.
      case delete
      /// To another place, and its values may have changed.
      case move
      /// Other values in its old place among the objects that stayed.
      case update
    }
    /// What became of the object.
    public let kind: Kind
    /// The object; it may be gone if it was deleted.
    public let objectID: ManagedObjectID
    /// The place before the change; nil for an insert.
    public let indexPath: ResultsIndexPath?
    /// The place after the change; nil for a delete.
    public let newIndexPath: ResultsIndexPath?
  }
}
