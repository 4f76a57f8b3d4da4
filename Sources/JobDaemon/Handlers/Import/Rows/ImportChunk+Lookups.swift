import ObjectGraph

extension ImportChunk {
  /// Looks for the objects that relationships lead to, without making any.
  ///
  /// - Returns: the rows that are rejected because theirs is not there, and how many rows lack one, by relationship.
  func lookUp(
    _ coordinator: PersistentStoreCoordinator, _ reader: any StoreReader
  ) throws -> (rejects: [Int: RejectedRecord], lacking: [String: Int64]) {
    var rejects: [Int: RejectedRecord] = [:]
    var lacking: [String: Int64] = [:]
    for (column, values) in lookups {
      guard let resolver = RelationshipResolver(column) else { continue }
      let found = try resolver.find(values, count: count, coordinator, reader)
      for row in found.indices where found[row] == nil && !values.isNull(row) {
        lacking[column.property.name, default: 0] += 1
        guard resolver.rejects, rejects[row] == nil else { continue }
        rejects[row] = origins?.reject(
          row, column: column.label, rule: RelationshipResolver.rule, resolver.message(values, row))
      }
    }
    return (rejects, lacking)
  }
}
