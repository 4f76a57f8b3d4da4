extension ManagedObjectContext {
  /// Whether the context holds all its objects until it is reset; false by default: it holds those with changes.
  ///
  /// Other objects live as long as somebody uses them.
  public var retainsRegisteredObjects: Bool {
    get { registry.retained != nil }
    set {
      if newValue == (registry.retained != nil) { return }
      registry.retained =
        newValue ? Dictionary(uniqueKeysWithValues: registry.objects.all.map { ($0.objectID, $0) }) : nil
    }
  }

  /// Sets ``retainsRegisteredObjects`` from outside of a block.
  public func setRetainsRegisteredObjects(_ retains: Bool) { retainsRegisteredObjects = retains }

  /// Whether a fault whose row turns out to be gone becomes a deleted object with nil properties; true by default.
  ///
  /// If false, its properties are nil too, and the next save throws ``ObjectNotFound``. ``realize(_:)`` and
  /// ``existingObject(with:)`` throw it at once in either case.
  public var shouldDeleteInaccessibleFaults: Bool {
    get { registry.deletesInaccessibleFaults }
    set { registry.deletesInaccessibleFaults = newValue }
  }

  /// Gives a fault its values now; does nothing to other objects.
  ///
  /// - Throws: ``ObjectNotFound`` if its row is gone, ``StoreError`` if the store can't be read.
  public func realize(_ object: ManagedObject) throws {
    enter()
    guard try registry.realize(object) else { throw ObjectNotFound(objectID: object.objectID) }
  }
}
