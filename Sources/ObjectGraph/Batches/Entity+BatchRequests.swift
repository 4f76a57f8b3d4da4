import ObjectModel

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

  func mismatch(_ property: Property, _ expected: String, found: String) -> ConditionError {
    ConditionError(
      .typeMismatch, "\(name).\(property.name) takes \(expected), not a value of type \(found)",
      fragment: property.name)
  }

  /// The properties that have a column which must not be null, and that no store computes.
  var requiredColumns: [Property] {
    properties.filter { $0.isPersistent && !$0.isOptional && $0.attribute?.derivation == nil }
  }
}
