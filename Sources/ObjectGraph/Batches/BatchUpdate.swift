import Foundation
import ObjectModel

/// Changes properties of all objects that a fetch request names straight in the store, in one transaction.
///
/// New values are constants, objects, or computed from the object's present values. Validation rules are not looked
/// at, but that required properties have values. A unique value that is taken makes the request fail.
///
///     let request = BatchUpdateRequest(
///       try FetchRequest<Person>(#Predicate { $0.age < 18 }),
///       propertiesToUpdate: ["age": try Operand(format: "age + 1"), "department": .object(id)])
///     let result = try context.execute(request)
public struct BatchUpdateRequest: PersistentStoreRequest {
  let query: BatchQuery
  /// The new values by the name of an attribute or a to-one relationship.
  public var propertiesToUpdate: [String: Operand]
  /// The kind of result to return.
  public var resultType = BatchResult.Kind.statusOnly

  /// Changes what a fetch request names.
  ///
  /// - Parameters:
  ///   - request: its entity, condition, order, limit and offset count; pending changes do not.
  ///   - propertiesToUpdate: the new values by the name of an attribute or a to-one relationship.
  public init<Object: ManagedObject>(_ request: FetchRequest<Object>, propertiesToUpdate: [String: Operand]) {
    query = BatchQuery(request)
    self.propertiesToUpdate = propertiesToUpdate
  }
}

/// Runs a batch update.
struct BatchUpdate {
  private let request: BatchUpdateRequest

  init(_ request: BatchUpdateRequest) { self.request = request }

  func run(_ writer: inout BatchWriter) throws {
    let coordinator = writer.coordinator
    let query = try request.query.resolved(coordinator.model)
    let assignments = try request.propertiesToUpdate.sorted { $0.key < $1.key }.map { name, operand in
      try BatchAssignment(name, operand, entity: query.entity)
    }
    // Found before the first is changed, since that can change which of them match.
    let ids = try BatchQuery.ids(query, writer.transaction, ordinal: coordinator.ordinal)
    writer.count(ids)
    if assignments.isEmpty { return }
    let view = PendingView(coordinator, reader: writer.transaction, levels: [])
    let related = RelatedObjects(
      row: { [transaction = writer.transaction] in try transaction.row(for: $0)?.row },
      destinations: { try view.destinations(of: $0, $1) })
    for start in stride(from: 0, to: ids.count, by: BatchWriter.chunkSize) {
      let chunk = Array(ids[start..<min(start + BatchWriter.chunkSize, ids.count)])
      var changes = BatchChanges(coordinator, writer.transaction)
      for (id, stored) in zip(chunk, try writer.transaction.rows(for: chunk)) {
        guard let stored = stored?.row else { continue }
        let scope = EvaluationScope(id: id, row: stored, related: related)
        try changes.update(id, stored: stored) { row in
          for assignment in assignments { try assignment.apply(to: &row, scope) }
        }
        for assignment in assignments {
          guard let destinations = try assignment.destinations(scope) else { continue }
          try changes.set(assignment.property, of: id, to: destinations)
        }
        try changes.checkRequired(coordinator.model.entities[Int(stored.entityIndex)], id)
      }
      try writer.write(changes.changeSet)
    }
  }
}

/// A new value of one property in a batch update: a constant, or computed from each object.
struct BatchAssignment {
  private enum Source {
    case constant(Value)
    case object(ManagedObjectID?)
    case computed(ScalarReader)
  }

  let property: Property
  private let entity: Entity
  private let source: Source

  /// - Throws: ``ConditionError`` that names what does not exist, or can't be the property's value.
  init(_ name: String, _ operand: Operand, entity: Entity) throws {
    self.entity = entity
    property = try entity.storedProperty(name)
    if property.storage == .toMany {
      throw ConditionError(
        .unsupported, "\(entity.name).\(name) is to-many; update the to-one relationship of the other end, or save",
        fragment: name)
    }
    switch (operand, property.attribute) {
    case (.value(.null), nil): source = .object(nil)
    case (.object(let id), nil): source = .object(id)
    case (.value(let value), let attribute?):
      guard let converted = value.converted(to: attribute.type) else {
        throw ConditionError(
          .typeMismatch, "\(entity.name).\(name) takes \(attribute.type.rawValue), not \(value.predicateText)",
          fragment: name)
      }
      // Stores keep NaN as nil.
      source = .constant(converted.isNotANumber ? .null : converted)
    default:
      // What can be compared with the property can be its value; the conversion of each value has the last word.
      _ = try Condition.compare(.keyPath([name]), .equal, operand, []).resolved(for: entity)
      source = .computed(try ScalarReader(operand, .none, scope: EntityScope(entity)))
    }
  }

  /// Sets an attribute.
  func apply(to row: inout Row, _ scope: EvaluationScope) throws {
    guard let attribute = property.attribute else { return }
    if case .constant(let value) = source { return row.set(value, property.slot) }
    guard case .computed(let reader) = source else { return }
    let value = try reader.read(scope) { $0.value(as: attribute.type) }
    guard let converted = value.converted(to: attribute.type) else {
      throw ConditionError(
        .typeMismatch,
        "\(entity.name).\(property.name) takes \(attribute.type.rawValue), and \(value.predicateText) was computed",
        fragment: property.name)
    }
    row.set(converted, property.slot)
  }

  /// The destination of a relationship, in an array; nil if this is of an attribute.
  func destinations(_ scope: EvaluationScope) throws -> [ManagedObjectID]? {
    if property.attribute != nil { return nil }
    switch source {
    case .object(let id): return id.map { [$0] } ?? []
    case .computed(let reader):
      return try reader.read(scope) { scalar in
        if case .object(let id) = scalar { [id] } else { [] }
      }
    case .constant: return nil
    }
  }
}

extension Scalar {
  /// The value as an attribute of that type would have it.
  fileprivate func value(as type: AttributeType) -> Value {
    switch self {
    case .null: return .null
    case .integer(let number): return .integer(number)
    case .real(let number): return type == .date ? .date(Date(timeIntervalSinceReferenceDate: number)) : .double(number)
    case .object: return .null
    case .bytes(let bytes):
      if type == .uuid { return .uuid(UUID(uuid: bytes.loadUnaligned(as: uuid_t.self))) }
      let text = String(decoding: bytes, as: UTF8.self)
      return type == .string ? .string(text) : Value(text, as: type) ?? .string(text)
    }
  }
}
