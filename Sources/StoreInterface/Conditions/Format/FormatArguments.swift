import ObjectModel

/// The arguments of a format string, taken in order.
struct FormatArguments {
  private let values: [Any?]
  private(set) var used = 0

  init(_ values: [Any?]) { self.values = values }

  var remaining: Int { values.count - used }

  /// The next argument, which stays the next one; nil if there is none left.
  func peek() -> FormatArgument? { used < values.count ? FormatArgument(value: values[used]) : nil }

  /// The next argument; nil if there is none left.
  mutating func next() -> FormatArgument? {
    guard used < values.count else { return nil }
    used += 1
    return FormatArgument(value: values[used - 1])
  }
}

extension Operand.Aggregation {
  /// `@count`, or `@sum` and the like with the path from the element, whose variable is `_`.
  init?(_ name: String, of path: [String], variable: String = "_") {
    let operand = Operand(path: path, from: variable)
    switch (name, path.isEmpty) {
    case ("count", true): self = .count
    case ("sum", false): self = .sum(operand)
    case ("min", false): self = .min(operand)
    case ("max", false): self = .max(operand)
    case ("avg", false): self = .average(operand)
    default: return nil
    }
  }
}

/// One argument of a format string.
struct FormatArgument {
  let value: Any?

  /// The argument of `%@` as one value; nil if it is none.
  var operand: Operand? { value.map { Operand(constant: $0) } ?? .value(.null) }

  /// The argument of `%@` as several values; nil if it is no collection.
  var list: [Operand]? { value.flatMap { Operand.list(of: $0) } }

  /// The argument of BETWEEN: a range, or two values; nil if it is neither.
  var bounds: [Operand]? {
    guard let limits = (value as? any ConstantRange)?.limits else { return list }
    guard limits.includesUpper, let lower = limits.lower.flatMap(Operand.init(constant:)),
      let upper = limits.upper.flatMap(Operand.init(constant:))
    else { return list }
    return [lower, upper]
  }

  /// The argument of `%d` and the like.
  var integer: Operand? {
    guard let number = value as? any BinaryInteger else { return nil }
    return Operand(constant: number)
  }

  /// The argument of `%f`.
  var real: Operand? {
    guard case .value(let value)? = operand else { return nil }
    switch value {
    case .integer, .double, .decimal: return .value(value)
    default: return nil
    }
  }

  /// The argument of `%K`.
  var keyPath: Operand? {
    guard let text = value as? String, !text.isEmpty else { return nil }
    var names = text.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
    if names[0].uppercased() == "SELF" { names.removeFirst() }
    guard let place = names.firstIndex(where: { $0.hasPrefix("@") }) else { return Operand(path: names, from: nil) }
    let rest = Array(names[(place + 1)...])
    guard place > 0, let aggregation = Operand.Aggregation(String(names[place].dropFirst()), of: rest) else {
      return nil
    }
    return .aggregate(aggregation, Operand.Collection(names[..<place]), variable: "_", .constant(true))
  }
}
