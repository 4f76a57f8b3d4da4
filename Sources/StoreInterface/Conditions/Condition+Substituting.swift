import ObjectModel

extension Condition {
  /// The condition with values in place of the `$name` variables that the dictionary names.
  ///
  /// After IN a variable may be given a collection. Variables that a subquery binds stay.
  ///
  /// - Throws: ``ConditionError`` for a value of a type that can't be compared.
  public func substituting(_ variables: [String: Any?]) throws -> Condition {
    let arguments = variables.mapValues { FormatArgument(value: $0) }
    return try mapOperands { operands in
      var result: [Operand] = []
      for operand in operands {
        guard case .variable(let name) = operand, let argument = arguments[name] else {
          result.append(operand)
          continue
        }
        if let value = argument.operand {
          result.append(value)
        } else if let list = argument.list {
          result += list
        } else {
          throw ConditionError(.argument, "the value of the variable can't be compared", fragment: "$\(name)")
        }
      }
      return result
    }
  }

  /// The condition with other operands where they are not composed; only after IN may their number change.
  ///
  /// What a subquery's variable stands for is not handed over.
  package func mapOperands(_ map: ([Operand]) throws -> [Operand]) throws -> Condition {
    try withoutActuallyEscaping(map) { map in
      try OperandMapping(map: map).condition(self)
    }
  }
}

/// Replaces the operands of a condition, those inside of others included.
private struct OperandMapping {
  let map: ([Operand]) throws -> [Operand]
  /// The variables of the subqueries around.
  var bound: Set<String> = []

  func condition(_ condition: Condition) throws -> Condition {
    switch condition {
    case .constant: return condition
    case .compare(let left, let comparison, let right, let options):
      return .compare(try operand(left), comparison, try operand(right), options)
    case .between(let middle, let lower, let upper):
      return .between(try operand(middle), lower: try operand(lower), upper: try operand(upper))
    case .isIn(let element, let list, let options):
      var result: [Operand] = []
      for operand in list { result += try operands(operand) }
      return .isIn(try operand(element), result, options)
    case .isNull(let inner): return .isNull(try operand(inner))
    case .quantified(let quantifier, let inner): return .quantified(quantifier, try self.condition(inner))
    case .exists(let collection, let variable, let inner):
      return .exists(collection, variable: variable, try binding(variable).condition(inner))
    case .not(let inner): return .not(try self.condition(inner))
    case .and(let parts): return .and(try conditions(parts))
    case .or(let parts): return .or(try conditions(parts))
    }
  }

  private func conditions(_ conditions: [Condition]) throws -> [Condition] {
    var result: [Condition] = []
    for condition in conditions { result.append(try self.condition(condition)) }
    return result
  }

  private func binding(_ variable: String) -> Self { Self(map: map, bound: bound.union([variable])) }

  private func operand(_ operand: Operand) throws -> Operand {
    let result = try operands(operand)
    guard result.count == 1 else {
      throw ConditionError(.argument, "a collection can only follow IN", fragment: "\(operand)")
    }
    return result[0]
  }

  private func operands(_ operand: Operand) throws -> [Operand] {
    switch operand {
    case .arithmetic(let left, let arithmetic, let right):
      return [.arithmetic(try self.operand(left), arithmetic, try self.operand(right))]
    case .function(let function, let inner): return [.function(function, try self.operand(inner))]
    case .aggregate(let aggregation, let collection, let variable, let inner):
      let element = binding(variable)
      let mapped = try aggregation.mapping { operand in try element.operand(operand) }
      return [.aggregate(mapped, collection, variable: variable, try element.condition(inner))]
    case .entityName(let object): return [.entityName(try self.operand(object))]
    case .variable(let name), .variablePath(let name, _):
      return bound.contains(name) ? [operand] : try map([operand])
    case .value, .object, .evaluatedObject, .keyPath: return try map([operand])
    }
  }
}
