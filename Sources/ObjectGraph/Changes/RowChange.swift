/// What happened to one object between two saves, as the level that receives it must know it.
package struct RowChange: Sendable {
  package enum Kind: UInt8, Sendable {
    case insert
    case update
    case delete
    /// Inserted and deleted again before it went anywhere: hides an earlier insert of the same set of changes.
    case forget
  }

  package var kind: Kind
  package let id: ManagedObjectID
  /// The new values; nil for a delete.
  package var row: Row?
  /// The values that the change was made against; nil for an insert. Its version is the one a save expects to find.
  package var base: Row?

  package init(_ kind: Kind, _ id: ManagedObjectID, row: Row?, base: Row?) {
    self.kind = kind
    self.id = id
    self.row = row
    self.base = base
  }

  /// Whether the row is the one that it was: a relationship that no column of the row tells of has changed.
  package var isEmptyUpdate: Bool {
    kind == .update && row != nil
      && row.map { ObjectIdentifier($0.storage) } == base.map { ObjectIdentifier($0.storage) }
  }

  /// Bytes of memory that the change keeps alive.
  package var byteCount: Int { 48 + (row?.byteCount ?? 0) }
}
