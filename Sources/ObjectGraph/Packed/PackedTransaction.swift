package import ObjectModel

/// Writes packed rows straight into the store, in one transaction in the name of a root context.
///
/// No object and no pending change is made, so that memory does not grow with the number of rows. What the transaction
/// finds is what is on disk; a change that waits in a context is put on top of what was written when it is saved.
package struct PackedTransaction {
  package let coordinator: PersistentStoreCoordinator
  private let transaction: any StoreTransaction
  private(set) var news = PackedNews()
  private var log = BatchLog(.statusOnly)
  /// Tables of which so much was written that no row of them is to be kept.
  private(set) var staleRoots: Set<Int> = []

  init(_ coordinator: PersistentStoreCoordinator, _ transaction: any StoreTransaction) {
    self.coordinator = coordinator
    self.transaction = transaction
  }

  package var reader: any StoreReader { transaction }

  /// Writes rows under keys of their own, one after another.
  ///
  /// - Parameters:
  ///   - key: the properties by which a row is looked for; none if every row is new.
  /// - Returns: the rows, and what became of each; a row that violates a constraint is left out alone.
  package mutating func write(
    _ columns: [RowBatch.Column], count: Int, of entity: Entity, key: [Property] = [],
    onConflict conflict: PackedConflict = .violation
  ) throws -> PackedResult {
    let keys = try transaction.reserveKeys(KeyReservation(root: entity.root, count: count))
    let batch = RowBatch(
      entity: entity, layout: coordinator.layouts[entity.index], coordinatorOrdinal: coordinator.ordinal,
      firstKey: keys.lowerBound, count: count, columns: columns)
    let result = try transaction.write(batch, key: key, onConflict: conflict)
    note(result, batch)
    return result
  }

  private mutating func note(_ result: PackedResult, _ batch: RowBatch) {
    if result.insertedCount == batch.count { return news.note(batch) }
    for index in 0..<result.insertedCount { news.note(.insert, batch.id(at: index)) }
    for id in result.updates { news.note(.update, id) }
    // Few of many are in the cache, and all of a table are found sooner than each of them.
    if result.updates.count > Self.staleLimit {
      staleRoots.insert(batch.entity.rootIndex)
    } else {
      log.noteStale(result.updates)
    }
  }

  private static let staleLimit = 1_000

  /// The stored objects that have the values of each row; nil where there is none.
  package func find(
    _ columns: [RowBatch.Column], count: Int, of entity: Entity, key: [Property]
  ) throws -> [ManagedObjectID?] {
    try transaction.find(coordinator.lookupBatch(columns, count: count, of: entity), key: key)
  }

  /// Writes changes of single objects, which must have been read in this transaction.
  package mutating func write(_ changes: [RowChange]) throws {
    var writer = BatchWriter(coordinator, transaction, policy: .error, kind: .statusOnly)
    try writer.write(ChangeSet(changes))
    for change in changes where change.kind != .insert {
      news.note(change.kind, change.id)
      log.noteStale(CollectionOfOne(change.id))
    }
  }

  /// A key for an object that is written as a change.
  package func reserveKey(of entity: Entity) throws -> ManagedObjectID {
    let keys = try transaction.reserveKeys(KeyReservation(root: entity.root, count: 1))
    return ManagedObjectID(key: keys.lowerBound, entity: entity, coordinatorOrdinal: coordinator.ordinal)
  }

  /// The keys of an entity's objects, those of its heirs included.
  package func keys(of entity: Entity) throws -> [Int64] {
    var keys: [Int64] = []
    let query = StoreQuery(entity: entity, wantsRows: false, coordinatorOrdinal: coordinator.ordinal)
    try transaction.fetch(query) { id, _ in
      keys.append(id.key)
      return true
    }
    return keys
  }

  /// Deletes an entity's objects of some keys with what their rules say; those that are not there are passed over.
  package mutating func delete(_ keys: some Collection<Int64>, of entity: Entity) throws -> Int {
    var count = 0
    var rest = keys[...]
    while !rest.isEmpty {
      let chunk = rest.prefix(BatchWriter.chunkSize)
      rest = rest.dropFirst(chunk.count)
      count += try delete(
        chunk.map { ManagedObjectID(key: $0, entity: entity, coordinatorOrdinal: coordinator.ordinal) })
    }
    return count
  }

  /// Deletes objects with what their rules say; those that are not there are passed over.
  ///
  /// - Throws: `ValidationError` if a rule denies it.
  package mutating func delete(_ ids: [ManagedObjectID]) throws -> Int {
    var count = 0
    for chunk in ids.chunks {
      var writer = BatchWriter(coordinator, transaction, policy: .error, kind: .objectIDs)
      try BatchDeletion(BatchDeleteRequest(objectIDs: Array(chunk))).run(&writer)
      let changes = writer.log.result.changes
      count += changes.deletedObjectIDs.count
      for id in changes.deletedObjectIDs { news.note(.delete, id) }
      for id in changes.updatedObjectIDs { news.note(.update, id) }
      log.noteStale(changes.deletedObjectIDs + changes.updatedObjectIDs)
    }
    return count
  }

  /// Returns what the coordinator needs of the finished transaction.
  func finishedLog() -> BatchLog {
    var log = log
    log.note(transaction.derived)
    return log
  }
}

extension PersistentStoreCoordinator {
  /// Rows that only serve to look for others.
  package func lookupBatch(_ columns: [RowBatch.Column], count: Int, of entity: Entity) -> RowBatch {
    RowBatch(
      entity: entity, layout: layouts[entity.index], coordinatorOrdinal: ordinal, firstKey: 0, count: count,
      columns: columns)
  }
}

extension ManagedObjectContext {
  /// Runs a packed transaction in the name of this context, which must be a root.
  ///
  /// It is on disk when this returns, and undone if the body throws. Objects of this context are brought in line;
  /// contexts below it are told by whoever calls, with ``mergeChanges(fromPacked:)``. An edit that was made to older values
  /// and clashes is for the ``mergePolicy`` when it is saved.
  package func executePacked<Result: Sendable>(
    _ body: (inout PackedTransaction) throws -> Result
  ) throws -> (result: Result, news: PackedNews) {
    enter()
    precondition(parent == nil, "packed transactions are a root's")
    let coordinator = coordinator
    let done = try coordinator.openStore().transaction(from: transactionOrigin) { store in
      var transaction = PackedTransaction(coordinator, store)
      let result = try body(&transaction)
      return Done(
        result: result, news: transaction.news, log: transaction.finishedLog(), staleRoots: transaction.staleRoots)
    }
    coordinator.sharedRows.forget(stale: done.log.stale, roots: done.staleRoots)
    mergeChanges(fromPacked: done.news)
    coordinator.noteSaved()
    return (done.result, done.news)
  }

  private struct Done<Result: Sendable>: Sendable {
    let result: Result
    let news: PackedNews
    let log: BatchLog
    let staleRoots: Set<Int>
  }
}
