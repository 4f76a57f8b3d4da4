package import ObjectModel
package import StoreInterface

/// The database of a store whose model changes: all that a migration does happens here, in one transaction.
package protocol MigrationDatabase: Sendable {
  var dialect: Dialect { get }
  /// The store, for messages.
  var place: String { get }

  /// Runs a statement that returns nothing.
  func run(_ sql: String, _ bindings: [SQLBinding]) throws(StoreError)

  /// Returns the rows of a small result.
  func rows(_ sql: String) throws(StoreError) -> [[SQLBinding]]

  func hasTable(_ name: String) throws(StoreError) -> Bool

  /// Drops the indexes and triggers of a table that gets another name, as they would be in the way of its successor's.
  func dropIndexes(of table: SchemaTable) throws(StoreError)

  /// Makes ``Dialect/converted(_:)`` answer, where the database can't convert by itself.
  func prepare(_ conversions: [ColumnConversion]) throws(StoreError)

  /// Moves large values into their rows where the attribute does not allow them elsewhere any more, unless
  /// the rows were copied so; drops those that nothing leads to.
  func settleLargeValues(_ plan: MigrationPlan) throws(StoreError)

  /// The first rows of an entity behind a key, by key, from a table that has another name just now.
  func formerRows(
    of entity: Entity, in schema: Schema, table: String, after key: Int64, limit: Int, ordinal: UInt32
  ) throws(StoreError) -> [(key: Int64, row: Row)]

  /// The store as it is at this moment, with the model that it has.
  func store(_ model: ManagedObjectModel) -> MigratingStore
}

extension MigrationDatabase {
  func run(_ sql: String) throws(StoreError) { try run(sql, []) }

  /// The first value of a result, as an integer; 0 if there is none.
  func integer(_ sql: String) throws(StoreError) -> Int64 {
    if case .integer(let number)? = try rows(sql).first?.first { number } else { 0 }
  }
}

/// A conversion of all values of a column.
package struct ColumnConversion: Sendable, Hashable {
  package let table: String
  package let column: String
  package let conversion: ValueConversion
  /// True if values may be rounded; otherwise one that would not survive becomes null.
  package let rounds: Bool

  /// The name of the table with the converted values, by the keys of their rows, where there is one.
  package var resultName: String {
    Dialect.postgres.name("_converted_\(table).\(column).\(conversion.target.rawValue).\(rounds)")
  }
}

extension Dialect {
  /// SQL for the converted value of the row at hand; null where it can't be converted, or would not survive.
  package func converted(_ conversion: ColumnConversion) -> String {
    guard callsSwift else {
      return "(SELECT c.v FROM \(SchemaName.quoted(conversion.resultName)) AS c WHERE c.k = \(SchemaName.key))"
    }
    let types = [conversion.conversion.source, conversion.conversion.target].map { SchemaName.literal($0.rawValue) }
    return "\(SQLFunction.convert.name)(\(SchemaName.quoted(conversion.column)), \(types.joined(separator: ", ")), "
      + "\(conversion.rounds ? 1 : 0))"
  }

  /// SQL for a large value that lies in a table of its own, by the column of its name.
  func largeValue(named column: String) -> String {
    "(SELECT string_agg(f.bytes, '\\x'::bytea ORDER BY f.part) FROM _file AS f WHERE f.name = \(column))"
  }

  /// True if a table gets and loses columns where it is, without being built anew.
  var changesColumnsInPlace: Bool { !callsSwift }
}
