import ObjectModel

/// The values that a batch insert gives for one object, fitted to its entity.
struct BatchRow {
  /// The attributes.
  private(set) var row: Row
  /// The relationships.
  private(set) var destinations: [(property: Property, ids: [ManagedObjectID])] = []
  /// What was given, as opposed to what the object has by default.
  private(set) var givenSlots: [Int] = []

  /// - Throws: ``ConditionError`` that names a property which does not exist, or can't take its value.
  init(_ values: BatchInsertRequest.Values, _ entity: Entity, defaults: Row) throws(ConditionError) {
    row = defaults
    givenSlots.reserveCapacity(values.count)
    for (name, value) in values {
      let property = try entity.storedProperty(name)
      if let attribute = property.attribute {
        try set(value, property, attribute, entity)
      } else {
        destinations.append((property, try Self.ids(value, property, entity)))
      }
      givenSlots.append(property.slot)
      if let order = property.orderProperty { givenSlots.append(order.slot) }
    }
  }

  private mutating func set(
    _ value: (any Sendable)?, _ property: Property, _ attribute: AttributeDescription, _ entity: Entity
  ) throws(ConditionError) {
    if property.storage == .blob, let blob = value as? Blob { return row.setBlob(blob, property.slot) }
    guard let converted = Value(value)?.converted(to: attribute.type) else {
      throw entity.mismatch(property, attribute.type.rawValue, value.map { "\(type(of: $0))" } ?? "nil")
    }
    row.set(converted, property.slot)
  }

  private static func ids(
    _ value: (any Sendable)?, _ property: Property, _ entity: Entity
  ) throws(ConditionError) -> [ManagedObjectID] {
    switch value {
    case nil: return []
    case let value as Value where value.isNull: return []
    case let id as ManagedObjectID where property.storage == .reference: return [id]
    case let ids as [ManagedObjectID] where property.storage == .toMany: return ids
    case let ids as Set<ManagedObjectID> where property.storage == .toMany: return Array(ids)
    case let value?:
      let kind = property.storage == .toMany ? "IDs of objects" : "an object's ID"
      throw entity.mismatch(property, kind, "\(type(of: value))")
    }
  }
}

extension Entity {
  /// The property of that name that a batch request may write.
  func storedProperty(_ name: String) throws(ConditionError) -> Property {
    guard let property = property(named: name), !property.isHidden else {
      throw ConditionError(.unknownProperty, PropertyPath.message(name, self), fragment: name)
    }
    let isTransient = property.attribute?.isTransient ?? property.relationship?.isTransient ?? false
    if isTransient {
      throw ConditionError(
        .unsupported, "\(self.name).\(name) is transient, so a batch request can't write it", fragment: name)
    }
    return property
  }

  func mismatch(_ property: Property, _ expected: String, _ found: String) -> ConditionError {
    ConditionError(
      .typeMismatch, "\(name).\(property.name) takes \(expected), not a value of type \(found)",
      fragment: property.name)
  }
}
