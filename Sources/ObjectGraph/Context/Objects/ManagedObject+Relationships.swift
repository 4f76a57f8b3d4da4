import ObjectModel

// Accessors for generated relationships. The inverse changes at once, in memory.

extension ManagedObject {
  /// The destination of a to-one relationship, perhaps a fault.
  public final subscript<Destination: ManagedObject>(
    toOne slot: Int, as type: Destination.Type
  ) -> Destination? {
    get { destination(slot) as? Destination }
    set { setDestination(newValue, slot) }
  }

  /// The destinations of a to-many relationship; a fetch on first use.
  public final subscript<Destination: ManagedObject>(
    toMany slot: Int, as type: Destination.Type
  ) -> Set<Destination> {
    get { Set(destinations(slot).compactMap { $0 as? Destination }) }
    set { setDestinations(newValue, slot) }
  }

  /// The destinations of an ordered to-many relationship in their order; a fetch on first use.
  ///
  /// If an object occurs twice in a new value, its first place counts.
  public final subscript<Destination: ManagedObject>(
    ordered slot: Int, as type: Destination.Type
  ) -> [Destination] {
    get { destinations(slot).compactMap { $0 as? Destination } }
    set { setDestinations(newValue, slot) }
  }

  /// Adds a destination to a to-many relationship, at the end if that is ordered.
  public final func add(_ object: ManagedObject, toMany slot: Int) {
    requireRegistry().add(object, to: self, slot)
  }

  /// Removes a destination from a to-many relationship.
  public final func remove(_ object: ManagedObject, fromMany slot: Int) {
    requireRegistry().remove(object, from: self, slot)
  }

  final func destination(_ slot: Int) -> ManagedObject? {
    guard let id = readable.referenceIfPresent(slot) else { return nil }
    return registry?.object(with: id)
  }

  final func setDestination(_ destination: ManagedObject?, _ slot: Int) {
    requireRegistry().setToOne(of: self, slot, to: destination)
  }

  /// The destinations of a to-many relationship, in their order if they have one.
  final func destinations(_ slot: Int) -> [ManagedObject] {
    guard let registry else { return [] }
    return registry.sequence(of: self, slot).map { registry.object(with: $0) }
  }

  final func setDestinations(_ destinations: some Sequence<ManagedObject>, _ slot: Int) {
    requireRegistry().setDestinations(of: self, slot, to: Array(destinations))
  }

  final func requireRegistry() -> ObjectRegistry {
    guard let registry else {
      preconditionFailure("\(self) no longer belongs to a context, so it can't be changed or insert others")
    }
    return registry
  }
}

// MARK: - Relationships by name, without their objects

extension ManagedObject {
  /// True if a relationship's destinations would have to be read first; does no I/O and fires no fault.
  ///
  /// A to-many relationship is no longer a fault once its destinations are known here, even if they are faults
  /// themselves; a to-one relationship is one if its destination is. An unknown name, and an attribute's, trap.
  ///
  /// - Parameter key: the name of the relationship.
  public final func hasFault(forRelationshipNamed key: String) -> Bool {
    let property = requireRelationship(key)
    guard let registry else { return false }
    registry.checkExecutor()
    if property.storage == .toMany { return registry.mustLoadDestinations(of: self, property) }
    if isFault { return true }
    guard let id = row.referenceIfPresent(property.slot) else { return false }
    return registry.registeredObject(for: id)?.isFault ?? true
  }

  /// Returns the IDs of a relationship's destinations as this context sees them, without making objects.
  ///
  /// Neither the destinations' faults are fired nor, if the relationship is to-many, its own: it is a fault afterwards
  /// if it was one before. An unknown name, and an attribute's, trap. Cost: a fault reads its object's row; a to-many
  /// relationship takes one statement, unless its destinations are cached.
  ///
  /// - Parameter key: the name of the relationship.
  /// - Returns: the IDs in the relationship's order if it has one; for a to-one relationship one ID or none.
  public final func objectIDs(forRelationshipNamed key: String) -> [ManagedObjectID] {
    let property = requireRelationship(key)
    if property.storage == .reference { return readable.referenceIfPresent(property.slot).map { [$0] } ?? [] }
    return registry?.destinationIDs(of: self, property) ?? []
  }

  private func requireRelationship(_ key: String) -> Property {
    let property = requireProperty(key)
    precondition(property.relationship != nil, "\(entity.name).\(key) is not a relationship")
    return property
  }
}

// MARK: - Ordered relationships by index; an index out of bounds is a programmer's error and traps

extension ManagedObject {
  /// Inserts a destination at an index; one that is already present moves.
  public final func insert(_ object: ManagedObject, ordered slot: Int, at index: Int) {
    var objects = destinations(slot)
    objects.removeAll { $0 === object }
    objects.insert(object, at: index)
    setDestinations(objects, slot)
  }

  /// Removes the destination at an index.
  public final func remove(at index: Int, ordered slot: Int) {
    remove(destinations(slot)[index], fromMany: slot)
  }

  /// Replaces the destination at an index.
  public final func replace(at index: Int, with object: ManagedObject, ordered slot: Int) {
    var objects = destinations(slot)
    let replaced = objects[index]
    if replaced === object { return }
    objects.removeAll { $0 === object }
    if let place = objects.firstIndex(where: { $0 === replaced }) { objects[place] = object }
    setDestinations(objects, slot)
  }

  /// Moves a destination from one index to another.
  public final func move(from index: Int, to newIndex: Int, ordered slot: Int) {
    var objects = destinations(slot)
    objects.insert(objects.remove(at: index), at: newIndex)
    setDestinations(objects, slot)
  }
}
