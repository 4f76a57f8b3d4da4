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
