public import Foundation

extension ManagedObjectContext {
  /// For how many seconds a fault may take its values from the row cache, instead of reading the store; for any time if
  /// less than 0, which is the default, and never if 0.
  ///
  /// The time counts for each row by itself, from when any context of the coordinator read or wrote it, on a clock that is
  /// never set back. It concerns what objects read from now on: faults, which ``refresh(_:mergeChanges:)`` makes of
  /// others, to-many relationships, and the rows that unsaved changes are put on top of. Values that objects show stay as
  /// they are, and what is pending here or in an ancestor is always newer. Each context has its own interval.
  ///
  /// For stores that others write to without being noticed. Cost: with 0, a statement for each fault, also if its row was
  /// fetched before; `returnsObjectsAsFaults = false` has the values come with the fetch.
  public var stalenessInterval: TimeInterval {
    get { registry.stalenessInterval }
    set { registry.stalenessInterval = newValue }
  }

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
