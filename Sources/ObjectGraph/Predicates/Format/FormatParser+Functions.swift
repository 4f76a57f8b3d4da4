import Foundation
import ObjectModel

/// What is computed: functions, casts, aggregations and subqueries.
extension FormatParser {
  /// Functions of two arguments by the words that stand before each.
  private static let signs: [String: Operand.Arithmetic] = [
    "add:to:": .add, "from:subtract:": .subtract, "multiply:by:": .multiply,
    "divide:by:": .divide, "modulus:by:": .remainder, "raise:toPower:": .power,
  ]

  /// `name:(argument)`, `name:word:(first, second)` or `now()`, the current word being the first colon.
  ///
  /// - Parameter place: where the name is.
  mutating func function(_ name: String, _ place: FormatToken) throws(ConditionError) -> Operand {
    var selector = name
    while try take(":") {
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
        place.start..<place.end)
    }
    let operand = try operand()
    try expect(")")
    return .function(function, operand)
  }

  /// `CAST(value, 'NSDate')`; constants are cast here and now.
  mutating func cast() throws(ConditionError) -> Operand {
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
          + "NSUUID and NSURL if their value is one", place.start..<place.end)
    }
    return .function(function, operand)
  }

  /// `@count`, or `@sum.path` and the like, the current word being the sign.
  mutating func aggregate(
    of collection: Operand.Collection, variable: String, _ condition: Condition
  ) throws(ConditionError) -> Operand {
    try advance()
    let place = token
    guard case .name(let name) = token.kind else { throw error("@count, @sum, @min, @max or @avg was expected") }
    try advance()
    var names: [String] = []
    while try take(".") {
      switch token.kind {
      case .name(let name), .escapedName(let name): names.append(name)
      default: throw error("a property's name was expected after the dot")
      }
      try advance()
    }
    guard let aggregation = Operand.Aggregation(name, of: names, variable: variable) else {
      throw lexer.error(
        .unsupported, "only path.@count, and path.@sum, @min, @max and @avg with a property after them, can be used",
        place.start..<place.end)
    }
    return .aggregate(aggregation, collection, variable: variable, condition)
  }

  /// `SUBQUERY(path, $variable, condition).@count`.
  mutating func subquery() throws(ConditionError) -> Operand {
    try advance()
    try expect("(")
    let place = token
    guard let (start, names) = try operand().path, !names.isEmpty else {
      throw lexer.error(.syntax, "a path to a to-many relationship was expected", place.start..<place.end)
    }
    try expect(",")
    guard case .variable(let variable) = token.kind else { throw error("a variable such as $x was expected") }
    try advance()
    try expect(",")
    let condition = try disjunction()
    try expect(")")
    let collection = Operand.Collection(names, from: start)
    if try take("[") {
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
