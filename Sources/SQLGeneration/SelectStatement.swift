/// A query in SQL, and the names of its result's columns.
package struct SelectStatement: Sendable, Hashable {
  package let segment: SQLSegment
  /// The columns of the result in order: `_key`, for rows `_version`, in a hierarchy `_entity`, then for rows every
  /// column of a persistent property of the queried entities. Empty for a count.
  package let columns: [String]

  /// The column that tells the entity, or nil if the table has one entity only.
  package var entityColumn: Int? { columns.firstIndex(of: SchemaName.entity) }
}
