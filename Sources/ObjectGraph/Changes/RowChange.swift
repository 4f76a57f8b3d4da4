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
  ///
  /// The insert of an object that was in the store before has a row of nulls in a save: its versions go on from that
  /// one's, which is later than all that it had, so that who read an earlier one meets a conflict.
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

  /// The version that its row has once it is stored.
  package var version: Int64 { (base?.version ?? 0) + 1 }

  /// Bytes of memory that the change keeps alive.
  package var byteCount: Int { 48 + (row?.byteCount ?? 0) }
}
