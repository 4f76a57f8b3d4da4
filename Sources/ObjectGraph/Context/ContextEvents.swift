import ObjectModel

/// An event that a context reports to its observers.
public enum ContextEvent: Sendable {
  /// Sent before a save checks anything; changes made by observers are saved too.
  case willSave(ContextWillSave)
  /// Sent after a save, with all that is needed to merge it.
  case didSave(ContextDidSave)
  /// Sent right after ``didSave(_:)``, with IDs only.
  case didSaveObjectIDs(ContextDidSaveObjectIDs)
  /// Sent at the end of an event that changed objects, and when a child has saved or a save was merged.
  case didChange(ObjectsDidChange)
  /// Sent when the context has forgotten all its objects.
  case didReset(ContextDidReset)
}

/// A context is about to save.
public struct ContextWillSave: Sendable {
  /// The context that is about to save.
  public let context: ManagedObjectContext
}

/// A context has saved one level up; `isRoot` tells whether that level was the store.
public struct ContextDidSave: Sendable {
  /// The context that has saved.
  public let context: ManagedObjectContext
  /// True if the changes are in the store now.
  public let isRoot: Bool
  let sets: [ChangeSet]

  init(context: ManagedObjectContext, _ sets: [ChangeSet], isRoot: Bool) {
    self.context = context
    self.sets = sets
    self.isRoot = isRoot
  }

  /// The IDs of the inserted objects, in order. Cost: a pass over the changes, also of the others.
  public var insertedObjectIDs: [ManagedObjectID] { sets.ids(of: .insert) }
  /// The IDs of the updated objects, in order. Cost: a pass over the changes.
  public var updatedObjectIDs: [ManagedObjectID] { sets.ids(of: .update) }
  /// The IDs of the deleted objects, in order. Cost: a pass over the changes.
  public var deletedObjectIDs: [ManagedObjectID] { sets.ids(of: .delete) }
}

/// The same as ``ContextDidSave``, with IDs only: it retains neither the context nor rows, so it may be kept for long.
public struct ContextDidSaveObjectIDs: Sendable {
  /// The name of the context.
  public let contextName: String
  /// True if the changes are in the store now.
  public let isRoot: Bool
  /// The IDs of the inserted objects, in order.
  public let insertedObjectIDs: [ManagedObjectID]
  /// The IDs of the updated objects, in order.
  public let updatedObjectIDs: [ManagedObjectID]
  /// The IDs of the deleted objects, in order.
  public let deletedObjectIDs: [ManagedObjectID]

  init(_ save: ContextDidSave) {
    contextName = save.context.name
    isRoot = save.isRoot
    insertedObjectIDs = save.insertedObjectIDs
    updatedObjectIDs = save.updatedObjectIDs
    deletedObjectIDs = save.deletedObjectIDs
  }
}

extension ContextDidSave {
  /// Returns the inserted objects, for an observer, which is called on the context's executor.
  public func insertedObjects(in context: isolated ManagedObjectContext) -> [ManagedObject] {
    context.objects(with: insertedObjectIDs)
  }

  /// Returns the updated objects, for an observer, which is called on the context's executor.
  public func updatedObjects(in context: isolated ManagedObjectContext) -> [ManagedObject] {
    context.objects(with: updatedObjectIDs)
  }

  /// Returns the deleted objects with their last values, for an observer, which is called on the context's executor.
  ///
  /// They no longer belong to a context. While the save is being reported they are the deleted instances themselves.
  public func deletedObjects(in context: isolated ManagedObjectContext) -> [ManagedObject] {
    sets.flatMap { set in
      set.changes.filter { $0.kind == .delete }.map(context.registry.departedObject)
    }
  }
}

/// Objects of a context have changed: by its own event, or because a child saved into it.
public struct ObjectsDidChange: Sendable {
  /// The context whose objects have changed.
  public let context: ManagedObjectContext
  /// True if more may have changed than is named here: others have written to the store and left no history, so only
  /// objects in memory could be compared. Fetches should be repeated.
  public let isIncomplete: Bool
  let sets: [ChangeSet]

  init(context: ManagedObjectContext, _ sets: [ChangeSet], isIncomplete: Bool = false) {
    self.context = context
    self.sets = sets
    self.isIncomplete = isIncomplete
  }

  /// The IDs of the inserted objects, in order. Cost: a pass over the changes, also of the others.
  public var insertedObjectIDs: [ManagedObjectID] { sets.ids(of: .insert) }
  /// The IDs of the updated objects, in order. Cost: a pass over the changes.
  public var updatedObjectIDs: [ManagedObjectID] { sets.ids(of: .update) }
  /// The IDs of the deleted objects, in order. Cost: a pass over the changes.
  public var deletedObjectIDs: [ManagedObjectID] { sets.ids(of: .delete) }
}

/// A context has forgotten all its objects.
public struct ContextDidReset: Sendable {
  /// The context that was reset.
  public let context: ManagedObjectContext
  /// The objects that were in memory.
  public let objectIDs: [ManagedObjectID]
}

extension [ChangeSet] {
  fileprivate func ids(of kind: RowChange.Kind) -> [ManagedObjectID] {
    var ids: [ManagedObjectID] = []
    for set in self {
      for change in set.changes where change.kind == kind { ids.append(change.id) }
      if kind == .update { ids += set.relinked }
      if kind == .insert {
        for batch in set.batches { ids += (0..<batch.count).map { batch.id(at: $0) } }
      }
    }
    return ids
  }
}

extension ManagedObjectContext {
  /// Calls a handler for each event, synchronously on the context's executor, until the observation is dropped.
  public nonisolated func observe(_ handler: @escaping @Sendable (ContextEvent) -> Void) -> ContextObservation {
    let number = observers.add(handler)
    return ContextObservation { [observers] in observers.remove(number) }
  }

  /// Returns the context's events as they happen; a slow reader gets the latest `bufferLimit` of them.
  public nonisolated func events(bufferLimit: Int = 1_000) -> AsyncStream<ContextEvent> {
    AsyncStream(bufferingPolicy: .bufferingNewest(bufferLimit)) { continuation in
      let observation = observe { continuation.yield($0) }
      continuation.onTermination = { _ in observation.cancel() }
    }
  }
}

extension RemoteContextSave {
  /// Describes what another context of this process saved, without values.
  public init(_ save: ContextDidSaveObjectIDs) {
    self.init(inserted: save.insertedObjectIDs, updated: save.updatedObjectIDs, deleted: save.deletedObjectIDs)
  }
}
