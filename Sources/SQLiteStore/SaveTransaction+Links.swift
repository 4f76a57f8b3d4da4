import SQLGeneration
import StoreInterface

extension SaveTransaction {
  /// Writes what became of links, when all rows are written.
  mutating func writeLinks(_ sets: [ChangeSet]) throws(StoreError) {
    for set in sets {
      for change in set.links {
        let table = links[change.key.table]
        _ = try write(change.isPresent ? table.insertSQL : table.deleteSQL, change.isPresent ? .insert : .delete) {
          statement in
          statement.bind(change.key.left.key, 1)
          statement.bind(change.key.right.key, 2)
          if change.isPresent {
            if table.hasOrder { Self.bind(change.order, 3, statement) }
            if table.hasInverseOrder { Self.bind(change.inverseOrder, 4, statement) }
          }
          return statement.step()
        }
      }
    }
  }

  private static func bind(_ order: Int64?, _ parameter: Int32, _ statement: Statement) {
    if let order { statement.bind(order, parameter) } else { statement.bindNull(parameter) }
  }
}
