import ObjectModel

/// Reads a format string by recursive descent: OR binds weakest, then AND, then NOT.
struct FormatParser {
  var lexer: FormatLexer
  var arguments: FormatArguments
  var token: FormatToken
  private let operandParentheses: Set<Int>
  var depth = 0
  /// Deeper nesting is refused, so that hostile text can't exhaust the stack.
  static let depthLimit = 128

  init(_ format: String, _ arguments: [Any?]) throws {
    lexer = FormatLexer(format)
    operandParentheses = Self.operandParentheses(lexer)
    self.arguments = FormatArguments(arguments)
    token = try lexer.next()
  }

  /// Reads the whole text as a condition.
  mutating func parse() throws -> Condition {
    let condition = try disjunction()
    try expectEnd("AND, OR or the end was expected")
    return condition
  }

  /// Reads the whole text as a value.
  mutating func parseOperand() throws -> Operand {
    let operand = try operand()
    try expectEnd("an operator or the end was expected")
    return operand
  }

  private func expectEnd(_ message: String) throws {
    if token.kind != .end { throw error(message) }
    if arguments.remaining > 0 {
      let given = arguments.used + arguments.remaining
      throw ConditionError(
        .argument, "the format string takes \(arguments.used) arguments, but \(given) were given")
    }
  }

  // MARK: Words

  mutating func advance() throws { token = try lexer.next() }

  /// Moves on if the word is that symbol; returns false if it is not.
  mutating func skip(_ symbol: String) throws -> Bool {
    guard token.isSymbol(symbol) else { return false }
    try advance()
    return true
  }

  mutating func expect(_ symbol: String) throws {
    if try !skip(symbol) { throw error("\(symbol) was expected") }
  }

  /// An error at the current word.
  func error(_ message: String, _ code: ConditionError.Code = .syntax) -> ConditionError {
    lexer.error(code, message, range: token.start..<token.end)
  }

  // MARK: Logic

  mutating func disjunction() throws -> Condition {
    var parts = [try conjunction()]
    while token.keyword == "OR" || token.isSymbol("||") {
      try advance()
      parts.append(try conjunction())
    }
    return parts.count == 1 ? parts[0] : .or(parts)
  }

  private mutating func conjunction() throws -> Condition {
    var parts = [try negation()]
    while token.keyword == "AND" || token.isSymbol("&&") {
      try advance()
      parts.append(try negation())
    }
    return parts.count == 1 ? parts[0] : .and(parts)
  }

  private mutating func negation() throws -> Condition {
    depth += 1
    defer { depth -= 1 }
    if depth > Self.depthLimit { throw error("nested more than \(Self.depthLimit) deep") }
    if token.keyword == "NOT" || token.isSymbol("!") {
      try advance()
      return .not(try negation())
    }
    if token.isSymbol("("), !operandParentheses.contains(token.start) {
      try advance()
      let condition = try disjunction()
      try expect(")")
      return condition
    }
    return try predicate()
  }

  private mutating func quantified(_ quantifier: Condition.Quantifier) throws -> Condition {
    try advance()
    return .quantified(quantifier, try comparison())
  }

  /// The places of parentheses that hold a value and not a condition, which the token behind the closing one shows.
  ///
  /// - Complexity: one pass over the text, so that nesting costs no more.
  private static func operandParentheses(_ lexer: FormatLexer) -> Set<Int> {
    var rest = lexer
    var found: Set<Int> = []
    var open: [Int] = []
    var closed: Int?
    while let next = try? rest.next(), next.kind != .end {
      if let closed, next.isComparison || ["+", "-", "*", "/", "**"].contains(where: { next.isSymbol($0) }) {
        found.insert(closed)
      }
      closed = next.isSymbol(")") ? open.popLast() : nil
      if next.isSymbol("(") { open.append(next.start) }
    }
    return found
  }

  private mutating func predicate() throws -> Condition {
    switch token.keyword {
    case "TRUEPREDICATE":
      try advance()
      return .constant(true)
    case "FALSEPREDICATE":
      try advance()
      return .constant(false)
    case "ANY", "SOME": return try quantified(.any)
    case "ALL": return try quantified(.all)
    case "NONE": return try quantified(.none)
    default: return try comparison()
    }
  }
}

extension FormatParser {
  static let symbols: [String: Condition.Comparison] = [
    "=": .equal, "==": .equal, "!=": .notEqual, "<>": .notEqual, "<": .less, "<=": .lessOrEqual, "=<": .lessOrEqual,
    ">": .greater, ">=": .greaterOrEqual, "=>": .greaterOrEqual,
  ]
  static let words: [String: Condition.Comparison] = [
    "BEGINSWITH": .beginsWith, "ENDSWITH": .endsWith, "CONTAINS": .contains, "LIKE": .like, "MATCHES": .matches,
  ]

  mutating func comparison() throws -> Condition {
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
        throw lexer.error(.syntax, "BETWEEN takes two bounds: {lower, upper}", range: place.start..<place.end)
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

  /// Parses IN: the rest of a test for an element of a list, of a to-many relationship, or for a part of a text.
  private mutating func membership(
    of left: Operand, _ options: Condition.TextOptions
  ) throws -> Condition {
    if let list = try list() { return .isIn(left, list, options) }
    let place = token
    let whole = try operand()
    switch whole {
    case .keyPath, .variablePath, .value(.string), .function: return .compare(whole, .contains, left, options)
    case .variable: return .isIn(left, [whole], options)
    default:
      throw lexer.error(
        .syntax, "a list in braces, a collection or a to-many relationship was expected", range: place.start..<place.end
      )
    }
  }

  /// `[c]`, `[d]`, `[cd]`, `[n]` or nothing; `n` says that the texts are prepared, so that nothing is disregarded.
  private mutating func options() throws -> Condition.TextOptions {
    guard try skip("[") else { return [] }
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
