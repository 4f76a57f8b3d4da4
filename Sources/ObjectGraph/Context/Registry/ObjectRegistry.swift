import ObjectModel

/// The objects of one context and their changes since its last save.
///
/// Confined to the context's executor, like the objects. It is a class of its own, and not the actor's state, because
/// objects reach it synchronously.
final class ObjectRegistry {
  unowned(unsafe) let context: ManagedObjectContext
  let coordinator: PersistentStoreCoordinator
  /// The pinned state of the store that is read, if there is one.
  let pin: QueryPin
  let executor: ContextExecutor
  private let classes: ObjectClasses
  let pending: PendingChanges
  /// The contexts between this one and the coordinator, nearest first.
  let ancestors: [PendingChanges]

  // Accesses to these never overlap: each ends before it calls other code, on the context's executor. Checking that at
  // run time took a tenth of an insert.

  /// Every object in memory; it unregisters itself when it is freed.
  @exclusivity(unchecked) private var objects = ObjectTable()
  /// Objects with changes, which the context holds until they are saved.
  @exclusivity(unchecked) private var held: [ManagedObject] = []
  /// Objects changed since the last `processPendingChanges`.
  @exclusivity(unchecked) private var touched: [ManagedObject] = []
  /// All objects, if the context retains them; nil if it holds only those with changes.
  @exclusivity(unchecked) private var retained: [ManagedObjectID: ManagedObject]?
  /// Objects that the current save has deleted, while observers may ask for them.
  private var departed: [ManagedObjectID: ManagedObject] = [:]
  /// Objects whose deletes have not been propagated.
  private var deletes: [ManagedObject] = []

  let relationships = RelationshipChanges()
  let report = ChangeReport()
  let undo = UndoRecorder()
  let conflicts = ConflictChecks()
  let failures = DeferredFailures()
  var rules: RuleTable { coordinator.rules }
  let faultGroups = FaultGroups()

  /// The settings of a context that its objects obey.
  struct Settings {
    /// True to apply delete rules at the end of an event; false to wait for the save.
    var propagatesDeletesAtEndOfEvent = true
    /// The seconds for which a cached row may be used; less than 0 for no limit.
    var stalenessInterval = -1.0
    /// True if a fault whose row is gone becomes a deleted object; if not, the next save fails.
    var deletesInaccessibleFaults = true
  }

  @exclusivity(unchecked) var settings = Settings()
  private var lastClass: (type: ManagedObject.Type, entity: Entity)?

  init(
    context: ManagedObjectContext, coordinator: PersistentStoreCoordinator, executor: ContextExecutor,
    pending: PendingChanges, ancestors: [PendingChanges]
  ) {
    self.context = context
    self.coordinator = coordinator
    pin = context.pin
    classes = context.classes
    self.executor = executor
    self.pending = pending
    self.ancestors = ancestors
  }

  deinit { orphanAll() }

  /// Traps unless the caller runs on the context's executor.
  func checkExecutor() {
    precondition(
      executor.isCurrent,
      "the context \"\(context.name)\" and its objects may be used on its executor only; use perform or performAndWait")
  }

  // MARK: Registering

  func entity(of type: ManagedObject.Type) -> Entity {
    if let lastClass, lastClass.type == type { return lastClass.entity }
    let entity = classes.entity(of: type) ?? coordinator.model.entitiesByName[type.entityName]
    guard let entity else {
      preconditionFailure("the model has no entity for the class \(type)")
    }
    lastClass = (type, entity)
    return entity
  }

  /// Returns the seed of a new object.
  func seedForInsert(_ entity: Entity) -> ManagedObject.Seed {
    checkExecutor()
    precondition(!entity.isAbstract, "the entity \(entity.name) is abstract and has no objects of its own")
    let id = ManagedObjectID(key: drawKey(entity), entity: entity, coordinatorOrdinal: coordinator.ordinal)
    return ManagedObject.Seed(
      objectID: id, entity: entity, registry: self, state: [.inserted, .touched, .held],
      row: coordinator.defaults[entity.index].unversioned, hasRow: true)
  }

  /// Draws a key for a new object; if the store has none, a negative one, which can't be saved.
  private func drawKey(_ entity: Entity) -> Int64 {
    do throws(StoreError) {
      return try coordinator.drawKeys(for: entity).lowerBound
    } catch {
      return failures.substituteKey(error)
    }
  }

  /// Registers a new object.
  func insert(_ object: ManagedObject) {
    objects.add(object)
    held.append(object)
    touched.append(object)
    retained?[object.objectID] = object
    object.birthGeneration = relationships.birthGeneration
    object.awakeFromInsert()
  }

  /// Makes and registers a new object of an entity by name.
  func insertObject(ofEntity name: String) -> ManagedObject {
    guard let entity = coordinator.model.entitiesByName[name] else {
      preconditionFailure("the model has no entity \"\(name)\"")
    }
    let object = classes[UInt16(entity.index)].init(seedForInsert(entity))
    insert(object)
    return object
  }

  func registeredObject(for id: ManagedObjectID) -> ManagedObject? { objects[id] }

  var hasRegisteredObjects: Bool { !objects.isEmpty }

  var registeredCount: Int { objects.count }

  /// Every object in memory. Cost: a pass over them.
  var allObjects: [ManagedObject] { objects.all }

  /// True if the context retains all its objects, and not only those with changes.
  var retainsObjects: Bool {
    get { retained != nil }
    set {
      if newValue == retainsObjects { return }
      retained = newValue ? Dictionary(uniqueKeysWithValues: objects.all.map { ($0.objectID, $0) }) : nil
    }
  }

  func isRetained(_ object: ManagedObject) -> Bool { retained?[object.objectID] === object }

  /// Returns the object with that ID: the registered one, or a new fault. Does no I/O.
  func object(with id: ManagedObjectID) -> ManagedObject {
    if let object = registeredObject(for: id) { return object }
    checkExecutor()
    precondition(
      id.coordinatorOrdinal == coordinator.ordinal, "the object ID \(id) belongs to another coordinator")
    let waiting = pending.currentState(of: id)
    if case .changed(let change)? = waiting { return adoptedObject(change) }
    let object = register(id, row: nil, state: .fault)
    faultGroups.add(object)
    if waiting != nil { markRelinked(object) }
    return object
  }

  /// Returns the object of a fetched row: the registered one, or a new fault that has the row already.
  ///
  /// - Parameters:
  ///   - hasChanges: true if this object may have a pending change.
  ///   - readMark: the coordinator's number of saves before the row was read, or the number of the pin under which it was
  ///     read; 0 if that is unknown.
  func object(
    with id: ManagedObjectID, fetched row: Row, hasChanges: Bool = true, readMark: UInt32 = 0
  ) -> ManagedObject {
    if let object = registeredObject(for: id) {
      if object.isFault {
        object.row = row
        object.hasRow = true
        object.readMark = readMark
      }
      return object
    }
    let waiting = hasChanges ? pending.currentState(of: id) : nil
    if case .changed(let change)? = waiting { return adoptedObject(change) }
    let object = register(id, row: row, state: .fault)
    object.readMark = readMark
    if waiting != nil { markRelinked(object) }
    return object
  }

  /// Makes an object for a change that a child saved here, or that a freed object of this context left behind.
  private func adoptedObject(_ change: RowChange) -> ManagedObject {
    let state: ManagedObject.State =
      switch change.kind {
      case .insert: .inserted
      case .update: .updated
      case .delete: .deleted
      case .forget: .fault
      }
    let object = register(change.id, row: change.row ?? change.base, state: state.union(.held))
    object.base = change.base
    object.published = change.row
    held.append(object)
    return object
  }

  /// Marks an object as updated that a child has relinked; it keeps the values that it shows, or is read later.
  func markRelinked(_ object: ManagedObject) {
    hold(object)
    object.state.insert(.updated)
    if !object.isFault { noteUnchangedValues(of: object) }
  }

  /// Notes that a relinked object shows the values that it was read with.
  func noteUnchangedValues(of object: ManagedObject) {
    if object.base == nil { object.base = object.row }
    if object.published == nil { object.published = object.base }
  }

  /// Returns an object that a save deleted, with its last values; it belongs to no context.
  func departedObject(_ change: RowChange) -> ManagedObject {
    if let object = departed[change.id] { return object }
    let object = make(change.id, row: change.base, state: [])
    object.registry = nil
    return object
  }

  /// Removes an object whose delete was saved; observers can ask for it until the save has been reported.
  func depart(_ object: ManagedObject) {
    departed[object.objectID] = object
    orphan(object)
  }

  /// Forgets the objects that the save has deleted.
  func forgetDeparted() { departed = [:] }

  func register(_ id: ManagedObjectID, row: Row?, state: ManagedObject.State) -> ManagedObject {
    let object = make(id, row: row, state: state)
    objects.add(object)
    retained?[id] = object
    return object
  }

  /// Registers an object again that was orphaned when its delete was saved.
  func readopt(_ object: ManagedObject) -> ManagedObject {
    object.registry = self
    object.state.insert(.deleted)
    objects.add(object)
    retained?[object.objectID] = object
    return object
  }

  private func make(_ id: ManagedObjectID, row: Row?, state: ManagedObject.State) -> ManagedObject {
    let entity = coordinator.model.entities[Int(row?.entityIndex ?? id.entityIndex)]
    let seed = ManagedObject.Seed(
      objectID: id, entity: entity, registry: self, state: state, row: row ?? coordinator.defaults[entity.index],
      hasRow: row != nil)
    return classes[UInt16(entity.index)].init(seed)
  }

  /// Called by the object when it is freed.
  func unregister(_ object: ManagedObject) { objects.remove(object.objectID) }

  /// Removes an object from the context; it keeps its values.
  func orphan(_ object: ManagedObject) {
    objects.remove(object.objectID)
    retained?[object.objectID] = nil
    object.registry = nil
    object.state.subtract([.inserted, .updated, .deleted, .touched, .held])
  }

  /// Removes all objects from the context and forgets all changes.
  func orphanAll() {
    for object in objects.all { object.registry = nil }
    for object in held { object.state.subtract([.inserted, .updated, .deleted, .touched, .held]) }
    objects.removeAll()
    faultGroups.removeAll()
    forgetChanges()
    if retained != nil { retained = [:] }
  }

  // MARK: Changing

  /// Notes that an object is about to change.
  func touch(_ object: ManagedObject) {
    checkExecutor()
    if object.state.contains(.inaccessible) {
      // What is set on an object that others have deleted is dropped, unless that is to be an error.
      if !object.isDeleted { failures.note(ObjectNotFound(objectID: object.objectID)) }
      return
    }
    if object.base == nil && !object.isInserted { object.base = object.row }
    if !object.state.contains(.touched) { touched.append(object) }
    hold(object)
    object.state.formUnion([.touched, .updated])
  }

  /// True if an object or a link was changed since changes were published; insert and delete cancel out.
  var hasUnpublishedChanges: Bool {
    let isNothing = { (object: ManagedObject) in object.isInserted && object.isDeleted && object.published == nil }
    if touched.contains(where: { !isNothing($0) }) { return true }
    // Objects that are not in memory can only have link changes.
    return relationships.changedLinks.contains { key in
      ![key.left, key.right].contains { id in objects[id].map(isNothing) ?? false }
    }
  }

  func hold(_ object: ManagedObject) {
    if object.state.contains(.held) { return }
    object.state.insert(.held)
    held.append(object)
  }

  /// The objects with changes, which are held until they are saved.
  var changedObjects: [ManagedObject] { held }

  /// The objects changed since changes were published.
  var touchedObjects: [ManagedObject] { touched }

  /// Removes and returns the objects touched since the last call.
  func drainTouchedObjects() -> [ManagedObject] {
    defer { touched = [] }
    for object in touched { object.state.remove(.touched) }
    return touched
  }

  /// Removes and returns the objects held until the save.
  func drainChangedObjects() -> [ManagedObject] {
    defer { held = [] }
    for object in held { object.state.remove(.held) }
    return held
  }

  // MARK: Deletes

  /// True if deletes wait for their propagation.
  var hasQueuedDeletes: Bool { !deletes.isEmpty }

  /// The deleted objects whose delete was not propagated.
  var queuedDeletes: [ManagedObject] { deletes }

  /// Queues the propagation of an object's delete.
  func queueDelete(of object: ManagedObject) { deletes.append(object) }

  /// Removes and returns the latest object whose delete was not propagated.
  func popDelete() -> ManagedObject? { deletes.popLast() }

  /// Cancels the propagation of an object's delete.
  func withdrawDelete(of object: ManagedObject) { deletes.removeAll { $0 === object } }

  // MARK: Forgetting

  /// Forgets the changes of some objects. Cost: a pass over the changed objects.
  func letGo(of objects: [ManagedObject]) {
    if objects.isEmpty { return }
    let leaving = Set(objects.map(ObjectIdentifier.init))
    touched.removeAll { leaving.contains(ObjectIdentifier($0)) }
    held.removeAll { leaving.contains(ObjectIdentifier($0)) }
    deletes.removeAll { leaving.contains(ObjectIdentifier($0)) }
    for object in objects { object.state.subtract([.updated, .deleted, .touched, .held]) }
  }

  /// Forgets which objects have changes.
  func forgetChanges() {
    held = []
    touched = []
    deletes = []
    relationships.removeAll()
    undo.forgetLinks()
    report.removeAll()
    conflicts.removeAll()
    failures.removeAll()
  }
}
