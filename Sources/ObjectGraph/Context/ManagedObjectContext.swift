import ObjectModel
import Synchronization

/// A scratch pad of managed objects with a parent: another context, or the coordinator and its store.
///
/// A save goes one level up. A context is an actor on a serial executor of its own: its objects are used inside
/// `perform` or ``performAndWait(_:)``, and what leaves is `Sendable`: values and object IDs.
///
///     let ids = try await background.perform { context in
///       try context.fetchIDs(FetchRequest<Person>(#Predicate { $0.age >= 100 }, sortBy: [.ascending(\.age)]))
///     }
public actor ManagedObjectContext {
  /// The context's name in messages, logs and queue labels.
  public nonisolated let name: String
  /// The context that a save goes to; nil for a root, whose saves go to the store.
  public nonisolated let parent: ManagedObjectContext?
  /// The coordinator between the stack of contexts and the store.
  public nonisolated let coordinator: PersistentStoreCoordinator
  /// The executor on which the context and its objects are used.
  public nonisolated let executor: ContextExecutor
  /// The executor, as Swift's runtime asks for it.
  public nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

  /// Changes that wait for a save, readable from any thread.
  package nonisolated let pending: PendingChanges
  nonisolated let observers = EventObservers<ContextEvent>()
  nonisolated let merging = MergingState()
  /// The pinned state of the store that is read here and in children, if there is one.
  nonisolated let pin: QueryPin
  /// The classes of the model's objects, shared with children.
  nonisolated let classes: ObjectClasses

  private var registryStorage: ObjectRegistry?
  /// The number of `perform` blocks on the stack.
  private var depth = 0
  /// True to apply delete rules at the end of each event; false to wait for the save.
  public var propagatesDeletesAtEndOfEvent: Bool {
    get { registry.settings.propagatesDeletesAtEndOfEvent }
    set { registry.settings.propagatesDeletesAtEndOfEvent = newValue }
  }

  /// Makes a root context: its saves go to the coordinator's store, and are the only ones that do I/O.
  ///
  /// - Parameters:
  ///   - coordinator: the coordinator that it reads from and saves to.
  ///   - name: its name in messages, logs and history.
  ///   - executor: the executor to use; nil for one of its own.
  public init(coordinator: PersistentStoreCoordinator, name: String = "root", executor: ContextExecutor? = nil) {
    self.name = name
    self.coordinator = coordinator
    self.executor = executor ?? ContextExecutor(label: name)
    parent = nil
    pin = QueryPin()
    classes = ObjectClasses(coordinator.model)
    pending = PendingChanges(coordinator, rootNumber: coordinator.drawRootNumber())
  }

  /// Makes a child context: its saves go to its parent, in memory.
  ///
  /// Cost: a few microseconds and an empty queue, so contexts may be made for every unit of work.
  /// - Parameters:
  ///   - parent: the context that it reads from and saves to.
  ///   - name: its name in messages, logs and history.
  ///   - executor: the executor to use; nil for one of its own. A child that shares its parent's executor, for editing,
  ///     needs no hop to be used there.
  public init(parent: ManagedObjectContext, name: String = "child", executor: ContextExecutor? = nil) {
    self.name = name
    self.parent = parent
    self.executor = executor ?? ContextExecutor(label: name)
    coordinator = parent.coordinator
    pin = parent.pin
    classes = parent.classes
    pending = PendingChanges(parent.coordinator)
  }

  /// The objects, made when first needed.
  var registry: ObjectRegistry {
    if let registryStorage { return registryStorage }
    var ancestors: [PendingChanges] = []
    var ancestor = parent
    while let context = ancestor {
      ancestors.append(context.pending)
      ancestor = context.parent
    }
    let made = ObjectRegistry(
      context: self, coordinator: coordinator, executor: executor, pending: pending, ancestors: ancestors)
    registryStorage = made
    return made
  }
}

extension ManagedObjectContext {
  /// True if there are changes to save: its own, or children's.
  public var hasChanges: Bool {
    enter()
    return !pending.isEmpty || registry.hasUnpublishedChanges
  }

  /// The objects inserted here, or saved into this context by children, since the last save.
  public var insertedObjects: Set<ManagedObject> { objects(of: .insert) }

  /// The objects changed since the last save.
  public var updatedObjects: Set<ManagedObject> { objects(of: .update) }

  /// The objects deleted since the last save.
  public var deletedObjects: Set<ManagedObject> { objects(of: .delete) }

  private func objects(of kind: RowChange.Kind) -> Set<ManagedObject> {
    processPendingChanges()
    var found: Set<ManagedObject> = []
    for set in pending.currentSets() {
      for change in set.changes where change.kind == kind { found.insert(registry.object(with: change.id)) }
      if kind == .update { for id in set.relinked { found.insert(registry.object(with: id)) } }
      if kind == .insert {
        for batch in set.batches {
          for index in 0..<batch.count { found.insert(registry.object(with: batch.id(at: index))) }
        }
      }
    }
    return found
  }

  /// The objects in memory, faults included.
  public var registeredObjects: Set<ManagedObject> { Set(registry.allObjects) }

  /// Returns the object with that ID if it is in memory; does no I/O.
  public func registeredObject(for id: ManagedObjectID) -> ManagedObject? {
    enter()
    return registry.registeredObject(for: id)
  }

  /// Returns the object with that ID, perhaps a fault; assumes that it exists, and does no I/O.
  public func object(with id: ManagedObjectID) -> ManagedObject {
    enter()
    return registry.object(with: id)
  }

  /// Returns the objects with these IDs, in their order, perhaps faults; does no I/O.
  public func objects(with ids: some Sequence<ManagedObjectID>) -> [ManagedObject] { ids.map { object(with: $0) } }

  /// Returns the object with that ID, realized.
  ///
  /// - Throws: ``ObjectNotFound`` if it does not exist, ``StoreError`` if the store can't be read.
  public func existingObject(with id: ManagedObjectID) throws -> ManagedObject {
    enterReading()
    let object = registry.object(with: id)
    guard try registry.realize(object), !object.isDeleted else { throw ObjectNotFound(objectID: id) }
    return object
  }

  /// Inserts an object of an entity by name.
  ///
  /// The entity's name must exist in the model and not be abstract.
  public func insertObject(ofEntity name: String) -> ManagedObject {
    enter()
    return registry.insertObject(ofEntity: name)
  }

  /// Marks an object for deletion at the next save; the delete rules are applied at the end of the event.
  public func delete(_ object: ManagedObject) { registry.delete(object) }

  /// Ends an event early: propagates deletes, makes changes visible to fetches and children, notifies observers.
  public func processPendingChanges() {
    enter()
    registry.processPendingChanges()
    registry.undo.manager?.endEvent()
    reportChanges()
  }

  /// Drops all changes since the last save; inserted objects leave the context.
  ///
  /// Observers get one did-change that reverses earlier ones.
  public func rollback() { rollback(ifAdopted: nil) }

  /// - Parameter adoptions: does nothing unless children have saved just so often; nil for any number.
  func rollback(ifAdopted adoptions: Int?) {
    enter()
    let dropped = observers.hasObservers ? pending.currentSets() : []
    if !registry.rollback(ifAdopted: adoptions) { return }
    let undone = dropped.map(\.undone)
    if !undone.isEmpty { observers.post(.didChange(ObjectsDidChange(context: self, undone))) }
  }

  /// Forgets all objects and changes; objects that are still held no longer belong to a context.
  public func reset() {
    enter()
    let ids = registry.allObjects.map(\.objectID)
    pending.removeAll()
    registry.undo.manager?.removeAllActions()
    registry.orphanAll()
    if parent == nil { pin.advance() }
    observers.post(.didReset(ContextDidReset(context: self, objectIDs: ids)))
  }

  /// Makes an object read its values again on next use.
  ///
  /// - Parameters:
  ///   - object: an object of this context.
  ///   - mergeChanges: true to reapply the object's changes to the new values; false to drop them.
  /// - Throws: ``StoreError`` if the new values can't be read; the object is unchanged then.
  public func refresh(_ object: ManagedObject, mergeChanges: Bool) throws {
    enter()
    let hadChanges = object.hasChanges && !object.isInserted
    try registry.refresh(object, mergeChanges: mergeChanges)
    if hadChanges && observers.hasObservers {
      let change = RowChange(.update, object.objectID, row: object.row, base: nil)
      observers.post(.didChange(ObjectsDidChange(context: self, [ChangeSet([change])])))
    }
  }
}

/// The error about an object that was requested by ID and does not exist, or no longer.
public struct ObjectNotFound: Error, Sendable, Hashable, CustomStringConvertible {
  /// The ID that was requested.
  public let objectID: ManagedObjectID

  /// Makes an error about an object that does not exist.
  public init(objectID: ManagedObjectID) { self.objectID = objectID }

  /// The object that does not exist.
  public var description: String { "\(objectID) does not exist" }
}

extension ManagedObject {
  /// Inserts a new object into a context.
  public convenience init(context: isolated ManagedObjectContext) {
    context.enter()
    let registry = context.registry
    self.init(registry.seedForInsert(registry.entity(of: Self.self)))
    registry.insert(self)
  }

  /// Inserts a new object into the context of another one: for hooks such as ``willSave()`` and for properties of
  /// classes, where an object is at hand but no isolated context.
  ///
  ///     override func willSave() {
  ///       if changedValues()["price"] != nil { PriceChange(inContextOf: self).article = self }
  ///     }
  ///
  /// - Parameter object: an object that belongs to a context; used on that context's executor.
  public convenience init(inContextOf object: ManagedObject) {
    let registry = object.requireRegistry()
    self.init(registry.seedForInsert(registry.entity(of: Self.self)))
    registry.insert(self)
  }

  /// Inserts a new object of an entity by name into the context of this one, as ``init(inContextOf:)`` does.
  ///
  /// The entity's name must exist in the model and not be abstract.
  ///
  /// - Parameter name: the name of the entity.
  /// - Returns: the new object.
  public final func insertObject(ofEntity name: String) -> ManagedObject {
    requireRegistry().insertObject(ofEntity: name)
  }
}

extension ManagedObjectContext {
  /// Runs a block on the context's executor and returns its result, which is `Sendable`.
  ///
  /// Blocks of one context run one at a time, in order. The block is an event: at its end, pending changes are
  /// processed.
  public func perform<Result: Sendable>(
    _ block: @Sendable (isolated ManagedObjectContext) throws -> Result
  ) async rethrows -> Result {
    beginEvent()
    defer { endEvent() }
    return try block(self)
  }

  /// Queues a block on the context's executor and returns at once.
  public nonisolated func perform(_ block: @escaping @Sendable (isolated ManagedObjectContext) -> Void) {
    executor.async {
      self.assumeIsolated { context in
        context.beginEvent()
        defer { context.endEvent() }
        block(context)
      }
    }
  }

  /// Runs a block on the context's executor while the caller waits; re-entrant on that executor.
  ///
  /// That includes blocks inside another context's block that this one waits for: from child to parent and back. For
  /// synchronous code; it blocks the calling thread, so `perform` is the better choice in a task.
  public nonisolated func performAndWait<Result: Sendable>(
    _ block: @Sendable (isolated ManagedObjectContext) throws -> Result
  ) rethrows -> Result {
    try executor.sync {
      try self.assumeIsolated { context in
        context.beginEvent()
        defer { context.endEvent() }
        return try block(context)
      }
    }
  }

  func beginEvent() {
    enterReading()
    depth += 1
  }

  func endEvent() {
    depth -= 1
    if depth == 0 { processPendingChanges() }
  }

  /// Called first by every entry point: processes what children have saved meanwhile.
  func enter() {
    guard pending.hasNews else { return }
    let news = registry.mergeNews()
    if depth == 0 { registry.undo.manager?.endEvent() }
    if !news.isEmpty { observers.post(.didChange(ObjectsDidChange(context: self, news))) }
  }

  /// Called first by everything that reads the levels above: publishes their changes so far if their current events
  /// wait for the caller.
  func enterReading() {
    enter()
    var ancestor = parent
    while let context = ancestor {
      if context.executor.isOnCallersStack { context.publishChanges() }
      ancestor = context.parent
    }
  }

  private nonisolated func publishChanges() {
    executor.sync { assumeIsolated { $0.registryStorage?.publishChanges() } }
  }

  /// Reports published changes to observers.
  func reportChanges() {
    let sets = registry.report.begin(layouts: coordinator.layouts)
    if sets.isEmpty { return }
    observers.post(.didChange(ObjectsDidChange(context: self, sets)))
    registry.report.end()
  }

  /// Makes this context process what children saved: at once if it can't be running other work, else soon.
  nonisolated func childDidSave() {
    if executor.isOnCallersStack {
      executor.sync { assumeIsolated { $0.enter() } }
    } else if !executor.isConfined {
      // A context confined to its thread does so when it is next used.
      executor.async { self.assumeIsolated { $0.enter() } }
    }
  }
}
