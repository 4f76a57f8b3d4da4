extension PersistentStoreCoordinator {
  /// The rows of objects of one family, each nil where there is none, in one read of the store.
  func rows(for ids: [ManagedObjectID]) throws -> [StoredRow?] {
    let saves = saveCount
    let rows = try openStore().read { try $0.rows(for: ids) }
    keep(zip(ids, rows).compactMap { id, row in row.map { (id, $0) } }, readBefore: saves)
    return rows
  }
}
