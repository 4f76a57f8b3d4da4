package import ObjectModel

/// Orders rows in memory as a store's SQL orders them: nil first when ascending, ties by primary key.
package struct RowComparator {
  private let keys: [(reader: ScalarReader, isAscending: Bool)]
  private let related: RelatedObjects

  /// - Parameters:
  ///   - sorts: sorts by key paths of the entity.
  ///   - related: the row of an object that a to-one relationship leads to, or nil if there is none.
  package init(
    _ sorts: [ResolvedSort], entity: Entity, related: @escaping (ManagedObjectID) throws -> Row?
  ) throws {
    self.related = RelatedObjects(row: related, destinations: { _, _ in [] })
    var keys: [(reader: ScalarReader, isAscending: Bool)] = []
    for sort in sorts {
      let path = try sort.propertyPath(from: entity)
      let transform = ScalarTransform(path.type, sortedBy: sort.textOrder)
      keys.append((try ScalarReader(.keyPath(sort.keyPath), transform, scope: EntityScope(entity)), sort.isAscending))
    }
    self.keys = keys
  }

  /// Returns true if the first object comes before the second.
  ///
  /// - Throws: errors of following a relationship.
  package func areInIncreasingOrder(
    _ left: (id: ManagedObjectID, row: Row), _ right: (id: ManagedObjectID, row: Row)
  ) throws -> Bool {
    for (reader, isAscending) in keys {
      let order = try reader.read(EvaluationScope(id: left.id, row: left.row, related: related)) { first in
        try reader.read(EvaluationScope(id: right.id, row: right.row, related: related)) { first.order($0) }
      }
      if order != 0 { return isAscending == (order < 0) }
    }
    return left.id.key < right.id.key
  }
}
