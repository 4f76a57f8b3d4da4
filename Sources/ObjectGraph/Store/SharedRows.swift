import ObjectModel
import Synchronization

/// The stored rows and destinations of relationships that the contexts of a coordinator share, to read them only once.
///
/// Nothing gets in but what is stored: a row that a store's reader has made or a commit has written, which is what a
/// ``StoredRow`` is. What was read comes with the moment before its read, and stays out if a save has changed it since. Any
/// thread may call.
final class SharedRows: Sendable {
  private let cache: Mutex<RowCache>
  private let saves = Atomic(1)
  private let uptime: @Sendable () -> Duration
  /// By entity index, what belongs to the object that it was set in, and others must not see.
  private let transientSlots: [[Int]]

  /// - Parameters:
  ///   - byteLimit: how many bytes rows and their tables may take.
  ///   - transientSlots: slots of transient values by entity index.
  ///   - uptime: how long the clock that tells the age of rows has run; never less than before.
  init(byteLimit: Int, transientSlots: [[Int]], uptime: @escaping @Sendable () -> Duration) {
    cache = Mutex(RowCache(byteLimit: byteLimit))
    self.transientSlots = transientSlots
    self.uptime = uptime
  }

  /// The number of changes to the store that were noticed here; from 1, so that 0 can mean "unknown".
  var saveCount: Int { saves.load(ordering: .acquiring) }

  /// The time by the clock that tells the age of rows.
  var now: RowTime { RowTime(uptime()) }

  /// The size of the rows and their tables, in bytes.
  var byteCount: Int { cache.withLock { $0.byteCount } }

  /// All rows that are kept.
  var all: [ManagedObjectID: StoredRow] { cache.withLock { $0.all } }

  // MARK: - Looking

  /// A row that was read or written at that time or later, if it is kept.
  func row(for id: ManagedObjectID, since oldest: RowTime = .beginning) -> StoredRow? {
    cache.withLock { $0.row(for: id, since: oldest) }
  }

  /// The stored destinations of a to-many relationship, if somebody has asked for them since the last save, and since
  /// then.
  func destinations(
    of owner: ManagedObjectID, _ property: Property, since oldest: RowTime
  ) -> [ManagedObjectID]? {
    cache.withLock { $0.destinations(of: owner, property, since: oldest) }
  }

  /// Returns true if a deleted object has lately been stored again, because the delete was undone or did not prevail.
  func hasReturned(_ id: ManagedObjectID) -> Bool { cache.withLock { $0.hasReturned(id) } }

  /// Returns true if a save has lately deleted an object, and none has stored it again.
  func hasDeparted(_ id: ManagedObjectID) -> Bool { cache.withLock { $0.hasDeparted(id) && !$0.hasReturned(id) } }

  /// Returns true if a save has lately deleted an object, whatever came after.
  func hasEverDeparted(_ id: ManagedObjectID) -> Bool { cache.withLock { $0.hasDeparted(id) } }

  /// Returns the changes and checks of rows that are kept here in a later version than they were made against; no I/O.
  func conflicts(with sets: [ChangeSet], _ checks: [RowChange]) -> [StoreConflict] {
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

  // MARK: - Keeping what was read

  /// The moment before a read whose rows are to be kept.
  struct ReadStart {
    /// The number of saves until then.
    let saveCount: Int
    fileprivate let time: RowTime
  }

  /// To be noted before the read.
  var readStart: ReadStart { ReadStart(saveCount: saveCount, time: now) }

  /// Keeps rows for the next fault, but for those that a save has changed meanwhile, or a later read has found changed.
  func keep(_ rows: [(ManagedObjectID, StoredRow)], _ start: ReadStart) {
    cache.withLock { cache in
      for (id, row) in rows { cache.insert(row, for: id, readAfter: start.saveCount, start.time) }
    }
  }

  /// Keeps the stored destinations of a to-many relationship, unless a save came in between.
  func keep(
    _ ids: [ManagedObjectID], asDestinationsOf owner: ManagedObjectID, property: Property, start: ReadStart
  ) {
    cache.withLock { cache in
      if saveCount == start.saveCount { cache.insert(ids, asDestinationsOf: owner, property: property, start.time) }
    }
  }

  /// Keeps or drops what conflicts have shown to be stored or gone, unless a save came in between.
  func keep(_ conflicts: [StoreConflict], _ start: ReadStart) {
    cache.withLock { cache in
      guard saveCount == start.saveCount else { return }
      for conflict in conflicts {
        if let stored = conflict.stored {
          cache.insert(stored, for: conflict.change.id, readAfter: start.saveCount, start.time)
        } else {
          cache.remove(conflict.change.id)
        }
      }
    }
  }

  /// Lets rows of an entity that meet a resolved condition neither come in nor stay.
  func exclude(_ condition: Condition, _ entity: Entity) throws {
    try cache.withLock { cache in try cache.exclude(condition, entity) }
  }

  // MARK: - Following the store

  /// Takes notice of what a save has written: rows that are here are replaced, and some new ones are kept.
  ///
  /// - Parameter returns: inserts of objects that have been in the store before.
  func apply(_ result: StoreSaveResult, returns: [RowChange]) {
    let time = now
    afterSave { $0.apply(result, returns: returns, transientSlots: transientSlots, time) }
  }

  /// Forgets rows that were changed behind the contexts' back.
  func forget(_ ids: some Sequence<ManagedObjectID>) { afterSave { $0.forget(ids) } }

  /// Forgets rows that a batch request or a packed transaction has changed in the store.
  ///
  /// - Parameters:
  ///   - stale: the objects; nil for all.
  ///   - staleRoots: the indexes of root entities any of whose rows may have changed.
  func forget(stale: Set<ManagedObjectID>?, roots staleRoots: Set<Int> = []) {
    afterSave { cache in
      if let stale { cache.forget(stale) } else { cache.removeAll() }
      if !staleRoots.isEmpty { cache.forget(roots: staleRoots) }
    }
  }

  /// Forgets all rows, since any may have been changed.
  func forgetAll() { afterSave { $0.removeAll() } }

  /// Changes the cache after the store has changed: relationships may lead elsewhere.
  private func afterSave(_ change: (inout RowCache) -> Void) {
    cache.withLock { cache in
      cache.begin(save: saves.wrappingAdd(1, ordering: .acquiringAndReleasing).newValue)
      change(&cache)
    }
  }
}
