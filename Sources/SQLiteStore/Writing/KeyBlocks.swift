import ObjectModel
import SQLGeneration
import StoreInterface

/// Hands out primary keys inside a transaction of the writer.
struct KeyBlocks {
  let connection: Connection
  let names: EntityNames

  /// The next keys of a table: above all that were handed out and all that are in the table, whoever put them there.
  func reserve(_ request: KeyReservation) throws(StoreError) -> Range<Int64> {
    let name = request.root.name
    let (next, highest) = try state(of: name)
    let first = max(next, highest == .max ? .max : highest + 1, 1)
    let (end, overflow) = first.addingReportingOverflow(Int64(request.count))
    guard request.count >= 0, !overflow else {
      throw StoreError(
        .constraint, "the table \(name) has no primary keys left above \(highest)", path: connection.path)
    }
    try connection.execute(
      "INSERT INTO _keys (root, next) VALUES (?1, ?2) ON CONFLICT (root) DO UPDATE SET next = excluded.next"
    ) { statement in
      statement.bindCopy(name, 1)
      statement.bind(end, 2)
    }
    return first..<end
  }

  private func state(of table: String) throws(StoreError) -> (next: Int64, highest: Int64) {
    let known = try connection.first(
      "SELECT coalesce((SELECT next FROM _keys WHERE root = ?1), 1), "
        + "coalesce((SELECT max(_key) FROM \(SchemaName.quoted(table))), 0)",
      { $0.bindCopy(table, 1) }, read: { ($0.integer(0), $0.integer(1)) })
    return known ?? (1, 0)
  }

  /// Lets unused keys at the end of what was handed out be handed out again.
  func returnBlocks(_ blocks: [KeyBlock]) throws(StoreError) {
    for block in blocks {
      try connection.execute("UPDATE _keys SET next = ?1 WHERE root = ?2 AND next = ?3") { statement in
        statement.bind(block.keys.lowerBound, 1)
        statement.bindCopy(block.root.name, 2)
        statement.bind(block.keys.upperBound, 3)
      }
    }
  }
}
