/// The result of a results controller at one moment: sections of IDs.
public struct FetchedResultsSnapshot: Sendable, Hashable {
  /// Consecutive objects with the same value at the section key path.
  public struct Section: Sendable, Hashable {
    /// The value as text; empty for nil, and if there is no section key path.
    public let name: String
    /// The IDs of the section's objects, in order; never empty if there is a section key path.
    public let objectIDs: [ManagedObjectID]

    /// Makes a section, for tests of code that shows one.
    public init(name: String, objectIDs: [ManagedObjectID]) {
      self.name = name
      self.objectIDs = objectIDs
    }
  }

  /// The sections in order; one without a name if there is no section key path.
  public let sections: [Section]
  /// Objects of the previous snapshot that have other values now.
  public let updatedObjectIDs: Set<ManagedObjectID>

  /// Makes a snapshot, for tests of code that shows one.
  public init(sections: [Section] = [], updatedObjectIDs: Set<ManagedObjectID> = []) {
    self.sections = sections
    self.updatedObjectIDs = updatedObjectIDs
  }

  /// All IDs in order. Cost: a copy of them.
  public var objectIDs: [ManagedObjectID] { sections.flatMap(\.objectIDs) }

  /// The number of objects in all sections.
  public var count: Int { sections.reduce(0) { $0 + $1.objectIDs.count } }

  /// Returns the object at an index path, or nil if there is none.
  public func objectID(at path: ResultsIndexPath) -> ManagedObjectID? {
    guard sections.indices.contains(path.section) else { return nil }
    let ids = sections[path.section].objectIDs
    return ids.indices.contains(path.item) ? ids[path.item] : nil
  }

  /// Returns the index path of an object, or nil. Cost: a pass over the IDs.
  public func indexPath(of id: ManagedObjectID) -> ResultsIndexPath? {
    for (section, entry) in sections.enumerated() {
      if let item = entry.objectIDs.firstIndex(of: id) { return ResultsIndexPath(section: section, item: item) }
    }
    return nil
  }

  /// Returns the inserts, removals and moves that lead from another snapshot to this one, regardless of sections.
  public func difference(from other: FetchedResultsSnapshot) -> CollectionDifference<ManagedObjectID> {
    objectIDs.difference(from: other.objectIDs).inferringMoves()
  }
}

/// The section and item index of an object in a results controller.
public struct ResultsIndexPath: Sendable, Hashable, Comparable, CustomStringConvertible {
  /// The index of the section, from 0.
  public var section: Int
  /// The index in the section, from 0.
  public var item: Int

  /// Makes an index path.
  public init(section: Int, item: Int) {
    self.section = section
    self.item = item
  }

  /// Orders index paths by section, then by item.
  public static func < (left: Self, right: Self) -> Bool {
    (left.section, left.item) < (right.section, right.item)
  }

  /// Both numbers in brackets.
  public var description: String { "[\(section), \(item)]" }
}

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
