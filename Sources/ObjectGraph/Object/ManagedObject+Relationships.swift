import ObjectModel

// What generated relationships read and write. The inverse changes at once, in memory.

extension ManagedObject {
  /// The destination of a to-one relationship, perhaps a fault.
  public final subscript<Destination: ManagedObject>(
    toOne slot: Int, as type: Destination.Type
  ) -> Destination? {
    get { destination(slot) as? Destination }
    set { setDestination(newValue, slot) }
  }

  /// The destinations of a to-many relationship; a fetch when first asked for.
  public final subscript<Destination: ManagedObject>(
    toMany slot: Int, as type: Destination.Type
  ) -> Set<Destination> {
    get { Set(destinations(slot).compactMap { $0 as? Destination }) }
    set { setDestinations(newValue, slot) }
  }

  /// Adds a destination to a to-many relationship.
  public final func add(_ object: ManagedObject, toMany slot: Int) {
    requireRegistry().setToOne(of: object, inverseSlot(slot), to: self)
  }

  /// Removes a destination from a to-many relationship.
  public final func remove(_ object: ManagedObject, fromMany slot: Int) {
    let inverse = inverseSlot(slot)
    guard object.readable.referenceIfPresent(inverse) == objectID else { return }
    requireRegistry().setToOne(of: object, inverse, to: nil)
  }

  final func destination(_ slot: Int) -> ManagedObject? {
    guard let id = readable.referenceIfPresent(slot) else { return nil }
    return registry?.object(with: id)
  }

  final func setDestination(_ destination: ManagedObject?, _ slot: Int) {
    requireRegistry().setToOne(of: self, slot, to: destination)
  }

  final func destinations(_ slot: Int) -> [ManagedObject] {
    guard let registry else { return [] }
    return registry.toManyIDs(of: self, slot).map { registry.object(with: $0) }
  }

  final func setDestinations(_ destinations: some Sequence<ManagedObject>, _ slot: Int) {
    let wanted = Set(destinations)
    for object in self.destinations(slot) where !wanted.contains(object) { remove(object, fromMany: slot) }
    for object in wanted { add(object, toMany: slot) }
  }

  private func inverseSlot(_ slot: Int) -> Int {
    guard let inverse = entity.properties[slot].inverse else {
      preconditionFailure("\(entity.name).\(entity.properties[slot].name) has no inverse")
    }
    return inverse.slot
  }

  private func requireRegistry() -> ObjectRegistry {
    guard let registry else {
      preconditionFailure("\(self) belongs to no context any more and can't be changed")
    }
    return registry
  }
}
