import Foundation
import ObjectModel

/// An entry of the dictionaries with its names resolved.
struct FetchColumn {
  enum Source {
    case property(PropertyPath)
    case aggregate(FetchExpression.Function, PropertyPath?)
    case value(Value)
    case objectID
    case computed(ScalarReader, OperandType)
  }

  let name: String
  let source: Source

  var isAggregate: Bool { if case .aggregate = source { true } else { false } }
  var isValue: Bool { if case .value = source { true } else { false } }

  /// - Throws: ``ConditionError`` for what does not exist, or what the function can't be applied to.
  init(_ expression: FetchExpression, _ entity: Entity) throws {
    name = expression.name
    switch expression.kind {
    case .property(let names): source = .property(try PropertyPath(names, from: entity))
    case .value(let value): source = .value(value)
    case .objectID: source = .objectID
    case .computed(let operand):
      let scope = EntityScope(entity)
      let resolved = try operand.resolved(in: scope)
      let type = try scope.comparedType(resolved, nil)
      source = .computed(try ScalarReader(resolved, .none, scope: scope), type)
    case .aggregate(let function, let names):
      var path: PropertyPath?
      if let names { path = try PropertyPath(names, from: entity) }
      if let path, !function.accepts(path.type) {
        throw ConditionError(
          .typeMismatch, "\(function.rawValue) can't be computed of \(path.type.name)",
          fragment: names?.joined(separator: "."))
      }
      source = .aggregate(function, path)
    }
  }

  /// All stored attributes and to-one relationships of an entity.
  static func all(of entity: Entity) throws -> [FetchColumn] {
    var columns: [FetchColumn] = []
    for property in entity.properties where property.isPersistent && !property.isHidden {
      columns.append(try FetchColumn(.property(property.name), entity))
    }
    return columns
  }

  /// The type of the values, as an attribute has it.
  var type: AttributeType {
    switch source {
    case .property(let path): path.attributeType
    case .objectID: .uri
    case .computed(_, let type): type.attributeType
    case .value(let value): value.attributeType
    case .aggregate(.count, _): .integer64
    case .aggregate(.sum, let path):
      switch path?.type {
      case .integer: .integer64
      case .decimal: .decimal
      default: .double
      }
    case .aggregate(.average, let path): path?.type == .decimal ? .decimal : .double
    case .aggregate(_, let path): path?.attributeType ?? .integer64
    }
  }
}

extension PropertyPath {
  fileprivate var attributeType: AttributeType { last.attribute?.type ?? .uri }
}

extension FetchExpression.Function {
  fileprivate func accepts(_ type: OperandType) -> Bool {
    switch (self, type) {
    case (.count, _): true
    case (.sum, .integer), (.sum, .real), (.sum, .decimal): true
    case (.average, .integer), (.average, .real), (.average, .decimal): true
    case (.min, .data), (.max, .data), (.min, .object), (.max, .object), (.min, .null), (.max, .null): false
    case (.min, _), (.max, _): true
    default: false
    }
  }
}

extension OperandType {
  /// An attribute type for values of this type.
  fileprivate var attributeType: AttributeType {
    switch self {
    case .integer: .integer64
    case .real: .double
    case .boolean: .boolean
    case .date: .date
    case .decimal: .decimal
    case .text, .null: .string
    case .uri, .object: .uri
    case .uuid: .uuid
    case .data: .binary
    }
  }
}

extension Value {
  fileprivate var attributeType: AttributeType {
    switch self {
    case .null, .string: .string
    case .integer: .integer64
    case .double: .double
    case .boolean: .boolean
    case .decimal: .decimal
    case .date: .date
    case .data: .binary
    case .uuid: .uuid
    case .url: .uri
    }
  }
}
