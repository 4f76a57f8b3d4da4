import ObjectModel
import SQLGeneration
import StoreInterface

/// The texts of the statements that insert rows of an entity: one for a row, and one for a hundred of them.
///
/// What a statement costs whatever it does (its cursor, its way down to the end of the table, its part in the
/// transaction) is a quarter of the time that a row of four values takes.
struct InsertSQL: Sendable {
  let one: String
  let many: String
  /// How many rows the second one inserts.
  let groupSize: Int
  /// How many parameters each row has.
  let parameterCount: Int32

  /// More rows make it no faster.
  private static let largestGroup = 100
  /// Tables of many columns have costs per value, not per statement.
  private static let parameterLimit = 2000

  init(_ table: SchemaTable, _ entity: Entity, _ properties: [Property]) {
    let count = SchemaTable.parameterCount(properties)
    parameterCount = Int32(count)
    groupSize = max(1, min(Self.largestGroup, Self.parameterLimit / count))
    one = table.insertSQL(entity, properties)
    many = table.insertSQL(entity, properties, rows: groupSize)
  }
}

/// The statements that insert some rows of an entity, prepared.
struct InsertStatements {
  /// Inserts one row.
  let one: Statement
  /// Inserts ``groupSize`` rows; nil if there are fewer.
  let many: Statement?
  /// How many rows go into a group; more than there are if groups are no use.
  let groupSize: Int
  /// How many parameters each row has.
  let parameterCount: Int32

  /// - Parameter rows: how many rows will be inserted.
  init(_ sql: InsertSQL, rows: Int, _ connection: Connection) throws(StoreError) {
    let hasGroups = sql.groupSize > 1 && rows >= sql.groupSize
    groupSize = hasGroups ? sql.groupSize : .max
    parameterCount = sql.parameterCount
    one = try connection.prepare(sql.one)
    many = hasGroups ? try connection.prepare(sql.many) : nil
  }

  func recycle(_ connection: Connection) {
    if let many { connection.recycle(many) }
    connection.recycle(one)
  }
}
