public import Foundation

extension ManagedObjectContext {
  /// The seconds for which a fault may use a cached row instead of reading the store; no limit if less than 0, the
  /// default; never if 0.
  ///
  /// The time counts for each row by itself, from when any context of the coordinator read or wrote it, on a clock that
  /// is never set back. It applies to later reads: of faults, which ``refresh(_:mergeChanges:)`` makes of other
  /// objects, of to-many relationships, and of rows that unsaved changes are applied to. Values that objects already
  /// show stay, and pending changes here or in an ancestor are always newer. Each context has its own interval.
  ///
  /// For stores that others write to unnoticed. Cost: with 0, a statement for each fault, even if its row was fetched
  /// before; `returnsObjectsAsFaults = false` reads the values with the fetch.
  public var stalenessInterval: TimeInterval {
    get { registry.settings.stalenessInterval }
    set { registry.settings.stalenessInterval = newValue }
  }

  /// True if the context retains all its objects until it is reset; by default it retains those with changes.
  ///
  /// Other objects live as long as they are used.
  public var retainsRegisteredObjects: Bool {
    get { registry.retainsObjects }
    set { registry.retainsObjects = newValue }
  }

  /// Sets ``retainsRegisteredObjects`` from outside of a block.
  public func setRetainsRegisteredObjects(_ retains: Bool) { retainsRegisteredObjects = retains }

  /// True if a fault whose row is gone becomes a deleted object with nil properties; the default. What is set on it is
  /// not saved.
  ///
  /// If false, its properties are nil too, and the next save throws ``ObjectNotFound``, as does one after a property was
  /// set. ``realize(_:)`` and ``existingObject(with:)`` throw it at once in either case.
  public var shouldDeleteInaccessibleFaults: Bool {
    get { registry.settings.deletesInaccessibleFaults }
    set { registry.settings.deletesInaccessibleFaults = newValue }
  }

  /// Realizes a fault now; does nothing to other objects.
  ///
  /// - Throws: ``ObjectNotFound`` if its row is gone, ``StoreError`` if the store can't be read.
  public func realize(_ object: ManagedObject) throws {
    enter()
    guard try registry.realize(object) else { throw ObjectNotFound(objectID: object.objectID) }
  }
}

extension ManagedObjectContext {
  /// The manager that records this context's changes for undo; nil by default, which disables undo.
  ///
  /// Saves of children into this context are recorded too; merges from sibling contexts are not. A rollback and a reset
  /// discard the records, a save does not.
  /// - Note: Cost: the values of changed objects before and after each event are kept in memory until they are
  ///   discarded. Large values whose file a save has removed can't be restored.
  public var undoManager: UndoManager? {
    get { registry.undo.manager }
    set {
      enter()
      registry.undo.setManager(newValue, of: registry)
    }
  }

  /// Undoes the last event's changes, or those made since; does nothing without an ``undoManager``.
  ///
  /// Values, inserts, deletes and relationships become what they were, also if they were saved since: then the next
  /// save writes them. An object whose deletion was saved comes back as the same object with the same ID.
  public func undo() {
    enter()
    registry.undo.manager?.undo()
    reportChanges()
  }

  /// Redoes what ``undo()`` undid; does nothing without an ``undoManager``.
  public func redo() {
    enter()
    registry.undo.manager?.redo()
    reportChanges()
  }
}

extension ManagedObjectContext {
  /// Checks that the registered objects, their relationships and the pending changes agree with each other.
  ///
  /// For tests; it changes nothing. Cost: a pass over the registered objects and the pending changes.
  /// - Throws: ``InvariantViolation`` with all findings.
  public func checkInvariants() throws(InvariantViolation) {
    let findings = pending.findings + registry.findings
    if !findings.isEmpty { throw InvariantViolation(subject: "the context \"\(name)\"", findings: findings) }
  }
}
