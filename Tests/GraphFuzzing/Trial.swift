import Foundation
import ObjectGraph

/// What a program did otherwise than the model says, or an invariant that did not hold.
struct Mismatch: Error, CustomStringConvertible {
  let description: String

  init(_ description: String) { self.description = description }
}

/// An object of a context that the program holds.
struct HeldObject: @unchecked Sendable {
  // Used on its context's executor only, while the trial's one thread waits for it.
  let object: ManagedObject
}

/// A program under way: the contexts, the model beside them, and the steps so far.
///
/// Nothing runs at the same time: after each step all contexts are waited for, those above first.
final class Trial: @unchecked Sendable {
  // One thread at a time: the trial's own waits for the contexts' executors.
  var model: GraphModel
  let program: Program
  let coordinator: PersistentStoreCoordinator
  let contexts: [ManagedObjectContext]
  private let directory: URL?
  private var observations: [ContextObservation] = []
  private var lastSaves: [Int: ContextDidSave] = [:]
  var ids: [Int: ManagedObjectID] = [:]
  var numbers: [ManagedObjectID: Int] = [:]
  var held: [[Int: HeldObject]]
  var controllers: [Int: ResultsReplay] = [:]
  /// Contexts above which something changed that they were not told of, so that their controllers need not know.
  var isBehind: Set<Int> = []

  /// Opens a fresh store and makes the program's contexts.
  ///
  /// - Parameter folder: where to make stores.
  init(_ program: Program, in folder: URL) throws {
    self.program = program
    model = GraphModel(program)
    coordinator = PersistentStoreCoordinator(model: try program.schema.managedObjectModel())
    if program.isInMemory {
      directory = nil
      try coordinator.open(.inMemory)
    } else {
      let directory = folder.appending(path: UUID().uuidString)
      try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
      self.directory = directory
      var options = SQLiteStoreOptions()
      options.noticesOtherWriters = false
      try coordinator.open(.sqlite(at: directory.appending(path: "store.sqlite"), options: options))
    }
    var contexts: [ManagedObjectContext] = []
    for (number, place) in program.places.enumerated() {
      let name = program.name(number)
      let context =
        place.parent.map { ManagedObjectContext(parent: contexts[$0], name: name) }
        ?? ManagedObjectContext(coordinator: coordinator, name: name)
      if place.parent == nil { context.mergePolicy = place.policy.policy }
      context.automaticallyMergesChangesFromParent = place.mergesAutomatically
      if place.hasUndo { context.performAndWait { $0.undoManager = UndoManager() } }
      contexts.append(context)
    }
    self.contexts = contexts
    held = contexts.map { _ in [:] }
    for (number, place) in program.places.enumerated() {
      guard let query = place.results, let request = try request(query) else { continue }
      controllers[number] = try ResultsReplay(request, contexts[number], query)
    }
    for (number, context) in contexts.enumerated() {
      observations.append(
        context.performAndWait {
          $0.observe { [unowned self] event in if case .didSave(let save) = event { lastSaves[number] = save } }
        })
    }
  }

  deinit {
    observations = []
    // A folder that can't be removed is no reason to fail.
    try? coordinator.close()
    if let directory { try? FileManager.default.removeItem(at: directory) }
  }

  // MARK: Steps

  /// Does a step in the context and in the model, and compares.
  func run(_ step: Step) throws {
    guard contexts.indices.contains(step.context) else { return }
    let number = step.context
    if step.actions.contains(where: \.readsRelationships), model.contexts[number].mayBeStale { refreshAll(number) }
    model.beginEvent(number)
    let context = contexts[number]
    try context.performAndWait { context in
      for action in step.actions { try perform(action, number, context) }
    }
    model.propagateDeletes(number)
    context.performAndWait { noteRelated(number, $0) }
    for (number, context) in contexts.enumerated() { context.performAndWait { noteRead(number, $0) } }
    // An undo takes back what was done, and not what became of references to what is gone.
    if !step.actions.contains(where: \.isWholeEvent) { model.endEvent(number) }
    if !step.actions.contains(where: \.isWholeEvent) || step.actions.contains(where: \.isUndo) {
      model.clearGone(ofEventIn: number)
    }
    letOthersMerge(after: step)
    try follow(step)
    for (number, context) in contexts.enumerated() {
      try context.performAndWait { try compareChanges(number, $0) }
    }
    for action in step.actions {
      switch action {
      case .look: try look(number)
      case .lookAtObjects: try context.performAndWait { try compareObjects(number, $0) }
      case .save, .fetch: try coordinator.checkInvariants()
      default: break
      }
    }
    for (number, context) in contexts.enumerated() { context.performAndWait { noteRead(number, $0) } }
    if program.places[number].hasUndo { context.performAndWait { holdRecorded(number, $0) } }
  }

  private func refreshAll(_ number: Int) {
    contexts[number].performAndWait { $0.refreshAllObjects() }
    model.refreshAll(number)
    letGoOfOthers()
  }

  /// Lets everybody merge, and drops what is held no more.
  private func letOthersMerge(after step: Step) {
    for _ in 0..<2 {
      for context in contexts { context.performAndWait { _ in } }
    }
    if step.actions.contains(where: \.changesView) {
      for other in contexts.indices where other != step.context || model.contexts[other].parent != nil {
        if model.ancestors(of: other).contains(step.context) || step.actions.contains(where: \.isSave) {
          model.contexts[other].mayBeStale = true
        }
      }
    }
    letGoOfOthers()
  }

  private func letGoOfOthers() {
    for number in contexts.indices {
      held[number] = held[number].filter { model.contexts[number].held[$0.key] != nil }
    }
  }

  /// Asks which of the objects whose relationships changed are marked as updated: unread ones need not be.
  private func noteRelated(_ number: Int, _ context: isolated ManagedObjectContext) {
    for object in model.related.sorted() {
      guard let id = ids[object], let shown = context.registeredObject(for: id) else { continue }
      // What only children have touched is marked unread, too.
      if shown.hasChanges, !shown.isFault { model.touch(object, number) }
    }
  }

  /// Asks which of the objects that only children have touched have been read here: they keep those values.
  private func noteRead(_ number: Int, _ context: isolated ManagedObjectContext) {
    for (object, change) in model.contexts[number].changes where change.kind == .touch && change.row == nil {
      guard let id = ids[object], context.registeredObject(for: id)?.isFault == false else { continue }
      let row = model.shown(object, number)
      model.contexts[number].changes[object] = Change(kind: .touch, row: row, base: row)
    }
  }

  /// Holds what the undo manager holds too.
  private func holdRecorded(_ number: Int, _ context: isolated ManagedObjectContext) {
    for object in context.registeredObjects where !object.isFault && !object.isDeleted {
      guard let known = numbers[object.objectID], model.contexts[number].held[known] == nil else { continue }
      guard let row = model.contexts[number].changes[known]?.base ?? model.shown(known, number) else { continue }
      held[number][known] = HeldObject(object: object)
      model.contexts[number].held[known] = row
    }
  }

  /// Asks which of the objects that an undo gave their former values still count as changed.
  private func noteClean(_ number: Int, _ context: isolated ManagedObjectContext) {
    for object in model.contexts[number].changes.keys.sorted() {
      guard let id = ids[object] else { continue }
      let shown = context.registeredObject(for: id)
      if shown?.hasChanges == true { continue }
      let isHeld = shown?.isFault == false
      model.noteClean(object, isHeld: isHeld, number)
      if let shown, isHeld { held[number][object] = HeldObject(object: shown) }
    }
  }

  private func object(_ number: Int, _ context: isolated ManagedObjectContext) throws -> ManagedObject {
    guard let id = ids[number] else { throw Mismatch("o\(number) has no ID") }
    return context.object(with: id)
  }

  // MARK: Actions

  private func perform(_ action: Action, _ number: Int, _ context: isolated ManagedObjectContext) throws {
    if try edit(action, number, context) { return }
    switch action {
    case .save: try save(number, context)
    case .fetch(let query): try fetch(query, number, context)
    case .hold(let object):
      guard let row = model.shown(object, number) else { return }
      let held = try self.object(object, context)
      try context.realize(held)
      self.held[number][object] = HeldObject(object: held)
      model.contexts[number].held[object] = model.contexts[number].changes[object]?.base ?? row
    case .letGo where !program.places[number].hasUndo:
      model.contexts[number].held = [:]
      held[number] = [:]
    case .refresh(let object, let mergingChanges):
      guard model.shown(object, number) != nil, model.contexts[number].changes[object]?.kind != .insert else { return }
      try context.refresh(self.object(object, context), mergeChanges: mergingChanges)
      model.refresh(object, mergingChanges: mergingChanges, number)
    case .refreshAll:
      context.refreshAllObjects()
      model.refreshAll(number)
    case .rollback:
      context.rollback()
      model.rollback(number)
    case .reset:
      context.reset()
      model.reset(number)
    case .merge(let other, let byIDs): merge(other, byIDs: byIDs, number, context)
    case .undo where program.places[number].hasUndo:
      context.undo()
      model.undo(number)
      noteClean(number, context)
    case .redo where program.places[number].hasUndo:
      context.redo()
      model.redo(number)
      noteClean(number, context)
    case .fetchResults: try controllers[number]?.fetch(context)
    default: break
    }
  }

  private func edit(_ action: Action, _ number: Int, _ context: isolated ManagedObjectContext) throws -> Bool {
    let schema = model.schema
    func end(_ name: String, of object: Int) -> Schema.End? {
      guard let row = model.shown(object, number), let end = schema.end(name) else { return nil }
      return schema.isKind(row.entity, of: end.owner) ? end : nil
    }
    func fits(_ object: Int, _ end: Schema.End) -> Bool {
      model.shown(object, number).map { schema.isKind($0.entity, of: end.destination) } ?? false
    }
    switch action {
    case .insert(let name, let object, let values):
      guard let entity = schema.entity(named: name), ids[object] == nil else { return true }
      let known = values.filter { schema.attribute($0.key, of: entity) != nil }
      let inserted = context.insertObject(ofEntity: name)
      ids[object] = inserted.objectID
      numbers[inserted.objectID] = object
      for (name, value) in known.sorted(by: { $0.key < $1.key }) { inserted.setValue(value, forKey: name) }
      model.insert(object, entity, known, number)
    case .set(let object, let name, let value):
      guard let row = model.shown(object, number), schema.attribute(name, of: row.entity) != nil else { return true }
      try self.object(object, context).setValue(value, forKey: name)
      model.set(object, name, value, number)
    case .relate(let object, let name, let other):
      guard let end = end(name, of: object), end.storage == .reference else { return true }
      if let other, !fits(other, end) { return true }
      try self.object(object, context).setValue(other.map { try self.object($0, context) }, forKey: name)
      model.relate(object, end, other, number)
    case .add(let object, let name, let other):
      guard let end = end(name, of: object), end.storage != .reference, fits(other, end) else { return true }
      let slot = try slot(name, of: object, context)
      try self.object(object, context).add(self.object(other, context), toMany: slot)
      model.add(other, to: object, end, number)
    case .remove(let object, let name, let other):
      guard let end = end(name, of: object), end.storage != .reference, fits(other, end) else { return true }
      let slot = try slot(name, of: object, context)
      try self.object(object, context).remove(self.object(other, context), fromMany: slot)
      model.remove(other, from: object, end, number)
    case .assign(let object, let name, let others):
      guard let end = end(name, of: object), end.storage != .reference, !end.shape.isOrdered else { return true }
      let known = others.filter { fits($0, end) }
      try self.object(object, context).setValue(Set(known.map { try self.object($0, context) }), forKey: name)
      model.assign(known, to: object, end, number)
    case .delete(let object):
      guard model.shown(object, number) != nil else { return true }
      context.delete(try self.object(object, context))
      model.delete(object, number)
    default: return false
    }
    return true
  }

  private func slot(_ name: String, of object: Int, _ context: isolated ManagedObjectContext) throws -> Int {
    guard let slot = try self.object(object, context).entity.property(named: name)?.slot else {
      throw Mismatch("o\(object) has no \(name)")
    }
    return slot
  }

  private func save(_ number: Int, _ context: isolated ManagedObjectContext) throws {
    var checked: Set<Int> = []
    for object in model.contexts[number].changes.keys {
      if let id = ids[object], context.registeredObject(for: id)?.hasChanges == true { checked.insert(object) }
    }
    let expected = model.save(number) { checked.contains($0) }
    let found: SaveResult
    do {
      try context.save()
      found = .saved
    } catch is ValidationError {
      found = .invalid
    } catch is ValidationErrors {
      found = .invalid
    } catch let conflicts as SaveConflicts {
      found = .conflicts
      if expected != .conflicts { throw Mismatch("the save is \(expected) in the model, but: \(conflicts)") }
    }
    if found != (expected == .nothing ? .saved : expected) {
      throw Mismatch("the save is \(found.rawValue), \(expected.rawValue) in the model")
    }
    if expected == .saved { model.tellFollowers(of: number) }
  }

  private func merge(_ other: Int, byIDs: Bool, _ number: Int, _ context: isolated ManagedObjectContext) {
    guard let save = lastSaves[other], let expected = model.lastSaves[other] else { return }
    guard model.isConcerned(number, bySaveOf: other) else { return }
    if byIDs {
      context.mergeChanges(
        fromRemoteContextSave: RemoteContextSave(
          inserted: save.insertedObjectIDs, updated: save.updatedObjectIDs, deleted: save.deletedObjectIDs))
    } else {
      context.mergeChanges(fromContextDidSave: save)
      // Those below hear of it, too.
    }
    model.merge(expected, into: number, byIDs: byIDs)
    if !byIDs { model.tellFollowers(below: number, ofSaveBy: other) }
  }
}

extension Program.Policy {
  var policy: MergePolicy {
    switch self {
    case .error: .error
    case .mergeByPropertyStoreTrump: .mergeByPropertyStoreTrump
    case .mergeByPropertyObjectTrump: .mergeByPropertyObjectTrump
    case .overwrite: .overwrite
    case .rollback: .rollback
    }
  }
}

extension Action {
  /// Whether it depends on what the context's own objects know of their to-many relationships.
  var readsRelationships: Bool {
    switch self {
    case .delete, .add, .assign, .save: true
    default: false
    }
  }

  var isSave: Bool { if case .save = self { true } else { false } }

  var isUndo: Bool {
    switch self {
    case .undo, .redo: true
    default: false
    }
  }

  /// Whether it changes what other contexts could see.
  var changesView: Bool {
    switch self {
    case .fetch, .look, .lookAtObjects, .hold, .letGo: false
    default: true
    }
  }
}
