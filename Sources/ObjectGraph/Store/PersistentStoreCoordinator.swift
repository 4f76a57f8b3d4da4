import Foundation
public import ObjectModel
import Synchronization

/// Stands between contexts and a store: opens it, hands out keys, keeps rows that were read, detects conflicts.
///
/// All methods may be called from any thread. The order of locks is context, coordinator, store.
public final class PersistentStoreCoordinator: Sendable {
  /// The model of the store and of all contexts on it.
  public let model: ManagedObjectModel
  package let ordinal: UInt32
  /// Layouts of rows by entity index.
  package let layouts: [RowLayout]
  /// A row of defaults by entity index.
  let defaults: [Row]
  /// Slots of transient values by entity index.
  let transientSlots: [[Int]]
  /// Slots of derived attributes by entity index.
  let derivedSlots: [[Int]]

  private let store: Mutex<(any PersistentStore)?> = Mutex(nil)
  /// Keys by the index of the root entity.
  private let keys: Mutex<[KeyAllocator]>
  private let cache: Mutex<RowCache>
  private let saves = SaveCount()
  /// The running time of the row cache's clock.
  private let uptime: @Sendable () -> Duration
  private let ownWrites = Mutex(OwnWrites())
  private let rootCount = Atomic(0)
  let merging = MergingState()
  let remoteObservers = EventObservers<PersistentStoreRemoteChange>()
  private let lastSeenHistory = Mutex<PersistentHistoryToken?>(nil)
  private let orders = ClockSequence()

  /// Makes a coordinator without a store.
  ///
  /// - Parameters:
  ///   - model: the model, whose object classes must be subclasses of ``ManagedObject``.
  ///   - rowCacheByteLimit: how many bytes the rows that are kept for the next fault may take, with their tables.
  public convenience init(model: ManagedObjectModel, rowCacheByteLimit: Int = 16 << 20) {
    let start = ContinuousClock.now
    self.init(model: model, rowCacheByteLimit: rowCacheByteLimit) { ContinuousClock.now - start }
  }

  /// Makes a coordinator that tells the age of rows by a clock.
  ///
  /// - Parameter uptime: how long the clock has run; never less than before.
  package init(
    model: ManagedObjectModel, rowCacheByteLimit: Int = 16 << 20, uptime: @escaping @Sendable () -> Duration
  ) {
    self.model = model
    self.uptime = uptime
    ordinal = CoordinatorRegistry.nextOrdinal()
    layouts = model.entities.map(RowLayout.init)
    defaults = zip(model.entities, layouts).map { Row(defaultsOf: $0, layout: $1) }
    transientSlots = model.entities.map { entity in
      entity.properties.filter { $0.storage.isStored && !$0.isPersistent }.map(\.slot)
    }
    derivedSlots = model.entities.map { $0.properties.filter { $0.derivation != nil }.map(\.slot) }
    keys = Mutex(Array(repeating: KeyAllocator(), count: model.entities.count))
    cache = Mutex(RowCache(byteLimit: rowCacheByteLimit, saveCount: saves))
    CoordinatorRegistry.register(self)
  }

  deinit { CoordinatorRegistry.unregister(ordinal) }

  /// Opens a store and makes it this coordinator's.
  ///
  /// Cost: I/O, and one durable transaction that reserves keys.
  /// - Throws: ``StoreError`` if the store can't be opened, or if there is one already; `ModelError` if a predicate of
  ///   the model can't be read.
  public func open(_ description: PersistentStoreDescription) throws {
    try checkPredicates()
    let opened = try description.open(model, ordinal)
    let isFirst = store.withLock { store in
      if store != nil { return false }
      store = opened
      return true
    }
    guard isFirst else {
      try opened.close()
      throw StoreError(.cannotOpen, "the coordinator has a store already", path: opened.path)
    }
    for root in model.entities where root.parent == nil { try reserveKeys(for: root, count: KeyAllocator.blockSize) }
    seenHistory = try opened.history?.currentToken()
    try opened.observeForeignCommits { [weak self] in self?.process($0) }
  }

  /// Closes the store; contexts that go on will be told that there is none.
  public func close() throws {
    let closing = store.withLock { store in
      defer { store = nil }
      return store
    }
    let unused = keys.withLock { keys in
      model.entities.filter { $0.parent == nil }.map { KeyBlock(root: $0, keys: keys[$0.index].takeRest()) }
    }
    try closing?.close(returning: unused.filter { !$0.keys.isEmpty })
  }

  /// The folder for files that a save is to adopt; nil if the store has none, or there is no store.
  package var stagingDirectory: String? { store.withLock { $0 }?.stagingDirectory }

  /// The open store.
  package func openStore() throws(StoreError) -> any PersistentStore {
    guard let store = store.withLock({ $0 }) else {
      throw StoreError(.noStore, "the coordinator has no store; open one first")
    }
    return store
  }

  /// A place at the end of an ordered relationship, and a version beyond those of an earlier life.
  func drawOrder() -> Int64 { orders.draw(1) }

  /// So many places that follow each other; the first.
  package func drawOrders(_ count: Int) -> Int64 { orders.draw(count) }
}

// MARK: - Keys

extension PersistentStoreCoordinator {
  /// Draws keys for new objects; does I/O only if more than a block was drawn since the last save.
  package func drawKeys(for entity: Entity, count: Int = 1) throws(StoreError) -> Range<Int64> {
    let index = entity.rootIndex
    if let drawn = keys.withLock({ $0[index].draw(count) }) { return drawn }
    try reserveKeys(for: entity.root, count: max(count, KeyAllocator.blockSize))
    if let drawn = keys.withLock({ $0[index].draw(count) }) { return drawn }
    return try drawKeys(for: entity, count: count)
  }

  private func reserveKeys(for root: Entity, count: Int) throws(StoreError) {
    let reserved = try openStore().reserveKeys(KeyReservation(root: root, count: count))
    keys.withLock { $0[root.index].add(reserved) }
  }

  private func keyReservations() -> [KeyReservation] {
    keys.withLock { keys in
      model.entities.compactMap { entity in
        guard entity.parent == nil else { return nil }
        let shortage = keys[entity.index].shortage
        return shortage == 0 ? nil : KeyReservation(root: entity, count: shortage)
      }
    }
  }

  func isTemporary(_ id: ManagedObjectID) -> Bool {
    keys.withLock { $0[Int(id.rootIndex)].isTemporary(id.key) }
  }

  /// Returns true if none of these keys, by the index of their root, can have been in the store.
  func areTemporary(_ runs: [(root: Int, keys: Range<Int64>)]) -> Bool {
    keys.withLock { keys in runs.allSatisfy { keys[$0.root].areTemporary($0.keys) } }
  }

  private func markSaved(_ sets: [ChangeSet]) {
    keys.withLock { keys in
      for set in sets {
        for (root, run) in set.insertedKeys { keys[root].markSaved(run) }
        for batch in set.batches {
          keys[batch.entity.root.index].markSaved(batch.firstKey..<batch.firstKey + Int64(batch.count))
        }
      }
    }
  }
}

// MARK: - Saving and reading

extension PersistentStoreCoordinator {
  /// Writes changes in one transaction; blocks until they are on disk.
  ///
  /// Conflicts are looked for in the row cache first, then by the store, and what the policy made of them is tried again.
  /// - Parameters:
  ///   - root: the number of the root context, from ``drawRootNumber()``.
  ///   - checks: rows that are not written, and must not have changed either.
  ///   - origin: who saves, for the history.
  /// - Throws: ``StoreError``, or ``SaveConflicts`` with all conflicts; nothing was written then.
  func save(
    _ sets: [ChangeSet], from root: Int, policy: MergePolicy, checks: [RowChange] = [], origin: TransactionOrigin
  ) throws -> SaveOutcome {
    let (store, reservations) = (try openStore(), keyReservations())
    let changes = sets.map { $0.withoutUpdates(changesTransientsOnly) }
    var resolver = ConflictResolver(self, policy: policy, root: root, sets: changes, checks: checks)
    let result = try write(&resolver, to: store, reservations, from: origin)
    keys.withLock { keys in
      for (reservation, block) in zip(reservations, result.reserved) { keys[reservation.root.index].add(block) }
    }
    markSaved(result.committed.sets)
    let time = now
    cache.withLock { cache in
      cache.apply(result.committed, returns: resolver.returns, transientSlots: transientSlots, time)
      cache.applyDerived(result.derived, time)
    }
    noteWrites(result.committed.sets, resolver.returns, from: root)
    var outcome = resolver.draft.finalOutcome(of: sets)
    outcome.derived = result.derived
    return outcome
  }

  /// Tries to write until no conflict is left.
  private func write(
    _ resolver: inout ConflictResolver, to store: any PersistentStore, _ reservations: [KeyReservation],
    from origin: TransactionOrigin
  ) throws -> StoreSaveResult {
    var attempts = 0
    while attempts < Self.saveAttemptLimit {
      let cached = conflictsWithCache(resolver.draft.sets, resolver.request)
      if !cached.isEmpty { try resolver.resolve(cached) { _ in .contextAgainstRowCache } }
      let sets = resolver.setsToWrite()
      if sets.isEmpty && !resolver.hasChecks { return StoreSaveResult(CommittedRows([])) }
      let request = StoreSaveRequest(sets, reservations: reservations, checks: resolver.request, origin: origin)
      do {
        let start = readStart
        let result = try store.save(request)
        if result.conflicts.isEmpty { return result }
        let conflicts = result.conflicts.filter { $0.reason != .leadsToDeleted }
        if conflicts.isEmpty {
          // Each time there is less to be led to, however deep it goes.
          try resolver.applyDeleteRules(result.conflicts)
          continue
        }
        attempts += 1
        noteStored(conflicts, start)
        try resolver.resolve(conflicts, kind: kind(of:))
      } catch let error as StoreError where error.code == .constraint {
        attempts += 1
        try store.read { try resolver.resolveConstraints(error, $0) }
      }
    }
    throw StoreError(.busy, "others change the same objects all the time; save again", path: store.path)
  }

  /// Between whom a conflict is that the store has found, because the row cache did not have the row.
  private func kind(of conflict: StoreConflict) -> MergeConflict.Kind {
    let id = conflict.change.id
    let isOurs =
      if let stored = conflict.stored {
        ownWrites.withLock { $0.contain(stored.version, of: id) }
      } else {
        cache.withLock { $0.departed.contains(id) }
      }
    return isOurs ? .contextAgainstRowCache : .rowCacheAgainstStore
  }

  /// The number of times to resolve conflicts before giving up; each round needs another writer who came in between.
  private static var saveAttemptLimit: Int { 64 }

  /// Changes of rows that the cache knows in a later version; no I/O.
  private func conflictsWithCache(_ sets: [ChangeSet], _ checks: [RowChange]) -> [StoreConflict] {
    cache.withLock { cache in
      var conflicts: [StoreConflict] = []
      func look(at change: RowChange) {
        guard let base = change.base, base.version > 0, let cached = cache.peek(change.id) else { return }
        if cached.version > base.version { conflicts.append(StoreConflict(change, stored: cached)) }
      }
      for set in sets where !set.isAllInserts {
        let changes = set.changes
        for index in changes.indices where changes[index].kind == .update || changes[index].kind == .delete {
          if cache.contains(changes[index].id) { look(at: changes[index]) }
        }
      }
      checks.forEach(look)
      return conflicts
    }
  }

  /// Brings the cache in line with what conflicts have shown to be stored, unless a save came in between.
  private func noteStored(_ conflicts: [StoreConflict], _ start: ReadStart) {
    cache.withLock { cache in
      guard saveCount == start.saveCount else { return }
      for conflict in conflicts {
        if let stored = conflict.stored {
          cache.insert(stored, for: conflict.change.id, start.time)
        } else {
          cache.remove(conflict.change.id)
        }
      }
    }
  }

  /// The token up to which the history was read for what others have written.
  var seenHistory: PersistentHistoryToken? {
    get { lastSeenHistory.withLock { $0 } }
    set { lastSeenHistory.withLock { $0 = newValue } }
  }

  /// Gives up keys that others have taken without reserving them.
  func skipKeys(through highest: [(root: Entity, key: Int64)]) {
    keys.withLock { keys in
      for (root, key) in highest { keys[root.index].skip(through: key) }
    }
  }

  /// Forgets all rows, since any may have been changed behind this coordinator's back.
  func forgetAllRows() { cache.withLock { $0.removeAll() } }

  /// Forgets rows that a batch request has changed in the store.
  ///
  /// - Parameters:
  ///   - stale: the objects; nil for all.
  ///   - staleRoots: the indexes of root entities any of whose rows may have changed.
  func forgetRows(_ stale: Set<ManagedObjectID>?, roots staleRoots: Set<Int> = []) {
    cache.withLock { cache in
      if let stale { cache.forget(stale) } else { cache.removeAll() }
      if !staleRoots.isEmpty { cache.forget(roots: staleRoots) }
    }
  }

  /// Forgets rows that were changed behind this coordinator's back.
  func forgetRows(of ids: some Sequence<ManagedObjectID>) { cache.withLock { $0.forget(ids) } }

  /// Draws the number under which a root context saves.
  func drawRootNumber() -> Int { rootCount.wrappingAdd(1, ordering: .relaxed).newValue }

  private func noteWrites(_ sets: [ChangeSet], _ returns: [RowChange], from root: Int) {
    ownWrites.withLock { ownWrites in
      for set in sets where !set.isAllInserts {
        let changes = set.changes
        for index in changes.indices where changes[index].kind == .update || changes[index].kind == .delete {
          ownWrites.note(changes[index], root: root)
        }
      }
      for change in returns { ownWrites.note(change, root: root) }
    }
  }

  /// Returns true if a deleted object has lately been stored again, because the delete was undone or did not prevail.
  func hasReturned(_ id: ManagedObjectID) -> Bool { cache.withLock { $0.returned.contains(id) } }

  /// Returns true if a save has lately deleted an object, and none has stored it again.
  func hasDeparted(_ id: ManagedObjectID) -> Bool {
    cache.withLock { $0.departed.contains(id) && !$0.returned.contains(id) }
  }

  /// Returns true if a conflict only looks like one, because another context of the same stack saved in between.
  func canMerge(_ conflict: StoreConflict, _ base: Row, stored: Row, root: Int) -> Bool {
    // Who holds values of an object that never were stored has them from the stack that inserted it.
    if base.version == 0 && stored.version == 1 { return true }
    let first = base.version == 0 ? stored.version : base.version + 1
    if first <= stored.version,
      ownWrites.withLock({ $0.contain(first...stored.version, of: conflict.change.id, root: root) })
    {
      return true
    }
    // A base that never was stored itself, because a parent had merged it: its changed values must be the stored ones.
    guard base.version == 0, let row = conflict.change.row else { return false }
    let layout = layouts[Int(stored.entityIndex)]
    return row.changedSlots(from: base, layout: layout).allSatisfy {
      base.hasSameValue(as: stored, $0, layout.storage[$0])
    }
  }

  /// A row that was read or written at that time or later, if it is kept.
  func cachedRow(for id: ManagedObjectID, since oldest: RowTime = .beginning) -> StoredRow? {
    cache.withLock { $0.row(for: id, since: oldest) }
  }

  /// The stored destinations of a to-many relationship, if somebody has asked for them since the last save, and since
  /// then.
  func cachedDestinations(
    of owner: ManagedObjectID, _ property: Property, since oldest: RowTime
  ) -> [ManagedObjectID]? {
    cache.withLock { $0.relationships.destinations(of: owner, property, since: oldest) }
  }

  /// Keeps the stored destinations of a to-many relationship, unless a save came in between.
  func keep(
    _ ids: [ManagedObjectID], asDestinationsOf owner: ManagedObjectID, property: Property, start: ReadStart
  ) {
    cache.withLock { cache in
      if saveCount == start.saveCount {
        cache.relationships.insert(ids, of: owner, property: property, time: start.time)
      }
    }
  }

  /// Lets rows of an entity that meet a resolved condition neither come into the row cache nor stay there.
  func exclude(_ condition: Condition, _ entity: Entity) throws(ConditionError) {
    try cache.withLock { cache throws(ConditionError) in try cache.exclude(condition, entity) }
  }

  /// The size of the row cache, in bytes.
  package var rowCacheByteCount: Int { cache.withLock { $0.byteCount } }

  func cachedRows() -> [ManagedObjectID: StoredRow] { cache.withLock { $0.all } }

  /// The number of saves so far.
  var saveCount: Int { saves.current }

  /// The time by the clock of the row cache.
  var now: RowTime { RowTime(uptime()) }

  /// Keeps rows for the next fault, unless a save came in between.
  func keep(_ rows: [(ManagedObjectID, StoredRow)], _ start: ReadStart) {
    cache.withLock { cache in
      guard saveCount == start.saveCount else { return }
      for (id, row) in rows { cache.insert(row, for: id, start.time) }
    }
  }
}
