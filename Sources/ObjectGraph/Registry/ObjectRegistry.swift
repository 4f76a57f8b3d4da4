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
  let pending: PendingChanges
  /// The contexts between this one and the coordinator, nearest first.
  let ancestors: [PendingChanges]

  // Accesses to these never overlap: each ends before it calls other code, on the context's executor. Checking that at
  // run time took a tenth of an insert.

  /// Every object in memory; it unregisters itself when it is freed.
  @exclusivity(unchecked) private(set) var objects = ObjectTable()
  /// Objects with changes, which the context holds until they are saved.
  @exclusivity(unchecked) private(set) var held: [ManagedObject] = []
  /// Objects changed since the last `processPendingChanges`.
  @exclusivity(unchecked) private(set) var touched: [ManagedObject] = []
  /// Objects that the current save has deleted, while observers may ask for them.
  var departed: [ManagedObjectID: ManagedObject] = [:]
  /// Links of many-to-many relationships changed since then.
  var linkChanges: [LinkKey: LinkChange] = [:]
  /// Objects whose deletes have not been propagated.
  var deletes: [ManagedObject] = []
  /// True to apply delete rules at the end of an event; false to wait for the save.
  var propagatesDeletesAtEndOfEvent = true
  /// Published changes not yet reported to observers.
  var unreported: [ChangeSet] = []
  /// Published changes that are being reported to observers.
  var reporting: [ChangeSet] = []
  /// The manager that records changes for undo, if there is one.
  var undoManager: UndoManager?
  /// True while a record is being reverted.
  var isReverting = false
  /// The number of saves of the context.
  var saveCount = 0
  /// The slots of to-many relationships whose destinations were changed since the last save.
  @exclusivity(unchecked) var changedToMany: [ManagedObjectID: Set<Int>] = [:]
  /// The former state of links that were changed since changes were published.
  var linksBefore: [LinkKey: UndoRecord.Link] = [:]
  /// Published links that were looked up for that.
  var publishedLinks: [LinkSide: [ManagedObjectID: Int64?]] = [:]
  /// Rows of unchanged objects that the next save must find unchanged in the store too.
  var conflictChecks: [ManagedObjectID: Row] = [:]
  /// The stored rows that conflict with unsaved changes, as a merge found them; nil for a stored delete.
  var conflicting: [ManagedObjectID: Row?] = [:]
  /// A counter of changes from outside; each makes cached to-many relationships stale.
  var relationshipGeneration = 0
  /// The same counter as new objects store it; 0 only once in four billion.
  var birthGeneration: UInt32 { UInt32(truncatingIfNeeded: relationshipGeneration &+ 1) }
  /// The first read error that a property could not throw.
  private(set) var faultFailure: (any Error)?
  /// The error that left a new object without a key; saves throw it while such objects are registered.
  private var keyFailure: StoreError?
  private var keylessCount: Int64 = 0
  /// Properties with rules by entity index, computed when first needed.
  private var ruledProperties: [[(Property, AttributeRules?)]?]
  /// The seconds for which a cached row may be used; less than 0 for no limit.
  @exclusivity(unchecked) var stalenessInterval = -1.0
  /// True if a fault whose row is gone becomes a deleted object; if not, the next save fails.
  var deletesInaccessibleFaults = true
  /// All objects, if the context retains them; nil if it holds only those with changes.
  @exclusivity(unchecked) var retained: [ManagedObjectID: ManagedObject]?
  /// The group that the latest fault of a family belongs to, by the index of the root entity.
  var faultGroups: [UInt16: FaultGroup] = [:]
  private var lastClass: (type: ManagedObject.Type, entity: Entity)?

  init(
    context: ManagedObjectContext, coordinator: PersistentStoreCoordinator, executor: ContextExecutor,
    pending: PendingChanges, ancestors: [PendingChanges]
  ) {
    self.context = context
    self.coordinator = coordinator
    pin = context.pin
    self.executor = executor
    self.pending = pending
    self.ancestors = ancestors
    ruledProperties = Array(repeating: nil, count: coordinator.model.entities.count)
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
    let entity = coordinator.classes.entity(of: type) ?? coordinator.model.entitiesByName[type.entityName]
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
      keyFailure = error
      keylessCount += 1
      return -keylessCount
    }
  }

  /// - Throws: the error that left the object without a key.
  func checkKey(of object: ManagedObject) throws(StoreError) {
    if object.objectID.key < 0, let keyFailure { throw keyFailure }
  }

  /// Registers a new object.
  func insert(_ object: ManagedObject) {
    objects.add(object)
    held.append(object)
    touched.append(object)
    retained?[object.objectID] = object
    object.birthGeneration = birthGeneration
    object.awakeFromInsert()
  }

  /// Makes and registers a new object of an entity by name.
  func insertObject(ofEntity name: String) -> ManagedObject {
    guard let entity = coordinator.model.entitiesByName[name] else {
      preconditionFailure("the model has no entity \"\(name)\"")
    }
    let object = coordinator.classes[UInt16(entity.index)].init(seedForInsert(entity))
    insert(object)
    return object
  }

  func registeredObject(for id: ManagedObjectID) -> ManagedObject? { objects[id] }

  /// Returns the object with that ID: the registered one, or a new fault. Does no I/O.
  func object(with id: ManagedObjectID) -> ManagedObject {
    if let object = registeredObject(for: id) { return object }
    checkExecutor()
    precondition(
      id.coordinatorOrdinal == coordinator.ordinal, "the object ID \(id) belongs to another coordinator")
    if let change = pending.currentChange(of: id) { return adoptedObject(change) }
    let object = register(id, row: nil, state: .fault)
    addToGroup(object)
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
    if hasChanges, let change = pending.currentChange(of: id) { return adoptedObject(change) }
    let object = register(id, row: row, state: .fault)
    object.readMark = readMark
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

  /// Returns an object that a save deleted, with its last values; it belongs to no context.
  func departedObject(_ change: RowChange) -> ManagedObject {
    if let object = departed[change.id] { return object }
    let object = make(change.id, row: change.base, state: [])
    object.registry = nil
    return object
  }

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
    return coordinator.classes[UInt16(entity.index)].init(seed)
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
    faultGroups = [:]
    forgetChanges()
    if retained != nil { retained = [:] }
  }

  // MARK: Changing

  /// Notes that an object is about to change.
  func touch(_ object: ManagedObject) {
    checkExecutor()
    if object.state.contains(.inaccessible) { return noteFaultFailure(ObjectNotFound(objectID: object.objectID)) }
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
    return linkChanges.keys.contains { key in
      ![key.left, key.right].contains { id in objects[id].map(isNothing) ?? false }
    }
  }

  func hold(_ object: ManagedObject) {
    if object.state.contains(.held) { return }
    object.state.insert(.held)
    held.append(object)
  }

  /// Removes and returns the objects touched since the last call.
  func takeTouched() -> [ManagedObject] {
    defer { touched = [] }
    for object in touched { object.state.remove(.touched) }
    return touched
  }

  /// Removes and returns the objects held until the save.
  func takeHeld() -> [ManagedObject] {
    defer { held = [] }
    for object in held { object.state.remove(.held) }
    return held
  }

  /// Forgets the changes of some objects. Cost: a pass over the changed objects.
  func letGo(of objects: [ManagedObject]) {
    if objects.isEmpty { return }
    let leaving = Set(objects.map(ObjectIdentifier.init))
    touched.removeAll { leaving.contains(ObjectIdentifier($0)) }
    held.removeAll { leaving.contains(ObjectIdentifier($0)) }
    deletes.removeAll { leaving.contains(ObjectIdentifier($0)) }
    for object in objects { object.state.subtract([.updated, .deleted, .touched, .held]) }
  }

  /// Cancels the propagation of an object's delete.
  func withdrawDelete(of object: ManagedObject) { deletes.removeAll { $0 === object } }

  /// Forgets which objects have changes.
  func forgetChanges() {
    held = []
    touched = []
    deletes = []
    linkChanges = [:]
    changedToMany = [:]
    linksBefore = [:]
    publishedLinks = [:]
    unreported = []
    conflictChecks = [:]
    conflicting = [:]
    faultFailure = nil
    keyFailure = nil
  }

  // MARK: Failures and rules

  func noteFaultFailure(_ error: any Error) { faultFailure = faultFailure ?? error }

  func takeFaultFailure() -> (any Error)? {
    defer { faultFailure = nil }
    return faultFailure
  }

  /// Returns the properties of an object that have rules to check.
  func rules(of object: ManagedObject) -> [(Property, AttributeRules?)] {
    let entity = object.entity
    if let rules = ruledProperties[entity.index] { return rules }
    let rules = entity.properties.filter(\.hasRules).map { ($0, $0.attribute.flatMap(AttributeRules.init)) }
    ruledProperties[entity.index] = rules
    return rules
  }
}

extension Property {
  /// True if a save has anything to check.
  fileprivate var hasRules: Bool {
    switch kind {
    case .attribute(let attribute):
      attribute.derivation == nil
        && (!attribute.isOptional || storage == .real && isPersistent || !attribute.minimum.isNull
          || !attribute.maximum.isNull || attribute.pattern != nil)
    case .relationship(let relationship):
      relationship.isToMany
        ? relationship.minimumCount > 0 || relationship.maximumCount > 0 : !relationship.isOptional
    }
  }
}
