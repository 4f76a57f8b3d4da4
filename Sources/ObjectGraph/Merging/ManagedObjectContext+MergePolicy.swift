extension PersistentStoreCoordinator {
  /// The policy for conflicts in saves of this coordinator's contexts, unless a context has its own.
  public var mergePolicy: MergePolicy {
    get { merging.policy ?? .error }
    set { merging.policy = newValue }
  }
}

extension ManagedObjectContext {
  /// The policy for conflicts in saves of this root context.
  ///
  /// Unless one is set here, it is the parent's policy; a root inherits the coordinator's. A child's save meets no
  /// conflicts but those requested with ``detectConflicts(for:)``: a later save adds its changed properties to those of
  /// the others.
  public nonisolated var mergePolicy: MergePolicy {
    get { merging.policy ?? parent?.mergePolicy ?? coordinator.mergePolicy }
    set { merging.policy = newValue }
  }

  /// Makes the next save detect a conflict if others have changed this object, even if it is not changed here.
  ///
  /// It holds until a save succeeds, the object is refreshed, or the changes are rolled back. Cost: a look at the row
  /// in the save's transaction.
  public func detectConflicts(for object: ManagedObject) {
    enter()
    registry.detectConflicts(for: object)
  }
}

extension ObjectRegistry {
  func detectConflicts(for object: ManagedObject) {
    checkExecutor()
    precondition(object.registry === self, "\(object) belongs to another context than \"\(context.name)\"")
    if object.isFault { fire(object) }
    if object.isInserted || object.state.contains(.inaccessible) { return }
    conflictChecks[object.objectID] = object.base ?? object.row
  }

  /// Returns the rows that a save must find unchanged although it does not write them.
  func checks(besides sets: [ChangeSet]) -> [RowChange] {
    conflictChecks.compactMap { id, row in
      let isWritten = sets.contains { $0.change(of: id).map { !$0.isEmptyUpdate } ?? false }
      return isWritten ? nil : RowChange(.update, id, row: row, base: row)
    }
  }

  /// Compares the rows to check with those of the next level up, for a save to a parent.
  ///
  /// - Throws: ``SaveConflicts`` if the policy makes that an error, or ``StoreError`` if a row can't be read.
  func checkAgainstParent() throws {
    var conflicts: [MergeConflict] = []
    for change in checks(besides: pending.currentSets()) {
      let fresh = try row(for: change.id)
      let layout = coordinator.layouts[Int(change.id.entityIndex)]
      if let fresh, let base = change.base, fresh.changedSlots(from: base, layout: layout).isEmpty { continue }
      let conflict = MergeConflict(
        change, stored: fresh, kind: .contextAgainstRowCache, model: coordinator.model)
      // There is nothing to write, so with any other resolution the save continues.
      if try context.mergePolicy.resolution(of: conflict) == nil { conflicts.append(conflict) }
    }
    if !conflicts.isEmpty { throw SaveConflicts(conflicts) }
  }
}
