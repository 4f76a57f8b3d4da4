/// A table whose rows are locked by the transaction that has written them, as PostgreSQL's are at READ COMMITTED.
///
/// Others read a locked row as it was before, and wait if they want to write it.
struct RowTable<Key: Hashable, Row> {
  /// The row is locked by another transaction.
  struct IsLocked: Error {}

  private var rows: [Key: Row] = [:]
  private var locks: [Key: (owner: Int, before: Row?)] = [:]

  var isEmpty: Bool { rows.isEmpty }

  /// The row as a transaction sees it: its own version, or the last committed one.
  func row(_ key: Key, for reader: Int) -> Row? {
    if let lock = locks[key], lock.owner != reader { return lock.before }
    return rows[key]
  }

  /// All rows that a transaction sees, in no order.
  func all(for reader: Int) -> [(key: Key, row: Row)] {
    if locks.isEmpty { return rows.map { ($0.key, $0.value) } }
    var found = rows.compactMap { key, row in locks[key].map { $0.owner == reader } ?? true ? (key, row) : nil }
    for (key, lock) in locks where lock.owner != reader {
      if let before = lock.before { found.append((key, before)) }
    }
    return found
  }

  /// Locks a row, or the place of one, until the end of the transaction.
  mutating func lock(_ key: Key, for owner: Int) throws {
    if let lock = locks[key] {
      if lock.owner != owner { throw IsLocked() }
    } else {
      locks[key] = (owner, rows[key])
    }
  }

  /// Writes or, with nil, deletes a row.
  mutating func write(_ key: Key, _ row: Row?, for owner: Int) throws {
    try lock(key, for: owner)
    rows[key] = row
  }

  /// Ends a transaction.
  mutating func end(_ owner: Int, isCommitted: Bool) {
    if locks.isEmpty { return }
    for (key, lock) in locks where lock.owner == owner {
      if !isCommitted { rows[key] = lock.before }
      locks[key] = nil
    }
  }

  /// Ends all transactions without effects.
  mutating func undoAll() {
    for (key, lock) in locks { rows[key] = lock.before }
    locks = [:]
  }
}
