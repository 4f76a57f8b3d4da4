import Foundation
import ObjectModel
import SQLGeneration
import StoreInterface

/// Computes derived attributes in the transaction that changes what they are computed from.
struct DerivedColumns: Sendable {
  private struct Column: Sendable {
    let statement: DerivedStatement
    let table: String
    let column: String

    /// Sets values that were computed here; the parameters are arrays of keys and of texts.
    var setSQL: String {
      "UPDATE \(table) AS r SET \(column) = v.t FROM unnest($1, $2) AS v (k, t) "
        + "WHERE r._key = ANY($1) AND r._key = v.k"
    }
  }

  private let columns: [Column]
  private let coordinatorOrdinal: UInt32

  init(_ schema: Schema, coordinatorOrdinal: UInt32) {
    self.coordinatorOrdinal = coordinatorOrdinal
    columns = DerivedAttribute.all(schema.model).map { attribute in
      let table = schema.table(of: attribute.entity)
      return Column(
        statement: DerivedStatement(attribute, dialect: .postgres), table: SchemaName.quoted(table.name),
        column: SchemaName.quoted(table.columnName(of: attribute.property)))
    }
  }

  var isEmpty: Bool { columns.isEmpty }

  /// The keys of the objects whose values may change, by the attribute's place; to be asked before and after.
  func affected(by changes: ChangedKeys, _ connection: Connection) throws(StoreError) -> [Set<Int64>] {
    var affected: [Set<Int64>] = []
    for column in columns { affected.append(try self.affected(column, by: changes, connection)) }
    return affected
  }

  /// A value of an object, and whether it is another one than before.
  private typealias Computed = (value: DerivedValue, isNew: Bool)

  /// Computes what may have changed.
  ///
  /// - Parameter affected: what ``affected(by:_:)`` gave before the changes were written.
  /// - Returns: the new values, and all of the objects that were changed: whoever changed them may have seen older ones.
  func compute(
    _ changes: ChangedKeys, affectedBefore: [Set<Int64>], _ connection: Connection
  ) throws(StoreError) -> [DerivedValue] {
    let now = Date().timeIntervalSinceReferenceDate
    let written = changes
    var changes = changes
    var values: [DerivedValue] = []
    // Attributes that are computed from others come behind them.
    for (column, before) in zip(columns, affectedBefore) {
      let keys = before.union(try affected(column, by: changes, connection))
      if keys.isEmpty { continue }
      let computed =
        column.statement.finishedInSwift
        ? try finish(column, of: keys, connection) : try compute(column, of: keys, now: now, connection: connection)
      if column.statement.attribute.operation != .now { changes.add(computed.filter(\.isNew).map(\.value)) }
      let isWritten = written[column.statement.attribute.entity]
      values += computed.filter { $0.isNew || isWritten.contains($0.value.id.key) }.map(\.value)
    }
    return values
  }

  /// Computes the attributes of all objects, after a change of the model.
  func computeAll(_ connection: Connection) throws(StoreError) {
    let now = Date().timeIntervalSinceReferenceDate
    for column in columns {
      if column.statement.finishedInSwift {
        _ = try finish(column, of: nil, connection)
      } else {
        var parameters = Parameters([.null])
        if column.statement.attribute.operation == .now { parameters.add(now) }
        _ = try connection.query(column.statement.updateAllSQL, parameters)
      }
    }
  }

  private func affected(
    _ column: Column, by changes: ChangedKeys, _ connection: Connection
  ) throws(StoreError) -> Set<Int64> {
    try column.statement.attribute.affected(by: changes) { hop, origin, keys throws(StoreError) in
      guard let sql = DerivedStatement.nearSQL(hop, origin: origin, dialect: .postgres) else { return [] }
      let near = try connection.query(sql, Self.parameters(keys))
      return Set((0..<near.rowCount).map { near.integer($0, 0) })
    }
  }

  private static func parameters(_ keys: Set<Int64>) -> Parameters {
    var parameters = Parameters()
    parameters.add(integers: keys.sorted())
    return parameters
  }

  private func compute(
    _ column: Column, of keys: Set<Int64>, now: Double, connection: Connection
  ) throws(StoreError) -> [Computed] {
    let attribute = column.statement.attribute
    guard let type = attribute.property.attribute?.type else { return [] }
    var parameters = Self.parameters(keys)
    if attribute.operation == .now { parameters.add(now) }
    let result = try connection.query(column.statement.updateTellingAllSQL, parameters)
    return (0..<result.rowCount).map { row in
      let value = result.isNull(row, 1) ? .null : Self.value(result, row: row, as: type)
      return (derived(value, attribute, of: result.integer(row, 0)), result.integer(row, 2) == 1)
    }
  }

  /// Computes values that the database can't: reads what they are made of, and writes those that change.
  private func finish(
    _ column: Column, of keys: Set<Int64>?, _ connection: Connection
  ) throws(StoreError) -> [Computed] {
    let attribute = column.statement.attribute
    guard let type = attribute.property.attribute?.type else { return [] }
    let sql = column.statement.sourceSQL(ofAll: keys == nil)
    let sources = try connection.query(sql, keys.map(Self.parameters) ?? Parameters())
    var changed = ColumnArrays([.integer, .text])
    var values: [Computed] = []
    for row in 0..<sources.rowCount {
      let key = sources.integer(row, 0)
      let text = Self.text(column.statement.finished(sources.textIfPresent(row, 2)))
      let isNew = text != sources.textIfPresent(row, 1)
      // Nobody asks for all that are as they were.
      if !isNew, keys == nil { continue }
      values.append((derived(text.map { Value($0, as: type) ?? .null } ?? .null, attribute, of: key), isNew))
      if !isNew { continue }
      changed.integer(key)
      if let text { changed.text(text) } else { changed.null() }
    }
    if changed.rowCount > 0 { _ = try connection.query(column.setSQL, changed.parameters) }
    return values
  }

  private static func text(_ binding: SQLBinding) -> String? {
    if case .text(let text) = binding { text } else { nil }
  }

  private func derived(_ value: Value, _ attribute: DerivedAttribute, of key: Int64) -> DerivedValue {
    let id = ManagedObjectID(key: key, entity: attribute.entity, coordinatorOrdinal: coordinatorOrdinal)
    return DerivedValue(id: id, slot: attribute.property.slot, value: value)
  }

  private static func value(_ result: QueryResult, row: Int, as type: AttributeType) -> Value {
    switch type {
    case .integer16, .integer32, .integer64: return .integer(result.integer(row, 1))
    case .boolean: return .boolean(result.integer(row, 1) != 0)
    case .double, .float: return .double(result.real(row, 1))
    case .date: return .date(Date(timeIntervalSinceReferenceDate: result.real(row, 1)))
    case .string: return .string(result.text(row, 1))
    case .decimal: return Decimal(string: result.text(row, 1)).map(Value.decimal) ?? .null
    case .uri: return URL(string: result.text(row, 1)).map(Value.url) ?? .null
    case .uuid:
      let bytes = result.bytes(row, 1)
      return bytes.count == 16 ? .uuid(UUID(uuid: bytes.loadUnaligned(as: uuid_t.self))) : .null
    case .binary, .transformable, .undefined: return .null
    }
  }
}
