import Foundation
import ObjectModel

extension FormatParser {
  /// Words that need a # before them to name a property.
  static let keywords: Set<String> = [
    "AND", "OR", "NOT", "IN", "BETWEEN", "BEGINSWITH", "ENDSWITH", "CONTAINS", "LIKE", "MATCHES", "ANY", "SOME", "ALL",
    "NONE", "TRUE", "FALSE", "YES", "NO", "NIL", "NULL", "SELF", "TRUEPREDICATE", "FALSEPREDICATE", "SUBQUERY", "CAST",
    "FUNCTION",
  ]

  mutating func operand() throws(ConditionError) -> Operand {
    switch token.kind {
    case .string(let text): return try literal(.string(text))
    case .number(let text): return try number(text, isNegative: false)
    case .symbol("-"):
      try advance()
      guard case .number(let text) = token.kind else {
        throw error("arithmetic can't be used in predicates yet", .unsupported)
      }
      return try number(text, isNegative: true)
    case .variable(let name):
      try advance()
      return .variable(name)
    case .argument(let specifier): return try argument(specifier)
    case .escapedName(let name): return try keyPath(name)
    case .name(let name): return try named(name)
    case .symbol("{"): throw error("a list can only follow IN or BETWEEN")
    case .symbol("@"): throw error("operators such as @count can't be used yet", .unsupported)
    case .symbol, .end: throw error("a property or value was expected")
    }
  }

  private mutating func literal(_ value: Value) throws(ConditionError) -> Operand {
    try advance()
    return .value(value)
  }

  private mutating func number(_ text: String, isNegative: Bool) throws(ConditionError) -> Operand {
    let text = isNegative ? "-" + text : text
    if let number = Int64(text) { return try literal(.integer(number)) }
    if text.contains(where: { ".eE".contains($0) }), let number = Double(text), number.isFinite {
      return try literal(.double(number))
    }
    throw error("the number is too large")
  }

  private mutating func named(_ name: String) throws(ConditionError) -> Operand {
    switch name.uppercased() {
    case "TRUE", "YES": return try literal(.boolean(true))
    case "FALSE", "NO": return try literal(.boolean(false))
    case "NIL", "NULL": return try literal(.null)
    case "SELF":
      try advance()
      guard try take(".") else { return .evaluatedObject }
      guard case .name(let name) = token.kind else { throw error("a property's name was expected") }
      return try keyPath(name)
    case "SUBQUERY", "CAST", "FUNCTION": throw error("functions can't be used in predicates yet", .unsupported)
    case let keyword where Self.keywords.contains(keyword):
      throw error("a property or value was expected; a property of this name is written #\(name)")
    default: return try keyPath(name)
    }
  }

  /// The names after the first, which is the current word.
  private mutating func keyPath(_ first: String) throws(ConditionError) -> Operand {
    var names = [first]
    try advance()
    if token.isSymbol("(") { throw error("functions can't be used in predicates yet", .unsupported) }
    while try take(".") {
      switch token.kind {
      case .name(let name), .escapedName(let name): names.append(name)
      case .symbol("@"): throw error("operators such as @count can't be used yet", .unsupported)
      default: throw error("a property's name was expected after the dot")
      }
      try advance()
    }
    return .keyPath(names)
  }

  private mutating func argument(_ specifier: String) throws(ConditionError) -> Operand {
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
      throw error("argument \(arguments.used) is of a type that does not suit this", .argument)
    }
    try advance()
    return operand
  }

  /// `{a, b}`, an argument that is a collection, or a variable that will be one.
  mutating func list() throws(ConditionError) -> [Operand] {
    if case .argument("@") = token.kind {
      guard let argument = arguments.next() else { throw error("there is no argument for this", .argument) }
      guard let list = argument.list else {
        throw error("argument \(arguments.used) is no collection of values", .argument)
      }
      try advance()
      return list
    }
    if case .variable(let name) = token.kind {
      try advance()
      return [.variable(name)]
    }
    guard try take("{") else { throw error("a list in braces or a collection was expected") }
    if try take("}") { return [] }
    var list = [try operand()]
    while try take(",") { list.append(try operand()) }
    try expect("}")
    return list
  }
}
