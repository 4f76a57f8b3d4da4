import Foundation
import ObjectModel

extension FormatParser {
  /// Words that need a # before them to name a property.
  static let keywords: Set<String> = [
    "AND", "OR", "NOT", "IN", "BETWEEN", "BEGINSWITH", "ENDSWITH", "CONTAINS", "LIKE", "MATCHES", "ANY", "SOME", "ALL",
    "NONE", "TRUE", "FALSE", "YES", "NO", "NIL", "NULL", "SELF", "TRUEPREDICATE", "FALSEPREDICATE", "SUBQUERY", "CAST",
    "FUNCTION",
  ]

  /// A sum or difference of products of powers.
  mutating func operand() throws -> Operand {
    try chain(["+": .add, "-": .subtract]) { parser in
      try parser.chain(["*": .multiply, "/": .divide]) { parser in
        try parser.chain(["**": .power]) { parser in try parser.primary() }
      }
    }
  }

  /// Operands with signs of one rank between them, which bind from the left.
  private mutating func chain(
    _ signs: [String: Operand.Arithmetic], _ part: (inout Self) throws -> Operand
  ) throws -> Operand {
    var result = try part(&self)
    var count = 0
    while case .symbol(let symbol) = token.kind, let sign = signs[symbol] {
      count += 1
      if count > Self.depthLimit { throw error("more than \(Self.depthLimit) operands in a row") }
      try advance()
      result = .arithmetic(result, sign, try part(&self))
    }
    return result
  }

  private mutating func primary() throws -> Operand {
    depth += 1
    defer { depth -= 1 }
    if depth > Self.depthLimit { throw error("nested more than \(Self.depthLimit) deep") }
    switch token.kind {
    case .symbol("("):
      try advance()
      let inner = try operand()
      try expect(")")
      return inner
    case .string(let text): return try literal(.string(text))
    case .number(let text): return try number(text, isNegative: false)
    case .symbol("-"):
      try advance()
      guard case .number(let text) = token.kind else {
        return .arithmetic(.value(.integer(0)), .subtract, try primary())
      }
      return try number(text, isNegative: true)
    case .variable(let name):
      try advance()
      return try path([], from: name)
    case .argument(let specifier): return try argument(specifier)
    case .escapedName(let name): return try keyPath(name)
    case .name(let name): return try named(name)
    case .symbol("{"): throw error("a list can only follow IN or BETWEEN")
    case .symbol, .end: throw error("a property or value was expected")
    }
  }

  private mutating func literal(_ value: Value) throws -> Operand {
    try advance()
    return .value(value)
  }

  private mutating func number(_ text: String, isNegative: Bool) throws -> Operand {
    if let radix = ["0x": 16, "0o": 8, "0b": 2][text.prefix(2).lowercased()] {
      let digits = (isNegative ? "-" : "") + text.dropFirst(2)
      guard let number = Int64(digits, radix: radix) else { throw error("not a number of 64 bits") }
      return try literal(.integer(number))
    }
    let text = isNegative ? "-" + text : text
    if let number = Int64(text) { return try literal(.integer(number)) }
    guard let number = Double(text), number.isFinite else { throw error("the number is too large") }
    let decimal = Decimal(string: text, locale: Locale(identifier: "en_US_POSIX"))
    let rounded = Decimal(string: "\(number)", locale: Locale(identifier: "en_US_POSIX"))
    // One with more digits than a Double keeps is meant for an attribute that keeps them.
    if let decimal, !decimal.isNaN, decimal != rounded, text.count(where: \.isNumber) <= Self.decimalDigits {
      return try literal(.decimal(decimal))
    }
    // A whole number of that many digits would be another one.
    if decimal != rounded, !text.contains(where: { ".eE".contains($0) }) {
      throw error("the number has too many digits")
    }
    return try literal(.double(number))
  }

  /// The digits that a Decimal keeps.
  private static let decimalDigits = 38

  private mutating func named(_ name: String) throws -> Operand {
    switch name.uppercased() {
    case "TRUE", "YES": return try literal(.boolean(true))
    case "FALSE", "NO": return try literal(.boolean(false))
    case "NIL", "NULL": return try literal(.null)
    case "SELF":
      try advance()
      return try path([], from: nil)
    case "SUBQUERY": return try subquery()
    case "CAST": return try cast()
    case "FUNCTION":
      throw error("FUNCTION calls methods, which a store does not have; write name:(argument)", .unsupported)
    case let keyword where Self.keywords.contains(keyword):
      throw error("a property or value was expected; a property of this name is written #\(name)")
    default: return try keyPath(name)
    }
  }

  /// The names after the first, which is the current word; or what a function computes.
  private mutating func keyPath(_ first: String) throws -> Operand {
    let place = token
    try advance()
    if token.isSymbol("(") { throw error("functions are written name:(argument)", .unsupported) }
    guard token.isSymbol(":") else { return try path([first], from: nil) }
    return try function(first, place)
  }

  /// The rest of a path, each name after a dot, perhaps with an aggregation at its end.
  private mutating func path(_ names: [String], from variable: String?) throws -> Operand {
    var names = names
    while try skip(".") {
      switch token.kind {
      case .name(let name), .escapedName(let name): names.append(name)
      case .symbol("@"):
        if names.isEmpty { throw error("a to-many relationship was expected before this") }
        return try aggregate(of: Operand.Collection(names, from: variable), variable: "_", .constant(true))
      case .argument("K"):
        guard let more = arguments.next() else { throw error("there is no argument for this", .argument) }
        guard case .keyPath(let rest)? = more.keyPath else { throw unsuited() }
        names += rest
      default: throw error("a property's name was expected after the dot")
      }
      try advance()
    }
    if !names.isEmpty, try skip("[") {
      guard token.keyword == "SIZE" else { throw error("only [SIZE] can be asked of a collection", .unsupported) }
      try advance()
      try expect("]")
      return .count(of: Operand.Collection(names, from: variable))
    }
    return Operand(path: names, from: variable)
  }

  private mutating func argument(_ specifier: String) throws -> Operand {
    guard let argument = arguments.next() else { throw error("there is no argument for this", .argument) }
    let operand: Operand?
    switch specifier {
    case "@": operand = argument.operand
    case "K": operand = argument.keyPath
    case "f", "lf": operand = argument.real
    default: operand = argument.integer
    }
    guard let operand else {
      if specifier == "@", argument.list != nil { throw error("a collection can only follow IN or BETWEEN", .argument) }
      throw unsuited()
    }
    try advance()
    // More of a path may follow, as in "%K.@count".
    guard specifier == "K", case .keyPath(let names) = operand else { return operand }
    return try path(names, from: nil)
  }

  private func unsuited() -> ConditionError {
    error("argument \(arguments.used) is of a type that does not suit this", .argument)
  }

  /// The bounds of BETWEEN.
  mutating func bounds() throws -> [Operand] {
    guard case .argument("@") = token.kind else {
      if let list = try list() { return list }
      throw error("two bounds in braces, or a collection of two, were expected")
    }
    guard let argument = arguments.next() else { throw error("there is no argument for this", .argument) }
    guard let bounds = argument.bounds else {
      throw error("argument \(arguments.used) is no range and no collection of values", .argument)
    }
    try advance()
    return bounds
  }

  /// `{a, b}` or an argument that is a collection; nil if something else follows.
  mutating func list() throws -> [Operand]? {
    if case .argument("@") = token.kind, let list = arguments.peek()?.list {
      _ = arguments.next()
      try advance()
      return list
    }
    guard try skip("{") else { return nil }
    if try skip("}") { return [] }
    var list = [try operand()]
    while try skip(",") { list.append(try operand()) }
    try expect("}")
    return list
  }
}

/// Computed operands: functions, casts, aggregations and subqueries.
extension FormatParser {
  /// Functions of two arguments by the words that stand before each.
  private static let signs: [String: Operand.Arithmetic] = [
    "add:to:": .add, "from:subtract:": .subtract, "multiply:by:": .multiply,
    "divide:by:": .divide, "modulus:by:": .remainder, "raise:toPower:": .power,
  ]

  /// `name:(argument)`, `name:word:(first, second)` or `now()`, the current word being the first colon.
  ///
  /// - Parameter place: where the name is.
  mutating func function(_ name: String, _ place: FormatToken) throws -> Operand {
    var selector = name
    while try skip(":") {
      selector += ":"
      if case .name(let word) = token.kind {
        selector += word
        try advance()
      }
    }
    try expect("(")
    if let arithmetic = Self.signs[selector] {
      let left = try operand()
      try expect(",")
      let right = try operand()
      try expect(")")
      return .arithmetic(left, arithmetic, right)
    }
    guard let function = Operand.Function(rawValue: name), function.castType == nil, selector == name + ":" else {
      let known =
        Operand.Function.allCases.filter { $0.castType == nil }.map { $0.rawValue + ":" } + Self.signs.keys.sorted()
      throw lexer.error(
        .unsupported, "there is no such function in predicates, only \(known.joined(separator: ", "))",
        range: place.start..<place.end)
    }
    let operand = try operand()
    try expect(")")
    return .function(function, operand)
  }

  /// `CAST(value, 'NSDate')`; constants are cast here and now.
  mutating func cast() throws -> Operand {
    try advance()
    try expect("(")
    let operand = try operand()
    try expect(",")
    guard case .string(let type) = token.kind else { throw error("the name of a type in quotation marks was expected") }
    let place = token
    try advance()
    try expect(")")
    if case .value(let value) = operand, let converted = value.cast(to: type) { return .value(converted) }
    guard let function = Operand.Function.allCases.first(where: { $0.castType == type }) else {
      throw lexer.error(
        .unsupported,
        "properties can be cast to NSNumber, NSDate and NSString, constants to these, NSDecimalNumber, "
          + "NSUUID and NSURL if their value is one", range: place.start..<place.end)
    }
    return .function(function, operand)
  }

  /// `@count`, or `@sum.path` and the like, the current word being the sign.
  mutating func aggregate(
    of collection: Operand.Collection, variable: String, _ condition: Condition
  ) throws -> Operand {
    try advance()
    let place = token
    guard case .name(let name) = token.kind else { throw error("@count, @sum, @min, @max or @avg was expected") }
    try advance()
    var names: [String] = []
    while try skip(".") {
      switch token.kind {
      case .name(let name), .escapedName(let name): names.append(name)
      default: throw error("a property's name was expected after the dot")
      }
      try advance()
    }
    guard let aggregation = Operand.Aggregation(name, of: names, variable: variable) else {
      throw lexer.error(
        .unsupported, "only path.@count, and path.@sum, @min, @max and @avg with a property after them, can be used",
        range: place.start..<place.end)
    }
    return .aggregate(aggregation, collection, variable: variable, condition)
  }

  /// `SUBQUERY(path, $variable, condition).@count`.
  mutating func subquery() throws -> Operand {
    try advance()
    try expect("(")
    let place = token
    guard let (start, names) = try operand().path, !names.isEmpty else {
      throw lexer.error(.syntax, "a path to a to-many relationship was expected", range: place.start..<place.end)
    }
    try expect(",")
    guard case .variable(let variable) = token.kind else { throw error("a variable such as $x was expected") }
    try advance()
    try expect(",")
    let condition = try disjunction()
    try expect(")")
    let collection = Operand.Collection(names, from: start)
    if try skip("[") {
      guard token.keyword == "SIZE" else { throw error("only [SIZE] can be asked of a collection", .unsupported) }
      try advance()
      try expect("]")
      return .aggregate(.count, collection, variable: variable, condition)
    }
    try expect(".")
    guard token.isSymbol("@") else { throw error("@count was expected") }
    return try aggregate(of: collection, variable: variable, condition)
  }
}

extension Value {
  /// The constant as one of a type that a format string names; nil if it has no such value.
  fileprivate func cast(to type: String) -> Value? {
    switch (type, self) {
    case (_, .null): .null
    case ("NSNumber", .integer), ("NSNumber", .double), ("NSString", .string), ("NSDate", .date): self
    case ("NSNumber", .date(let date)): .double(date.timeIntervalSinceReferenceDate)
    case ("NSNumber", .string(let text)): Double(text).map(Value.double)
    case ("NSDate", .integer(let seconds)): .date(Date(timeIntervalSinceReferenceDate: Double(seconds)))
    case ("NSDate", .double(let seconds)): .date(Date(timeIntervalSinceReferenceDate: seconds))
    case ("NSDate", .string): comparable(with: .date)
    case ("NSDecimalNumber", .integer), ("NSDecimalNumber", .double), ("NSDecimalNumber", .decimal),
      ("NSDecimalNumber", .string):
      comparable(with: .decimal)
    case ("NSString", .integer(let number)): .string("\(number)")
    case ("NSString", .double(let number)): .string("\(number)")
    case ("NSUUID", .string): comparable(with: .uuid)
    case ("NSURL", .string): comparable(with: .uri)
    default: nil
    }
  }
}
