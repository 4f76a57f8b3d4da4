public import ObjectModel

// For hand-written accessors: values without change tracking, and change tracking without values.

extension ManagedObject {
  /// Returns the stored value of an attribute or to-one relationship; fires a fault.
  ///
  /// A relationship's value is the destination's URI. An unknown name, and a to-many relationship's, trap.
  public final func primitiveValue(forKey key: String) -> Value {
    value(requireStoredProperty(key), in: readable)
  }

  /// Sets an attribute without marking the object as changed.
  ///
  /// The value is saved together with the object's next tracked change, or never; a refresh drops it. To track the
  /// change, call ``willChangeValue(forKey:)`` first. A relationship, an unknown name and a value of another type trap.
  public final func setPrimitiveValue(_ value: Value, forKey key: String) {
    let property = requireStoredProperty(key)
    guard let attribute = property.attribute, let converted = value.converted(to: attribute.type) else {
      preconditionFailure("\(entity.name).\(key) can't hold the primitive value \(value)")
    }
    let version = readable.version
    // The pending changes and the object must agree.
    if hasChanges, !state.contains(.touched) { registry?.touch(self) }
    row.set(converted, of: attribute.type, property.slot)
    if !hasChanges { row.stamp(version: version) }
  }

  /// Fires the object's fault, so that its primitive values can be read.
  public final func willAccessValue(forKey key: String?) { _ = readable }

  /// Marks the object as changed, before a primitive value is set.
  public final func willChangeValue(forKey key: String) { willChange(requireStoredProperty(key).slot) }

  private func requireStoredProperty(_ key: String) -> Property {
    let property = requireProperty(key)
    precondition(property.storage.isStored, "\(entity.name).\(key) is to-many and has no primitive value")
    return property
  }
}
