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
