extension Condition: CustomStringConvertible {
  /// The condition as a format string that reads as the same condition.
  public var description: String {
    switch self {
    case .constant(let truth): truth ? "TRUEPREDICATE" : "FALSEPREDICATE"
    case .compare(let left, let comparison, let right, let options): "\(left) \(comparison.rawValue)\(options) \(right)"
    case .between(let operand, let lower, let upper): "\(operand) BETWEEN {\(lower), \(upper)}"
    case .isIn(let operand, let list, let options):
      "\(operand) IN\(options) {\(list.map(\.description).joined(separator: ", "))}"
    case .isNull(let operand): "\(operand) == nil"
    case .quantified(let quantifier, let condition): "\(quantifier.rawValue) \(condition)"
    case .exists(let collection, let variable, let condition):
      "SUBQUERY(\(collection), $\(variable), \(condition)).@count > 0"
    case .not(let condition): "NOT (\(condition))"
    case .and(let conditions): Self.joined(conditions, " AND ", empty: "TRUEPREDICATE")
    case .or(let conditions): Self.joined(conditions, " OR ", empty: "FALSEPREDICATE")
    }
  }

  private static func joined(_ conditions: [Condition], _ separator: String, empty: String) -> String {
    if conditions.isEmpty { return empty }
    return conditions.map { $0.isCompound ? "(\($0))" : $0.description }.joined(separator: separator)
  }

  private var isCompound: Bool {
    switch self {
    case .and, .or: true
    default: false
    }
  }
}

extension Condition.TextOptions: CustomStringConvertible {
  /// `[c]`, `[d]`, `[cd]` or nothing.
  public var description: String {
    if isEmpty { return "" }
    return "[" + (contains(.caseInsensitive) ? "c" : "") + (contains(.diacriticInsensitive) ? "d" : "") + "]"
  }
}
