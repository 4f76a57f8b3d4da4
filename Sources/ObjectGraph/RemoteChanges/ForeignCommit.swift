package import ObjectModel

/// What a store can tell of commits that others made to it.
package struct ForeignCommit: Sendable {
  /// The highest key in each table: programs that know nothing of reserved keys take the next one.
  package let highestKeys: [(root: Entity, key: Int64)]

  package init(highestKeys: [(root: Entity, key: Int64)]) { self.highestKeys = highestKeys }
}
