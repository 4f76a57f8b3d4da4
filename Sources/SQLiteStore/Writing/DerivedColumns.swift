import Foundation
import ObjectModel
import SQLGeneration
import StoreInterface

/// Computes derived attributes in the transaction that changes what they are computed from.
struct DerivedColumns: Sendable {
  private struct Column: Sendable {
    let statement: DerivedStatement
    let updateSQL: String
  }

  private let columns: [Column]
  private let coordinatorOrdinal: UInt32

  init(_ model: ManagedObjectModel, coordinatorOrdinal: UInt32) {
    self.coordinatorOrdinal = coordinatorOrdinal
    columns = DerivedAttribute.all(model).map { attribute in
      let statement = DerivedStatement(attribute)
      return Column(statement: statement, updateSQL: statement.updateSQL)
    }
  }

  var isEmpty: Bool { columns.isEmpty }

  /// The keys of the objects whose values may change, by the attribute's place; to be asked before and after.
  func affected(by changes: ChangedKeys, _ connection: Connection) throws(StoreError) -> [Set<Int64>] {
    var affected: [Set<Int64>] = []
    for column in columns { affected.append(try self.affected(column, by: changes, connection)) }
    return affected
  }

  /// Computes what may have changed.
  ///
  /// - Parameter affected: what ``affected(by:_:)`` gave before the changes were written.
  func compute(
    _ changes: ChangedKeys, affectedBefore: [Set<Int64>], _ connection: Connection
  ) throws(StoreError) -> [DerivedValue] {
    let now = Date().timeIntervalSinceReferenceDate
    var changes = changes
    var values: [DerivedValue] = []
    // Attributes that are computed from others come behind them.
    for (column, before) in zip(columns, affectedBefore) {
      let keys = before.union(try affected(column, by: changes, connection))
      let computed = try compute(column, of: keys, now: now, connection: connection)
      if column.statement.attribute.operation != .now { changes.add(computed) }
      values += computed
    }
    return values
  }

  /// Computes the attributes of all objects, after a migration.
  func computeAll(_ connection: Connection) throws(StoreError) {
    let now = Date().timeIntervalSinceReferenceDate
    for column in columns {
      try connection.control(column.statement.updateAllSQL) { statement in
        statement.bindNull(1)
        statement.bind(now, 2)
      }
    }
  }

  private func affected(
    _ column: Column, by changes: ChangedKeys, _ connection: Connection
  ) throws(StoreError) -> Set<Int64> {
    try column.statement.attribute.affected(by: changes) { hop, origin, keys throws(StoreError) in
      guard let sql = DerivedStatement.nearSQL(hop, origin: origin) else { return [] }
      var near: Set<Int64> = []
      try connection.run(sql, { $0.bindCopy(Self.json(keys), 1) }) { statement throws(StoreError) in
        near.insert(statement.integer(0))
        return true
      }
      return near
    }
  }

  private func compute(
    _ column: Column, of keys: Set<Int64>, now: Double, connection: Connection
  ) throws(StoreError) -> [DerivedValue] {
    if keys.isEmpty { return [] }
    let attribute = column.statement.attribute
    guard let type = attribute.property.attribute?.type else { return [] }
    var values: [DerivedValue] = []
    try connection.run(
      column.updateSQL,
      { statement in
        statement.bindCopy(Self.json(keys), 1)
        statement.bind(now, 2)
      },
      read: { statement throws(StoreError) in
        let id = ManagedObjectID(
          key: statement.integer(0), entity: attribute.entity, coordinatorOrdinal: coordinatorOrdinal)
        values.append(DerivedValue(id: id, slot: attribute.property.slot, value: Self.value(statement, type)))
        return true
      })
    return values
  }

  private static func json(_ keys: Set<Int64>) -> String {
    "[\(keys.lazy.map { String($0) }.joined(separator: ","))]"
  }

  private static func value(_ statement: Statement, _ type: AttributeType) -> Value {
    if statement.isNull(1) { return .null }
    switch type {
    case .integer16, .integer32, .integer64: return .integer(statement.integer(1))
    case .boolean: return .boolean(statement.integer(1) != 0)
    case .double, .float: return .double(statement.real(1))
    case .date: return .date(Date(timeIntervalSinceReferenceDate: statement.real(1)))
    case .string: return .string(statement.text(1))
    case .decimal: return Decimal(string: statement.text(1)).map(Value.decimal) ?? .null
    case .uri: return URL(string: statement.text(1)).map(Value.url) ?? .null
    case .uuid:
      let bytes = statement.blobBytes(1)
      return bytes.count == 16 ? .uuid(UUID(uuid: bytes.loadUnaligned(as: uuid_t.self))) : .null
    case .binary, .transformable, .undefined: return .null
    }
  }
}
