import ObjectModel
import SQLGeneration
import StoreInterface

/// Hands out primary keys, each reservation in a transaction of its own.
///
/// Other hosts wait for the row of the table's keys meanwhile, which is why this is no part of a longer transaction.
struct KeyBlocks {
  private let connection: Connection
  private let schema: Schema

  init(_ connection: Connection, _ schema: Schema) {
    self.connection = connection
    self.schema = schema
  }

  /// The next keys of a table: above all that were handed out and all that are in the table, whoever put them there.
  func reserve(_ request: KeyReservation) throws(StoreError) -> Range<Int64> {
    let table = SchemaName.quoted(schema.table(of: request.root).name)
    let result = try connection.query(
      """
      INSERT INTO _keys AS k (root, next) \
      VALUES ($1, greatest(1, (SELECT coalesce(max(_key), 0) FROM \(table)) + 1) + $2) \
      ON CONFLICT (root) DO UPDATE SET next = greatest(k.next, excluded.next - $2) + $2 RETURNING next
      """, [.text(request.root.name), .integer(Int64(request.count))])
    let end = result.integer(0, 0)
    return end - Int64(request.count)..<end
  }

  /// Lets unused keys at the end of what was handed out be handed out again, where nobody has reserved behind them.
  func returnBlocks(_ blocks: [KeyBlock]) throws(StoreError) {
    for block in blocks {
      _ = try connection.query(
        "UPDATE _keys SET next = $1 WHERE root = $2 AND next = $3",
        [.integer(block.keys.lowerBound), .text(block.root.name), .integer(block.keys.upperBound)])
    }
  }
}
