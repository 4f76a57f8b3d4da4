import Foundation
import JSONText
import ObjectGraph

/// A place behind an object in the order of a query: the values that it is sorted by there, and its key.
struct ObjectPosition: Sendable {
  let values: [Value]
  let key: Int64

  /// The condition that an object comes behind this place.
  ///
  /// Ascending order has nil first; ties are broken by the key.
  func condition(in query: ObjectQuery, coordinatorOrdinal: UInt32) -> Condition {
    let id = ManagedObjectID(key: key, entity: query.entity, coordinatorOrdinal: coordinatorOrdinal)
    var ways: [Condition] = []
    var same: [Condition] = []
    for (sort, value) in zip(query.sorts, values) {
      let operand = Operand.keyPath(sort.keyPath)
      if let further = Self.further(operand, value, in: sort) { ways.append(.and(same + [further])) }
      same.append(value.isNull ? .isNull(operand) : .compare(operand, .equal, .value(value), []))
    }
    ways.append(.and(same + [.compare(.evaluatedObject, .greater, .object(id), [])]))
    guard let first = query.sorts.first, ways.count > 1 else { return .or(ways) }
    // Nothing new, but a range that an index knows how to look for.
    guard let value = values.first, !value.isNull, first.isAscending else { return .or(ways) }
    return .and([.compare(.keyPath(first.keyPath), .greaterOrEqual, .value(value), []), .or(ways)])
  }

  /// The condition that a value comes behind another; nil if none does.
  private static func further(_ operand: Operand, _ value: Value, in sort: ResolvedSort) -> Condition? {
    switch (sort.isAscending, value.isNull) {
    case (true, true): .not(.isNull(operand))
    case (true, false): .compare(operand, .greater, .value(value), [])
    case (false, true): nil
    case (false, false): .or([.compare(operand, .less, .value(value), []), .isNull(operand)])
    }
  }
}

/// The text of a place, which clients give back as they got it.
extension ObjectPosition {
  func cursor(of query: ObjectQuery) -> String {
    let fields: [JSONValue] = [.string(query.identity.digits), .integer(key)] + values.map(Self.json)
    return Data(JSONValue.array(fields).serializedBytes()).base64URLText
  }

  /// Reads the cursor of a query.
  ///
  /// - Throws: ``ObjectQueryError`` for any other text, and for that of another query.
  init(cursor: String, of query: ObjectQuery) throws(ObjectQueryError) {
    guard let data = Data(base64URLText: cursor),
      let fields = try? JSONValue(parsing: Array(data), dialect: .json).array, fields.count == query.sorts.count + 2,
      let key = fields[1].integer
    else { throw ObjectQueryError(.badRequest, "cursor is not one that a reply had as \"next\"") }
    guard fields[0].string == query.identity.digits else {
      throw ObjectQueryError(
        .badRequest, "cursor belongs to another query",
        hint: "give it with the same entity, predicate and sort as before")
    }
    var values: [Value] = []
    for (sort, field) in zip(query.sorts, fields.dropFirst(2)) {
      let type = try? sort.propertyPath(from: query.entity).last.attribute?.type
      guard let value = type.flatMap({ Self.value(field, $0) }) else {
        throw ObjectQueryError(.badRequest, "cursor is not one that a reply had as \"next\"")
      }
      values.append(value)
    }
    (self.values, self.key) = (values, key)
  }

  private static func json(_ value: Value) -> JSONValue {
    switch value {
    case .null, .data: .null
    case .integer(let number): .integer(number)
    case .boolean(let truth): .bool(truth)
    // As bits, since it has to be found again exactly.
    case .double(let number): .integer(Int64(bitPattern: number.bitPattern))
    case .date(let date): .integer(Int64(bitPattern: date.timeIntervalSinceReferenceDate.bitPattern))
    case .string, .decimal, .uuid, .url: .string(value.description)
    }
  }

  /// The value of an attribute's type; nil if it is none.
  private static func value(_ json: JSONValue, _ type: AttributeType) -> Value? {
    if json.isNull { return Value.null }
    switch type {
    case .integer16, .integer32, .integer64: return json.integer.map(Value.integer)
    case .boolean: return json.bool.map(Value.boolean)
    case .double, .float: return json.integer.map { .double(Double(bitPattern: UInt64(bitPattern: $0))) }
    case .date:
      return json.integer.map {
        .date(Date(timeIntervalSinceReferenceDate: Double(bitPattern: UInt64(bitPattern: $0))))
      }
    case .string: return json.string.map(Value.string)
    case .decimal: return json.string.flatMap { Decimal(string: $0) }.map(Value.decimal)
    case .uuid: return json.string.flatMap { UUID(uuidString: $0) }.map(Value.uuid)
    case .uri: return json.string.flatMap { URL(string: $0) }.map(Value.url)
    case .binary, .transformable, .undefined: return nil
    }
  }
}
