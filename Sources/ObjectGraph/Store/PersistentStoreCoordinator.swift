import Foundation
public import ObjectModel
import Synchronization

/// Stands between contexts and a store: opens it, and ties keys, shared rows and the resolution of conflicts together.
///
/// All methods may be called from any thread. The order of locks is context, coordinator, store.
public final class PersistentStoreCoordinator: Sendable {
  /// The model of the store and of all contexts on it.
  public let model: ManagedObjectModel
  package let ordinal: UInt32
  /// Layouts of rows by entity index.
  package let layouts: [RowLayout]
  /// The rules of each entity's properties, which saves check.
  let rules: RuleTable
  /// A row of defaults by entity index.
  let defaults: [Row]
  /// Slots of transient values by entity index.
  let transientSlots: [[Int]]
  /// Slots of derived attributes by entity index.
  let derivedSlots: [[Int]]

  private let store: Mutex<(any PersistentStore)?> = Mutex(nil)
  let keys: KeyPool
  let sharedRows: SharedRows
  let ownWrites = OwnWrites()
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
    ordinal = CoordinatorRegistry.nextOrdinal()
    layouts = model.entities.map(RowLayout.init)
    rules = RuleTable(model)
    defaults = zip(model.entities, layouts).map { Row(defaultsOf: $0, layout: $1) }
    transientSlots = model.entities.map { entity in
      entity.properties.filter { $0.storage.isStored && !$0.isPersistent }.map(\.slot)
    }
    derivedSlots = model.entities.map { $0.properties.filter { $0.derivation != nil }.map(\.slot) }
    keys = KeyPool(model)
    sharedRows = SharedRows(byteLimit: rowCacheByteLimit, transientSlots: transientSlots, uptime: uptime)
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
    for reservation in keys.firstReservations {
      keys.add([try opened.reserveKeys(reservation)], for: [reservation])
    }
    seenHistory = try opened.history?.currentToken()
    try opened.observeForeignCommits { [weak self] in self?.process($0) }
  }

  /// Closes the store; contexts that go on will be told that there is none.
  public func close() throws {
    let closing = store.withLock { store in
      defer { store = nil }
      return store
    }
    let unused = keys.takeRest()
    try closing?.close(returning: unused)
  }

  /// The folder for files that a save is to adopt; nil if the store has none, or there is no store.
  package var stagingDirectory: String? { store.withLock { $0 }?.stagingDirectory }

  /// True if there is a store, and it keeps no text with the character U+0000.
  var refusesNul: Bool { store.withLock { $0?.refusesNul ?? false } }

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

  /// Draws keys for new objects; does I/O only if more than a block was drawn since the last save.
  package func drawKeys(for entity: Entity, count: Int = 1) throws(StoreError) -> Range<Int64> {
    try keys.draw(count, for: entity) { reservation throws(StoreError) in try openStore().reserveKeys(reservation) }
  }

  /// Draws the number under which a root context saves.
  func drawRootNumber() -> Int { rootCount.wrappingAdd(1, ordering: .relaxed).newValue }

  /// The token up to which the history was read for what others have written.
  var seenHistory: PersistentHistoryToken? {
    get { lastSeenHistory.withLock { $0 } }
    set { lastSeenHistory.withLock { $0 = newValue } }
  }
}

// MARK: - Saving

extension PersistentStoreCoordinator {
  /// Writes changes in one transaction; blocks until they are on disk.
  ///
  /// Conflicts are looked for among the shared rows first, then by the store, and what the policy made of them is tried
  /// again.
  /// - Parameters:
  ///   - root: the number of the root context, from ``drawRootNumber()``.
  ///   - checks: rows that are not written, and must not have changed either.
  ///   - origin: who saves, for the history.
  /// - Throws: ``StoreError``, or ``SaveConflicts`` with all conflicts; nothing was written then.
  func save(
    _ sets: [ChangeSet], from root: Int, policy: MergePolicy, checks: [RowChange] = [], origin: TransactionOrigin
  ) throws -> SaveOutcome {
    let (store, reservations) = (try openStore(), keys.dueReservations)
    let changes = sets.map { $0.withoutUpdates(changesTransientsOnly) }
    var resolver = ConflictResolver(self, policy: policy, root: root, sets: changes, checks: checks)
    let result = try write(&resolver, to: store, reservations, from: origin)
    keys.add(result.reserved, for: reservations)
    keys.noteStored(result.committed.sets)
    sharedRows.apply(result, returns: resolver.returns)
    ownWrites.note(result.committed.sets, returns: resolver.returns, root: root)
    var outcome = resolver.draft.finalOutcome(of: sets)
    outcome.derived = result.derived
    return outcome
  }

  /// Notes that the contexts show what was written.
  func noteSaved() { store.withLock { $0 }?.noteSaved() }

  /// Tries to write until no conflict is left.
  private func write(
    _ resolver: inout ConflictResolver, to store: any PersistentStore, _ reservations: [KeyReservation],
    from origin: TransactionOrigin
  ) throws -> StoreSaveResult {
    var attempts = 0
    while attempts < Self.saveAttemptLimit {
      let cached = sharedRows.conflicts(with: resolver.draft.sets, resolver.request)
      if !cached.isEmpty { try resolver.resolve(cached) { _ in .contextAgainstRowCache } }
      let sets = resolver.setsToWrite()
      if !resolver.returns.isEmpty {
        let present = try store.read { try resolver.conflictsOfReturns($0) }
        if !present.isEmpty {
          attempts += 1
          try resolver.resolve(present, kind: kind(of:))
          continue
        }
      }
      if sets.isEmpty && !resolver.hasChecks { return StoreSaveResult(conflicts: []) }
      let request = StoreSaveRequest(
        sets, reservations: reservations, checks: resolver.request, origin: origin)
      do {
        let start = sharedRows.readStart
        let result = try store.save(request)
        if result.conflicts.isEmpty { return result }
        let conflicts = result.conflicts.filter { $0.reason != .leadsToDeleted }
        if conflicts.isEmpty {
          // Each time there is less to be led to, however deep it goes.
          try resolver.applyDeleteRules(result.conflicts)
          continue
        }
        attempts += 1
        sharedRows.keep(conflicts, start)
        try resolver.resolve(conflicts, kind: kind(of:))
      } catch let error as StoreError where error.code == .constraint {
        attempts += 1
        try store.read { try resolver.resolveConstraints(error, $0) }
      }
    }
    throw StoreError(.busy, "others change the same objects all the time; save again", path: store.path)
  }

  /// Between whom a conflict is that the store has found, because the row was not among the shared ones.
  private func kind(of conflict: StoreConflict) -> MergeConflict.Kind {
    let id = conflict.change.id
    let isOurs = conflict.stored.map { ownWrites.contain($0.version, of: id) } ?? sharedRows.hasEverDeparted(id)
    return isOurs ? .contextAgainstRowCache : .rowCacheAgainstStore
  }

  /// The number of times to resolve conflicts before giving up; each round needs another writer who came in between.
  private static var saveAttemptLimit: Int { 64 }
}

// MARK: - Reading

extension PersistentStoreCoordinator {
  /// The row of an object, from the store; nil if there is none.
  func row(for id: ManagedObjectID) throws -> StoredRow? {
    let start = sharedRows.readStart
    let row = try openStore().read { try $0.row(for: id) }
    if let row { sharedRows.keep([(id, row)], start) }
    return row
  }

  /// The rows of objects of one family, each nil where there is none, in one read of the store.
  func rows(for ids: [ManagedObjectID]) throws -> [StoredRow?] {
    let start = sharedRows.readStart
    let rows = try openStore().read { try $0.rows(for: ids) }
    sharedRows.keep(zip(ids, rows).compactMap { id, row in row.map { (id, $0) } }, start)
    return rows
  }

  /// Keeps rows out of the row cache that nobody is expected to read again, such as those of finished work.
  ///
  ///     try coordinator.excludeFromRowCache(Condition(format: "finishedAt != nil"), ofEntity: "Job")
  ///
  /// Without it, a save keeps the rows that it has updated for the next fault, in whatever state they are, and what is
  /// over pushes out what is not. Rows are tested when they are read or saved, by their own attributes; a relationship
  /// counts as nil. One that was kept leaves when it is saved with values that meet the condition. Objects are not
  /// concerned: a fault of such a row reads it from the store.
  ///
  /// - Parameters:
  ///   - condition: which rows to leave out; one for each entity, the last one counts.
  ///   - name: the entity, whose subentities are meant too.
  /// - Throws: ``ConditionError`` if the model has no such entity, or the condition names what that does not have.
  public func excludeFromRowCache(_ condition: Condition, ofEntity name: String) throws {
    guard let entity = model.entitiesByName[name] else {
      throw ConditionError(.unknownEntity, "the model has no entity \"\(name)\"")
    }
    let resolved = try condition.resolved(for: entity)
    try sharedRows.exclude(resolved, entity)
  }
}

// MARK: - Space

extension PersistentStoreCoordinator {
  /// Gives some of the space that deleted objects have left back to the file system, in one transaction.
  ///
  /// Saves wait meanwhile, so ask for little at a time. Blocks the caller; any thread.
  /// - Parameter byteCount: how much at most.
  /// - Returns: how many bytes; 0 if there are none, or if the store was not made for it.
  /// - Throws: ``StoreError`` if the store can't be written.
  public func reclaimSpace(atMost byteCount: Int) throws -> Int { try openStore().reclaimSpace(atMost: byteCount) }

  /// Returns the bytes of the store's file in use, without large values in files of their own.
  ///
  /// Blocks the caller for a moment; any thread.
  /// - Throws: ``StoreError`` if the store can't be read.
  public func bytesInUse() throws -> Int { try openStore().bytesInUse() }
}

// MARK: - Predicates of the model

extension PersistentStoreCoordinator {
  /// Checks what of the model can't be checked without knowing predicates.
  ///
  /// - Throws: ``ModelError`` that names the fetched property or fetch request whose predicate can't be read.
  private func checkPredicates() throws(ModelError) {
    for entity in model.entities {
      for property in entity.entityDescription.fetchedProperties {
        try check(property.predicate, entity: entity.name, property: property.name)
      }
    }
    for template in model.fetchRequestTemplates.values.sorted(by: { $0.name < $1.name }) {
      try check(template.predicate, entity: template.entity, property: template.name)
    }
  }

  private func check(_ predicate: String?, entity: String, property: String) throws(ModelError) {
    guard let predicate else { return }
    do { _ = try Condition(format: predicate) } catch {
      throw ModelError(.invalidValue, "the predicate can't be read: \(error)", entity: entity, property: property)
    }
  }
}
