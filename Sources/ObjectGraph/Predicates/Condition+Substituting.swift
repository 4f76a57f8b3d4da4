import ObjectModel

extension Condition {
  /// The condition with values in place of the `$name` variables that the dictionary names.
  ///
  /// After IN a variable may be given a collection.
  ///
  /// - Throws: ``ConditionError`` for a value of a type that can't be compared.
  public func substituting(_ variables: [String: (any Sendable)?]) throws(ConditionError) -> Condition {
    try VariableSubstitution(arguments: variables.mapValues { FormatArgument(value: $0) }).condition(self)
  }
}

/// Puts values in place of variables, but not of those that a subquery binds.
private struct VariableSubstitution {
  var arguments: [String: FormatArgument]

  func condition(_ condition: Condition) throws(ConditionError) -> Condition {
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

  private func conditions(_ conditions: [Condition]) throws(ConditionError) -> [Condition] {
    var result: [Condition] = []
    for condition in conditions { result.append(try self.condition(condition)) }
    return result
  }

  private func binding(_ variable: String) -> Self {
    Self(arguments: arguments.filter { $0.key != variable })
  }

  private func operand(_ operand: Operand) throws(ConditionError) -> Operand {
    let result = try operands(operand)
    guard result.count == 1 else {
      throw ConditionError(.argument, "a collection can only follow IN", fragment: "\(operand)")
    }
    return result[0]
  }

  /// The operand with its variables replaced; several if it is one whose value is a collection.
  private func operands(_ operand: Operand) throws(ConditionError) -> [Operand] {
    switch operand {
    case .value, .object, .evaluatedObject, .keyPath, .variablePath: return [operand]
    case .arithmetic(let left, let arithmetic, let right):
      return [.arithmetic(try self.operand(left), arithmetic, try self.operand(right))]
    case .function(let function, let inner): return [.function(function, try self.operand(inner))]
    case .count(let collection, let variable, let inner):
      return [.count(collection, variable: variable, try binding(variable).condition(inner))]
    case .variable(let name):
      guard let argument = arguments[name] else { return [operand] }
      if let value = argument.operand { return [value] }
      if let list = argument.list { return list }
      throw ConditionError(.argument, "the value of the variable can't be compared", fragment: "$\(name)")
    }
  }
}
