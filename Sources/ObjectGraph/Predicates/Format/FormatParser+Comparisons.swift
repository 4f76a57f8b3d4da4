extension FormatParser {
  static let symbols: [String: Condition.Comparison] = [
    "=": .equal, "==": .equal, "!=": .notEqual, "<>": .notEqual, "<": .less, "<=": .lessOrEqual, "=<": .lessOrEqual,
    ">": .greater, ">=": .greaterOrEqual, "=>": .greaterOrEqual,
  ]
  static let words: [String: Condition.Comparison] = [
    "BEGINSWITH": .beginsWith, "ENDSWITH": .endsWith, "CONTAINS": .contains, "LIKE": .like, "MATCHES": .matches,
  ]

  mutating func comparison() throws(ConditionError) -> Condition {
    let isSubquery = token.keyword == "SUBQUERY"
    let left = try operand()
    if token.keyword == "IN" {
      try advance()
      let options = try options()
      return try membership(of: left, options)
    }
    if token.keyword == "BETWEEN" {
      try advance()
      let place = token
      let bounds = try bounds()
      guard bounds.count == 2 else {
        throw lexer.error(.syntax, "BETWEEN takes two bounds: {lower, upper}", place.start..<place.end)
      }
      return .between(left, lower: bounds[0], upper: bounds[1])
    }
    var comparison: Condition.Comparison?
    if case .symbol(let symbol) = token.kind { comparison = Self.symbols[symbol] }
    if let keyword = token.keyword { comparison = Self.words[keyword] }
    guard let comparison else {
      throw error("a comparison was expected after \(left)")
    }
    try advance()
    let options = try options()
    let right = try operand()
    if isSubquery, case .aggregate(.count, let collection, let variable, let condition) = left,
      comparison == .greater, right == .value(.integer(0))
    {
      return .exists(collection, variable: variable, condition)
    }
    return .compare(left, comparison, right, options)
  }

  /// What stands in a list, in a to-many relationship, or as a part in a text.
  private mutating func membership(
    of left: Operand, _ options: Condition.TextOptions
  ) throws(ConditionError) -> Condition {
    if let list = try list() { return .isIn(left, list, options) }
    let place = token
    let whole = try operand()
    switch whole {
    case .keyPath, .variablePath, .value(.string), .function: return .compare(whole, .contains, left, options)
    case .variable: return .isIn(left, [whole], options)
    default:
      throw lexer.error(
        .syntax, "a list in braces, a collection or a to-many relationship was expected", place.start..<place.end)
    }
  }

  /// `[c]`, `[d]`, `[cd]`, `[n]` or nothing; `n` says that the texts are prepared, so that nothing is disregarded.
  private mutating func options() throws(ConditionError) -> Condition.TextOptions {
    guard try take("[") else { return [] }
    var options: Condition.TextOptions = []
    guard case .name(let letters) = token.kind else { throw error("c, d or cd was expected") }
    var isNormalized = false
    for letter in letters {
      switch letter {
      case "c", "C": options.insert(.caseInsensitive)
      case "d", "D": options.insert(.diacriticInsensitive)
      case "n", "N": isNormalized = true
      default: throw error("only [c], [d], [cd] and [n] are known")
      }
    }
    try advance()
    try expect("]")
    return isNormalized ? [] : options
  }
}
