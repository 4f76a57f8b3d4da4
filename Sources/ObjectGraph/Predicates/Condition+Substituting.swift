import ObjectModel

extension Condition {
  /// The condition with values in place of the `$name` variables that the dictionary names.
  ///
  /// After IN a variable may be given a collection.
  ///
  /// - Throws: ``ConditionError`` for a value of a type that can't be compared.
  public func substituting(_ variables: [String: (any Sendable)?]) throws(ConditionError) -> Condition {
    let arguments = variables.mapValues { FormatArgument(value: $0) }
    return try mapOperands { operands throws(ConditionError) in
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

  /// The condition with other operands; only after IN may their number change.
  func mapOperands(
    _ map: ([Operand]) throws(ConditionError) -> [Operand]
  ) throws(ConditionError) -> Condition {
    func one(_ operand: Operand) throws(ConditionError) -> Operand {
      let mapped = try map([operand])
      guard mapped.count == 1 else {
        throw ConditionError(.argument, "a collection can only follow IN", fragment: "\(operand)")
      }
      return mapped[0]
    }
    func each(_ conditions: [Condition]) throws(ConditionError) -> [Condition] {
      var result: [Condition] = []
      for condition in conditions { result.append(try condition.mapOperands(map)) }
      return result
    }
    switch self {
    case .constant: return self
    case .compare(let left, let comparison, let right, let options):
      return .compare(try one(left), comparison, try one(right), options)
    case .between(let operand, let lower, let upper):
      return .between(try one(operand), lower: try one(lower), upper: try one(upper))
    case .isIn(let operand, let list, let options): return .isIn(try one(operand), try map(list), options)
    case .isNull(let operand): return .isNull(try one(operand))
    case .not(let condition): return .not(try condition.mapOperands(map))
    case .and(let conditions): return .and(try each(conditions))
    case .or(let conditions): return .or(try each(conditions))
    }
  }
}
