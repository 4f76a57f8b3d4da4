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
    public enum Kind: Sendable, Hashable { case insert, delete }
    public let kind: Kind
    public let name: String
    /// The place before the change for a delete, after it for an insert.
    public let index: Int
  }

  /// An object came, went, moved or changed.
  public struct ObjectChange: Sendable, Hashable {
    public enum Kind: Sendable, Hashable {
      case insert
      case delete
      /// To another place, and its values may have changed.
      case move
      /// Other values in its old place among the objects that stayed.
      case update
    }
    public let kind: Kind
    public let objectID: ManagedObjectID
    /// The place before the change; nil for an insert.
    public let indexPath: ResultsIndexPath?
    /// The place after the change; nil for a delete.
    public let newIndexPath: ResultsIndexPath?
  }
}
