import ObjectModel

// Values of transient attributes without a type. They live in memory: contexts pass them on by reference with an
// object's other values, so they are `Sendable`, and undo and rollback restore them; no store ever sees them.

extension ManagedObject {
  /// The value of a transient attribute without a type; nil if there is none, or one of another type.
  public final subscript<Value: Sendable>(undefined slot: Int, as type: Value.Type) -> Value? {
    get {
      // An optional is Sendable too, so it must be unwrapped before the cast.
      guard !readable.isNull(slot), let object = row.blob(slot).object else { return nil }
      return object as? Value
    }
    set {
      willChange(slot)
      if let newValue { row.setBlob(Blob(object: newValue), slot) } else { row.setNull(slot) }
    }
  }

  /// Returns the value of a transient attribute without a type, by name. An unknown name traps.
  public final func undefinedValue<Value: Sendable>(_ type: Value.Type, forKey key: String) -> Value? {
    self[undefined: requireUndefined(key), as: type]
  }

  /// Sets a transient attribute without a type, by name. An unknown name traps.
  public final func setUndefinedValue(_ value: (any Sendable)?, forKey key: String) {
    self[undefined: requireUndefined(key), as: (any Sendable).self] = value
  }

  private func requireUndefined(_ key: String) -> Int {
    let property = requireProperty(key)
    precondition(property.attribute?.type == .undefined, "\(entity.name).\(key) has a type, by which it is read")
    return property.slot
  }
}
