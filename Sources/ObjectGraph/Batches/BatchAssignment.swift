import Foundation
import ObjectModel

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
  init(_ name: String, _ operand: Operand, entity: Entity) throws(ConditionError) {
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
      source = .constant(converted)
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
