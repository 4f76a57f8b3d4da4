import ObjectModel

/// The decisions about objects of a save that violate uniqueness constraints.
struct ConstraintResolution {
  /// The changes of the objects that stay, by ID; some are empty.
  var keepers: [ManagedObjectID: RowChange] = [:]
  /// Objects that are merged into others or dropped in their favour, with those others.
  var replaced: [ManagedObjectID: ManagedObjectID] = [:]
  /// Deletes of those that are stored.
  var removed: [ManagedObjectID: RowChange] = [:]
  /// Updates without the values that violate a constraint.
  var reverted: [ManagedObjectID: RowChange] = [:]

  func isDecided(_ id: ManagedObjectID) -> Bool { replaced[id] != nil || reverted[id] != nil }
}

extension ConflictResolver {
  /// Resolves violated uniqueness constraints: the object that had the values first stays, under its ID.
  ///
  /// If the context wins, the others are merged into it, and deleted if they are stored. If the store wins, new ones
  /// are dropped, and changed ones keep their former unique values.
  /// - Parameters:
  ///   - error: the store's error, thrown if no violation can be found.
  ///   - reader: a reader of the state that the changes are to be written to.
  /// - Throws: ``SaveConflicts`` with a report for each violation if the policy does not resolve it.
  mutating func resolveConstraints(_ error: StoreError, _ reader: any StoreReader) throws {
    let violations = try ConstraintSearch(coordinator: coordinator, sets: draft.sets).find(reader)
    if violations.isEmpty { throw error }
    guard let policy = policy.constraintResolution else {
      throw SaveConflicts(constraints: violations.map(\.report))
    }
    var resolution = ConstraintResolution()
    for violation in violations {
      guard var keeper = keeper(of: violation, resolution.keepers) else { throw error }
      for change in violation.changes where change.id != keeper.id && !resolution.isDecided(change.id) {
        resolve(change, violation, policy: policy, keeper: &keeper, resolution: &resolution)
      }
      resolution.keepers[keeper.id] = keeper
    }
    try apply(resolution, reader)
  }

  /// Returns the change of the object that stays; an empty update if it is stored and unchanged.
  private func keeper(of violation: ConstraintSearch.Violation, _ keepers: [ManagedObjectID: RowChange]) -> RowChange? {
    if let stored = violation.stored {
      let changed = violation.changes.first { $0.id == stored.id }
      return keepers[stored.id] ?? changed ?? RowChange(.update, stored.id, row: stored.row, base: stored.row)
    }
    let first = violation.changes.first { $0.kind == .update } ?? violation.changes.first
    return first.map { keepers[$0.id] ?? $0 }
  }

  private func resolve(
    _ change: RowChange, _ violation: ConstraintSearch.Violation, policy: MergeResolution, keeper: inout RowChange,
    resolution: inout ConstraintResolution
  ) {
    guard let row = change.row, let kept = keeper.row else { return }
    guard let base = change.base, change.kind == .update else {
      let defaults = coordinator.defaults[Int(row.entityIndex)]
      keeper.row = merged(row, from: defaults, given: draft.givenSlots[change.id], into: kept, policy)
      resolution.replaced[change.id] = keeper.id
      return
    }
    switch policy {
    case .rollback: resolution.reverted[change.id] = RowChange(.update, change.id, row: base, base: base)
    case .storeTrump:
      resolution.reverted[change.id] = RowChange(
        .update, change.id, row: row.with(violation.report.properties, from: base, entity(of: row)), base: base)
    case .objectTrump, .overwrite, .values:
      keeper.row = merged(row, from: base, into: kept, policy)
      resolution.replaced[change.id] = keeper.id
      resolution.removed[change.id] = RowChange(.delete, change.id, row: nil, base: base)
    }
  }

  /// Returns a row with values of another one, which may be of another entity of the family.
  ///
  /// - Parameters:
  ///   - origin: the values from which the other row was changed.
  ///   - given: the slots that were set, if known.
  private func merged(
    _ row: Row, from origin: Row, given: [Int]? = nil, into kept: Row, _ policy: MergeResolution
  ) -> Row {
    var result = kept
    switch policy {
    case .rollback, .storeTrump: break
    case .values(let values): return kept.with(values, entity: entity(of: kept))
    case .overwrite, .objectTrump:
      let layout = coordinator.layouts[Int(kept.entityIndex)]
      // Properties that entities of a family share come first, in the same slots.
      let shared = sequence(first: entity(of: row), next: \.parent).first { entity(of: kept).isKind(of: $0) }
      for slot in 0..<(shared?.properties.count ?? 0) {
        // Default and former values don't count.
        let isGiven = given?.contains(slot) ?? !row.hasSameValue(as: origin, slot, layout.storage[slot])
        if case .objectTrump = policy, !isGiven { continue }
        if row.hasSameValue(as: kept, slot, layout.storage[slot]) { continue }
        result.copyValue(of: row, slot, layout.storage[slot])
      }
    }
    return result
  }

  private func entity(of row: Row) -> Entity { coordinator.model.entities[Int(row.entityIndex)] }

  /// Adds the changes, removes those of replaced objects, and redirects references to their replacements.
  private mutating func apply(_ resolution: ConstraintResolution, _ reader: any StoreReader) throws {
    let replaced = resolution.replaced
    var added = resolution.keepers.filter { !$0.value.isEmptyUpdate }
    var rewritten = resolution.keepers
    let resolver = self
    draft.replaceChanges { change in
      if let delete = resolution.removed[change.id] { return delete }
      if replaced[change.id] != nil { return nil }
      if let reverted = resolution.reverted[change.id] {
        if reverted.isEmptyUpdate { return nil }
        rewritten[change.id] = reverted
        return reverted
      }
      let kept = added.removeValue(forKey: change.id)
      guard let leading = resolver.leading(kept ?? change, replaced) else { return kept ?? change }
      rewritten[change.id] = leading
      return leading
    }
    for change in added.values { rewritten[change.id] = leading(change, replaced) ?? change }
    let more = added.keys.compactMap { rewritten[$0] }
    if !more.isEmpty { draft.add(ChangeSet(more)) }
    draft.replaceLinks { $0.leading(replaced) }
    let stored = try storedReferences(to: Set(resolution.removed.keys), replaced, reader)
    if !stored.isEmpty { draft.add(stored) }
    for change in stored.changes { rewritten[change.id] = change }
    for change in rewritten.values { draft.noteRewritten(change) }
    for id in replaced.keys { draft.noteDropped(id, stored: nil) }
    for (id, change) in resolution.reverted where change.isEmptyUpdate { draft.noteDropped(id, stored: change.base) }
  }

  /// Returns the change with references redirected to replacements; nil if none is affected.
  private func leading(_ change: RowChange, _ replaced: [ManagedObjectID: ManagedObjectID]) -> RowChange? {
    guard var row = change.row else { return nil }
    var isChanged = false
    for property in entity(of: row).properties where property.storage == .reference {
      if let id = row.referenceIfPresent(property.slot), let keeper = replaced[id] {
        row.setReference(keeper, property.slot)
        isChanged = true
      }
    }
    if !isChanged { return nil }
    var result = change
    result.row = row
    return result
  }

  /// Returns changes that redirect stored references to replacements. Cost: a look-up per relationship and object.
  private func storedReferences(
    to removed: Set<ManagedObjectID>, _ replaced: [ManagedObjectID: ManagedObjectID], _ reader: any StoreReader
  ) throws -> ChangeSet {
    if removed.isEmpty { return ChangeSet([]) }
    let written = Set(draft.sets.flatMap { $0.changes.map(\.id) })
    var changes: [ManagedObjectID: RowChange] = [:]
    var links: [LinkChange] = []
    for entity in coordinator.model.entities {
      for property in entity.properties where property.declaringEntity == entity.name {
        for id in removed {
          if property.joinTable != nil, entity.root.index == Int(id.rootIndex) {
            links += try reader.links(of: id, property).map { LinkChange(id, $0, in: property).leading(replaced) }
          } else if property.storage == .reference, property.isPersistent,
            property.destination?.root.index == Int(id.rootIndex)
          {
            let query = StoreQuery(
              entity: entity, condition: .leads(property, to: id), coordinatorOrdinal: coordinator.ordinal)
            try reader.fetch(query) { source, row in
              guard let row = row?.row, !written.contains(source) else { return true }
              let change = changes[source] ?? RowChange(.update, source, row: row, base: row)
              changes[source] = leading(change, replaced)
              return true
            }
          }
        }
      }
    }
    return ChangeSet(Array(changes.values), links: links)
  }
}

extension LinkKey {
  fileprivate func leading(_ replaced: [ManagedObjectID: ManagedObjectID]) -> LinkKey {
    LinkKey(table: table, left: replaced[left] ?? left, right: replaced[right] ?? right)
  }
}

extension LinkChange {
  /// A link of an object in a relationship.
  fileprivate init(_ id: ManagedObjectID, _ link: Link, in property: Property) {
    let (left, right) = property.isLeftEnd ? (id, link.destination) : (link.destination, id)
    self.init(
      LinkKey(table: property.joinTable?.index ?? 0, left: left, right: right), isPresent: true,
      order: property.isLeftEnd ? link.order : nil, inverseOrder: property.isLeftEnd ? nil : link.order)
  }

  fileprivate func leading(_ replaced: [ManagedObjectID: ManagedObjectID]) -> LinkChange {
    LinkChange(key.leading(replaced), isPresent: isPresent, order: order, inverseOrder: inverseOrder)
  }
}

extension Row {
  /// Returns a copy with another row's values of some properties; that row itself if nothing else differs.
  fileprivate func with(_ names: [String], from other: Row, _ entity: Entity) -> Row {
    var row = self
    let layout = RowLayout(entity)
    for slot in names.compactMap({ entity.property(named: $0)?.slot }) {
      row.copyValue(of: other, slot, layout.storage[slot])
    }
    return row.changedSlots(from: other, layout: layout).isEmpty ? other : row
  }
}

/// Finds the uniqueness constraints that changes violate, after a store has refused them. Packed rows excepted.
///
/// Cost: a pass over the changes of each constrained entity, and one look-up per distinct value.
struct ConstraintSearch {
  /// A violated constraint with what is needed to resolve it.
  struct Violation {
    let report: ConstraintConflict
    /// The stored object that has the values already.
    let stored: (id: ManagedObjectID, row: Row)?
    let changes: [RowChange]
  }

  let coordinator: PersistentStoreCoordinator
  let sets: [ChangeSet]

  func find(_ reader: any StoreReader) throws -> [Violation] {
    let changed = Dictionary(
      sets.flatMap { $0.changes.map { ($0.id, $0) } }, uniquingKeysWith: { $1 })
    var violations: [Violation] = []
    for entity in coordinator.model.entities {
      for properties in entity.entityDescription.uniquenessConstraints where !properties.isEmpty {
        violations += try find(entity, properties, changed: changed, reader: reader)
      }
    }
    return violations
  }

  private func find(
    _ entity: Entity, _ names: [String], changed: [ManagedObjectID: RowChange], reader: any StoreReader
  ) throws -> [Violation] {
    var order: [[Key]] = []
    var groups: [[Key]: [RowChange]] = [:]
    for set in sets {
      for change in set.changes {
        guard let row = change.row, let key = try key(of: row, names, in: entity) else { continue }
        if groups[key]?.append(change) == nil {
          groups[key] = [change]
          order.append(key)
        }
      }
    }
    return try order.compactMap { key in
      let group = groups[key] ?? []
      let stored = try holder(entity, names, key: key, reader: reader)
      // A stored object that is deleted or changed in this save counts with its new values.
      let holds = stored.map { stored in changed[stored.id] == nil || group.contains { $0.id == stored.id } } ?? false
      let others = group.filter { !holds || $0.id != stored?.id }
      if others.count + (holds ? 1 : 0) < 2 { return nil }
      let report = ConstraintConflict(
        entityName: entity.name, properties: names, values: key.map(\.value), storedObjectID: holds ? stored?.id : nil,
        conflictingObjectIDs: others.map(\.id))
      return Violation(report: report, stored: holds ? stored : nil, changes: group)
    }
  }

  /// One value of a constraint.
  private enum Key: Hashable {
    case attribute(Value)
    case reference(ManagedObjectID)

    var value: Value {
      switch self {
      case .attribute(let value): value
      case .reference(let id): id.uriRepresentation.map(Value.url) ?? .null
      }
    }
  }

  /// Returns a row's values of a constraint; nil if it is of another entity or one of the values is nil.
  ///
  /// - Throws: the file's read error, if a value is binary data in a file.
  private func key(of row: Row, _ names: [String], in constrained: Entity) throws -> [Key]? {
    let entity = coordinator.model.entities[Int(row.entityIndex)]
    guard entity.isKind(of: constrained) else { return nil }
    var key: [Key] = []
    for name in names {
      guard let property = entity.property(named: name), !row.isNull(property.slot) else { return nil }
      if let attribute = property.attribute {
        key.append(.attribute(try row.value(of: attribute, property.slot)))
      } else if property.storage == .reference {
        key.append(.reference(row.reference(property.slot)))
      }
    }
    return key
  }

  /// Returns the stored object that has these values.
  private func holder(
    _ entity: Entity, _ names: [String], key: [Key], reader: any StoreReader
  ) throws -> (id: ManagedObjectID, row: Row)? {
    // By hand, since which properties are unique together is the model's to say.
    let parts = zip(names, key).map { name, key in
      switch key {
      case .attribute(let value): Condition.compare(.keyPath([name]), .equal, .value(value), [])
      case .reference(let id): Condition.compare(.keyPath([name]), .equal, .object(id), [])
      }
    }
    var found: (id: ManagedObjectID, row: Row)?
    let query = StoreQuery(
      entity: entity, condition: try Condition.and(parts).resolved(for: entity), limit: 1,
      coordinatorOrdinal: coordinator.ordinal)
    try reader.fetch(query) { id, row in
      found = row.map { (id, $0.row) }
      return false
    }
    return found
  }
}
