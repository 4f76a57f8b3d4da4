import ObjectModel

/// Writes the changes of one batch request in chunks, inside one transaction of the store, and notes what they were.
struct BatchWriter {
  /// Rows per chunk: what is in memory at a time.
  static let chunkSize = 1_000

  let coordinator: PersistentStoreCoordinator
  let transaction: any StoreTransaction
  private let policy: MergePolicy
  private(set) var log: BatchLog

  init(
    _ coordinator: PersistentStoreCoordinator, _ transaction: any StoreTransaction, policy: MergePolicy,
    kind: BatchResult.Kind
  ) {
    self.coordinator = coordinator
    self.transaction = transaction
    self.policy = policy
    log = BatchLog(kind)
  }

  /// Notes objects that the request is about.
  mutating func count(_ ids: some Collection<ManagedObjectID>) { log.count(ids) }

  /// Writes a chunk.
  ///
  /// - Parameter givenSlots: what new objects were given, for those that turn out to be stored already.
  /// - Returns: what was written.
  @discardableResult
  mutating func write(_ set: ChangeSet, givenSlots: [ManagedObjectID: [Int]] = [:]) throws -> [ChangeSet] {
    var resolver = ConflictResolver(
      coordinator, policy: policy, root: 0, sets: [set], checks: [], givenSlots: givenSlots)
    try write(&resolver)
    for written in resolver.draft.sets { log.note(written) }
    return resolver.draft.sets
  }

  /// Writes new objects, and notes those that the request is about.
  mutating func insert(_ set: ChangeSet, givenSlots: [ManagedObjectID: [Int]]) throws {
    let written = try write(set, givenSlots: givenSlots)
    let others = Set(set.changes.lazy.filter { $0.kind != .insert }.map(\.id))
    for set in written {
      log.count(set.changes.lazy.map(\.id).filter { !others.contains($0) })
      for batch in set.batches { log.count((0..<batch.count).lazy.map(batch.id)) }
    }
  }

  /// The number of times to resolve violated constraints: what replaces one object can clash with another.
  private static var attemptLimit: Int { 16 }

  private func write(_ resolver: inout ConflictResolver) throws {
    for _ in 0..<Self.attemptLimit {
      guard let violation = try violation(of: resolver.draft.sets) else { return }
      resolver.draft.unpackBatches()
      try resolver.resolveConstraints(violation, transaction)
    }
    if let violation = try violation(of: resolver.draft.sets) { throw violation }
  }

  /// Writes, unless a uniqueness constraint is violated.
  private func violation(of sets: [ChangeSet]) throws(StoreError) -> StoreError? {
    do throws(StoreError) {
      let conflicts = try transaction.write(ChangeSet(joining: sets))
      // Everything was read in this very transaction.
      precondition(conflicts.isEmpty, "rows changed within a transaction of their own")
      return nil
    } catch {
      if error.code == .constraint { return error }
      throw error
    }
  }
}

extension BatchWriter {
  typealias Stored = (id: ManagedObjectID, row: Row)

  /// The rows of objects that are stored, of whatever entities.
  func rows(_ ids: some Sequence<ManagedObjectID>) throws -> [Stored] {
    var found: [ManagedObjectID: Row] = [:]
    for (_, family) in Dictionary(grouping: ids, by: \.rootIndex) {
      for (id, stored) in zip(family, try transaction.rows(for: family)) { found[id] = stored?.row }
    }
    return ids.compactMap { id in found[id].map { (id, $0) } }
  }

  /// Calls the body for each relationship that some objects' entities have and that is meant, with its owners.
  func forEachRelationship(
    _ ids: ArraySlice<ManagedObjectID>, where isMeant: (RelationshipDescription) -> Bool,
    _ body: (Entity, Property, [Stored]) throws -> Void
  ) throws {
    let entities = coordinator.model.entities
    for (index, owners) in Dictionary(grouping: try rows(ids), by: { $0.row.entityIndex }) {
      let entity = entities[Int(index)]
      for property in entity.properties {
        if let relationship = property.relationship, isMeant(relationship) { try body(entity, property, owners) }
      }
    }
  }

  /// The stored objects that a relationship of some objects leads to, by owner. Cost: one statement for many owners;
  /// one for each where links lie in a join table.
  func destinations(
    of owners: [Stored], _ property: Property
  ) throws -> [(owner: ManagedObjectID, destinations: [Stored])] {
    if property.joinTable != nil {
      return try owners.map { owner in
        (owner.id, try rows(try transaction.links(of: owner.id, property).map(\.destination)))
      }
    }
    if property.storage == .reference {
      let ids = owners.compactMap { $0.row.referenceIfPresent(property.slot) }
      let found = Dictionary(try rows(Set(ids)).map { ($0.id, $0) }) { first, _ in first }
      return owners.map { owner in
        (owner.id, owner.row.referenceIfPresent(property.slot).flatMap { found[$0] }.map { [$0] } ?? [])
      }
    }
    guard let inverse = property.inverse, let destination = property.destination else { return [] }
    var found: [ManagedObjectID: [Stored]] = [:]
    let condition = Condition.leads(inverse, toAnyOf: owners.lazy.map(\.id))
    let query = StoreQuery(
      entity: destination, condition: try condition.resolved(for: destination),
      coordinatorOrdinal: coordinator.ordinal)
    try transaction.fetch(query) { id, row in
      if let row = row?.row, let owner = row.referenceIfPresent(inverse.slot) {
        found[owner, default: []].append((id, row))
      }
      return true
    }
    return owners.map { ($0.id, found[$0.id] ?? []) }
  }
}

/// The record of what a batch request has done so far, as far as its result and the coordinator need it.
struct BatchLog {
  private let kind: BatchResult.Kind
  private var count = 0
  private var objectIDs: [ManagedObjectID] = []
  private var inserted: [ManagedObjectID] = []
  private var updated: [ManagedObjectID] = []
  private var deleted: [ManagedObjectID] = []
  /// Rows that were stored before and are different now; nil if they are too many to be named.
  private(set) var stale: Set<ManagedObjectID>? = []

  /// The row cache is emptied rather than told of more rows than this.
  private static let staleLimit = 1 << 16

  init(_ kind: BatchResult.Kind) { self.kind = kind }

  var result: BatchResult {
    let changes = RemoteContextSave(inserted: inserted, updated: updated, deleted: deleted)
    return BatchResult(
      kind: kind, count: kind == .statusOnly ? 0 : count, objectIDs: objectIDs, changes: changes)
  }

  /// Notes objects that the request is about.
  mutating func count(_ ids: some Sequence<ManagedObjectID>) {
    for id in ids {
      count += 1
      if kind == .objectIDs { objectIDs.append(id) }
    }
  }

  /// Notes what was written.
  mutating func note(_ set: ChangeSet) {
    for change in set.changes {
      switch change.kind {
      case .insert: if kind == .objectIDs { inserted.append(change.id) }
      case .update:
        noteStale(change.id)
        if kind == .objectIDs { updated.append(change.id) }
      case .delete:
        noteStale(change.id)
        if kind == .objectIDs { deleted.append(change.id) }
      case .forget: break
      }
    }
    if kind == .objectIDs {
      for batch in set.batches { inserted += (0..<batch.count).map(batch.id) }
    }
  }

  /// Notes what was computed from what was written.
  mutating func note(_ derived: [DerivedValue]) {
    for value in derived { noteStale(value.id) }
  }

  /// Notes rows that were stored before and are different now.
  mutating func noteStale(_ ids: some Sequence<ManagedObjectID>) { for id in ids { noteStale(id) } }

  private mutating func noteStale(_ id: ManagedObjectID) {
    stale?.insert(id)
    if let count = stale?.count, count > Self.staleLimit { stale = nil }
  }
}
