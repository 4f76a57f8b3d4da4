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
  ) throws(ConditionError) {
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

extension ResolvedSort {
  /// Returns the properties to sort by.
  ///
  /// - Throws: ``ConditionError`` if the path does not exist or its values have no order.
  package func propertyPath(from entity: Entity) throws(ConditionError) -> PropertyPath {
    let path = try PropertyPath(keyPath, from: entity)
    let fragment = keyPath.joined(separator: ".")
    switch path.type {
    case .data: throw ConditionError(.unsupported, "binary data can't be sorted by", fragment: fragment)
    case .object:
      throw ConditionError(.unsupported, "objects can't be sorted by; name an attribute", fragment: fragment)
    default: break
    }
    if textOrder != .codePoints && !path.type.isText {
      throw ConditionError(.typeMismatch, "only texts have an order of texts", fragment: fragment)
    }
    return path
  }
}
