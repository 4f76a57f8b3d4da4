package import ObjectModel

/// A fetch as a store answers it: resolved and without regard to pending changes.
package struct StoreQuery: Sendable {
  package var entity: Entity
  package var includesSubentities: Bool
  /// Every key path in it exists.
  package var condition: Condition?
  package var sortDescriptors: [ResolvedSort]
  package var limit: Int?
  package var offset: Int
  /// True if rows are wanted, or IDs only.
  package var wantsRows: Bool
  package var coordinatorOrdinal: UInt32
  /// True if to end with a `CancellationError` when the task that asks is cancelled.
  package var isCancellable: Bool

  package init(
    entity: Entity, includesSubentities: Bool = true, condition: Condition? = nil,
    sortDescriptors: [ResolvedSort] = [], limit: Int? = nil, offset: Int = 0, wantsRows: Bool = true,
    coordinatorOrdinal: UInt32, isCancellable: Bool = false
  ) {
    self.entity = entity
    self.includesSubentities = includesSubentities
    self.condition = condition
    self.sortDescriptors = sortDescriptors
    self.limit = limit
    self.offset = offset
    self.wantsRows = wantsRows
    self.coordinatorOrdinal = coordinatorOrdinal
    self.isCancellable = isCancellable
  }
}

/// A sort by a path of property names; nil sorts first.
package struct ResolvedSort: Sendable {
  package let keyPath: [String]
  package let isAscending: Bool
  package let textOrder: TextOrder

  package init(keyPath: [String], isAscending: Bool, textOrder: TextOrder = .codePoints) {
    self.keyPath = keyPath
    self.isAscending = isAscending
    self.textOrder = textOrder
  }
}

extension ResolvedSort {
  /// Returns the properties to sort by.
  ///
  /// - Throws: ``ConditionError`` if the path does not exist or its values have no order.
  package func propertyPath(from entity: Entity) throws -> PropertyPath {
    let path = try PropertyPath(keyPath, from: entity)
    let fragment = keyPath.joined(separator: ".")
    switch path.type {
    case .data: throw ConditionError(.unsupported, "binary data can't be sorted by", fragment: fragment)
    case .object:
      throw ConditionError(
        .unsupported, "a relationship's objects have no order; name an attribute to sort by", fragment: fragment)
    default: break
    }
    if textOrder != .codePoints && !path.type.isText {
      throw ConditionError(.typeMismatch, "only texts have an order of texts", fragment: fragment)
    }
    return path
  }
}
