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

  /// Sets a property by name, a to-many relationship to a set or array of objects; nil clears it. A value of another type
  /// than the property's, such as an ID in place of its object, or a number out of its range, is a programmer's error and
  /// traps: ``validateValue(_:forKey:)`` tells in advance.
  public final func setValue(_ value: Any?, forKey key: String) {
    let property = requireProperty(key)
    switch property.kind {
    case .attribute(let attribute):
      guard let converted = Value(value)?.converted(to: attribute.type) else {
        refuse(value, for: property, "is \(attribute.type.rawValue)")
      }
      setAttributeValue(converted, property)
    case .relationship: setDestinations(value, of: property)
    }
  }

  private func setDestinations(_ value: Any?, of property: Property) {
    let isNil = Value(value)?.isNull == true
    if property.storage == .toMany {
      let objects = isNil ? [] : (value as? [ManagedObject]) ?? (value as? Set<ManagedObject>).map(Array.init)
      guard let objects else { refuse(value, for: property, "leads to objects and takes an array or a set of them") }
      setDestinations(objects, property.slot)
    } else {
      let object = value as? ManagedObject
      guard isNil || object != nil else { refuse(value, for: property, "leads to an object") }
      setDestination(object, property.slot)
    }
  }

  private func refuse(_ value: Any?, for property: Property, _ expectation: String) -> Never {
    let given = value.map { "\(type(of: $0))" } ?? "nil"
    // What a user has typed is asked about before it is set.
    let isOutOfRange = value is any BinaryInteger && property.storage == .integer
    preconditionFailure(
      "\(entity.name).\(property.name) \(expectation), and can't hold "
        + (isOutOfRange ? "this \(given): it is out of range; validateValue(_:forKey:) tells in advance" : "a \(given)")
    )
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
    for slot in registry?.relationships.changedSlots(of: objectID) ?? [] {
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
      registry?.failures.note(UnreadableValue(self, property, error: error))
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

extension ManagedObject {
  /// Fetches the objects of a fetched property of the model; a fetch each time.
  ///
  /// In the property's predicate `$FETCH_SOURCE` is this object, and `$FETCH_SOURCE.name` a value of it.
  /// - Throws: ``ConditionError`` if the predicate can't be parsed, or there is no such property; ``StoreError``.
  public final func fetchedObjects(forKey key: String) throws -> [ManagedObject] {
    guard let registry else { return [] }
    guard let property = entity.fetchedProperty(named: key) else {
      throw ConditionError(.unknownProperty, "the entity \(entity.name) has no fetched property \"\(key)\"")
    }
    var request = FetchRequest<ManagedObject>(entity: property.entity, nil)
    request.condition = try property.predicate.map { predicate in
      try Condition(format: predicate).mapOperands { operands in
        var result: [Operand] = []
        for operand in operands { result.append(try self.substitute(operand, property)) }
        return result
      }
    }
    registry.processPendingChanges()
    return try FetchExecution(registry, FetchQuery(request, registry.coordinator.model)).objects(
      as: ManagedObject.self)
  }

  /// The objects of a fetched property for generated classes; if the fetch fails, the context's next save throws the
  /// error.
  public final subscript<Destination: ManagedObject>(
    fetched key: String, as type: Destination.Type
  ) -> [Destination] {
    do { return try fetchedObjects(forKey: key).compactMap { $0 as? Destination } } catch {
      registry?.failures.note(error)
      return []
    }
  }

  private func substitute(
    _ operand: Operand, _ fetched: EntityDescription.FetchedProperty
  ) throws -> Operand {
    switch operand {
    case .variable("FETCH_SOURCE"): return .object(objectID)
    case .variablePath("FETCH_SOURCE", let names): return try constant(at: names)
    case .variable("FETCHED_PROPERTY"): return .value(.string(fetched.name))
    case .variablePath("FETCHED_PROPERTY", let names) where names.count == 2 && names[0] == "userInfo":
      return .value(fetched.userInfo[names[1]].map(Value.string) ?? .null)
    default: return operand
    }
  }

  /// Returns the value at the end of a path of to-one relationships.
  private func constant(at names: [String]) throws -> Operand {
    var object: ManagedObject = self
    for name in names.dropLast() {
      let property = try PropertyPath([name], from: object.entity).last
      guard let next = object.destination(property.slot) else { return .value(.null) }
      object = next
    }
    let property = try PropertyPath(names.suffix(1), from: object.entity).last
    if property.storage == .reference {
      return object.destination(property.slot).map { .object($0.objectID) } ?? .value(.null)
    }
    return .value(object.attributeValue(property))
  }
}
