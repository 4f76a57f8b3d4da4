import Foundation
public import ObjectModel

// Values by property name, for models that are known only at run time.

extension ManagedObject {
  /// Returns the value of a property: an attribute's value, a destination object, a set or ordered array of them, or
  /// nil.
  ///
  /// A fetched property's value is an array of objects. An unknown name is a programmer's error and traps.
  public final func value(forKey key: String) -> Any? {
    if let fetched = entity.fetchedProperty(named: key) { return self[fetched: fetched.name, as: ManagedObject.self] }
    let property = requireProperty(key)
    switch property.kind {
    case .attribute(let attribute):
      if attribute.type == .undefined { return self[undefined: property.slot, as: (any Sendable).self] }
      return attributeValue(property).unwrapped
    case .relationship(let relationship):
      if !relationship.isToMany { return destination(property.slot) }
      return relationship.isOrdered ? destinations(property.slot) : Set(destinations(property.slot))
    }
  }

  /// Sets a property by name, a to-many relationship to a set or array of objects; a value of another type than the
  /// property's is a programmer's error and traps.
  public final func setValue(_ value: Any?, forKey key: String) {
    let property = requireProperty(key)
    switch property.kind {
    case .attribute(let attribute):
      guard let converted = Value(value)?.converted(to: attribute.type) else {
        preconditionFailure(
          "\(entity.name).\(key) is \(attribute.type.rawValue) and can't hold a \(type(of: value ?? "nil"))")
      }
      setAttributeValue(converted, property)
    case .relationship(let relationship):
      if relationship.isToMany {
        let objects = (value as? [ManagedObject]) ?? (value as? Set<ManagedObject>).map(Array.init) ?? []
        setDestinations(objects, property.slot)
      } else {
        setDestination(value as? ManagedObject, property.slot)
      }
    }
  }

  /// The value of an attribute by name; nil if there is no such attribute.
  public final subscript(attribute name: String) -> Value? {
    guard let property = entity.property(named: name), property.attribute != nil else { return nil }
    return attributeValue(property)
  }

  /// Returns the values that the object had when it was last fetched or saved, by name, without reading binary data.
  public final func committedValues(forKeys keys: [String]) -> [String: Value] {
    let committed = base ?? readable
    return Dictionary(uniqueKeysWithValues: keys.map { ($0, value(requireProperty($0), in: committed)) })
  }

  /// Returns the stored properties that differ from what was last fetched or saved, with their new values by name; for
  /// a new object those that are not nil.
  ///
  /// A to-many relationship whose destinations were changed here is among them with the value null: ask the property for
  /// the destinations.
  public final func changedValues() -> [String: Value] {
    if !hasChanges { return [:] }
    var changed = values(changedFrom: base)
    for slot in registry?.changedToMany[objectID] ?? [] {
      let property = entity.properties[slot]
      if property.relationship?.isTransient == false { changed[property.name] = .null }
    }
    return changed
  }

  /// True if the object differs from what was last fetched or saved in a way that a save would write, relationships
  /// included.
  public final var hasPersistentChangedValues: Bool { isInserted || !changedValues().isEmpty }

  /// Returns the stored attributes and to-one relationships changed by this event, with their new values by name.
  ///
  /// The event covers changes since the last report to observers; during a report, it is the reported changes.
  public final func changedValuesForCurrentEvent() -> [String: Value] {
    guard let registry, let before = registry.rowBeforeEvent(of: self) else { return [:] }
    return values(changedFrom: before)
  }

  private func values(changedFrom former: Row?) -> [String: Value] {
    var changed: [String: Value] = [:]
    for property in entity.properties where property.storage.isStored && property.isPersistent && !property.isHidden {
      let differs =
        former.map { !row.hasSameValue(as: $0, property.slot, property.storage) } ?? !row.isNull(property.slot)
      if differs { changed[property.name] = value(property, in: row) }
    }
    return changed
  }

  final func attributeValue(_ property: Property) -> Value { value(property, in: readable) }

  final func setAttributeValue(_ value: Value, _ property: Property) {
    willChange(property.slot)
    row.set(value, of: property.attribute?.type, property.slot)
  }

  final func value(_ property: Property, in row: Row) -> Value {
    guard let attribute = property.attribute else {
      return row.referenceIfPresent(property.slot).flatMap { $0.uriRepresentation }.map(Value.url) ?? .null
    }
    do { return try row.value(of: attribute, property.slot) } catch {
      registry?.noteFaultFailure(UnreadableValue(self, property, error))
      return .null
    }
  }

  final func requireProperty(_ key: String) -> Property {
    guard let property = entity.property(named: key) else {
      preconditionFailure("the entity \(entity.name) has no property \"\(key)\"")
    }
    return property
  }
}

extension Value {
  /// Makes a value of any of the types that attributes can have; nil for other types.
  public init?(_ any: Any?) {
    switch any {
    case nil: self = .null
    case let value as Value: self = value
    case let value as Bool: self = .boolean(value)
    case let value as any BinaryInteger:
      guard let integer = Int64(exactly: value) else { return nil }
      self = .integer(integer)
    case let value as Double: self = .double(value)
    case let value as Float: self = .double(Double(value))
    case let value as String: self = .string(value)
    case let value as Decimal: self = .decimal(value)
    case let value as Date: self = .date(value)
    case let value as Data: self = .data(value)
    case let value as UUID: self = .uuid(value)
    case let value as URL: self = .url(value)
    default: return nil
    }
  }

  /// Returns the value as a Swift type, or nil: `row["count"]?.typed(as: Int.self)`.
  ///
  /// Integers convert to other number types that hold them exactly.
  /// - Parameter type: the wanted type.
  public func typed<Wanted>(as type: Wanted.Type) -> Wanted? {
    if let value = unwrapped as? Wanted { return value }
    guard case .integer(let number) = self else { return nil }
    return switch type {
    case let integer as any BinaryInteger.Type: integer.init(exactly: number) as? Wanted
    case let real as any BinaryFloatingPoint.Type: real.init(exactly: number) as? Wanted
    default: nil
    }
  }

  /// The Swift value, or nil.
  public var unwrapped: (any Sendable)? {
    switch self {
    case .null: nil
    case .integer(let value): value
    case .double(let value): value
    case .boolean(let value): value
    case .string(let value): value
    case .decimal(let value): value
    case .date(let value): value
    case .data(let value): value
    case .uuid(let value): value
    case .url(let value): value
    }
  }
}
