package import ObjectModel

/// A store's report of commits that others made to it.
package struct ForeignCommit: Sendable {
  /// The highest key in each table: programs unaware of reserved keys use the next one.
  package let highestKeys: [(root: Entity, key: Int64)]

  package init(highestKeys: [(root: Entity, key: Int64)]) { self.highestKeys = highestKeys }
}
