package import ObjectModel

extension Condition {
  /// The same condition in the form that stores and evaluators take: every key path exists, constants have their
  /// property's type and stand on the right, comparisons with nil are ``isNull(_:)``.
  /// - Throws: ``ConditionError`` that quotes the part that does not fit the entity.
  /// - Parameter includesTransient: whether the condition is for objects in memory, which have transient values too.
  package func resolved(for entity: Entity, includesTransient: Bool = false) throws -> Condition {
    try ConditionResolver(scope: EntityScope(entity, includesTransient: includesTransient)).resolve(self, depth: 0)
  }
}

extension Operand {
  /// The same operand with names that exist, as ``Condition/resolved(for:includesTransient:)`` makes a condition.
  package func resolved(in scope: EntityScope) throws -> Operand {
    try ConditionResolver(scope: scope).resolve(self)
  }
}

/// Fits a condition to an entity.
struct ConditionResolver {
  let scope: EntityScope

  /// SQLite refuses expressions 1,000 deep, and recursion needs an end.
  private static let depthLimit = 256

  func resolve(_ condition: Condition, depth: Int) throws -> Condition {
    if depth > Self.depthLimit {
      throw ConditionError(.unsupported, "the predicate is nested more than \(Self.depthLimit) deep")
    }
    switch condition {
    case .constant: return condition
    case .not(let inner): return .not(try resolve(inner, depth: depth + 1))
    case .and(let parts): return .and(try resolve(parts, depth: depth + 1))
    case .or(let parts): return .or(try resolve(parts, depth: depth + 1))
    case .isNull(let operand):
      if case .value(let value) = operand { return .constant(value.isNull) }
      let operand = try resolve(operand)
      if try type(of: operand) == nil { return .constant(false) }
      return .isNull(operand)
    case .quantified(let quantifier, let comparison):
      return try resolve(quantifier, comparison, depth: depth + 1)
    case .exists(let collection, let variable, let inner):
      return .exists(collection, variable: variable, try resolve(inner, of: collection, variable, depth: depth))
    case .compare(let left, let comparison, let right, let options):
      return try resolve(left, comparison, right: right, options: options, in: condition)
    case .between(let operand, let lower, let upper):
      return .and([
        try resolve(operand, .greaterOrEqual, right: lower, options: [], in: condition),
        try resolve(operand, .lessOrEqual, right: upper, options: [], in: condition),
      ])
    case .isIn(let operand, let list, let options): return try resolve(operand, list, options: options, in: condition)
    }
  }

  private func resolve(_ conditions: [Condition], depth: Int) throws -> [Condition] {
    var result: [Condition] = []
    result.reserveCapacity(conditions.count)
    for condition in conditions { result.append(try resolve(condition, depth: depth)) }
    return result
  }

  /// The type of a key path or of the object under test; nil if the operand is a constant.
  private func type(of operand: Operand) throws -> OperandType? {
    try scope.type(of: operand)
  }

  private func resolve(
    _ left: Operand, _ comparison: Condition.Comparison, right: Operand, options: Condition.TextOptions,
    in condition: Condition
  ) throws -> Condition {
    if comparison == .contains, let path = left.path, try scope.endOfToMany(path.names, from: path.variable) != nil {
      return try resolve(.quantified(.any, .compare(left, .equal, right, options)), depth: 1)
    }
    let (left, right) = (try resolve(left), try resolve(right))
    let types = (try type(of: left), try type(of: right))
    switch types {
    case (nil, nil): return try resolveConstants(left, comparison, right: right, options: options, in: condition)
    case (nil, .some(let type)):
      let left = try converted(left, to: type, for: comparison, in: condition)
      if let mirrored = comparison.mirrored {
        return compare(right, mirrored, right: left, type: type, options: options)
      }
      try check(type, comparison, options: options, in: condition)
      try check(comparison, pattern: right, options, in: condition)
      return left == .value(.null) ? .constant(false) : .compare(left, comparison, right, options)
    case (.some(let type), nil):
      try check(type, comparison, options: options, in: condition)
      try check(comparison, pattern: right, options, in: condition)
      return compare(
        left, comparison, right: try converted(right, to: type, for: comparison, in: condition), type: type,
        options: options)
    case (.some(let type), .some(let other)):
      guard type.isComparable(with: other) else {
        throw mismatch("\(type.name) can't be compared with \(other.name)", condition)
      }
      try check(type, comparison, options: options, in: condition)
      try check(comparison, pattern: right, options, in: condition)
      return .compare(left, comparison, right, options)
    }
  }

  /// A comparison with a constant on the right.
  private func compare(
    _ left: Operand, _ comparison: Condition.Comparison, right: Operand, type: OperandType,
    options: Condition.TextOptions
  ) -> Condition {
    guard right == .value(.null) else { return .compare(left, comparison, right, options) }
    return switch comparison {
    case .equal: .isNull(left)
    case .notEqual: .not(.isNull(left))
    default: .constant(false)
    }
  }

  /// A comparison that is the same for all objects, such as `1 == 1`.
  private func resolveConstants(
    _ left: Operand, _ comparison: Condition.Comparison, right: Operand, options: Condition.TextOptions,
    in condition: Condition
  ) throws -> Condition {
    if case .object(let first) = left, case .object(let second) = right {
      switch comparison {
      case .equal: return .constant(first == second)
      case .notEqual: return .constant(first != second)
      default: throw mismatch("objects can be compared with == and != only", condition)
      }
    }
    guard case .value(let first) = left, case .value(let second) = right else {
      throw mismatch("an object can't be compared with a value", condition)
    }
    if first.isNull || second.isNull {
      let areEqual = first.isNull && second.isNull
      return .constant(comparison == .equal ? areEqual : comparison == .notEqual && !areEqual)
    }
    // A text may be the spelling of the other side's value.
    if case .string = first, !OperandType(second).isText, let mirrored = comparison.mirrored {
      return try resolveConstants(right, mirrored, right: left, options: options, in: condition)
    }
    let type = OperandType(first)
    try check(type, comparison, options: options, in: condition)
    try check(comparison, pattern: right, options, in: condition)
    let converted = try converted(right, to: type, for: comparison, in: condition)
    return .constant(comparison.isTrue(ofConstants: left, converted, type: type, options: options))
  }

  private func resolve(
    _ operand: Operand, _ list: [Operand], options: Condition.TextOptions, in condition: Condition
  ) throws -> Condition {
    let operand = try resolve(operand)
    var constants: [Operand] = []
    var others: [Condition] = []
    let type = try type(of: operand)
    for element in list {
      let element = try resolve(element)
      guard let type, try self.type(of: element) == nil else {
        others.append(try resolve(operand, .equal, right: element, options: options, in: condition))
        continue
      }
      try check(type, .equal, options: options, in: condition)
      let constant = try converted(element, to: type, for: .equal, in: condition)
      if constant == .value(.null) { others.append(.isNull(operand)) } else { constants.append(constant) }
    }
    if !constants.isEmpty { others.append(.isIn(operand, constants, options)) }
    return others.count == 1 ? others[0] : .or(others)
  }

  // MARK: Types

  private func check(
    _ type: OperandType, _ comparison: Condition.Comparison, options: Condition.TextOptions, in condition: Condition
  ) throws {
    if comparison.isOfTexts && !type.isText {
      throw mismatch("\(comparison.rawValue) compares texts, not \(type.name)", condition)
    }
    if !options.isEmpty && !type.isText {
      throw mismatch("\(options) is for texts, not for \(type.name)", condition)
    }
    if case .object = type, comparison.isOrdering, !condition.isPlace {
      throw mismatch("objects can be compared with == and != only", condition)
    }
  }

  /// A regular expression must be readable, and known before the first row is.
  private func check(
    _ comparison: Condition.Comparison, pattern: Operand, _ options: Condition.TextOptions, in condition: Condition
  ) throws {
    guard comparison == .matches else { return }
    switch pattern {
    case .value(.string(let pattern)):
      if WholeTextPattern.cached(pattern, options) == nil {
        throw ConditionError(.syntax, "the regular expression can't be read", fragment: "\(condition)")
      }
    case .value: break
    default:
      throw ConditionError(.unsupported, "the pattern of MATCHES must be a constant", fragment: "\(condition)")
    }
  }

  private func converted(
    _ operand: Operand, to type: OperandType, for comparison: Condition.Comparison, in condition: Condition
  ) throws -> Operand {
    switch operand {
    case .object(let id):
      guard case .object(let root, let index) = type else {
        throw mismatch("\(type.name) can't be compared with an object", condition)
      }
      guard id.rootIndex == index else { throw mismatch("the object is none of \(root)", condition) }
      return operand
    case .value(let value):
      if value.isNull { return operand }
      if comparison.isOfTexts {
        guard case .string = value else { throw mismatch("\(comparison.rawValue) needs a text", condition) }
        return operand
      }
      if let converted = value.comparable(with: type) { return .value(converted) }
      throw mismatch("\(value.predicateText) can't be compared with \(type.name)", condition)
    case .evaluatedObject, .keyPath, .variable, .variablePath, .arithmetic, .function, .aggregate, .entityName:
      return operand
    }
  }

  private func mismatch(_ message: String, _ condition: Condition) -> ConditionError {
    ConditionError(.typeMismatch, message, fragment: "\(condition)")
  }
}

extension ConditionResolver {
  /// The condition of a subquery, in which the variable stands for an element of the collection.
  func resolve(
    _ condition: Condition, of collection: Operand.Collection, _ variable: String, depth: Int
  ) throws -> Condition {
    let element = try scope.destination(of: collection)
    return try ConditionResolver(scope: scope.binding(variable, to: element)).resolve(condition, depth: depth + 1)
  }

  /// ANY becomes a subquery, ALL is none that does not, NONE is not any.
  func resolve(
    _ quantifier: Condition.Quantifier, _ comparison: Condition, depth: Int
  ) throws -> Condition {
    switch quantifier {
    case .any: return try any(comparison, isNegated: false, depth: depth)
    case .none: return .not(try any(comparison, isNegated: false, depth: depth))
    case .all: return .not(try any(comparison, isNegated: true, depth: depth))
    }
  }

  private func any(
    _ comparison: Condition, isNegated: Bool, depth: Int, isInside: Bool = false
  ) throws -> Condition {
    guard let left = comparison.leftOperand else {
      throw ConditionError(
        .unsupported, "ANY, ALL and NONE take a comparison of a path through a to-many relationship",
        fragment: "\(comparison)")
    }
    let (start, names) = left.path ?? (nil, [])
    guard let end = try scope.endOfToMany(names, from: start) else {
      // Behind the last to-many relationship of the path.
      if isInside { return try resolve(isNegated ? .not(comparison) : comparison, depth: depth) }
      throw ConditionError(
        .typeMismatch, "ANY, ALL and NONE need a path through a to-many relationship", fragment: "\(left)")
    }
    let collection = Operand.Collection(Array(names[...end]), from: start)
    let variable = "_\(scope.variableCount)"
    let element = Operand(path: Array(names[(end + 1)...]), from: variable)
    let inner = ConditionResolver(scope: scope.binding(variable, to: try scope.destination(of: collection)))
    return .exists(
      collection, variable: variable,
      try inner.any(comparison.replacingLeft(element), isNegated: isNegated, depth: depth + 1, isInside: true))
  }

  /// The operand with the conditions of its subqueries, and the names that no property has, resolved.
  func resolve(_ operand: Operand) throws -> Operand {
    switch operand {
    case .value, .object, .evaluatedObject, .variable: return operand
    case .keyPath(let names): return scope.meaning(of: names, from: nil) ?? operand
    case .variablePath(let variable, let names): return scope.meaning(of: names, from: variable) ?? operand
    case .arithmetic(let left, let arithmetic, let right):
      return scope.fitting(try resolve(left), arithmetic, right: try resolve(right))
    case .function(let function, let inner): return .function(function, try resolve(inner))
    case .aggregate(let aggregation, let collection, let variable, let condition):
      let element = ConditionResolver(scope: scope.binding(variable, to: try scope.destination(of: collection)))
      return .aggregate(
        try aggregation.mapping { operand in try element.resolve(operand) }, collection,
        variable: variable, try resolve(condition, of: collection, variable, depth: 1))
    case .entityName(let object): return .entityName(try resolve(object))
    }
  }
}

extension Condition {
  /// True of `SELF > object` and its like: places in the order of keys, by which fetches break ties.
  fileprivate var isPlace: Bool { if case .compare(.evaluatedObject, _, .object, _) = self { true } else { false } }

  /// The left side of a comparison; nil for other conditions.
  fileprivate var leftOperand: Operand? {
    switch self {
    case .compare(let left, _, _, _), .between(let left, _, _), .isIn(let left, _, _), .isNull(let left): left
    default: nil
    }
  }

  fileprivate func replacingLeft(_ operand: Operand) -> Condition {
    switch self {
    case .compare(_, let comparison, let right, let options): .compare(operand, comparison, right, options)
    case .between(_, let lower, let upper): .between(operand, lower: lower, upper: upper)
    case .isIn(_, let list, let options): .isIn(operand, list, options)
    case .isNull: .isNull(operand)
    default: self
    }
  }
}
