import ObjectModel

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
      try Condition(format: predicate).mapOperands { operands throws(ConditionError) in
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
      registry?.noteFaultFailure(error)
      return []
    }
  }

  private func substitute(
    _ operand: Operand, _ fetched: EntityDescription.FetchedProperty
  ) throws(ConditionError) -> Operand {
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
  private func constant(at names: [String]) throws(ConditionError) -> Operand {
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
