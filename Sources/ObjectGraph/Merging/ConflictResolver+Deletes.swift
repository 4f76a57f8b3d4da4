import ObjectModel

extension ConflictResolver {
  /// Applies delete rules to objects that others have related to a deleted object since it was deleted.
  ///
  /// That is no conflict of values: the rules apply to every object that refers to the deleted one when the delete is
  /// saved.
  /// - Throws: ``ValidationError`` or ``ValidationErrors`` if a rule denies the delete, or a required relationship
  ///   would be empty.
  mutating func applyDeleteRules(_ found: [StoreConflict]) throws {
    unpackBatches()
    var changes: [ManagedObjectID: RowChange] = [:]
    var gone: Set<ManagedObjectID> = []
    for change in outcome.sets.lazy.flatMap(\.changes) {
      changes[change.id] = change
      if change.kind == .delete { gone.insert(change.id) }
    }
    var errors: [any Error] = []
    var results: [ManagedObjectID: RowChange?] = [:]
    var added: [RowChange] = []
    for found in found {
      let id = found.change.id
      guard let change = changes[id] ?? found.stored.map({ RowChange(.update, id, row: $0.row, base: $0.row) }) else {
        continue
      }
      let outcome = try outcome(of: change, gone, &errors)
      if changes[id] != nil { results[id] = .some(outcome) } else if let outcome { added.append(outcome) }
      if let outcome, outcome.kind != .delete { noteRewritten(outcome) } else { noteDropped(id, stored: nil) }
    }
    if errors.count == 1 { throw errors[0] }
    if !errors.isEmpty { throw ValidationErrors(errors: errors) }
    replaceChanges { results[$0.id] ?? $0 }
    replaceLinks { link in
      let leaves = [link.key.left, link.key.right].contains { id in results[id].map { $0 == nil } ?? false }
      return leaves ? nil : link
    }
    if !added.isEmpty { add(ChangeSet(added)) }
  }

  /// Returns an object's change after delete rules; nil if it is new and is deleted by a cascade.
  private func outcome(
    of change: RowChange, _ gone: Set<ManagedObjectID>, _ errors: inout [any Error]
  ) throws -> RowChange? {
    guard var row = change.row else { return change }
    let entity = coordinator.model.entities[Int(row.entityIndex)]
    var refusals: [any Error] = []
    for reference in coordinator.layouts[entity.index].references {
      guard let destination = row.referenceIfPresent(reference.slot), gone.contains(destination) else { continue }
      let property = entity.properties[reference.slot]
      switch reference.deleteRule {
      case .cascade:
        return change.kind == .insert ? nil : RowChange(.delete, change.id, row: nil, base: change.base)
      case .nullify:
        if !property.isOptional { refusals.append(ValidationError.missing(property, of: change.id, entity)) }
        row.clear(reference)
      case .deny:
        let owner = coordinator.model.entities[Int(destination.entityIndex)]
        guard let inverse = property.inverse else { continue }
        refusals.append(ValidationError.deniedDelete(of: destination, owner, by: inverse, count: 1))
      case .noAction, nil: continue
      }
    }
    errors += refusals
    return RowChange(change.kind, change.id, row: row, base: change.base)
  }
}
