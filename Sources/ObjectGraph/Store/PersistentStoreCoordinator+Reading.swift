extension PersistentStoreCoordinator {
  /// To be noted before a read whose rows are to be kept.
  var readStart: ReadStart { ReadStart(saveCount: saveCount, time: now) }

  /// The row of an object, from the store; nil if there is none.
  func row(for id: ManagedObjectID) throws -> StoredRow? {
    let start = readStart
    let row = try openStore().read { try $0.row(for: id) }
    if let row { keep([(id, row)], start) }
    return row
  }

  /// The rows of objects of one family, each nil where there is none, in one read of the store.
  func rows(for ids: [ManagedObjectID]) throws -> [StoredRow?] {
    let start = readStart
    let rows = try openStore().read { try $0.rows(for: ids) }
    keep(zip(ids, rows).compactMap { id, row in row.map { (id, $0) } }, start)
    return rows
  }
}
